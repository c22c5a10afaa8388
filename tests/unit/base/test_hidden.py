"""A secret that came into a text does not come out of it, whatever shape it had there."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from millrace.base.hidden import hidden, hidden_lines

# Whatever is left of a secret has one of these.
BEGIN, END = "Zq7x", "x7qZ"
KEYS = (
    *("password", "sasl.password", "PASSWORD", "ssl.key.password", "db_passwd", "client_secret"),
    *("token", "access_token", "api_key", "apiKey", "aws_secret_access_key", "private-key"),
    *("passphrase", "X-Amz-Signature", "credential", "sasl.jaas.config", "Authorization"),
)
keys = st.sampled_from(KEYS)
visible = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]))
words = st.text("abcXYZ019_-.~+/!$%&*()?:;,@'\"\\", max_size=30)
safe_words = st.text("abcXYZ019_-.~", max_size=30)


def secret(inner: str) -> str:
    """A value that begins with a quote is over where that quote ends."""
    return inner[:2].strip("'\"") + BEGIN + inner + END


def assert_hidden(text: str) -> None:
    shown = hidden(text)
    assert BEGIN not in shown, shown
    assert END not in shown, shown


def shapes(key: str, value: str) -> dict[str, str]:
    """For values of any characters but line breaks."""
    as_json = json.dumps({"user": "u", key: value, "next": 1})
    return {
        "json": f"got {as_json} from it",
        "json with umlauts": json.dumps({key: value}, ensure_ascii=False),
        "json, indented": json.dumps({"a": {key: value}}, indent=2),
        "json in json": json.dumps({"message": as_json}),
        "json in json in json": json.dumps(json.dumps(as_json)),
        "yaml": yaml.safe_dump({"user": "u", key: value}, width=10_000),
        "yaml with umlauts": yaml.safe_dump({key: value}, allow_unicode=True, width=10_000),
        "yaml, a flow": yaml.safe_dump({key: value}, default_flow_style=True, width=10_000),
        "yaml, a block": f"user: u\n{key}: |\n  first\n  {value}\nnext: x",
        "python": repr({"user": "u", key: value}),
        "bytes": repr({key: value.encode()}),
        "properties": f"user=u\n{key}={value}\nnext=x",
        "properties with spaces": f"  {key} = {value}",
        "header": f"{key}: {value}",
    }


@pytest.mark.generated
@given(keys, visible | words)
def test_no_shape_of_a_setting_shows_its_secret(key: str, inner: str) -> None:
    for text in shapes(key, secret(inner)).values():
        assert_hidden(text)
        assert_hidden(f"2026-11-20 ERROR it said: {text}")


@pytest.mark.generated
@given(keys, safe_words)
def test_no_word_that_is_a_secret_is_shown(key: str, inner: str) -> None:
    value = secret(inner)
    for text in (
        f"GET /x?{key}={value}&y=1 from a",
        f"run --{key.replace('.', '-')} {value} --next",
        f"run --{key.replace('.', '-')}={value} --next",
        f"Authorization: Bearer {value}",
        f"sent with bearer {value}, and refused",
        f"{{'Authorization': 'Bearer {value}'}}",
        f"curl -H 'Authorization: Basic {base64.b64encode(value.encode()).decode()}'",
        f'ScramLoginModule required username="u" password="{value}";',
        f"sasl.jaas.config=org.apache.ScramLoginModule required password='{value}' x=\"{value}\";",
        f"post to https://hooks.slack.com/services/T0/{value} failed",
        f"https://api.telegram.org/bot123456:{value}/sendMessage",
    ):
        assert_hidden(text)


@pytest.mark.generated
@given(st.sampled_from(["https", "postgresql+psycopg2", "amqp"]), words)
def test_who_logs_in_by_an_address_is_not_shown(scheme: str, inner: str) -> None:
    for value in (quote(secret(inner), safe=""), secret(inner.replace('"', "").replace("'", ""))):
        assert_hidden(f"no answer from {scheme}://user:{value}@host:5432/db?x=1")
        assert_hidden(f"no answer from {scheme}://{value}@host")


@pytest.mark.generated
@given(st.sampled_from(["", "RSA ", "EC ", "ENCRYPTED ", "OPENSSH "]), st.binary(min_size=300))
def test_a_private_key_is_not_shown_nor_any_line_of_it(kind: str, content: bytes) -> None:
    encoded = base64.b64encode(content).decode()
    body = [encoded[at : at + 64] for at in range(0, len(encoded), 64)]
    begin, end = f"-----BEGIN {kind}PRIVATE KEY-----", f"-----END {kind}PRIVATE KEY-----"
    whole = ["before it", begin, *body, end, "behind it"]
    for lines in (whole, whole[:-2], [*body, end, "behind it"], [json.dumps("\n".join(whole))]):
        shown = "\n".join(hidden_lines(lines))
        assert not any(line in shown for line in body[:-1])
    assert hidden_lines(whole) == ("before it", "***", "behind it")


@pytest.mark.parametrize(
    "word",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ASIAIOSFODNN7EXAMPLE",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
    ],
)
def test_a_secret_that_is_known_by_its_looks_is_not_shown(word: str) -> None:
    assert word not in hidden(f"called with {word} by x")


@pytest.mark.parametrize(
    "text",
    [
        "exit 1: out of memory",
        "no token, or a wrong one",
        "wrong password for user 'gateway', or no such user",
        "9fceb02d0ae598e95dc970b74767f19372d61af8 is a commit",
        "https://plant-a:7003/status is away, see https://x/y?z=1",
        "topic t: partition 3, offset 4711; 5 records are missing",
        "plain text, a basic idea",
        "-----BEGIN CERTIFICATE-----",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert hidden(text) == text
    assert hidden_lines([text, text]) == (text, text)


@pytest.mark.parametrize(
    "piece",
    [
        "password",
        "://",
        "-----BEGIN PRIVATE KEY-----",
        "a" * 64 + "\n",
        "token: |\n a\n",
        "\\",
        "'",
    ],
)
def test_a_text_of_any_make_is_soon_read(piece: str) -> None:
    """In steps that grow with its length: a second for 200 KB would be far too slow."""
    text = piece * (200_000 // len(piece))
    assert len(hidden(text)) <= len(text) + 10
