"""A task's folder travels: to where the task runs, and back with what it wrote."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from millrace.jobs.core.task_spec import TaskSpec
from millrace.jobs.io.spec_file import read_spec
from millrace.storage.core.bucket import Bucket
from millrace.storage.io.files import write_atomic
from millrace.storage.io.objects import Objects, objects_at


def send(task: TaskSpec, place: str, bucket: Bucket) -> None:
    """The task's own file last: who finds it finds all."""
    files = objects_at(place, bucket)
    own = [file for file in task.folder.iterdir() if file.is_file()]
    for file in sorted(own, key=lambda one: one == task.spec_file):
        files.put(file.name, file.read_text())


def fetch(task: TaskSpec, place: str, bucket: Bucket) -> None:
    """What the task wrote. Its result comes last, as the sign that there is one."""
    files = objects_at(place, bucket)
    names = set(files.names()) - {file.name for file in task.folder.iterdir()}
    for name in sorted(names, key=lambda one: one == task.result_file.name):
        text = files.read(name)
        if text is not None:
            write_atomic(task.folder / name, text)


def forget(place: str, bucket: Bucket) -> None:
    """What was fetched is here, and would be kept there for ever."""
    files = objects_at(place, bucket)
    files.delete(files.names())


@contextmanager
def brought_here(arguments: Sequence[str]) -> Iterator[str]:
    """The task's text, with its folder where this process can write; then all of it goes back."""
    text = read_spec(arguments)
    place, *way = arguments
    if not way:
        yield text
        return
    files = objects_at(place.rpartition("/")[0], Bucket.model_validate_json(way[0]))
    there = str(json.loads(text)["folder"])
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        came = _download(files, here)
        yield text.replace(there, folder)
        for file in here.iterdir():
            if file.name not in came:
                files.put(file.name, file.read_text().replace(folder, there))


def _download(files: Objects, folder: Path) -> set[str]:
    came = set(files.names())
    for name in came:
        write_atomic(folder / name, files.read(name) or "")
    return came
