"""What an operator does: look, stop, start, see a death mended, bring rows back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from deltalake import DeltaTable
from playwright.sync_api import Page, expect

from tests.e2e.stack import Airflow, Stack
from tests.e2e.test_2_tasks import LOST, await_scheduler, lost
from tests.support import wait_until

pytestmark = pytest.mark.timeout(900)

# A column of a pipeline's partitions.
LAST_MESSAGE = 7

Take = Callable[[str], None]


@pytest.fixture
def errors(page: Page) -> Iterator[list[str]]:
    """Of the pages' scripts: there are none."""
    seen: list[str] = []
    page.on("pageerror", lambda error: seen.append(str(error)))
    yield seen
    assert seen == []


@pytest.fixture
def take(page: Page, request: pytest.FixtureRequest) -> Take:
    folder: Path | None = request.config.getoption("--pictures")

    def take(name: str) -> None:
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=folder / f"{name}.png", animations="disabled")

    return take


def open_fleet(page: Page) -> None:
    page.get_by_role("link", name="Fleet").click()


def await_state(page: Page, words: str) -> None:
    page.get_by_text(words, exact=True).first.wait_for()


def test_an_incident_is_listed_with_its_page(up: Stack, page: Page, errors: list[str]) -> None:
    words = "A trial, no need to get up"
    assert up.millrace("incident", "temperature", words).returncode == 0
    pages = up.home / "var" / "incidents"
    wait_until(lambda: list(pages.glob("*/page.html")), 120, "its page")
    open_fleet(page)
    page.get_by_role("cell", name=words).wait_for()
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="page", exact=True).click()
    opened.value.get_by_role("heading", name="trial: temperature").wait_for()


def test_stop_start_and_a_death_that_is_mended(
    up: Stack, page: Page, errors: list[str], take: Take
) -> None:
    open_fleet(page)
    await_state(page, "healthy")
    page.get_by_role("button", name="Stop", exact=True).click()
    await_state(page, "stopped")
    assert up.job_processes() == []
    take("stopped")
    page.get_by_role("button", name="Start", exact=True).click()
    await_state(page, "healthy")
    (driver,) = up.job_processes()
    generation = up.pipeline()["generation"]
    driver.kill()
    wait_until(lambda: up.runs_as(generation + 1), 60, "the job back")
    page.get_by_role("link", name="temperature").first.click()
    page.get_by_text("exit 137").first.wait_for()
    expect(page.get_by_role("heading", name="temperature").locator("..")).to_contain_text("healthy")
    messages = page.get_by_role("row").filter(has=page.get_by_role("link", name="plant-"))
    expect(messages.filter(has_text="temperature-data")).to_have_count(4)
    last = [row.get_by_role("cell").nth(LAST_MESSAGE) for row in messages.all()]
    for cell in last:
        expect(cell).to_contain_text("ago")
    take("pipeline")


def test_a_replay_from_its_form_to_its_result(
    up: Stack, page: Page, errors: list[str], take: Take
) -> None:
    bronze = DeltaTable(str(up.home / "var" / "lake" / "bronze" / "temperature"))
    bronze.delete(LOST)
    page.goto("/dags/replay")
    page.get_by_role("button", name="Trigger").click()
    page.get_by_text("Its tables get what they miss").wait_for()
    take("replay")
    page.get_by_role("button", name="Trigger").last.click()
    airflow = up.airflow()
    replays = Airflow(airflow.client, dag="/api/v2/dags/replay")
    wait_until(lambda: asks(replays), 120, "the question", poll_s=0.5)
    await_scheduler(airflow)
    task = f"/dags/replay/runs/{replays.last_run()}/tasks"
    page.goto(f"{task}/approve/required_actions")
    page.get_by_role("button", name="Approve").wait_for()
    take("approve")
    page.get_by_role("button", name="Approve").click()
    wait_until(lambda: replays.state_of("add") == "success", 300, "what was missing added")
    page.goto(f"{task}/add")
    page.get_by_text("added").first.wait_for()
    take("added")
    assert [up.bronze()[row] for row in lost()] == [1] * 5
    open_fleet(page)
    await_state(page, "healthy")
    take("fleet")


def asks(replays: Airflow) -> bool:
    try:
        return replays.state_of("approve") == "awaiting_input"
    except (IndexError, httpx.HTTPStatusError):  # the run, or its task, is yet to come
        return False
