"""The text of a site's file: written anew, or edited with its comments and its order left alone."""

from __future__ import annotations

from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from millrace.sites.core.spec import SiteSpec

_COMMENTS = {
    "bootstrap": "administrators use the next port, the controller the one after",
    "client": "tunes the Kafka clients, such as socket.keepalive.enable: true",
    "local": "this machine runs the broker",
}
_COLUMN = 37


def new_site_text(site: SiteSpec) -> str:
    """In the manner of the examples; what has its default is left out."""
    values = CommentedMap(name=site.name)
    if site.description:
        values["description"] = site.description
    values["bootstrap"] = site.bootstrap
    values["client"] = _in_one_line(site.client)
    if site.direct:
        values["direct"] = True
    if site.local:
        values["local"] = _in_one_line(site.local.model_dump(exclude_defaults=True))
    for key, comment in _COMMENTS.items():
        if key in values:
            values.yaml_add_eol_comment(comment, key, column=_COLUMN)
    return _dump(values)


def edited_site_text(text: str, site: SiteSpec) -> str:
    """What differs says `site` then, and the rest what it said."""
    values = _yaml().load(text)
    for key, wanted in (("bootstrap", site.bootstrap), ("description", site.description)):
        if values.get(key, "") != wanted:
            values[key] = wanted
    client = values.get("client", {})
    if client != site.client:
        if not (client and site.client):
            # A block of lines has no way to say that it is empty.
            values["client"] = _in_one_line({})
        _edit(values["client"], site.client)
    return _dump(values)


def with_brokers(text: str, count: int) -> str:
    """The file of a cluster whose brokers this machine runs, with so many of them."""
    values = _yaml().load(text)
    values["local"]["brokers"] = count
    return _dump(values)


def _edit(values: CommentedMap, wanted: dict[str, Any]) -> None:
    for key in [key for key in values if key not in wanted]:
        del values[key]
    for key, value in wanted.items():
        if values.get(key) != value:
            values[key] = value


def _in_one_line(values: dict[str, Any]) -> CommentedMap:
    made = CommentedMap(values)
    made.fa.set_flow_style()
    return made


def _dump(values: CommentedMap) -> str:
    stream = StringIO()
    _yaml().dump(values, stream)
    return stream.getvalue()


def _yaml() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    # A long line stays one.
    yaml.width = 10_000
    return yaml
