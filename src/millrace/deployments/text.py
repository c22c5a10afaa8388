"""What an operator reads on a DAG's page."""

from __future__ import annotations

from millrace.base.duration import format_duration
from millrace.pipelines.core.spec import PipelineSpec


def pipeline_doc(spec: PipelineSpec) -> str:
    sites = "all sites" if spec.sites == "all" else ", ".join(spec.sites)
    return f"""\
### Pipeline {spec.name}

Brings `{"`, `".join(spec.topics)}` from {sites} into the table `bronze.{spec.table}`,
every {format_duration(spec.freshness)}. Made from `dags/pipelines/{spec.name}.yaml`; edit that.

| task | what it does |
|---|---|
| provision | makes missing topics, users, ACLs, tables and folders; its log lists them |
| deploy | starts the job, adopts the one that runs, or replaces it when its files changed |
| supervise | watches the job and starts it again when it dies; its log says why it died |

- **A change**: save the file. Supervise ends, the next run deploys.
- **Stop**: pause this DAG, then mark *supervise* as failed. The job finishes its batch and ends.
- **Start**: unpause.
- **Restart**: mark *supervise* as failed while the DAG is not paused.

The job does not need Airflow to run, only to be started again.
"""


def maintain_doc(spec: PipelineSpec) -> str:
    return f"""\
### Maintenance of {spec.name}

Each hour; safe beside the running job. A task with nothing to do is skipped.

| task | what it does |
|---|---|
| plan | reads the tables' logs; its own log says what will be done, and why. Starts no engine |
| retention | deletes days that are older than `keep` in `dags/pipelines/{spec.name}.yaml` |
| compact | makes few large files of many small ones |
| vacuum | deletes files that no version of the last week needs, and sums up the log |

Days go at the pace at which days pass. Where more are old at once (a clock that is ahead, a
shorter `keep`, a stack that was down for days), *retention* holds the rest back and raises an
incident: look at the plan, then *Trigger* with *Drop the days held back*.

By hand: `millrace maintain {spec.name} --plan`.
"""


def quality_doc(spec: PipelineSpec) -> str:
    return f"""\
### Quality of {spec.name}

Judges the rows that came to `silver.{spec.table}` since the last check, by the whole suite
`{spec.quality}`: at most every {format_duration(spec.quality_every)} while rows come
(`quality_every`), and each night.

The task fails where an expectation of the severity *critical* is not met; its message names it,
and the page with samples. The asset `trusted/{spec.table}` is updated by success alone: schedule
on it what must see judged rows only.
"""


def verify_doc(spec: PipelineSpec) -> str:
    return f"""\
### Verify {spec.name}

Proves each night that nothing is missing in its tables and nothing doubled, by the broker's
offsets, the job's positions, and the numbers that producers gave their messages. An alarm fails
the task; its log names the offsets and what puts it right. A new alarm raises an incident.

By hand: `millrace verify {spec.name}`.
"""


def backfill_doc(spec: PipelineSpec) -> str:
    return f"""\
### Backfill of {spec.name}

Makes silver and quarantine of a day anew from bronze, by the columns and rules of today's files.
The running job goes on.

- **Some days**: *Trigger*, then *Backfill*: choose the first and the last day, and *All Runs* to
  make days anew again.
- **One day**: *Trigger*, and fill in the day.

The scheduled run of each night does nothing. With a dry run:
`millrace backfill {spec.name} --from DAY --dry-run`.
"""


REPLAY = """\
### Replay

Adds to the tables what they miss of a span of Kafka, or of bronze, beside the running job. Twice
changes nothing.

| task | what it does |
|---|---|
| look | says what is missing; writes nothing |
| approve | waits for a person who saw the counts; skipped in a dry run, or if nothing is missing |
| add | adds it |

What the broker has deleted is named, exactly. Offsets that the job has yet to write are left to it.
"""


PATROL = """\
### Patrol

Looks at every job, and stops one that runs though nobody watches it and no run of its DAG will:
what a *mark failed* leaves behind when nothing of Airflow was there to hear it. Pausing this DAG
takes that care away, and nothing else.
"""


PRUNE = """\
### Prune

Each night removes what Airflow remembers of runs that are older than `history` in
`infra/local.yaml` (90 days). Tables, incidents, jobs and what the platform itself keeps are not
touched; what is pruned is history alone.

| task | what it does |
|---|---|
| database | `airflow db clean`: runs, tasks, the audit log; its own log counts the rows |
| logs | removes files in `var/airflow/logs` that nobody wrote to since; its log counts them |
"""


SITES = """\
### Sites

Adds, changes or retires a site, or gives its users new passwords: fill in the form.

| task | what it does |
|---|---|
| plan | says every file, user, right and password it would touch; refuses what cannot be |
| approve | waits for a person who saw the plan; skipped in a dry run |
| apply | does what was agreed to; its log ends with where the bundle for the site's gateway is |

- **The bundle** (CA, settings, password of the user `gateway`) is a file (0600) on Airflow's
  machine. It is never in a log: carry it to the site by a way you trust.
- **A new password**: jobs and simulators go on. The gateway is refused at its next connection,
  until it has the new bundle.
- **Cut short**, trigger it again with the same form. The files it writes are in `dags/sites`:
  commit them.

By hand: `millrace site --help`.
"""


INFRASTRUCTURE = """\
### Infrastructure

Terraform on one of the folders of `terraform/environments`: fill in the form.

| task | what it does |
|---|---|
| plan | `init` and `plan`: says what would be destroyed, replaced, changed and added |
| approve | waits for a person who saw the plan; skipped in a dry run, or if nothing would change |
| apply | applies exactly that plan; refused if the state has changed since |

- **Destroy** needs the environment's name typed.
- **Stop**: mark the task as failed. Terraform finishes what it has begun, writes its state and
  ends; it is never killed, whatever of Airflow is. Trigger the DAG again for a plan of the rest.
- **A lock** that somebody else holds is waited for a minute, and then told with its holder.
- It needs the program `terraform`, and credentials of the cloud, on Airflow's machine.

The plan, its log and the apply's log are in `var/infrastructure/<environment>/`.
"""


INCIDENT = """\
### Incident

Runs when supervision, quality or verify tell of something that a person should know. What is of
one kind and one pipeline within 15 minutes is one incident.

| task | what it does |
|---|---|
| gather | says which incidents the new events are, or belong to |
| page | writes all that is known on one page: the button *Incident page* |
| notify | posts it to the webhook of `infra/local.yaml`; skipped without one |
| offer | where a replay would help: waits a day for your answer, with the form filled in |
| replay | begins the DAG `replay` with the form as you left it |

Pausing this DAG takes nothing away: what happens meanwhile waits, and is told when it goes on.
"""
