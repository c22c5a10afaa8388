"""Messages that no job should ever get: set aside with all that came, and the rest goes on."""

from __future__ import annotations

import io
import json
import struct
from collections import Counter

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import TableNotFoundError
from fastavro import parse_schema, schemaless_writer

from millrace.jobs.core.condition import OUT_OF_MEMORY
from millrace.lake.core.columns import Column
from millrace.lake.core.refine import RefineSpec
from tests.integration.conftest import NewDriver, RunningSite
from tests.integration.stands.lake.ingest_driver import START_TIMEOUT_S, IngestDriver
from tests.support import wait_until

pytestmark = pytest.mark.engines
COLUMNS = (
    Column(name="n", type="bigint", path=("n",), required=True),
    Column(name="at", type="timestamp", path=("at",), required=False),
)
HUGE = 50_000_000
ROOM_FOR_HUGE = 64_000_000
POISON = {
    b"huge": b'{"n": 1, "x": "%s"}' % (b"a" * HUGE),
    b"deep": b'{"n": 1, "x": %s%s}' % (b"[" * 100_000, b"]" * 100_000),
    b"not a number": b'{"n": NaN}',
    b"far future": b'{"n": 1, "at": 1000000000000000000}',
    b"broken avro": b"\x00\x00\x00\x00\x01\xff\xff\xff\xff",
    b"half": b'{"n": 1',
    b"nothing": b"",
}


def good(number: int) -> tuple[bytes, bytes]:
    return b"good", b'{"n": %d}' % number


@pytest.mark.timeout(600)
def test_poisoned_messages_are_set_aside_and_the_rest_goes_on(
    site: RunningSite, new_driver: NewDriver
) -> None:
    driver = new_driver("poison", refine=RefineSpec(format="json", columns=COLUMNS))
    give_memory(driver, "2g")
    take_large_messages(site, driver.job.id)
    driver.start()
    send(site, driver.job.id, good(0), *POISON.items(), good(1))
    wait_until(lambda: keys_in(driver, "silver")[b"good"] == 2, START_TIMEOUT_S)
    # Quarantine's commit follows silver's.
    wait_until(lambda: keys_in(driver, "quarantine") == Counter(POISON.keys()))
    send(site, driver.job.id, good(2))
    wait_until(lambda: keys_in(driver, "silver")[b"good"] == 3, START_TIMEOUT_S)
    assert keys_in(driver, "bronze") == Counter({**dict.fromkeys(POISON, 1), b"good": 3})
    assert driver.is_running()
    kept = {
        bytes(key): bytes(v or b"") for key, v in rows_of(driver, "quarantine", '"key", "value"')
    }
    assert kept == POISON


def give_memory(driver: IngestDriver, memory: str) -> None:
    engine = driver.job.engine.model_copy(update={"memory": memory})
    driver.job = driver.job.model_copy(update={"engine": engine})


@pytest.mark.timeout(600)
def test_a_message_too_large_for_the_job_s_memory_ends_it_which_says_so(
    site: RunningSite, new_driver: NewDriver
) -> None:
    driver = new_driver("too-large", refine=RefineSpec(format="json", columns=COLUMNS))
    give_memory(driver, "512m")
    take_large_messages(site, driver.job.id)
    send(site, driver.job.id, (b"huge", POISON[b"huge"]))
    driver.start()
    assert driver.wait(START_TIMEOUT_S) == OUT_OF_MEMORY
    assert keys_in(driver, "bronze") == Counter()


def test_by_default_the_broker_takes_no_such_message(site: RunningSite) -> None:
    site.add_topic("narrow")
    producer = Producer({**site.settings("app"), "message.max.bytes": ROOM_FOR_HUGE})
    refused: list[KafkaError] = []
    producer.produce("narrow", POISON[b"huge"], on_delivery=lambda e, _: refused.append(e))
    assert producer.flush(60) == 0
    assert [error.code() for error in refused] == [KafkaError.MSG_SIZE_TOO_LARGE]


