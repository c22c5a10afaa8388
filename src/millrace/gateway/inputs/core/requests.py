"""By what a request is known when it is sent again."""

from __future__ import annotations

from hashlib import blake2b


def request_origin(client: str, key: str, body: bytes) -> bytes:
    """Of one client, with one `Idempotency-Key` and one body.

    So nobody's request is ever taken for another's. Who uses a key again for other messages has
    them kept: what is there twice can be seen later, what is missing cannot.
    """
    digest = blake2b(f"{client}\0{key}\0".encode(errors="surrogateescape"), digest_size=16)
    digest.update(body)
    return b"key/" + digest.hexdigest().encode()
