"""What an MQTT input decides: whose numbers count, and which messages are under way."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from millrace.gateway.mqtt.core.flights import Arrival, Flights, numbered
from millrace.gateway.routes.core.risk import RISK
from millrace.gateway.spec.core.gateway_file import GatewaySpec, Input
from millrace.gateway.spool.core.ledger import Heading, MessageLedger, Unkept
from millrace.gateway.spool.core.records import Draft

GOOD = {
    "name": "mqtt",
    "kind": "mqtt",
    "broker": "mqtt.plant:8883",
    "subscribe": ["plant/#"],
    "session": "gateway",
    "topic": "t",
    "tls": {"ca": "ca.pem"},
    "login": "login",
}
LISTENING = {
    "name": "tcp",
    "kind": "tcp",
    "listen": "0.0.0.0:7001",
    "plain": True,
    "risk": RISK,
    "topic": "t",
}
NUMBERED = [("millrace-origin", "plc-1"), ("millrace-number", "7")]


def load(**values: Any) -> Any:
    given = {key: value for key, value in (GOOD | values).items() if value is not None}
    return TypeAdapter(Input).validate_python(given)


def test_a_numbered_message_has_an_origin():
    origin, number = numbered("plant/1", NUMBERED)
    assert origin.startswith(b"mqtt/")
    assert number == 7


@pytest.mark.parametrize(
    "properties",
    [
        [],
        [("millrace-number", "7")],
        [("millrace-origin", "plc-1")],
        [("millrace-origin", "plc 1"), ("millrace-number", "7")],
        [("millrace-origin", "x" * 201), ("millrace-number", "7")],
        *(
            [("millrace-origin", "plc-1"), ("millrace-number", number)]
            for number in ("0", "-1", "1.5", "", "\N{SUPERSCRIPT TWO}", str(2**63))
        ),
    ],
)
def test_who_does_not_count_well_is_not_counted(properties):
    assert numbered("plant/1", properties) == (b"", 0)


def test_who_may_publish_to_one_topic_cannot_spoil_the_numbers_of_another():
    assert numbered("plant/1", NUMBERED)[0] != numbered("plant/2", NUMBERED)[0]


def test_a_message_is_acknowledged_when_it_is_safe():
    flights = Flights()
    flight, arrival = flights.on_message(1)
    assert arrival is Arrival.TAKE
    assert flights.on_safe(flight, is_connected=True)
    assert len(flights) == 0


def test_what_comes_again_while_it_is_under_way_is_not_taken_twice():
    flights = Flights()
    flight, _ = flights.on_message(1)
    flights.on_connected(is_resumed=True)
    assert flights.on_message(1) == (flight, Arrival.WAIT)
    assert flights.on_safe(flight, is_connected=True)


def test_what_became_safe_while_the_connection_was_away_is_acknowledged_when_it_comes_again():
    flights = Flights()
    flight, _ = flights.on_message(1)
    assert not flights.on_safe(flight, is_connected=False)
    flights.on_connected(is_resumed=True)
    assert flights.on_message(1)[1] is Arrival.ACKNOWLEDGE
    flights.on_acknowledged(flight)
    assert flights.on_message(1)[1] is Arrival.TAKE, "the next one under this id"


def test_a_new_session_gives_the_same_ids_to_other_messages():
    flights = Flights()
    old, _ = flights.on_message(1)
    flights.on_connected(is_resumed=False)
    new, arrival = flights.on_message(1)
    assert arrival is Arrival.TAKE
    assert not flights.on_safe(old, is_connected=True), "another message would be acknowledged"
    flights.on_acknowledged(old)
    assert flights.on_safe(new, is_connected=True)


@pytest.mark.parametrize(("waits", "kept"), [(True, False), (False, True)])
def test_a_missing_number_holds_up_only_who_sends_it_again(waits, kept):
    ledger = MessageLedger(Heading(epoch=1), waits_for_missing=waits)
    ledger.enter([Draft(b"t", None, b"1", b"plc", 1)])
    ledger.settle()
    (entry,) = ledger.enter([Draft(b"t", None, b"3", b"plc", 3)])
    assert (entry is not Unkept.TOO_EARLY) == kept
    (again,) = ledger.enter([Draft(b"t", None, b"1", b"plc", 1)])
    assert again is Unkept.KNOWN


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"tls": None}, "it has no tls"),
        ({"plain": True}, "it has tls, and plain"),
        ({"risk": RISK}, "it has tls, and plain or risk"),
        ({"tls": None, "plain": True}, "'risk: anybody can read and alter it'"),
        ({"tls": None, "plain": True, "risk": "yes"}, "Input should be 'anybody can"),
        ({"login": None}, "give it login, or tls.certificate"),
        ({"subscribe": []}, "at least 1"),
        ({"subscribe": ["plant/#/x"]}, "no filter of MQTT topics"),
        ({"subscribe": ["plant/a+"]}, "no filter of MQTT topics"),
        ({"session": None}, "Field required"),
        ({"session": "two words"}, "match pattern"),
        ({"broker": "mqtt.plant"}, "is not host:port"),
        ({"listen": "0.0.0.0:1"}, "Extra inputs"),
        ({"receive_maximum": 0}, "greater than or equal to 1"),
    ],
)
def test_a_mistake_of_an_mqtt_input_is_named(values, problem):
    with pytest.raises(ValidationError, match=problem):
        load(**values)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"login": None, "tls": {"ca": "ca.pem", "certificate": "own.pem"}},
        {"login": None, "tls": None, "plain": True, "risk": RISK},
        {"key": {"level": 2}, "subscribe": ["+/state", "#", "a//b"]},
    ],
)
def test_an_mqtt_input_may_be(values):
    assert load(**values).where == "mqtt.plant:8883"


def test_levels_are_of_mqtt_alone():
    with pytest.raises(ValidationError, match="only an input of kind mqtt"):
        TypeAdapter(Input).validate_python(LISTENING | {"key": {"level": 2}})


def test_two_inputs_with_one_session_would_drive_each_other_out():
    inputs = [GOOD, GOOD | {"name": "other"}]
    with pytest.raises(ValidationError, match="two inputs have session 'gateway'"):
        GatewaySpec.model_validate({"site": "plant-a", "data": "data", "inputs": inputs})
