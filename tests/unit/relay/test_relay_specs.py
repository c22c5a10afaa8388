"""Files of relays and clusters: every mistake is one message with line, key and way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.base.errors import SpecErrors
from millrace.pipelines.io.loader import load_pipelines
from millrace.platform.core.platform import Platform
from millrace.relay.io.relay_files import load_clusters, load_relays
from millrace.sites.io.site_files import with_brokers

GOOD = "name: r\nsites: all\ntopics: [t]\nto: centre\n"
CENTRE = "name: centre\nbootstrap: 127.0.0.1:19292\nlocal: {brokers: 3}  # here\n"


@pytest.fixture
def layout(tmp_path: Path) -> Platform:
    layout = Platform(tmp_path)
    for folder in (layout.sites, layout.clusters, layout.relays, layout.pipelines):
        folder.mkdir(parents=True)
    layout.site("plant-a").write_text("name: plant-a\nbootstrap: 127.0.0.1:19092\nlocal: {}\n")
    (layout.clusters / "centre.yaml").write_text(CENTRE)
    (layout.relays / "r.yaml").write_text(GOOD)
    return layout


def test_files_are_read(layout: Platform) -> None:
    (relay,) = load_relays(layout)
    assert relay.target("plant-a", "t") == "plant-a.t"
    assert [cluster.brokers for cluster in load_clusters(layout)] == [3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "form: x\n", "r.yaml:5: unknown key 'form'; keys here are name, sites, topics, to"),
        (GOOD.replace("to: centre\n", ""), "r.yaml: 'to' is missing; write such as 'to: centre'"),
        (GOOD.replace("centre", "center"), "r.yaml:4: cluster 'center' does not exist; did you"),
        (GOOD.replace("all", "[plant-b]"), "r.yaml:2: site 'plant-b' does not exist"),
        (GOOD + "as: '{plant}'\n", "r.yaml:5: as='{plant}': write {site}, {topic}, letters"),
        (GOOD + "as: '{topic}'\n", "lacks {site}, and there are several sites"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_the_way_out(
    layout: Platform, text: str, message: str
) -> None:
    (layout.relays / "r.yaml").write_text(text)
    with pytest.raises(SpecErrors) as caught:
        load_relays(layout)
    assert message in str(caught.value)


def test_brokers_of_a_cluster_take_no_port_of_a_site(layout: Platform) -> None:
    near = CENTRE.replace("19292", "19086")
    (layout.clusters / "centre.yaml").write_text(near)
    with pytest.raises(SpecErrors, match=r"needs port 19092, which site 'plant-a' has"):
        load_clusters(layout)


def test_a_cluster_is_no_site_of_a_pipeline(layout: Platform) -> None:
    pipeline = "name: p\nsites: [centre]\ntopics: [t]\nformat: json\ntable: p\n"
    (layout.pipelines / "p.yaml").write_text(pipeline)
    with pytest.raises(SpecErrors, match="site 'centre' does not exist"):
        load_pipelines(layout)


def test_more_brokers_change_their_number_and_no_other_word() -> None:
    assert with_brokers(CENTRE, 4) == CENTRE.replace("brokers: 3", "brokers: 4")
