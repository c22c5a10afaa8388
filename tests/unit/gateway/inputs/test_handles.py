"""A gateway with few open files, and more clients than these: the disk's are kept back."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.unit.gateway.inputs.listening import lines_of, listening

OPEN_FILES, CLIENTS = 256, 300
SMALL = {"spool": {"size": "8 MB", "segment": "128 KB"}, "max_message": 60_000}


def test_no_number_of_clients_takes_what_the_disk_needs(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.unit.gateway.inputs.test_handles", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[4],
    ) as gateway, ExitStack() as clients:  # fmt: skip
        assert gateway.stdin
        assert gateway.stdout
        port = int(gateway.stdout.readline())
        device = clients.enter_context(socket.create_connection(("127.0.0.1", port), 10))
        for _ in range(CLIENTS):
            with suppress(ConnectionResetError):
                clients.enter_context(socket.create_connection(("127.0.0.1", port), 10))
        for number in range(1, 31):
            device.sendall(b"x" * 20_000 + b"\n")
            assert lines_of(device, 1) == [b"%d" % number]
        gateway.stdin.write(b"\n")
        gateway.stdin.flush()
        refused, open_ones = map(int, gateway.stdout.readline().split())
        assert refused + open_ones == CLIENTS + 1
        assert open_ones < OPEN_FILES - 96


def serve(folder: Path) -> None:
    """Until a line is written to us; then what became of the clients."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    with listening(folder, acknowledge=True, **SMALL) as gateway:
        sys.stdout.write(f"{gateway.port}\n")
        sys.stdout.flush()
        sys.stdin.readline()
        sys.stdout.write(
            f"{gateway.server.refused_connections} {gateway.server.connection_count}\n"
        )
        sys.stdout.flush()
        assert gateway.committer.failure is None


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
