"""Topics that are made anew beneath a gateway and a job: deleted, or lost with their site."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from deltalake import DeltaTable

from benchmarks.faults.operator import Operator
from benchmarks.faults.stands.fault import FAULTS, Fault, Outcome
from benchmarks.faults.stands.hearing import Hearing
from benchmarks.faults.stands.job_stand import JobStand, job_stand
from benchmarks.faults.stands.verified import verify, words
from benchmarks.faults.tables import doubled_in, in_bronze, in_silver
from millrace.base.ranges import count
from millrace.incidents.core.event import EventKind
from millrace.repair.core.alarms import AlarmKind
from millrace.repair.core.verify_spec import ContinuityResult
from tests.integration.stands.edge.gateways import SMALL
from tests.support import wait_until

if TYPE_CHECKING:
    from benchmarks.faults.stands.stand import Arena

# A machine that does much else takes its time.
_BEFORE_S, _DRAINS_S, _RECOVERS_S = 3.0, 600.0, 300.0
Make = Callable[[JobStand], None]


def _topic_fault(name: str, how: str, **settings: Any) -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        def whole(arena: Arena, asked: Fault) -> Outcome:
            with ExitStack() as stack:
                site = arena.own_site(stack, asked.name)
                return _measure(stack.enter_context(job_stand(site, asked)), asked, make)

        FAULTS.append(Fault(name, how, whole=whole, group=__name__, settings=settings))
        return make

    return register


@_topic_fault(
    "topic-recreated",
    "a job from broker to silver; the site's topic deleted and made again beside the running job,"
    " and once more while the job is down, with messages coming all the time",
)
def topic_recreated(stand: JobStand) -> None:
    stand.make_topic_anew()
    wait_until(stand.reads_again, _RECOVERS_S, "the new topic read", poll_s=0.5)
    stand.driver.stop()
    stand.pass_s(2)
    stand.make_topic_anew()
    stand.pass_s(2)
    stand.start_job()


@_topic_fault(
    "site-reinstalled",
    "a job from broker to silver; `kill -9` of the site's broker, and when the gateway's spool is"
    " full (`at_bound: block`) all of the broker's data deleted, its storage formatted anew and"
    " its users, rights and topics provisioned again, beside the running job",
    **SMALL,
)
def site_reinstalled(stand: JobStand) -> None:
    stand.site.stop(signal.SIGKILL)
    before = -1
    # The page is asked again and again until nothing more is taken.
    while (waiting := stand.waits_in_gateway) != before:
        before = waiting
        stand.pass_s(2)
    stand.notes.append(f"{waiting:,} messages were answered and not delivered")
    stand.reinstall_site()


def _measure(stand: JobStand, asked: Fault, make: Make) -> Outcome:
    stand.load.start()
    # What it has not read yet it cannot find to be another.
    wait_until(stand.has_read, _RECOVERS_S, "the job reading")
    stand.pass_s(_BEFORE_S)
    operator = Operator(stand.gateway)
    operator.start()
    try:
        make(stand)
        ended_s = time.monotonic()
        wait_until(stand.reads_again, _RECOVERS_S, "the newest topic read", poll_s=0.5)
        recovery_s = time.monotonic() - ended_s
    finally:
        operator.end()
        stand.load.finish(_DRAINS_S)
    return _judge(asked, stand, operator, recovery_s)


def _judge(asked: Fault, stand: JobStand, operator: Operator, recovery_s: float) -> Outcome:
    sent, tables = stand.load.sent, stand.driver.job.tables
    total = sum(sent.values())
    # What does not come is found missing below, and by name.
    deadline_s = time.monotonic() + _DRAINS_S
    while not _are_all_read(stand, total) and time.monotonic() < deadline_s:
        stand.pass_s(0.5)
    found = verify(stand.driver.job)
    silver, bronze = in_silver(tables.silver), in_bronze(tables.bronze)
    # Nobody had read it, and the fault took it away with the topic.
    destroyed = stand.in_the_old - bronze
    missing = silver.missing(sent)
    return Outcome(
        asked.name,
        asked.how,
        sent=total,
        count=silver.judge(sent, destroyed).worst(doubled_in(tables.bronze)),
        destroyed=len(destroyed & missing),
        recovery_s=recovery_s,
        seen=(*_notes(stand), *_told(stand.hearing), *operator.seen(), *words(found)),
        problem="; ".join(_faults_of(stand, found, len(missing))),
    )


def _are_all_read(stand: JobStand, total: int) -> bool:
    if stand.waits_in_gateway or stand.waits_at_broker != 0:
        return False
    # What was in a topic that is gone may be nowhere.
    rows = DeltaTable(stand.driver.job.tables.silver).count()
    return rows + len(stand.in_the_old) >= total


def _faults_of(stand: JobStand, found: ContinuityResult, missing: int) -> Iterator[str]:
    """What is not told, or not as it is."""
    named = sum(count(one.ranges) for one in found.alarms if one.kind == AlarmKind.SEQUENCE)
    if named != missing:
        yield f"verify names {named} messages, and {missing} are missing"
    for alarm in found.alarms:
        if alarm.kind != AlarmKind.SEQUENCE:
            yield f"verify: {alarm.name}: {alarm.text}"
    told = stand.hearing.told()
    # A broker that is set up again knows no user for some seconds.
    if told.pop(EventKind.SITE_HALTED, 0) > stand.restarts:
        yield f"the operator heard more often of a halt than the job ended: {dict(told)}"
    if told != Counter({EventKind.TOPIC_ANEW: stand.made_anew}):
        yield f"{stand.made_anew} topics were made anew, and the operator heard {dict(told)}"
    at_gateway = stand.look()["topics_made_anew"]
    if at_gateway != stand.made_anew:
        yield f"the gateway tells of {at_gateway} topics that were made anew"


def _notes(stand: JobStand) -> Iterator[str]:
    yield from stand.notes
    if stand.restarts:
        yield f"the job ended {stand.restarts} times, and was started again"


def _told(hearing: Hearing) -> list[str]:
    return [f"{kind} ({times} times)" for kind, times in hearing.told().items()]
