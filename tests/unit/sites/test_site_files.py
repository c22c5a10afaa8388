"""Files of sites: written in the manner of the examples, edited without loss."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from millrace.sites.core.spec import LocalBroker, SiteSpec
from millrace.sites.io.site_files import edited_site_text, new_site_text

SITES = Path(__file__).parents[3] / "dags" / "sites"
BY_HAND = """\
# Of plant A.
client:
  # Behind a firewall that forgets.
  socket.keepalive.enable: true   # since May
  java.linger.ms: 1
name: plant-a
bootstrap: 'a:9093'   # theirs

# No broker here.
"""


def read(text: str) -> SiteSpec:
    return SiteSpec.model_validate(yaml.safe_load(text))


@pytest.mark.parametrize(
    "site",
    [
        SiteSpec(name="plant-c", bootstrap="c:9093"),
        SiteSpec(name="plant-c", bootstrap="c:1,d:2", description="Mill: C # 2 'q'\nsecond"),
        SiteSpec(
            name="plant-c",
            bootstrap="c:1",
            client={"socket.keepalive.enable": True, "client.id": "true", "linger.ms": 1.5},
        ),
        SiteSpec(name="plant-c", bootstrap="c:1", local=LocalBroker()),
        SiteSpec(name="plant-c", bootstrap="c:1", local=LocalBroker(memory="1g")),
    ],
)
def test_what_is_written_says_the_site(site):
    assert read(new_site_text(site)) == site


@pytest.mark.parametrize("text", [BY_HAND, *(file.read_text() for file in SITES.glob("*.yaml"))])
def test_an_edit_that_changes_nothing_changes_no_byte(text):
    assert edited_site_text(text, read(text)) == text


@pytest.mark.parametrize("text", [BY_HAND, "name: plant-a\nbootstrap: a:9093\nclient: {}\n"])
@pytest.mark.parametrize(
    "change",
    [
        {"bootstrap": "b:9093"},
        {"description": "long " * 50},
        {"client": {}},
        {"client": {"java.linger.ms": 2, "librdkafka.client.id": "x"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_edit_says_what_is_wanted(text, change):
    wanted = read(text).model_copy(update=change)
    assert read(edited_site_text(text, wanted)) == wanted


def test_an_edit_leaves_comments_quotes_and_order_alone():
    wanted = read(BY_HAND).model_copy(
        update={
            "bootstrap": "b:9093",
            "client": {"socket.keepalive.enable": False, "java.linger.ms": 1},
        }
    )
    edited = BY_HAND.replace("a:9093", "b:9093").replace("true   #", "false  #")
    assert edited_site_text(BY_HAND, wanted) == edited
