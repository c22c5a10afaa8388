"""A gateway's data folder that is there twice: put back from a backup, or opened by two."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from benchmarks.faults.stands.fault import fault
from benchmarks.faults.stands.stand import Stand
from tests.integration.conftest import CHECKOUT
from tests.support import wait_until


@fault("folder-restored", "the gateway's data folder copied under load (`cp -a`), 10 s later the"
       " gateway stopped, the copy put in its place, and started")  # fmt: skip
def folder_restored(stand: Stand) -> None:
    data = stand.gateway.folder / "data"
    backup = data.with_name("backup")
    # A file may go between its name and its copy, as in any backup of a living folder.
    subprocess.run(["/bin/cp", "-a", data, backup], check=False, capture_output=True)
    stand.pass_s(10)
    stand.gateway.stop()
    shutil.rmtree(data)
    backup.rename(data)
    stand.gateway.start()


@fault("second-process", "beside the gateway, three times: `millrace gateway run` and `millrace"
       " gateway waiting` on its file")  # fmt: skip
def second_process(stand: Stand) -> None:
    file = stand.gateway.folder / "gateway.yaml"
    for _ in range(3):
        refused = _millrace("run", file)
        if "works with it" not in " ".join(refused.stderr.split()):
            raise AssertionError(f"the second gateway was not refused: {refused.stderr[-300:]}")
        looked = _millrace("waiting", file)
        if "messages wait" not in looked.stdout:
            raise AssertionError(f"nothing was counted: {looked.stderr[-300:]}")
        stand.pass_s(1)
    wait_until(lambda: stand.reader.tally.distinct > 0, 5, "anything at the reader")


def _millrace(word: str, file: Path) -> subprocess.CompletedProcess[str]:
    command = [CHECKOUT / ".venv/bin/millrace", "gateway", word, file]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
