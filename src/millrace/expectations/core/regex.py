"""Is a regular expression one that Java can read? Checked without a Java.

Taken are those that Python reads too and in which nothing stands that only Python knows. A test
holds this against Java's own parser.
"""

from __future__ import annotations

import re
import warnings

# An escape; the first group are Java's classes of letters, which Python has not.
_ESCAPE = re.compile(
    r"\\(?:([pP]\{(?:L|Lu|Ll|N|Nd|P|S|Z|Alpha|Digit|Alnum|Upper|Lower|Punct)\})|.)", re.DOTALL
)
_ONLY_PYTHON_ESCAPE = re.compile(r"\\[NUZ0-9]")
_ONLY_PYTHON = re.compile(r"\(\?(?:P|\(|#|[a-zA-Z]*[aLux])")
_CLASS = re.compile(r"\[\^?(\]?[^\]]*)\]")
_QUANTIFIER = re.compile(r"\{\d+(,\d*)?\}")


def check_regex(pattern: str) -> str:
    """The pattern; raises ValueError with what is wrong with it."""
    bare = _ESCAPE.sub(lambda match: match[0] if match[0] == r"\b" else "x", pattern)
    escapes = [match.group() for match in _ESCAPE.finditer(pattern)]
    odd = [escape for escape in escapes if _ONLY_PYTHON_ESCAPE.fullmatch(escape)]
    odd += _ONLY_PYTHON.findall(bare)
    if odd:
        raise ValueError(f"{odd[0]!r} is not supported in a regex; write it without")
    _check_python(_ESCAPE.sub(lambda match: r"\w" if match[1] else match[0], pattern))
    _check_brackets(bare)
    return pattern


def _check_python(pattern: str) -> None:
    try:
        with warnings.catch_warnings():
            # Such as for '&&' in a class, which means something to Java.
            warnings.simplefilter("error")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise ValueError(f"it is not a regular expression: {error}") from None


def _check_brackets(bare: str) -> None:
    """`bare` has no escape left but word boundaries. Java reads all of these otherwise."""
    classes = _CLASS.findall(bare)
    if any("[" in inner or inner.startswith("]") for inner in classes):
        raise ValueError(r"inside [...] a '[' or ']' is written \[ or \]")
    if any("\\b" in inner for inner in classes):
        raise ValueError(r"inside [...] there is no word boundary; write it without \b")
    rest = _QUANTIFIER.sub("", _CLASS.sub("x", bare))
    if "{" in rest or "}" in rest:
        raise ValueError(r"'{' and '}' that are no count such as {1,3} are written \{ and \}")