def take_large_messages(site: RunningSite, topic: str) -> None:
    entry = ConfigEntry(
        "max.message.bytes", str(ROOM_FOR_HUGE), incremental_operation=AlterConfigOpType.SET
    )
    admin = AdminClient(site.admin)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(10)


def send(site: RunningSite, topic: str, *messages: tuple[bytes, bytes]) -> None:
    producer = Producer({**site.settings("app"), "message.max.bytes": ROOM_FOR_HUGE})
    failed: list[object] = []
    for key, value in messages:
        producer.produce(
            topic, value, key, on_delivery=lambda e, _: failed.append(e) if e else None
        )
    assert producer.flush(60) == 0
    assert not failed


def rows_of(driver: IngestDriver, layer: str, columns: str) -> list[tuple[object, ...]]:
    """Nothing while the job has not made the table yet."""
    try:
        table = DeltaTable(getattr(driver.job.tables, layer))
    except TableNotFoundError:
        return []
    batches = QueryBuilder().register("t", table).execute(f"SELECT {columns} FROM t")  # noqa: S608 - ours
    return [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]


def keys_in(driver: IngestDriver, layer: str) -> Counter[object]:
    """Silver has no keys; whoever is there was good."""
    if layer == "silver":
        return Counter({b"good": len(rows_of(driver, layer, '"offset"'))})
    return Counter(bytes(key) for (key,) in rows_of(driver, layer, '"key"'))


FIRST = '{"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}]}'
GAINED = (
    '{"type": "record", "name": "r", "fields":'
    ' [{"name": "n", "type": "long"}, {"name": "unit", "type": "string"}]}'
)
BROKEN = '{"type": "record", "name": "r", "fields": [{"name": "n", "type": "string"}]}'
SCHEMAS = {1: FIRST, 2: GAINED, 3: BROKEN}
RECORDS = {1: {"n": 1}, 2: {"n": 2, "unit": "C"}, 3: {"n": "three"}}


def framed(schema: int) -> tuple[bytes, bytes]:
    body = io.BytesIO()
    schemaless_writer(body, parse_schema(json.loads(SCHEMAS[schema])), RECORDS[schema])
    return str(schema).encode(), struct.pack(">bI", 0, schema) + body.getvalue()


@pytest.mark.timeout(600)
def test_a_schema_that_gains_a_field_goes_on_and_one_that_breaks_is_set_aside(
    site: RunningSite, new_driver: NewDriver
) -> None:
    known_first = RefineSpec(format="avro", columns=COLUMNS[:1], schemas={1: FIRST})
    driver = new_driver("schemas", refine=known_first)
    driver.start()
    send(site, driver.job.id, *(framed(schema) for schema in SCHEMAS))
    unknown = {b"2": "unknown-schema: 2", b"3": "unknown-schema: 3"}
    wait_until(lambda: reasons(driver) == unknown, START_TIMEOUT_S)
    assert driver.stop() == 0

    all_known = known_first.model_copy(update={"schemas": SCHEMAS})
    driver.job = driver.job.model_copy(update={"refine": all_known})
    driver.start()
    send(site, driver.job.id, *(framed(schema) for schema in SCHEMAS))
    wait_until(lambda: len(rows_of(driver, "quarantine", '"offset"')) == 3, START_TIMEOUT_S)
    assert driver.stop() == 0
    assert sorted(rows_of(driver, "silver", '"n"')) == [(1,), (1,), (2,)]
    assert reasons(driver)[b"3"] == "wrong-type: n"


def reasons(driver: IngestDriver) -> dict[bytes, str]:
    """The latest against each key."""
    rows = rows_of(driver, "quarantine", '"key", "reasons", "kafka_time"')
    rows.sort(key=lambda row: row[2])
    return {bytes(key): first for key, (first, *_), _ in rows}
