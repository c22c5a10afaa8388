"""Turns what pydantic found into what a person needs: file, line, key, value, way out."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from millrace.base.errors import BadValueError, MissingKeyError, SpecError, UnknownKeyError
from millrace.base.suggest import did_you_mean
from millrace.specs.yaml_lines import Document, KeyPath

_EXAMPLES = {
    "name": "name: temperature",
    "sites": "sites: [plant-a] or sites: all",
    "topics": "topics: [temperature-data]",
    "format": "format: json",
    "table": "table: temperature",
    "bootstrap": "bootstrap: kafka.plant-a.example:9093",
    "to": "to: centre",
}
_PATTERNS = {
    r"^[a-z][a-z0-9-]*$": "small letters, digits and '-', a letter first",
    r"^[a-z][a-z0-9_]*$": "small letters, digits and '_', a letter first",
    r"^[a-zA-Z0-9._-]+$": "letters, digits, '.', '_' and '-'",
    r"^[1-9]\d*[mg]$": "a number and m or g, such as 768m",
}


def explain(document: Document, model: type[BaseModel], error: ValidationError) -> list[SpecError]:
    """One error a key, in the order of the file."""
    found: dict[KeyPath, SpecError] = {}
    for detail in error.errors():
        path = _real_path(document, detail)
        found.setdefault(path, _explain_one(document, model, path, detail))
    roots = [path for path in found if not any(_is_inside(other, path) for other in found)]
    return sorted((found[path] for path in roots), key=lambda one: one.place.line or 0)


def _is_inside(path: KeyPath, outer: KeyPath) -> bool:
    """A list with a bad entry is reported by its entry alone."""
    return len(path) > len(outer) and path[: len(outer)] == outer


def _real_path(document: Document, detail: ErrorDetails) -> KeyPath:
    """Pydantic's path without the names of union branches, which stand in no file."""
    path: KeyPath = ()
    for part in detail["loc"]:
        is_last_and_absent = detail["type"] == "missing" and part == detail["loc"][-1]
        if (*path, part) in document.lines or is_last_and_absent:
            path = (*path, part)
    return path


def _explain_one(
    document: Document, model: type[BaseModel], path: KeyPath, detail: ErrorDetails
) -> SpecError:
    place = document.place(path)
    if detail["type"] == "extra_forbidden":
        return UnknownKeyError(place, _unknown_key(path, _keys_at(model, path[:-1])))
    if detail["type"] == "missing":
        key = str(path[-1])
        example = f"; write such as '{_EXAMPLES[key]}'" if key in _EXAMPLES else ""
        return MissingKeyError(place, f"'{_dotted(path)}' is missing{example}")
    return BadValueError(place, f"{_dotted(path)}={_shown(detail['input'])}: {_problem(detail)}")


def _unknown_key(path: KeyPath, keys: list[str]) -> str:
    guess = did_you_mean(str(path[-1]), keys)
    return f"unknown key '{_dotted(path)}'; {guess}keys here are {', '.join(keys)}"


def _keys_at(model: type[BaseModel], path: KeyPath) -> list[str]:
    for part in path:
        field = model.model_fields.get(str(part))
        inner = _model_in(field.annotation) if field else None
        if inner is None:
            return []
        model = inner
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    candidates = [annotation, *get_args(annotation)]
    return next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), None)


def _problem(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    match detail["type"]:
        case "value_error":
            return str(context["error"])
        case "string_pattern_mismatch":
            return f"write {_PATTERNS.get(context['pattern'], context['pattern'])}"
        case "literal_error":
            return f"write {context['expected']}"
        case "too_short" | "tuple_type":
            return "write a list with at least one entry, such as [temperature-data]"
        case "model_type" | "model_attributes_type" | "dict_type":
            return "write 'key: value' lines here, indented"
        case "string_type":
            return "write text; a word that YAML reads otherwise needs quotes"
    return detail["msg"].removeprefix("Input should be ").join(("it should be ", ""))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _dotted(path: KeyPath) -> str:
    return ".".join(str(part) for part in path) or "file"
