"""The commands of the README, and what a user finds behind them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from tests.e2e.stack import SITES, Stack
from tests.support import wait_until

pytestmark = pytest.mark.timeout(900)
TOPIC = "temperature-data"


def test_make_up_says_where_to_look(up: Stack, first_words: str) -> None:
    seen = up.status()
    assert seen["airflow"]["url"] in first_words
    assert seen["airflow"]["password_file"] in first_words
    assert str(up.home / "var" / "lake") in first_words
    assert len(first_words.split("Try next:")[1].strip().splitlines()) >= 3


def test_status_speaks_to_programs(up: Stack) -> None:
    seen = up.status()
    assert set(seen["sites"]) == set(SITES)
    pipeline = seen["pipelines"]["temperature"]
    assert pipeline["state"] == "running"
    assert pipeline["generation"] >= 1
    assert Path(pipeline["tables"]["bronze"].removeprefix("file://")).is_dir()
    assert {"name", "state", "pid", "memory_mb", "port"} <= set(seen["processes"][0])
    assert {process["state"] for process in seen["processes"]} == {"running"}


def test_the_stack_fits_in_five_gigabytes(up: Stack) -> None:
    assert up.status()["totals"]["memory_mb"] < 5_000


def test_simulated_temperatures_become_rows_of_every_site(up: Stack) -> None:
    wait_until(lambda: {row[0] for row in up.bronze()} == set(SITES), 60, "rows of both sites")
    before = sum(up.bronze().values())
    wait_until(lambda: sum(up.bronze().values()) > before, 30, "more rows")


def test_printed_client_settings_work_as_they_are(up: Stack) -> None:
    printed = up.millrace("client", "plant-a", "--as", "app", "--format", "json").stdout
    settings = json.loads(printed)
    producer = Producer(settings)
    delivered: list[object] = []
    for number in range(5):
        producer.produce(
            TOPIC,
            f'{{"n": {number}}}',
            key="by-hand",
            on_delivery=lambda error, message: delivered.append(error or message.offset()),
        )
    producer.flush(30)
    assert all(isinstance(offset, int) for offset in delivered), delivered
    assert len(delivered) == 5

    lines = up.millrace("client", "plant-a", "--format", "librdkafka").stdout.splitlines()
    as_file = dict(line.split("=", 1) for line in lines)
    consumer = Consumer(as_file | {"group.id": "app-anything", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    mine: list[bytes] = []
    try:
        wait_until(lambda: _collect(consumer, mine) == 5, 30, "five messages back", poll_s=0)
    finally:
        consumer.close()
    assert [json.loads(value)["n"] for value in sorted(mine)] == list(range(5))


def _collect(consumer: Consumer, mine: list[bytes]) -> int:
    read = [message for message in consumer.consume(500, 1.0) if not message.error()]
    mine += [message.value() for message in read if message.key() == b"by-hand"]
    return len(mine)


def test_tail_shows_a_topic_decoded(up: Stack) -> None:
    done = up.millrace("tail", f"{TOPIC}@plant-b", "--count", "3", "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [set(row["value"]) for row in rows] == [
        {"sensor_id", "timestamp", "temperature", "unit"}
    ] * 3


def test_tail_shows_a_table_decoded(up: Stack) -> None:
    done = up.millrace("tail", "temperature", "--count", "3")
    assert len(done.stdout.splitlines()) == 3
    assert "sensor_id" in done.stdout


def test_simulate_delivers_what_was_asked(up: Stack) -> None:
    before = sum(up.bronze().values())
    done = up.millrace("simulate", "plant-a", "--rate", "2000", "--count", "4000", "--seed", "9")
    assert done.returncode == 0, done.stderr
    assert "4,000 messages delivered" in done.stdout
    wait_until(lambda: sum(up.bronze().values()) >= before + 4000, 60, "4000 more rows")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("up",), ["already", "millrace down"]),
        (("tail", "temperature-data@plant-x"), ["plant-x", "plant-a"]),
        (("tail", "humidity"), ["humidity", "bronze.temperature"]),
        (("tail", "nothing@plant-a"), ["nothing", "plant-a"]),
        (("client", "plant-a", "--as", "nobody"), ["nobody", "app"]),
        (("simulate", "plant-a", "--rate", "0"), ["--rate=0"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_a_mistake_is_one_message_and_exit_2(
    up: Stack, arguments: tuple[str, ...], words: list[str]
) -> None:
    done = up.millrace(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert all(word in done.stderr for word in words), done.stderr


def test_no_secret_shows_anywhere(up: Stack) -> None:
    """Not in a log, not in a process list, not on Airflow's pages; and files are the owner's."""
    secrets = _secrets(up.home / "var")
    assert len(secrets) >= 8
    arguments = "\n".join(" ".join(process.cmdline()) for process in up.processes())
    logs = "\n".join(
        file.read_text(errors="replace")
        for file in (up.home / "var").rglob("*.log")
        if file.is_file()
    )
    airflow = up.airflow()
    pages = "\n".join(
        airflow.client.get(airflow.task(name)).text + airflow.log_of(name)
        for name in ("provision", "deploy", "supervise")
    )
    jobs = "\n".join(f.read_text() for f in (up.home / "var" / "jobs").rglob("*") if f.is_file())
    for place, text in (("ps", arguments), ("logs", logs), ("Airflow", pages), ("jobs", jobs)):
        assert text
        shown = [name for name, secret in secrets.items() if secret in text]
        assert not shown, f"{place} shows {shown}"


def _secrets(var: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for file in (var / "secrets").rglob("*"):
        if file.is_file():
            assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, f"{file} can be read by others"
            text = file.read_text().strip()
            lines = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
            found[str(file.relative_to(var))] = lines.get("password", text)
    return found
