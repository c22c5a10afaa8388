"""Reads a file that people edit into its model; all that is wrong with it is in one error."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from millrace.base.errors import BadValueError, SpecError, SpecErrors
from millrace.base.problem import Problem
from millrace.specs.explain import explain
from millrace.specs.yaml_lines import Document, read_document

Model = TypeVar("Model", bound=BaseModel)


def load_file(file: Path, model: type[Model]) -> Model:
    """One file; all that is wrong with it in one error."""
    return load_document(read_document(file), model)


def load_folder(folder: Path, model: type[Model]) -> tuple[list[Document], list[Model]]:
    documents, specs, errors = [], [], []
    for file in sorted(folder.glob("*.yaml")):
        try:
            document = read_document(file)
            specs.append(load_document(document, model))
            documents.append(document)
        except SpecError as error:
            errors.append(error)
        except SpecErrors as many:
            errors.extend(many.errors)
    if errors:
        raise SpecErrors(errors)
    return documents, specs


def load_document(document: Document, model: type[Model]) -> Model:
    try:
        spec = model.model_validate(document.values)
    except ValidationError as error:
        raise SpecErrors(explain(document, model, error)) from error
    name = getattr(spec, "name", document.file.stem)
    if name != document.file.stem:
        problem = f"name={name!r}, but the file is {document.file.name}; give both the same name"
        raise SpecErrors([BadValueError(document.place(("name",)), problem)])
    return spec


def raise_all(documents: list[Document], problems: Iterable[Problem]) -> None:
    errors: list[SpecError] = [
        BadValueError(documents[problem.index].place(problem.path), problem.text)
        for problem in problems
    ]
    if errors:
        raise SpecErrors(errors)
