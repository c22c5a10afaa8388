"""The list of certificates that a gateway lets in no more, a fingerprint in each line."""

from __future__ import annotations

import re

# SHA-256 in hexadecimal, as `openssl x509 -fingerprint -sha256` prints it or without its colons.
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
MOST = 100_000


def revoked_in(text: str) -> frozenset[str]:
    """What follows a fingerprint in its line, and lines that begin with '#', are for people."""
    found = set()
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        fingerprint = words[0].replace(":", "").lower()
        if not _FINGERPRINT.fullmatch(fingerprint):
            raise ValueError(
                f"line {number} begins with {words[0][:70]!r}; write the certificate's SHA-256"
                " fingerprint, 64 hexadecimal digits, first"
            )
        found.add(fingerprint)
    if len(found) > MOST:
        raise ValueError(f"it holds {len(found):,} certificates and may hold {MOST:,}")
    return frozenset(found)


def revoked_line(fingerprint: str, name: str, when: str) -> str:
    return f"{fingerprint} {name} {when}"
