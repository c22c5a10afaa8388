"""YAML, with the line of every key, so that an error can point at it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from millrace.base.errors import BadValueError, Place

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """A file's values and where each stands."""

    file: Path
    values: dict[str, Any]
    lines: dict[KeyPath, int]

    def place(self, path: KeyPath) -> Place:
        """The line of a key, or of the nearest one above it that the file has."""
        while path and path not in self.lines:
            path = path[:-1]
        return Place(self.file, self.lines.get(path))


def read_document(file: Path) -> Document:
    try:
        root = yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        problem = f"this is not YAML: {error.problem}"
        if error.context:
            problem += f" ({error.context})"
        raise BadValueError(Place(file, line), problem) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadValueError(Place(file), f"this is not YAML text: {error}") from error
    except OSError as error:
        raise BadValueError(Place(file), f"cannot be read: {error.strerror}") from error
    if not isinstance(root, yaml.MappingNode):
        raise BadValueError(
            Place(file, 1), "holds no 'key: value' lines; every file needs 'name: ...'"
        )
    lines: dict[KeyPath, int] = {}
    note_lines(root, (), lines, file)
    try:
        values = yaml.SafeLoader("").construct_document(root)
    except (yaml.YAMLError, ValueError) as error:
        raise BadValueError(Place(file), f"this is not YAML: {error}") from error
    return Document(file, values, lines)


def note_lines(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int], file: Path) -> None:
    """Where each key below `node` stands; one that stands twice is an error."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*path, key.value)
            if here in lines:
                place = Place(file, key.start_mark.line + 1)
                raise BadValueError(
                    place, f"'{key.value}' stands twice; it is in line {lines[here]} too"
                )
            lines[here] = key.start_mark.line + 1
            note_lines(value, here, lines, file)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            lines[(*path, number)] = item.start_mark.line + 1
            note_lines(item, (*path, number), lines, file)
