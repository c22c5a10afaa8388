"""Takes secrets out of text that travels: logs, incidents, pages, messages.

What looks like a secret goes, and rather too much than too little with it: a log should hold none,
and a page travels further than a log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_KEY = (
    r"(?:pass(?:word|wd|phrase)|\bpwd|secret|token|jaas|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|signature|credential|authorization)[\w.-]{0,100}"
)
# Behind a key, perhaps in quotes that may themselves be escaped.
_IS = r"""\\{0,8}["']?\s{0,9}[=:]\s{0,9}"""
# Behind a value in quotes; else these belong to the value.
_ENDS = r"""(?=[\s,;:}\])&\\"']|\Z)"""
_PRIVATE = r"[A-Z0-9 ]{0,30}PRIVATE KEY"
_RULES: tuple[tuple[str, str], ...] = (
    # Keys in PEM: whole, without an end, without a beginning.
    (rf"-----BEGIN {_PRIVATE}-----.*?(?:-----END {_PRIVATE}-----|\Z)", "***"),
    (
        rf"(?m)^(?:[ \t]{{0,40}}[A-Za-z0-9+/=]{{1,100}}\n){{1,300}}"
        rf"[^\n]{{0,40}}-----END {_PRIVATE}-----",
        "***",
    ),
    # A block of YAML.
    (rf"(?i)({_KEY}{_IS})[|>][0-9+-]{{0,2}}[ \t]{{0,9}}\n(?:[ \t]+[^\n]*(?:\n|\Z))+", r"\1***\n"),
    # In quotes: escaped ones, as of JSON in JSON, and others.
    (rf"""(?i)({_KEY}{_IS})b?(\\+["']).*?(?<!\\)\2{_ENDS}""", r"\1***"),
    (rf"""(?i)({_KEY}{_IS})b?"(?:\\.|[^"\\])*"{_ENDS}""", r"\1***"),
    (rf"""(?i)({_KEY}{_IS})b?'(?:\\.|''|[^'\\])*'{_ENDS}""", r"\1***"),
    # Any other value may have spaces in it: to the end of the line.
    (rf"(?i)({_KEY}{_IS})(?!\*\*\*)[^\n]+", r"\1***"),
    (rf"(?i)([-_]{_KEY}\s{{1,9}})(?!\*\*\*)\S+", r"\1***"),
    (r"(?i)\b(bearer\s{1,9})(?!\*\*\*)[^\s,;\"']+", r"\1***"),
    (r"(?i)\b(basic\s{1,9})[A-Za-z0-9+/=_-]{6,}", r"\1***"),
    # By what they look like.
    (r"(?i)\b([a-z][a-z0-9+.-]{0,30}://)[^\s\"'<>]{0,500}@", r"\1***@"),
    (r"(hooks\.slack\.com/services/)[^\s\"'<>]+", r"\1***"),
    (r"(/bot)\d+:[\w.~-]+", r"\1***"),
    (r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}", "***"),
    (r"\beyJ[\w-]{5,}\.[\w-]*(?:\.[\w-]*)*", "***"),
    # A secret key of AWS: 40 characters, large and small ones and a digit among them.
    (
        r"(?<![\w/+=])(?=[a-z0-9/+]{0,39}[A-Z])(?=[A-Z0-9/+]{0,39}[a-z])(?=[A-Za-z/+]{0,39}\d)"
        r"[A-Za-z0-9/+]{40}(?![\w/+=])",
        "***",
    ),
)
_COMPILED = [(re.compile(pattern, re.DOTALL), instead) for pattern, instead in _RULES]


def hidden(text: str) -> str:
    for pattern, instead in _COMPILED:
        text = pattern.sub(instead, text)
    return text


def hidden_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """As one text: a secret may go over several of its lines."""
    return tuple(hidden("\n".join(lines)).splitlines())
