"""The judge itself, on small policies."""

from __future__ import annotations

from typing import Any

import pytest

from tests.terraform.support.policy import Call, UnknownPolicyError, is_allowed

READ = {"Effect": "Allow", "Action": ["s3:Get*"], "Resource": "arn:aws:s3:::lake/bronze/*"}
NO_PLAIN_TEXT = {
    "Effect": "Deny",
    "Action": "s3:*",
    "Resource": "*",
    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
}
LIST = {
    "Effect": "Allow",
    "Action": "s3:ListBucket",
    "Resource": "*",
    "Condition": {"StringLike": {"s3:prefix": ["bronze/*"]}},
}
OWN_KEY = {
    "Effect": "Deny",
    "Action": "s3:GetObject",
    "Resource": "*",
    "Condition": {"StringNotEqualsIfExists": {"key": "ours"}},
}
NAMED_KEY = {
    **OWN_KEY,
    "Condition": {"StringNotEquals": {"key": "ours"}, "Null": {"key": "false"}},
}
OBJECT = "arn:aws:s3:::lake/bronze/t/1"

CASES: dict[str, tuple[list[dict[str, Any]], Call, bool]] = {
    "what nobody allows is refused": ([], Call("s3:GetObject", OBJECT), False),
    "an action by its beginning": ([READ], Call("s3:GetObject", OBJECT), True),
    "actions know no case": ([READ], Call("S3:getobject", OBJECT), True),
    "another action": ([READ], Call("s3:PutObject", OBJECT), False),
    "another prefix": ([READ], Call("s3:GetObject", "arn:aws:s3:::lake/silver/t"), False),
    "a refusal wins": (
        [READ, NO_PLAIN_TEXT],
        Call("s3:GetObject", OBJECT, {"aws:SecureTransport": "false"}),
        False,
    ),
    "a refusal for others": (
        [READ, NO_PLAIN_TEXT],
        Call("s3:GetObject", OBJECT, {"aws:SecureTransport": "true"}),
        True,
    ),
    "a condition that holds": ([LIST], Call("s3:ListBucket", "b", {"s3:prefix": "bronze/t"}), True),
    "a condition that does not": ([LIST], Call("s3:ListBucket", "b", {"s3:prefix": ""}), False),
    "a condition on what is not told": ([LIST], Call("s3:ListBucket", "b"), False),
    "if it exists, and it does not": ([READ, OWN_KEY], Call("s3:GetObject", OBJECT), False),
    "named, and not ours": ([READ, NAMED_KEY], Call("s3:GetObject", OBJECT, {"key": "x"}), False),
    "not named at all": ([READ, NAMED_KEY], Call("s3:GetObject", OBJECT), True),
    "if it exists, and is ours": (
        [READ, OWN_KEY],
        Call("s3:GetObject", OBJECT, {"key": "ours"}),
        True,
    ),
}


@pytest.mark.parametrize(("statements", "call", "allowed"), CASES.values(), ids=CASES)
def test_judges_as_aws_does(statements: list[dict[str, Any]], call: Call, allowed: bool) -> None:
    assert is_allowed(statements, call) == allowed


@pytest.mark.parametrize(
    "more", [{"NotAction": "s3:*"}, {"Condition": {"NumericEquals": {"a": "1"}}}], ids=str
)
def test_what_it_does_not_know_it_does_not_judge(more: dict[str, Any]) -> None:
    with pytest.raises(UnknownPolicyError):
        is_allowed([{**READ, **more}], Call("s3:GetObject", OBJECT))
