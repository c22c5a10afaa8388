"""What every kind of input does with messages: route them, have them made safe, hear of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millrace.gateway.inputs.core.contested import Contested
from millrace.gateway.routes.io.routing import Router
from millrace.gateway.spool.core.records import Draft
from millrace.gateway.spool.io.committer import Answer, Committer, ReceivedBatch
from millrace.gateway.spool.io.spool_files import bytes_of

# Beyond this, who sends has to wait until some of it is safe.
_QUEUE_BYTES = 16 << 20


class Intake:
    """One input's way to its spool; used by the event loop alone."""

    def __init__(self, router: Router, committer: Committer) -> None:
        self._router = router
        self._committer = committer
        self.taken = self.taken_bytes = 0
        # Of what was no message: too long, cut short.
        self.malformed = 0
        # Of connections that were ended for what they held: answers not read, messages not ended.
        self.cut = 0
        self.contested = Contested()
        # Of what did not come as far as the spool.
        self.refused = 0
        # Why nothing comes in; empty: it may.
        self.obstacle = ""

    @property
    def is_crowded(self) -> bool:
        return self._committer.queued_bytes > _QUEUE_BYTES

    def last_of(self, origin: bytes) -> int:
        return self._committer.spool.last_of(origin)

    def take_by(
        self, path: str, message: bytes, answer: Answer, origin: bytes = b"", number: int = 0
    ) -> None:
        """One that came by an MQTT topic."""
        self.taken += 1
        self.taken_bytes += len(message)
        draft = self._router.draft(message, origin, number, path)
        self._committer.submit(ReceivedBatch([draft], bytes_of(draft), answer))

    def take(
        self, messages: Sequence[bytes], answer: Answer, origin: bytes = b"", first_number: int = 0
    ) -> int:
        """`answer` hears of all of them in their order, at once or by and by. Returns their size
        on disk."""
        draft = self._router.draft
        if origin:
            drafts = [draft(one, origin, first_number + n) for n, one in enumerate(messages)]
        else:
            drafts = [draft(one) for one in messages]
        self.taken += len(messages)
        self.taken_bytes += sum(map(len, messages))
        batches = list(self._batches(drafts, answer))
        for batch in batches:
            self._committer.submit(batch)
        return sum(batch.bytes for batch in batches)

    def _batches(self, drafts: list[Draft], answer: Answer) -> Iterator[ReceivedBatch]:
        sizes = list(map(bytes_of, drafts))
        begin, size = 0, 0
        for at, one in enumerate(sizes):
            if at > begin and size + one > self._committer.most_bytes:
                yield ReceivedBatch(drafts[begin:at], size, answer)
                begin, size = at, 0
            size += one
        yield ReceivedBatch(drafts[begin:], size, answer)
