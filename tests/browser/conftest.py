"""The product in a real browser: the machine's chromium, driven by playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.e2e.conftest import first_words, stack, up  # noqa: F401 - fixtures
from tests.e2e.stack import Stack

_PATIENCE_MS = 120_000
_WINDOW = {"width": 1400, "height": 760}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--pictures", type=Path, help="a folder for pictures of each step")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    assert program, "no chromium on the PATH; install your system's package 'chromium'"
    # Its sandbox refuses to work for root, whom containers like.
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=program, args=arguments)
        yield found
        found.close()


@pytest.fixture
def page(up: Stack, browser: Browser) -> Iterator[Page]:  # noqa: F811 - the fixture above
    """Signed in, and answering yes to every question of a page."""
    seen = up.status()["airflow"]
    context = browser.new_context(
        base_url=seen["url"],
        ignore_https_errors=True,  # its authority is this copy's own
        viewport=_WINDOW,
    )
    context.set_default_timeout(_PATIENCE_MS)
    page = context.new_page()
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto("/")
    page.fill("input[name=username]", seen["user"])
    page.fill("input[name=password]", Path(seen["password_file"]).read_text().strip())
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Fleet").wait_for()
    yield page
    context.close()
