"""Packs what a site's gateway is handed; shown is only where it lies."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from millrace.core.gateway_bundle import bundle_files, bundle_name
from millrace.core.layout import Layout
from millrace.core.provision import GATEWAY
from millrace.core.site import SiteSpec
from millrace.local.secrets import ensure_user
from millrace.state.files import make_private, write_atomic


def bundle_file(layout: Layout, site: str) -> Path:
    return layout.bundles / f"{bundle_name(site)}.tar.gz"


def write_bundle(layout: Layout, site: SiteSpec) -> Path:
    """A password that is made now is given to the user when its site is provisioned next."""
    password = ensure_user(layout, site.name, GATEWAY).password
    files = bundle_files(site, layout.ca.read_text(), password)
    make_private(layout.bundles)
    place = bundle_file(layout, site.name)
    write_atomic(place, _packed(bundle_name(site.name), files))
    return place


def _packed(folder: str, files: Mapping[str, str]) -> bytes:
    """The same files give the same bytes."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        root = tarfile.TarInfo(folder)
        root.type, root.mode = tarfile.DIRTYPE, 0o700
        archive.addfile(root)
        for name, text in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size, member.mode = len(text.encode()), 0o600
            archive.addfile(member, io.BytesIO(text.encode()))
    return gzip.compress(stream.getvalue(), mtime=0)
