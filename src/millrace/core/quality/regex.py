"""Is a regular expression one that Java can read? Checked without a Java.

Taken are those that Python reads too and in which nothing stands that only Python knows. A test
holds this against Java's own parser.
"""

from __future__ import annotations

import re

# Java's classes of letters, which Python has not.
_CLASSES = re.compile(r"\\[pP]\{(L|Lu|Ll|N|Nd|P|S|Z|Alpha|Digit|Alnum|Upper|Lower|Punct)\}")
_ONLY_PYTHON = re.compile(r"\(\?(P|\(|#|[a-z]*[aLu])|\\[NUZ0-9]")
_QUANTIFIER = re.compile(r"\{\d+(,\d*)?\}")
_ESCAPED = re.compile(r"\\.", re.DOTALL)


def check_regex(pattern: str) -> str:
    """The pattern; raises ValueError with what is wrong with it."""
    plain = _CLASSES.sub(r"\\w", pattern)
    found = _ONLY_PYTHON.search(plain.replace("\\\\", ""))
    if found:
        raise ValueError(f"{found.group()!r} is not supported in a regex; write it without")
    _check_brackets(_ESCAPED.sub("x", plain))
    try:
        re.compile(plain)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"it is not a regular expression: {error}") from None
    return pattern


def _check_brackets(bare: str) -> None:
    """`bare` has no escapes left. Java gives a meaning to what Python takes for itself."""
    classes = re.sub(r"\[\^?\]?[^\]]*\]", _check_class, bare)
    rest = _QUANTIFIER.sub("", classes)
    if "{" in rest or "}" in rest:
        raise ValueError(r"'{' and '}' that are no count such as {1,3} are written \{ and \}")


def _check_class(match: re.Match[str]) -> str:
    inner = match.group()[1:-1]
    if "[" in inner or "&&" in inner or inner.lstrip("^").startswith("]"):
        raise ValueError(r"inside [...] a '[', ']' or '&&' is written \[, \] or \&\&")
    return "x"
