"""Small files in a bucket."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from millrace.base.errors import StoreConflictError, StoreUnreachableError
from millrace.storage.core.bucket import Bucket
from millrace.storage.io.buckets import client, errors_named, is_absent, is_taken

_CONFLICT_TRIES, _CONFLICT_PAUSE_S = 8, 0.05


@dataclass(frozen=True)
class BucketObjects:
    bucket: Bucket
    # Ends with a slash.
    prefix: str

    @classmethod
    def at(cls, uri: str, bucket: Bucket) -> BucketObjects:
        """A place is written as Spark needs it, with the bucket's name."""
        return cls(bucket, uri.removeprefix(f"s3a://{bucket.name}/").rstrip("/") + "/")

    def names(self, folder: str = "") -> list[str]:
        with errors_named(self.bucket):
            return list(self._names(f"{self.prefix}{folder}/" if folder else self.prefix))

    def read(self, name: str) -> str | None:
        found = self.read_bytes(name)
        return None if found is None else found.decode()

    def read_bytes(self, name: str) -> bytes | None:
        with errors_named(self.bucket):
            answer = self._ask("get_object", name)
            body: bytes | None = answer["Body"].read() if answer else None
            return body

    def modified_at(self, name: str) -> datetime | None:
        with errors_named(self.bucket):
            answer = self._ask("head_object", name)
            return answer["LastModified"] if answer else None

    def put(self, name: str, text: str) -> None:
        with errors_named(self.bucket):
            client(self.bucket).put_object(
                Bucket=self.bucket.name, Key=self.prefix + name, Body=text.encode()
            )

    def put_new(self, name: str, text: str) -> bool:
        for attempt in range(_CONFLICT_TRIES):
            time.sleep(_CONFLICT_PAUSE_S * attempt)
            try:
                with errors_named(self.bucket):
                    return self._put_new(name, text)
            except StoreConflictError:
                continue
        raise StoreUnreachableError(f"{self.prefix}{name}: puts of others are in the way")

    def delete(self, names: Iterable[str]) -> None:
        with errors_named(self.bucket):
            for name in names:
                client(self.bucket).delete_object(Bucket=self.bucket.name, Key=self.prefix + name)

    def _names(self, prefix: str) -> Iterator[str]:
        pages = client(self.bucket).get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=self.bucket.name, Prefix=prefix, Delimiter="/"):
            for entry in page.get("Contents", ()):
                yield entry["Key"].removeprefix(prefix)

    def _put_new(self, name: str, text: str) -> bool:
        try:
            client(self.bucket).put_object(
                Bucket=self.bucket.name, Key=self.prefix + name, Body=text.encode(), IfNoneMatch="*"
            )
        except ClientError as error:
            if not is_taken(error):
                raise
            # Perhaps by ourselves: the answer was lost, and boto asked again.
            return self.read(name) == text
        return True

    def _ask(self, question: str, name: str) -> Any:
        try:
            return getattr(client(self.bucket), question)(
                Bucket=self.bucket.name, Key=self.prefix + name
            )
        except ClientError as error:
            if is_absent(error):
                return None
            raise
