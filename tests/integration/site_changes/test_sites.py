"""Changes of a site at a real broker: nothing is lost by them, and cut short they are run again."""

from __future__ import annotations

import tarfile
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from deltalake import DeltaTable

from millrace.ingest.core.ingest_beat import IngestBeat, SiteBeat
from millrace.jobs.core.heartbeat import Phase
from millrace.jobs.io.mailbox import Mailbox
from millrace.kafka.io.client_errors import RefusedError, UnreachableError
from millrace.kafka.io.sender import Sender
from millrace.platform.core.platform import Platform
from millrace.provisioning.core.site_rights import Actual, Topic, Wanted
from millrace.provisioning.io.site_admin import admin_of
from millrace.secrets.io.passwords import known_users, read_user
from millrace.site_changes.core.site_request import SiteAction, SiteRequest
from millrace.site_changes.io import retirement
from millrace.site_changes.io.change_run import carry_out, plan_change
from millrace.sites.core.spec import ClientSettings
from millrace.sites.core.user_names import SITE_USERS
from millrace.storage.io.properties import read_properties
from tests.integration.conftest import NewDriver, RunningSite
from tests.integration.stands.lake.ingest_driver import START_TIMEOUT_S
from tests.support import wait_until

SITE = "plant-t"
PIPELINE = """\
name: temperature
sites: all
topics: [temperature-data]
format: json
table: temperature
"""


@pytest.fixture
def desk(site: RunningSite, tmp_path: Path) -> Iterator[Platform]:
    """Files of its own, over the papers and passwords of the broker that runs."""
    layout = Platform(tmp_path)
    for folder in (layout.sites, layout.pipelines, layout.var):
        folder.mkdir(parents=True)
    for folder in ("pki", "authority", "keys", "secrets"):
        (layout.var / folder).symlink_to(site.layout.var / folder)
    (layout.pipelines / "temperature.yaml").write_text(PIPELINE)
    layout.site("far").write_text("name: far\nbootstrap: far.example:9093\n")
    layout.site(SITE).write_text(f"name: {SITE}\nbootstrap: {site.spec.bootstrap}  # its own\n")
    yield layout
    site.provision(site.wanted)


class Killed(Exception):
    """The end, between two steps."""


def nothing(_line: str) -> None:
    pass


def killed_after(steps: int) -> Callable[[str], None]:
    """Every step says a line when it is done."""
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if len(said) == steps:
            raise Killed

    return say


def do(layout: Platform, request: SiteRequest, say: Callable[[str], None] = nothing) -> Path | None:
    return carry_out(layout, plan_change(layout, request), say)


def rotation(*users: str) -> SiteRequest:
    return SiteRequest(action=SiteAction.ROTATE, site=SITE, users=users)


RETIREMENT = SiteRequest(action=SiteAction.RETIRE, site=SITE, typed=SITE)


def look(site: RunningSite) -> Actual:
    return admin_of(site.layout, site.spec).observe(())


def obstacle(site: RunningSite, settings: ClientSettings) -> object:
    return Sender(site.spec, settings, "temperature-data").find_obstacle()


class Flow:
    """Numbers that are sent and read at the same time, over connections that stay."""

    def __init__(self, settings: ClientSettings, topic: str) -> None:
        self._topic = topic
        self._producer = Producer({**settings, "enable.idempotence": True, "linger.ms": 5})
        group = {"group.id": "app-flow", "auto.offset.reset": "earliest"}
        self._consumer = Consumer({**settings, **group})
        self._consumer.subscribe([topic])
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self.sent = 0
        self.read: list[int] = []

    def __enter__(self) -> Flow:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        self._consumer.close()

    def _send(self) -> None:
        while not self._stopped.wait(0.005):
            self._producer.produce(self._topic, str(self.sent).encode(), partition=0)
            self.sent += 1
            self._producer.poll(0)
        assert self._producer.flush(15) == 0

    def poll(self) -> int:
        message = self._consumer.poll(1)
        if message is not None and not message.error():
            self.read.append(int(message.value() or b"-1"))
        return len(self.read)

    def read_on(self, count: int) -> None:
        goal = len(self.read) + count
        wait_until(lambda: self.poll() >= goal, 30, f"{goal} read", poll_s=0)

    def read_all(self) -> None:
        self._stopped.set()
        self._thread.join()
        wait_until(lambda: self.poll() >= self.sent, 30, "all read", poll_s=0)


