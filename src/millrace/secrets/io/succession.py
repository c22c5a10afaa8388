"""A new authority takes the place of an old one, in three steps, and nobody is locked out.

Between the steps whoever trusts the authority is handed its file anew. First both are trusted and
the old one signs; then both are trusted and the new one signs; then the new one alone is trusted.
Each step changes one file at once, so one that was cut short is done again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from cryptography import x509

from millrace.base.errors import MillraceError
from millrace.secrets.core import certificates
from millrace.secrets.core.certificates import Authority
from millrace.secrets.io.pki import ensure_authority, ensure_device_authority
from millrace.settings.core.paths import Paths
from millrace.storage.io.files import read_text, sync_folder, write_atomic, write_new


class SuccessionStep(StrEnum):
    """What was done last."""

    NONE = "none"
    BEGUN = "begun"
    SWITCHED = "switched"


_NEXT = {
    SuccessionStep.NONE: "begin",
    SuccessionStep.BEGUN: "switch",
    SuccessionStep.SWITCHED: "end",
}


class SuccessionError(MillraceError):
    """A step that is not the next one."""

    def __init__(self, key_file: Path, step: SuccessionStep) -> None:
        done = (
            "no new authority has begun"
            if step is SuccessionStep.NONE
            else f"a new authority has {step}"
        )
        super().__init__(f"{key_file}: {done}; the next step is '{_NEXT[step]}'")


@dataclass(frozen=True)
class AuthorityPlace:
    """Where an authority lies. `site`: of that site's devices; none: the root."""

    layout: Paths
    site: str | None = None

    @property
    def key_file(self) -> Path:
        return self.layout.devices_key(self.site) if self.site else self.layout.ca_key

    @property
    def next_key(self) -> Path:
        return self.key_file.with_suffix(".next")

    @property
    def file(self) -> Path:
        """Whom they trust who check."""
        return self.layout.devices_ca(self.site) if self.site else self.layout.ca

    def signing(self) -> Authority:
        if self.site:
            return ensure_device_authority(self.layout, self.site)
        return ensure_authority(self.layout)

    def trusted(self) -> list[x509.Certificate]:
        return certificates.read_certificates(read_text(self.file) or "")

    def step(self) -> SuccessionStep:
        several = len(self.trusted()) > 1
        if self.next_key.exists():
            return SuccessionStep.BEGUN if several else SuccessionStep.NONE
        return SuccessionStep.SWITCHED if several else SuccessionStep.NONE


def begin(place: AuthorityPlace) -> None:
    """Both are trusted from now on; the old one signs."""
    old = place.signing()
    _expect(place, SuccessionStep.NONE)
    write_new(place.next_key, certificates.key_pem(certificates.new_key()))
    key = certificates.read_key(place.next_key.read_text())
    name = certificates.common_name(old.certificate)
    made = certificates.make_authority(key, datetime.now(UTC), name)
    _write(place, [*place.trusted(), made])


def switch(place: AuthorityPlace) -> None:
    """The new one signs; the old key is gone."""
    _expect(place, SuccessionStep.BEGUN)
    place.next_key.replace(place.key_file)
    sync_folder(place.key_file.parent)


def end(place: AuthorityPlace) -> None:
    """Nothing that the old one has signed is trusted any more."""
    _expect(place, SuccessionStep.SWITCHED)
    _write(place, [place.signing().certificate])


def _expect(place: AuthorityPlace, step: SuccessionStep) -> None:
    if place.step() is not step:
        raise SuccessionError(place.key_file, place.step())


def _write(place: AuthorityPlace, trusted: list[x509.Certificate]) -> None:
    write_atomic(place.file, "".join(map(certificates.certificate_pem, trusted)))
