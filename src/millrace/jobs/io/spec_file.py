"""What a job is started with: a file that its first argument names."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.base.errors import MillraceError
from millrace.storage.core.bucket import Bucket
from millrace.storage.io.objects import objects_at


def read_spec(arguments: Sequence[str]) -> str:
    """`FILE`, or `URI BUCKET`, where the second says as JSON how the bucket is reached."""
    place, *way = arguments
    bucket = Bucket.model_validate_json(way[0]) if way else None
    folder, _, name = place.rpartition("/")
    text = objects_at(folder, bucket).read(name)
    if text is None:
        raise MillraceError(f"{place}: there is no such specification; was its mailbox emptied?")
    return text
