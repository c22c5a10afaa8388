"""What documents name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [*CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").rglob("*.md"), *CHECKOUT.glob("terraform/*.md")]
)
_TEST = re.compile(r"\b(tests/[\w/]+\.py)(?:::(\w+))?")
_CODE = re.compile(r"`([\w./-]+\.(?:py|java|js|sh|tf))`")
_TREE = [
    str(file.relative_to(CHECKOUT))
    for root in CHECKOUT.glob("[a-z]*/")
    if root.is_dir() and root.name != "var"
    for file in root.rglob("*.*")
]
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: str(d.relative_to(CHECKOUT)))
def test_tests_and_files_that_a_document_names_are_there(document: Path) -> None:
    text = document.read_text()
    tests = {(file, name) for file, name in _TEST.findall(text)}
    missing = [file for file, _ in tests if not (CHECKOUT / file).is_file()]
    missing += [
        f"{file}::{name}"
        for file, name in tests
        if name and file not in missing and f"def {name}(" not in (CHECKOUT / file).read_text()
    ]
    missing += [link for link in _LINK.findall(text) if not (document.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: str(d.relative_to(CHECKOUT)))
def test_code_that_a_document_names_is_there(document: Path) -> None:
    """By its path from the checkout or from src/millrace, or by the end of its path."""
    named = set(_CODE.findall(document.read_text()))
    assert [name for name in sorted(named) if not _is_there(name)] == []


def _is_there(name: str) -> bool:
    return any(file == name or file.endswith(f"/{name}") for file in _TREE)