def test_a_new_password_disturbs_nobody_who_is_connected(site: RunningSite, desk: Platform) -> None:
    site.add_topic("rotated", partitions=1)
    old = site.settings("app")
    with Flow(old, "rotated") as flow:
        flow.read_on(50)
        do(desk, rotation("app"))
        flow.read_on(100)
        flow.read_all()
    assert flow.read == list(range(flow.sent))
    assert isinstance(obstacle(site, old), RefusedError)
    assert obstacle(site, site.settings("app")) is None


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_rotation_cut_short_is_run_again(site: RunningSite, desk: Platform, steps: int) -> None:
    before = read_user(desk, SITE, "gateway").password
    with pytest.raises(Killed):
        do(desk, rotation("gateway"), killed_after(steps))
    do(desk, rotation("gateway"))
    assert read_user(desk, SITE, "gateway").password != before
    assert not desk.next_secret(SITE, "gateway").exists()
    assert obstacle(site, site.settings("gateway")) is None


@pytest.mark.parametrize("steps", [None, 1, 7])
def test_retiring_takes_users_and_rights_and_leaves_topics(
    site: RunningSite, desk: Platform, steps: int | None
) -> None:
    topics = look(site).topics
    if steps:
        with pytest.raises(Killed):
            do(desk, RETIREMENT, killed_after(steps))
    do(desk, RETIREMENT)
    after = look(site)
    assert (after.users & set(SITE_USERS), [a for a in after.acls if a.user in SITE_USERS]) == (
        set(),
        [],
    )
    assert after.topics == topics
    assert known_users(desk, SITE) == []
    assert "# its own" in (desk.retired_sites / f"{SITE}.yaml").read_text()


def beating(layout: Platform, age: timedelta) -> None:
    seen = SiteBeat(
        site=SITE,
        batch=1,
        rows_per_s=0,
        rows_total=0,
        last_batch_at=None,
        reachable=True,
        partitions=(),
    )
    beat = IngestBeat(
        job="temperature",
        generation=1,
        fingerprint="",
        phase=Phase.RUNNING,
        at=datetime.now(UTC) - age,
        sites=(seen,),
    )
    Mailbox(layout.job("temperature")).write_heartbeat(beat)


