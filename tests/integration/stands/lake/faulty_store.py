"""A proxy before the object store that loses answers, refuses, and keeps requests waiting."""

from __future__ import annotations

import http.client
import re
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from millrace.storage.core.bucket import Bucket

# The store's answer as it came, and whether to hand it on.
Answer = tuple[int, list[tuple[str, str]], bytes]
Ask = Callable[[], Answer]
_CONFLICT = (
    b"<Error><Code>ConditionalRequestConflict</Code><Message>made by a test</Message></Error>"
)
_ONE_HOP = {"connection", "expect", "transfer-encoding", "content-length"}


@dataclass
class Fault:
    """Happens to the first `times` requests that fit."""

    method: str
    path: str
    # Gets what asks the store; None is an answer that is lost.
    happen: Callable[[Ask], Answer | None]
    times: int = 1
    happened: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def takes(self, method: str, path: str) -> bool:
        with self._lock:
            fits = method == self.method and re.search(self.path, path) is not None
            if not fits or self.happened >= self.times:
                return False
            self.happened += 1
            return True


def lose_answer(ask: Ask) -> None:
    ask()


def refuse_as_conflict(_: Ask) -> Answer:
    return 409, [("Content-Type", "application/xml")], _CONFLICT


@dataclass
class FaultyStore:
    """`bucket` is the same one, reached through the proxy."""

    bucket: Bucket
    faults: list[Fault] = field(default_factory=list)

    def add(self, fault: Fault) -> Fault:
        self.faults.append(fault)
        return fault


@contextmanager
def faulty(bucket: Bucket, certificate: Path, key: Path) -> Iterator[FaultyStore]:
    upstream = urlsplit(bucket.endpoint or "")
    trust = ssl.create_default_context(cafile=str(bucket.ca_file))
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    store = FaultyStore(
        bucket.model_copy(update={"endpoint": f"https://127.0.0.1:{server.server_port}"})
    )

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            fault = next((f for f in store.faults if f.takes(self.command, self.path)), None)
            answer = fault.happen(lambda: self._ask(body)) if fault else self._ask(body)
            if answer is None:
                self.close_connection = True
                return
            self._hand_on(*answer)

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = do

        def _ask(self, body: bytes) -> Answer:
            peer = http.client.HTTPSConnection(
                upstream.hostname or "", upstream.port, context=trust, timeout=60
            )
            try:
                headers = {k: v for k, v in self.headers.items() if k.lower() not in _ONE_HOP}
                peer.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    peer.putheader(name, value)
                peer.endheaders(body)
                got = peer.getresponse()
                return got.status, got.getheaders(), got.read()
            finally:
                peer.close()

        def _hand_on(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in _ONE_HOP or self.command == "HEAD":
                    self.send_header(name, value)
            if self.command != "HEAD":
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server.RequestHandlerClass = Handler
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    # The handshake is the connection's own thread's work.
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
