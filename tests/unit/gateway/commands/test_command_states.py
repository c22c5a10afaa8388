"""The desk of commands: each is sent once at most, and has one outcome."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from millrace.gateway.commands.core.command import (
    Answer,
    Command,
    CommandOutcome,
    CommandResult,
    command_line,
    deadline,
    read_answer,
    read_command,
    read_response,
)
from millrace.gateway.commands.core.command_states import CommandStates, Memory, Rules
from millrace.gateway.routes.core.risk import RISK
from millrace.gateway.spec.core.gateway_file import GatewaySpec
from millrace.gateway.spec.core.mqtt_input import MqttCommands

START = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
DONE = Answer("c1", CommandResult.DONE, "")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def command(command_id: str = "c1", life_s: float = 60, **values: Any) -> Command:
    own = {"id": command_id, "device": "press", "name": "open", "issued_at": START}
    return Command.model_validate({**own, "expires_at": at(life_s), **values})


def desk(*commands: Command, **rules: Any) -> CommandStates:
    made = CommandStates(Memory(), Rules(**rules))
    for one in commands:
        assert made.on_command(one, START, START) is None
    return made


def restarted(before: CommandStates, **rules: Any) -> CommandStates:
    text = before.memory({0: 1}).model_dump_json()
    return CommandStates(Memory.model_validate_json(text), Rules(**rules))


def sent(made: CommandStates, now_s: float = 1, reaches: bool = True) -> list[str]:
    return [one.command.id for one in made.start_sending(lambda _: reaches, at(now_s))]


def recorded(made: CommandStates, outcome: CommandOutcome | None) -> CommandOutcome:
    assert outcome
    made.on_recorded(outcome.id)
    return outcome


def test_a_command_is_sent_once_in_the_order_in_which_they_came():
    made = desk(command("c1"), command("c2"))
    assert sent(made) == ["c1", "c2"]
    assert sent(made) == []


def test_a_command_waits_for_its_device():
    made = desk(command())
    assert sent(made, reaches=False) == []
    assert sent(restarted(made)) == ["c1"], "also through a restart"


def test_what_counts_as_sent_is_not_sent_after_a_restart():
    made = desk(command())
    sent(made)
    assert sent(restarted(made)) == []


def test_what_surely_did_not_leave_is_sent_later():
    made = desk(command())
    sent(made)
    made.take_back("c1")
    assert sent(made) == ["c1"]


def test_an_answer_is_its_outcome():
    made = desk(command())
    sent(made)
    outcome = made.on_answer(Answer("c1", CommandResult.FAILED, "too hot"), "press", at(2))
    assert outcome == CommandOutcome(
        id="c1", device="press", at=at(2), outcome=CommandResult.FAILED, text="too hot"
    )


def test_what_was_sent_before_a_restart_may_be_answered_after_it():
    made = desk(command())
    sent(made)
    assert restarted(made).on_answer(DONE, "press", at(3)) is not None


@pytest.mark.parametrize(
    ("answer", "device"),
    [(DONE, "other"), (Answer("c9", CommandResult.DONE, ""), "press")],
    ids=["of another device", "to no command"],
)
def test_an_answer_that_is_not_its_own_changes_nothing(answer, device):
    made = desk(command())
    sent(made)
    assert made.on_answer(answer, device, at(2)) is None
    assert made.on_answer(DONE, "press", at(2)) is not None


def test_there_is_one_outcome_whoever_comes_second():
    made = desk(command())
    sent(made)
    made.on_answer(DONE, "press", at(2))
    assert made.on_answer(DONE, "press", at(2)) is None, "not on disk yet"
    assert made.on_timer(at(61)) == []
    made.on_recorded("c1")
    assert made.on_answer(DONE, "press", at(3)) is None
    assert made.on_timer(at(61)) == []


@pytest.mark.parametrize("restart", [False, True])
def test_a_replay_of_what_was_answered_changes_nothing(restart):
    made = desk(command())
    sent(made)
    recorded(made, made.on_answer(DONE, "press", at(2)))
    made = restarted(made) if restart else made
    assert made.on_command(command(), at(3), at(3)) is None
    assert sent(made) == []


def test_a_decided_command_is_not_sent_while_its_outcome_is_on_its_way_to_the_disk():
    made = desk(command())
    (outcome,) = made.on_timer(at(60))
    made.take_back(outcome.id)
    assert sent(made, 59) == []


@pytest.mark.parametrize(
    ("is_sent", "text"),
    [(False, "its device was not connected"), (True, "sent at 2026-05-04T12:00:01.000+00:00")],
)
def test_who_is_not_answered_expires_and_says_why(is_sent, text):
    made = desk(command())
    if is_sent:
        sent(made)
    assert made.on_timer(at(59)) == []
    (outcome,) = made.on_timer(at(60))
    assert outcome.outcome is CommandResult.EXPIRED
    assert outcome.text.startswith(text)
    recorded(made, outcome)
    assert made.on_answer(DONE, "press", at(61)) is None, "too late"


def test_what_has_expired_is_never_sent():
    made = desk(command())
    assert sent(made, 60) == []
    late = CommandStates(Memory(), Rules())
    outcome = recorded(late, late.on_command(command(), START, at(60)))
    assert outcome.outcome is CommandResult.EXPIRED
    assert sent(late, 61) == []


def test_an_id_is_known_until_its_command_has_expired():
    made = desk(command())
    sent(made)
    recorded(made, made.on_answer(DONE, "press", at(2)))
    made.on_timer(at(59))
    assert made.memory(None).closed == {"c1": at(60)}
    made.on_timer(at(60))
    assert made.memory(None).closed == {}
    again = made.on_command(command(), at(61), at(61))
    assert again
    assert again.outcome is CommandResult.EXPIRED, "by itself, without being known"


@pytest.mark.parametrize(
    ("given", "rules", "verdict"),
    [
        (command(device="other"), {"devices": {"press"}}, CommandResult.UNKNOWN_DEVICE),
        (command(life_s=8 * 86_400), {}, CommandResult.REFUSED),
        (command("c2"), {"most_open": 1}, CommandResult.REFUSED),
    ],
    ids=["device", "life", "room"],
)
def test_what_is_refused_is_told_of_and_never_sent(given, rules, verdict):
    made = CommandStates(Memory(), Rules(**rules))
    if "most_open" in rules:
        made.on_command(command("c1"), START, START)
    outcome = recorded(made, made.on_command(given, START, START))
    assert outcome.outcome is verdict
    assert made.on_command(given, START, START) is None
    assert given.id not in sent(made)


@pytest.mark.parametrize(
    ("issuers_clock_s", "dies_s"),
    [(0, 30), (3_600, 30), (-20, 10), (-3_600, -3_570)],
    ids=["right", "an hour ahead", "a little behind", "an hour behind"],
)
def test_a_clock_that_is_wrong_makes_no_command_live_longer(issuers_clock_s, dies_s):
    issued = at(issuers_clock_s)
    given = command(issued_at=issued, expires_at=issued + timedelta(seconds=30))
    assert deadline(given, START) == at(dies_s)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b"OUTCOME c1 done", DONE),
        (b"OUTCOME c1 failed too hot", Answer("c1", CommandResult.FAILED, "too hot")),
        (
            b"OUTCOME c1 failed \xff",
            Answer("c1", CommandResult.FAILED, "\N{REPLACEMENT CHARACTER}"),
        ),
        (b"OUTCOME c1 expired", None),
        (b"OUTCOME c1", None),
        (b"OUTCOME c 1 done", None),
        (b"OUTCOME c1 done " + b"x" * 501, None),
        (b'{"id":"c1"}', None),
    ],
)
def test_an_answer_is_told_from_a_message(line, answer):
    assert read_answer(line) == answer


def test_a_response_by_mqtt_says_no_more_than_what_became_of_it():
    assert read_response(b"c1", b"done") == DONE
    assert read_response(b"c1", b"doing") is None


def test_a_command_is_a_line_and_can_be_read_again():
    line = command_line(command(arguments={"text": "two\nlines"}))
    assert line.count(b"\n") == 1
    assert read_command(line.removeprefix(b"COMMAND ")) == command(arguments={"text": "two\nlines"})


@pytest.mark.parametrize("value", [None, b"", b"[]", b'{"id":"c1"}', b"\xff"])
def test_what_is_no_command_is_none(value):
    assert read_command(value) is None


@pytest.mark.parametrize(
    "values",
    [
        {"expires_at": START},
        {"issued_at": START.replace(tzinfo=None)},
        {"id": "c 1"},
        {"device": "a device"},
        {"extra": 1},
    ],
)
def test_a_command_without_sense_is_refused_where_it_is_made(values):
    with pytest.raises(ValidationError):
        command(**values)


@pytest.mark.parametrize(
    ("topic", "device"),
    [
        ("site/pump-1/outcome", "pump-1"),
        ("site/pump-1/other", None),
        ("site/pump-1/outcome/more", None),
        ("site/pump-1", None),
    ],
)
def test_an_outcome_by_mqtt_is_of_the_device_whose_topic_it_is(topic, device):
    commands = MqttCommands(to="site/{device}/command", outcomes="site/{device}/outcome")
    assert commands.answering_device(topic) == device
    assert commands.outcome_filter == "site/+/outcome"


@pytest.mark.parametrize("topic", ["commands", "commands/x{device}", "{device}/{device}", "+"])
def test_a_topic_of_commands_has_one_level_for_the_device(topic):
    with pytest.raises(ValidationError, match="needs one level"):
        MqttCommands(to=topic)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"commands": True}, "needs acknowledge"),
        ({"name": "commands"}, "may be called 'commands'"),
        ({"names": "certificate"}, "names: certificate needs tls"),
    ],
)
def test_a_gateways_file_that_cannot_know_its_devices_is_refused(values, problem):
    one = {
        "name": "tcp",
        "kind": "tcp",
        "listen": "0.0.0.0:1",
        "plain": True,
        "risk": RISK,
        "topic": "t",
    }
    with pytest.raises(ValidationError, match=problem):
        GatewaySpec.model_validate({"site": "plant-a", "data": "d", "inputs": [one | values]})
