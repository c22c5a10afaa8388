"""Judges a call as AWS would, as far as our policies go.

What it does not know it refuses to judge, so a policy that uses more fails the tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Statement = Mapping[str, Any]
_KNOWN = {"Sid", "Effect", "Principal", "Action", "Resource", "Condition"}
_IF_EXISTS = "IfExists"


class UnknownPolicyError(Exception):
    """A policy that says more than is understood here."""


@dataclass(frozen=True)
class Call:
    action: str
    resource: str
    # What AWS knows of the call, such as {"s3:prefix": "lake/"}.
    context: Mapping[str, str] = field(default_factory=dict)


def is_allowed(statements: Iterable[Statement], call: Call) -> bool:
    effects = {statement["Effect"] for statement in statements if applies(statement, call)}
    return "Allow" in effects and "Deny" not in effects


def applies(statement: Statement, call: Call) -> bool:
    """Whom it is for is not asked: give the statements of one principal."""
    unknown = set(statement) - _KNOWN
    if unknown:
        raise UnknownPolicyError(f"{statement.get('Sid')}: {', '.join(sorted(unknown))}")
    return (
        any(is_like(call.action.lower(), action.lower()) for action in many(statement["Action"]))
        and any(is_like(call.resource, resource) for resource in many(statement["Resource"]))
        and all(
            _holds(operator, key, many(wanted), call.context)
            for operator, keys in statement.get("Condition", {}).items()
            for key, wanted in keys.items()
        )
    )


def _holds(operator: str, key: str, wanted: list[str], context: Mapping[str, str]) -> bool:
    name = operator.removesuffix(_IF_EXISTS)
    if name not in {*_OPERATORS, "Null"}:
        raise UnknownPolicyError(f"{operator} of {key}")
    if name == "Null":
        return wanted == [str(key not in context).lower()]
    if key not in context:
        return operator.endswith(_IF_EXISTS) or name.startswith("StringNot")
    return _OPERATORS[name](context[key], wanted)


def is_like(value: str, pattern: str) -> bool:
    """`*` is any text, `?` any letter; all else is itself."""
    parts = (".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    return re.fullmatch("".join(parts), value, re.DOTALL) is not None


def _any_like(value: str, patterns: list[str]) -> bool:
    return any(is_like(value, pattern) for pattern in patterns)


_OPERATORS: Mapping[str, Callable[[str, list[str]], bool]] = {
    "ArnLike": _any_like,
    "Bool": lambda value, wanted: value.lower() in (one.lower() for one in wanted),
    "StringEquals": lambda value, wanted: value in wanted,
    "StringLike": _any_like,
    "StringNotEquals": lambda value, wanted: value not in wanted,
}


def many(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
