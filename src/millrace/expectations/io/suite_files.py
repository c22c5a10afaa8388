"""Reads a suite of expectations and holds it against the columns of its table."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from millrace.base.errors import BadValueError, SpecError, SpecErrors
from millrace.expectations.core.arguments import Arguments, Columns, UnfitArgumentError
from millrace.expectations.core.compiled import CompiledSuite, arguments_of, compile_suite
from millrace.expectations.core.suite import Expectation, Suite
from millrace.specs.explain import explain
from millrace.specs.json_lines import part_of, read_json
from millrace.specs.yaml_lines import Document, KeyPath


def load_suite(file: Path, columns: Columns) -> CompiledSuite:
    """All that is wrong with the file in one error."""
    document = _document(file)
    suite = _read(document)
    checked: list[tuple[Expectation, Arguments]] = []
    errors: list[SpecError] = []
    for number, expectation in enumerate(suite.expectations):
        try:
            checked.append((expectation, _arguments(document, number, expectation, columns)))
        except SpecErrors as found:
            errors.extend(_numbered(found.errors, number, expectation))
    if errors:
        raise SpecErrors(errors)
    try:
        return compile_suite(checked, columns)
    except ValueError as error:
        raise SpecErrors([BadValueError(document.place(("expectations",)), str(error))]) from error


def _document(file: Path) -> Document:
    try:
        return read_json(file)
    except SpecError as error:
        raise SpecErrors([error]) from error


def _read(document: Document) -> Suite:
    try:
        suite = Suite.model_validate(document.values)
    except ValidationError as error:
        raise SpecErrors(explain(document, Suite, error)) from error
    if suite.name != document.file.stem:
        problem = f"name={suite.name!r}, but the file is {document.file.name}; give both one name"
        raise SpecErrors([BadValueError(document.place(("name",)), problem)])
    return suite


def _arguments(
    document: Document, number: int, expectation: Expectation, columns: Columns
) -> Arguments:
    here: KeyPath = ("expectations", number)
    if expectation.row_condition:
        place = document.place((*here, "kwargs", expectation.row_condition))
        problem = f"{expectation.row_condition} is not supported; judge all rows"
        raise SpecErrors([BadValueError(place, problem)])
    try:
        model = arguments_of(expectation)
    except ValueError as error:
        raise SpecErrors([BadValueError(document.place((*here, "type")), str(error))]) from error
    kwargs = part_of(document, (*here, "kwargs"), expectation.kwargs)
    return _fitting(kwargs, model, columns)


def _fitting(kwargs: Document, model: type[Arguments], columns: Columns) -> Arguments:
    try:
        arguments = model.model_validate(kwargs.values)
        arguments.check(columns)
    except ValidationError as error:
        raise SpecErrors(explain(kwargs, model, error)) from error
    except UnfitArgumentError as error:
        text = f"{error.field}: {error}"
        raise SpecErrors([BadValueError(kwargs.place((error.field,)), text)]) from error
    return arguments


def _numbered(errors: list[SpecError], number: int, expectation: Expectation) -> list[SpecError]:
    where = f"expectation {number + 1} ({expectation.type}):"
    return [type(error)(error.place, f"{where} {error.problem}") for error in errors]
