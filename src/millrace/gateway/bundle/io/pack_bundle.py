"""Packs what a site's gateway is handed; shown is only where it lies."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import yaml

from millrace.gateway.bundle.core.bundle_contents import (
    CERTIFICATE,
    FIRST_FILE,
    bundle_name,
    first_gateway,
)
from millrace.gateway.bundle.io.gateway_program import program_files
from millrace.gateway.bundle.io.local_gateway import bundle_texts, gateway_certificate, hand_over
from millrace.pipelines.io.loader import load_pipelines
from millrace.platform.core.platform import Platform
from millrace.secrets.io.device_certificates import first_device, issue
from millrace.sites.core.spec import SiteSpec
from millrace.storage.io.files import make_private, write_atomic


def bundle_file(layout: Platform, site: str) -> Path:
    return layout.bundles / f"{bundle_name(site)}.tar.gz"


def write_bundle(layout: Platform, site: SiteSpec) -> Path:
    """A password that is made now is given to the user when its site is provisioned next."""
    texts = bundle_texts(layout, site)
    files = {name: text.encode() for name, text in texts.items()} | _program(layout, site)
    make_private(layout.bundles)
    place = bundle_file(layout, site.name)
    write_atomic(place, _packed(bundle_name(site.name), files))
    hand_over(layout, site)
    return place


def _program(layout: Platform, site: SiteSpec) -> dict[str, bytes]:
    """All that a bare machine needs; nothing where there is no checkout to take it from."""
    program = program_files(layout)
    if not program:
        return {}
    pipelines = [one for one in load_pipelines(layout) if one.reads(site.name)]
    topics = {topic for one in pipelines for topic in one.topics}
    own = gateway_certificate(layout, site)
    device = issue(layout, site.name, first_device(site.name))
    return {
        **program,
        FIRST_FILE: yaml.safe_dump(first_gateway(site.name, sorted(topics))).encode(),
        CERTIFICATE: own.read_bytes(),
        "device.pem": device.read_bytes(),
    }


def _packed(folder: str, files: Mapping[str, bytes]) -> bytes:
    """The same files give the same bytes."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        root = tarfile.TarInfo(folder)
        root.type, root.mode = tarfile.DIRTYPE, 0o700
        archive.addfile(root)
        for name, data in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size, member.mode = len(data), 0o700 if name.endswith(".sh") else 0o600
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(stream.getvalue(), mtime=0)
