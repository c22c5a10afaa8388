"""`millrace cost`: what an environment costs in a month, by a dated list of prices."""

from __future__ import annotations

from typing import Annotated

import typer

from millrace.base.errors import MillraceError
from millrace.base.output import Json, print_json, print_line
from millrace.cloud.core.cost import Estimate, Load
from millrace.cloud.core.cost_book import CostBook
from millrace.pipelines.io.loader import load_pipelines, load_sites
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import platform_here
from millrace.specs.spec_files import load_file

_FOR_EVER_DAYS = 3650.0

Rate = Annotated[float, typer.Option(min=0.001, help="Messages a second, of all sites together.")]
Environment = Annotated[str, typer.Option(help="Whose size it has: dev or prod.")]
Bytes = Annotated[int | None, typer.Option("--bytes", min=1, help="Of a message; default 250.")]


def cost(
    rate: Rate,
    *,
    environment: Environment = "prod",
    message_bytes: Bytes = None,
    as_json: Json = False,
) -> None:
    """Say what an environment costs in a month on AWS, part by part, for the pipelines here.

    A guess before the first bill, by the list prices in terraform/prices.yaml.
    """
    layout = platform_here()
    book = load_file(layout.prices, CostBook)
    if environment not in book.environments:
        known = ", ".join(book.environments)
        raise MillraceError(
            f"environment={environment!r} is not in {layout.prices}; there is {known}"
        )
    size, load = book.environments[environment], _load(layout, book, rate, message_bytes)
    estimate = Estimate(book, size, load)
    if as_json:
        said = {"as_of": book.as_of, "region": book.region, "load": load.model_dump()}
        print_json({**said, "parts": [part.model_dump() for part in estimate.parts]})
        return
    for line in lines(estimate):
        print_line(line)


def lines(estimate: Estimate) -> list[str]:
    book, parts = estimate.book, estimate.parts
    rows = [
        ("part", "amount", "first month", "full"),
        *((part.name, part.amount, _usd(part.first_month), _usd(part.full)) for part in parts),
        ("all", "", _usd(sum(p.first_month for p in parts)), _usd(sum(p.full for p in parts))),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        *(_line(row, widths) for row in rows),
        f"USD a month, list prices of {book.region} as of {book.as_of}",
    ]


def _usd(amount: float) -> str:
    return f"{amount:,.0f}"


def _line(row: tuple[str, str, str, str], widths: list[int]) -> str:
    words = [word.ljust(width) for word, width in zip(row[:2], widths[:2], strict=True)]
    numbers = [word.rjust(width) for word, width in zip(row[2:], widths[2:], strict=True)]
    return "  ".join([*words, *numbers])


def _load(layout: Platform, book: CostBook, rate: float, message_bytes: int | None) -> Load:
    pipelines, sites = load_pipelines(layout, run_here=False), load_sites(layout)
    if not pipelines or not sites:
        raise MillraceError("there is no pipeline, or no site, to reckon with; write one first")
    keep = {
        layer: max(
            kept.total_seconds() / 86_400 if (kept := getattr(one.keep, layer)) else _FOR_EVER_DAYS
            for one in pipelines
        )
        for layer in book.assumed.stored_per_byte
    }
    return Load(
        rate=rate,
        message_bytes=message_bytes or book.assumed.message_bytes,
        sites=len(sites),
        topics=len({topic for one in pipelines for topic in one.topics}),
        pipelines=len(pipelines),
        freshness_s=min(one.freshness.total_seconds() for one in pipelines),
        keep_days=keep,
    )
