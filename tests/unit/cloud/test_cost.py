"""What an environment costs, and that the guide's figures are the command's."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner

from millrace.cli import app
from millrace.cloud.core.cost import ENDPOINTS, HOURS, Estimate, Load
from millrace.cloud.core.cost_book import CostBook
from millrace.platform.core.platform import Platform
from millrace.settings.core.paths import HOME_VARIABLE
from millrace.specs.spec_files import load_file

CHECKOUT = Path(__file__).parents[3]
LAYOUT = Platform(CHECKOUT)
GUIDE = CHECKOUT / "docs" / "guide" / "cloud-costs.md"
BLOCK = re.compile(r"^    \$ \.venv/bin/millrace (cost .*)\n((?:    .*\n)+)", re.MULTILINE)
VALUE = re.compile(r"^\s+(instance_type|brokers|storage_gb|executors|cores|size)\s+= \"?([\w.]+)")


@pytest.fixture
def book() -> CostBook:
    return load_file(LAYOUT.prices, CostBook)


def estimate(book: CostBook, rate: float, environment: str = "prod", **load: object) -> Estimate:
    keep = {"bronze": 30.0, "silver": 730.0}
    given = {"rate": rate, "message_bytes": 250, "keep_days": keep} | load
    return Estimate(book, book.environments[environment], Load.model_validate(given))


def by_name(made: Estimate) -> dict[str, float]:
    return {part.name: part.full for part in made.parts}


def test_what_does_not_grow_costs_the_same_at_any_rate(book: CostBook) -> None:
    low, high = by_name(estimate(book, 1)), by_name(estimate(book, 10_000))
    for name in ("Airflow", "endpoints", "lake, requests", "secrets and keys", "jobs"):
        assert low[name] == high[name]


def test_what_is_by_the_byte_grows_with_the_rate(book: CostBook) -> None:
    low, high = by_name(estimate(book, 1_000)), by_name(estimate(book, 10_000))
    for name in ("data in", "broker storage", "between zones", "lake, bronze", "lake, silver"):
        assert high[name] == pytest.approx(10 * low[name])


def test_what_nobody_reads_costs_less_after_two_months(book: CostBook) -> None:
    daily_gb = 250 * 10_000 * 86_400 / 1e9 * book.assumed.stored_per_byte["silver"]
    kept = by_name(estimate(book, 10_000, keep_days={"bronze": 30.0, "silver": 70.0}))
    prices = book.prices
    assert kept["lake, silver"] == pytest.approx(
        daily_gb * (60 * prices.lake_gb_month + 10 * prices.lake_cold_gb_month)
    )


def test_brokers_come_three_at_a_time_and_one_of_three_may_be_away(book: CostBook) -> None:
    takes = 3 * book.broker_mb_s["express.m7g.large"] * 2 / 3 * 1e6 / 250
    assert estimate(book, takes - 1).brokers == 3
    assert estimate(book, takes + 1).brokers == 6
    hourly = book.prices.broker_hour["express.m7g.large"]
    assert by_name(estimate(book, takes + 1))["brokers"] == pytest.approx(6 * HOURS * hourly)


def test_a_job_that_has_more_to_do_gets_more_vcpus(book: CostBook) -> None:
    assert estimate(book, 1_000).vcpus == 1 + 4 * 2
    assert estimate(book, 1_000_000).vcpus > 1 + 4 * 2


def test_requests_are_by_freshness_and_sites(book: CostBook) -> None:
    slow = by_name(estimate(book, 1, freshness_s=20.0))["lake, requests"]
    assert by_name(estimate(book, 1))["lake, requests"] == pytest.approx(10 * slow)
    more = by_name(estimate(book, 1, sites=4))["lake, requests"]
    assert more == pytest.approx(2 * by_name(estimate(book, 1))["lake, requests"])


def test_standard_brokers_hold_three_copies_on_disks_of_a_size(book: CostBook) -> None:
    idle = by_name(estimate(book, 1, "dev"))["broker storage"]
    assert idle == pytest.approx(3 * 100 * book.prices.broker_gb_month)
    week_gb = 250 * 10_000 * 7 * 86_400 / 1e9
    busy = by_name(estimate(book, 10_000, "dev"))["broker storage"]
    assert busy == pytest.approx(3 * week_gb * book.prices.broker_gb_month)
    assert "data in" not in by_name(estimate(book, 1, "dev"))


def test_prices_have_a_date_and_each_a_page(book: CostBook) -> None:
    assert book.as_of <= date.today()  # noqa: DTZ011 - a day, anywhere
    assert all(page.startswith("https://") for page in book.sources.values())
    for size in book.environments.values():
        assert size.instance_type in book.prices.broker_hour.keys() & book.broker_mb_s.keys()
        assert size.airflow in book.prices.airflow_hour


@pytest.mark.parametrize("name", ["dev", "prod"])
def test_an_environment_is_as_large_as_its_values_say(name: str, book: CostBook) -> None:
    text = (CHECKOUT / "terraform" / "environments" / name / "values.tf").read_text()
    told = dict(found.groups() for line in text.splitlines() if (found := VALUE.match(line)))
    size = book.environments[name]
    assert told == {
        "instance_type": size.instance_type,
        "brokers": str(size.brokers),
        "storage_gb": f"{size.storage_gb:.0f}" if size.storage_gb else "null",
        "executors": str(size.executors),
        "cores": str(size.cores),
        "size": size.airflow,
    }


def test_the_endpoints_are_those_of_the_network() -> None:
    text = (CHECKOUT / "terraform" / "modules" / "network" / "variables.tf").read_text()
    block = text[text.index('variable "endpoints"') :].partition("]")[0]
    listed = re.findall(r'"([a-z0-9.-]+)"', block.partition("[")[2])
    assert len(listed) == ENDPOINTS


@pytest.fixture
def as_shipped(tmp_path: Path) -> Path:
    """Two sites and the README's pipeline, whatever this checkout's own have become."""
    for part in ("terraform", "schemas", "expectations", "infra"):
        (tmp_path / part).symlink_to(CHECKOUT / part)
    pipeline = (CHECKOUT / "README.md").read_text().split("```yaml\n")[1].split("```")[0]
    files = {"pipelines/temperature": pipeline}
    for number, site in enumerate(("plant-a", "plant-b")):
        files[f"sites/{site}"] = f"name: {site}\nbootstrap: 127.0.0.1:{19092 + 100 * number}\n"
    for name, text in files.items():
        file = tmp_path / "dags" / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def test_every_figure_of_the_guide_is_what_the_command_says(
    monkeypatch: pytest.MonkeyPatch, as_shipped: Path
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(as_shipped))
    shown = BLOCK.findall(GUIDE.read_text())
    assert len(shown) == 3
    for command, output in shown:
        done = CliRunner().invoke(app, command.split())
        assert done.exit_code == 0, done.output
        said = [line.rstrip() for line in done.stdout.splitlines()]
        assert [line.removeprefix("    ").rstrip() for line in output.splitlines()] == said, command


def test_an_environment_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(CHECKOUT))
    done = CliRunner().invoke(app, ["cost", "--rate", "1", "--environment", "stage"])
    assert "there is dev, prod" in str(done.exception)
