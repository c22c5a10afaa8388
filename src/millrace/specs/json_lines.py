"""JSON, with the line of every key, so that an error can point at it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

import yaml

from millrace.base.errors import BadValueError, Place
from millrace.specs.yaml_lines import Document, KeyPath, note_lines


def read_json(file: Path) -> Document:
    try:
        text = file.read_text(encoding="utf-8")
        values = json.loads(text, parse_constant=_refuse_constant)
        # Half of a pair of \uXXXX is JSON, but no text that could go anywhere.
        json.dumps(values, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        problem = f"this is not JSON: {error.msg} (column {error.colno})"
        raise BadValueError(Place(file, error.lineno), problem) from error
    except (ValueError, RecursionError) as error:
        raise BadValueError(Place(file), f"this is not JSON: {error}") from error
    except OSError as error:
        raise BadValueError(Place(file), f"cannot be read: {error.strerror}") from error
    if not isinstance(values, dict):
        raise BadValueError(Place(file, 1), 'holds no object; write {"name": ..., ...}')
    return Document(file, values, _lines(text, file))


def _lines(text: str, file: Path) -> dict[KeyPath, int]:
    """JSON is YAML, but for tabs between its tokens."""
    lines: dict[KeyPath, int] = {}
    try:
        root = yaml.compose(text.replace("\t", " "), Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return lines
    if root:
        note_lines(root, (), lines, file)
    return lines


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def part_of(document: Document, path: KeyPath, values: dict[str, Any]) -> Document:
    """What stands below `path`, as a document by itself."""
    inside = len(path)
    lines = {key[inside:]: line for key, line in document.lines.items() if key[:inside] == path}
    return Document(document.file, values, lines)