def test_users_stay_while_a_job_reads_as_one_of_them(
    site: RunningSite, desk: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    beating(desk, age=timedelta(0))
    monkeypatch.setattr(retirement, "_JOBS_LET_GO_S", 0.0)
    with pytest.raises(Exception, match="still read by the job of temperature"):
        do(desk, RETIREMENT)
    assert look(site).users >= set(SITE_USERS)


def test_users_go_when_the_job_has_let_go(site: RunningSite, desk: Platform) -> None:
    beating(desk, age=timedelta(seconds=25))
    said: list[str] = []
    do(desk, RETIREMENT, said.append)
    assert said[1] == "waiting for the job of temperature to start anew without the site"
    assert not look(site).users & set(SITE_USERS)


def test_the_bundle_alone_is_enough_to_send_and_for_nothing_else(
    site: RunningSite, desk: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add_topic("bundled")
    site.provision(Wanted(topics=(Topic(name="theirs", partitions=1),)))
    bundle = do(desk, rotation("gateway"))
    with tarfile.open(str(bundle)) as archive:
        archive.extractall(tmp_path / "gateway", filter="data")
    monkeypatch.chdir(tmp_path / "gateway" / f"{SITE}-gateway")
    settings = {
        **read_properties(Path("client.properties")),
        **read_properties(Path("password.properties")),
    }
    assert Path("password.properties").stat().st_mode & 0o777 == 0o600
    assert sent(settings, "bundled") is None
    assert sent(settings, "theirs") == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert read_error(settings, "theirs", "gateway") == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert read_error(settings, "bundled", "another") == KafkaError.GROUP_AUTHORIZATION_FAILED


def sent(settings: dict[str, str], topic: str) -> int | None:
    """None, or the code of the error."""
    outcome: list[KafkaError | None] = []
    producer = Producer({**settings, "message.timeout.ms": 10_000})
    producer.produce(topic, b"from the gateway", on_delivery=lambda error, _: outcome.append(error))
    assert producer.flush(15) == 0
    return outcome[0].code() if outcome[0] else None


def read_error(settings: dict[str, str], topic: str, group: str) -> int | None:
    consumer = Consumer({**settings, "group.id": group})
    try:
        consumer.subscribe([topic])
        message = consumer.poll(15)
        assert message is not None
        return message.error().code() if message.error() else None
    finally:
        consumer.close()


def addition(site: RunningSite) -> SiteRequest:
    return SiteRequest(action=SiteAction.ADD, site=SITE, bootstrap=site.spec.bootstrap)


def test_a_site_that_is_added_is_ready_when_its_file_is_there(
    site: RunningSite, desk: Platform
) -> None:
    """The cluster knows some of our users from elsewhere; from here on their passwords are ours."""
    desk.site(SITE).unlink()
    desk.user_secret(SITE, "simulator").unlink()
    pipeline = desk.pipelines / "temperature.yaml"
    pipeline.write_text(PIPELINE.replace("temperature-data", "of-the-new"))
    plan = plan_change(desk, addition(site))
    assert f"at {site.spec.bootstrap}: user simulator: gets a new password" in plan.lines
    with pytest.raises(Killed):
        carry_out(desk, plan, killed_after(4))
    assert not desk.site(SITE).exists()
    assert do(desk, addition(site))
    assert f"bootstrap: {site.spec.bootstrap}" in desk.site(SITE).read_text()
    assert "of-the-new" in {topic.name for topic in look(site).topics}
    assert obstacle(site, site.settings("simulator")) is None


def test_a_cluster_that_knows_no_administrator_of_ours_is_told_of(
    site: RunningSite, desk: Platform
) -> None:
    desk.site(SITE).unlink()
    request = SiteRequest(action=SiteAction.ADD, site="plant-u", bootstrap=site.spec.bootstrap)
    with pytest.raises(RefusedError, match="have 'User:plant-u-admin' among its super users"):
        do(desk, request)
    assert not desk.site("plant-u").exists()


@pytest.mark.parametrize("action", [SiteAction.ADD, SiteAction.CHANGE])
def test_a_site_that_does_not_answer_changes_no_file(desk: Platform, action: SiteAction) -> None:
    name = {"site": "plant-n"} if action is SiteAction.ADD else {"site": "far"}
    before = {file: file.read_text() for file in desk.sites.rglob("*.yaml")}
    with pytest.raises(UnreachableError, match=r"no answer from 127\.0\.0\.1:2"):
        plan_change(
            desk, SiteRequest(action=action, bootstrap="127.0.0.1:1", **name), timeout_s=0.5
        )
    assert {file: file.read_text() for file in desk.sites.rglob("*.yaml")} == before


def login(layout: Platform, user: str) -> Callable[[], dict[str, str]]:
    def read() -> dict[str, str]:
        now = read_user(layout, SITE, user)
        return {"sasl.username": now.username, "sasl.password": now.password}

    return read


def send(sender: Sender, count: int) -> None:
    for number in range(count):
        sender.send(str(number).encode(), str(number).encode())
    wait_until(lambda: sender.poll(0.1) or not sender.outstanding, 60, "all delivered", poll_s=0)


def rows(table: Path) -> int:
    return int(DeltaTable(table).count())


def test_job_and_simulator_take_the_new_password_when_they_connect_again(
    site: RunningSite, desk: Platform, new_driver: NewDriver
) -> None:
    """What was connected stays so; a broker that restarts makes everybody log in anew."""
    driver = new_driver("login")
    sender = Sender(site.spec, site.settings("simulator"), "login", login(desk, "simulator"))
    driver.start()
    send(sender, 100)
    wait_until(lambda: rows(driver.table) == 100, START_TIMEOUT_S, "100 rows")
    do(desk, rotation("ingest", "simulator"))
    send(sender, 100)
    wait_until(lambda: rows(driver.table) == 200, 60, "200 rows")
    site.stop()
    site.start()
    send(sender, 100)
    wait_until(lambda: rows(driver.table) == 300, 90, "300 rows")
    assert driver.is_running()
    log = driver.log_file.read_text()
    # Or the query had ended with the broker, and began again with the new one.
    assert "its password was changed" in log or "next try in" in log
    assert not any(site.password_of(user) in log for user in SITE_USERS)
    wait_until(lambda: driver.site_beat(SITE).reachable, 30, "seen as answering")
    assert driver.stop() == 0
