"""Installs what the lock and the pom say. Runs before anything is installed: stdlib only.

Called by make as `PYTHONPATH=src python3 -m millrace.stack.install.install`, with `--dev` for what
tests need, and `--bench` and the like for what else is wanted.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from millrace.stack.install import jars
from millrace.stack.install.machine import Unfit, check_machine

HOME = Path(__file__).resolve().parents[4]
PINNED = HOME / "infra" / "jars.sha256"
LOG = HOME / "var" / "log" / "install.log"
UV = HOME / ".venv-tools" / "bin" / "uv"
PYSPARK_JARS = HOME / ".venv-lake/lib/python3.11/site-packages/pyspark/jars"
PROGRESS_S = 10
# Environments that are asked for by name.
_EXTRAS = {
    "bench": "what the benchmarks run beside it",
    "browser": "what drives a browser",
    "edge": "what containers at the edge need",
    "terraform": "what stands for AWS in tests",
    "airflow-3.0": "the oldest Airflow we run on",
}
ENGINES = ["kafka", "spark", "mqtt", "mirror", "registry"]
# AWS's managed Airflow has this Python, whatever this machine has.
_MANAGED_PYTHON = "3.12"
# The same sources make the same bytes.
_JAR_DATE = "--date=2020-01-01T00:00:00Z"


class StepError(Exception):
    """A step of the installation failed."""


def main(arguments: list[str]) -> int:
    dev = "--dev" in arguments
    extras = [extra for extra in _EXTRAS if f"--{extra}" in arguments]
    if "--pin" in arguments:
        pin(ENGINES)
        return 0
    try:
        check_machine(HOME)
        LOG.parent.mkdir(parents=True, exist_ok=True)
        LOG.write_text("")
        _run_all(dev, extras)
        if "--registry" in arguments:
            _install_registry()
    except (Unfit, StepError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - there is no other voice yet
        return 2
    return 0


def pin(engines: list[str]) -> None:
    """Write the list anew of what there is; an engine that was not fetched keeps its lines."""
    before = PINNED.read_text().splitlines() if PINNED.is_file() else []
    found: list[str] = []
    for engine in engines:
        folders = (HOME / ".jars" / f"{engine}.refused", HOME / ".jars" / engine)
        folder = next((one for one in folders if one.is_dir()), None)
        kept = [line for line in before if f"  {engine}/" in line]
        # What it unpacks is not what it fetched.
        is_whole = folder and not (engine == "registry" and folder == folders[1])
        found += jars.lines(folder, engine) if folder and is_whole else kept
    PINNED.write_text("\n".join(found) + "\n")


def _run_all(dev: bool, extras: list[str]) -> None:
    """Jars come from elsewhere than wheels, so both are fetched at once."""
    failures: list[StepError] = []

    def fetch_jars() -> None:
        try:
            mqtt, mirror = ["mqtt"] if dev else [], ["mirror"] if "bench" in extras else []
            _fetch_jars(["kafka", "spark", *mqtt, *mirror])
        except StepError as error:
            failures.append(error)

    fetching = threading.Thread(target=fetch_jars)
    fetching.start()
    try:
        _install_uv()
        _sync(".venv", ["control"], dev, "Airflow and the command line")
        _sync(".venv-lake", ["lake"], dev, "Spark and Delta")
        for extra in extras:
            _sync(f".venv-{extra}", [extra.replace(".", "-")], dev, _EXTRAS[extra])
        if "terraform" in extras:
            _install_checkov()
            _install_managed_airflow()
    finally:
        fetching.join()
    if failures:
        raise failures[0]
    _compile_java()
    # The Java and the folders of an image are others than those that build it.
    if "edge" not in extras:
        _archive_classes()


def _install_registry() -> None:
    """The schema registry and a Java for it."""
    pom, folder = HOME / "infra" / "pom.xml", HOME / ".jars" / "registry"

    def fetch() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        _fetch("registry", folder)
        for archive in folder.glob("*.tar.gz"):
            _call(["tar", "-xzf", str(archive), "-C", str(folder)])
            archive.unlink()

    _once("the schema registry", folder / ".stamp", _digest(pom, PINNED), folder, fetch)
    only = ("--only-group", "jre")
    _sync(".venv-jre", [], False, "Java for the registry", sys.executable, *only)


def _install_uv() -> None:
    def install() -> None:
        _call([sys.executable, "-m", "venv", "--clear", str(HOME / ".venv-tools")])
        pip = [str(HOME / ".venv-tools" / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        _call([*pip, "--require-hashes", "--requirement", str(pinned)])

    pinned = HOME / "infra" / "uv.txt"
    _once("uv", UV.parent.parent / ".stamp", _digest(pinned), UV, install)


def _install_checkov() -> None:
    """Apart: it pins half of what it needs, so one lock cannot hold it and us."""
    folder, pinned = HOME / ".venv-checkov", HOME / "infra" / "checkov.txt"

    def install() -> None:
        _call([str(UV), "venv", "--clear", "--python", sys.executable, str(folder)])
        python = ["--python", str(folder / "bin" / "python")]
        _call([str(UV), "pip", "install", *python, "--require-hashes", "-r", str(pinned)])

    _once("checkov", folder / ".stamp", _digest(pinned), folder / "bin" / "python", install)


def _install_managed_airflow() -> None:
    python = _find_python(_MANAGED_PYTHON)
    title = f"Airflow as AWS manages it, on Python {_MANAGED_PYTHON}"
    _sync(".venv-mwaa", ["airflow-3-0"], False, title, python, "--no-install-project")


def _find_python(version: str) -> str:
    """One that runs: on the PATH, or pyenv's; else uv gets it, where it may."""
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    on_path = shutil.which(f"python{version}")
    for found in (*([on_path] if on_path else []), *map(str, pyenv)):
        if subprocess.run([found, "-V"], capture_output=True, check=False).returncode == 0:
            return found
    return version


def _sync(
    environment: str,
    groups: list[str],
    dev: bool,
    title: str,
    interpreter: str = sys.executable,
    *options: str,
) -> None:
    wanted = [*groups, "dev"] if dev else groups
    flags = [flag for group in wanted for flag in ("--group", group)]
    keep = [] if dev else ["--inexact"]  # what tests installed may stay
    command = [
        str(UV),
        "sync",
        "--locked",
        "--no-default-groups",
        "--compile-bytecode",
        *keep,
        *flags,
        *options,
    ]
    python = HOME / environment / "bin" / "python"
    sources = _digest(HOME / "uv.lock", HOME / "pyproject.toml") + "+".join(wanted)
    stamp = HOME / environment / ".stamp"
    if not dev and stamp.is_file() and stamp.read_text() == sources + "+dev":
        return
    _once(
        title,
        stamp,
        sources,
        python,
        lambda: _call([*command, "--python", interpreter], UV_PROJECT_ENVIRONMENT=environment),
    )


def _fetch_jars(engines: list[str]) -> None:
    pom = HOME / "infra" / "pom.xml"
    for engine in engines:
        folder = HOME / ".jars" / engine

        def fetch(engine: str = engine, folder: Path = folder) -> None:
            shutil.rmtree(folder, ignore_errors=True)
            _fetch(engine, folder)

        _once(f"jars for {engine}", folder / ".stamp", _digest(pom, PINNED), folder, fetch)


def _fetch(engine: str, folder: Path) -> None:
    """Nothing is left of what is not what was pinned."""
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
    pom = HOME / "infra" / "pom.xml"
    _call(["mvn", "-q", "-B", "--strict-checksums", "-f", str(pom), "-P", engine, *goal])
    wrong = jars.problems(folder, engine, PINNED.read_text())
    if wrong:
        refused = folder.with_name(f"{engine}.refused")
        shutil.rmtree(refused, ignore_errors=True)
        folder.replace(refused)
        told = "\n  ".join(wrong)
        raise StepError(
            f"jars for {engine} are not those of {PINNED}; they are in {refused}:\n  {told}\n"
            f"Where infra/pom.xml has changed and you have looked at them: make pin-jars"
        )


def _compile_java() -> None:
    """With nothing but the JDK, against the very jars it will run with."""
    sources = sorted((HOME / "jvm" / "src").rglob("*.java"))
    folder = HOME / ".jars" / "jvm"
    against = f"{PYSPARK_JARS}/*{os.pathsep}{HOME / '.jars' / 'spark'}/*"

    def compile_all() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as classes:
            javac = ["javac", "-proc:none", "--release", "17", "-cp", against, "-d", classes]
            _call([*javac, *map(str, sources)])
            draft = folder / "millrace.jar.new"
            _call(["jar", "--create", _JAR_DATE, "--file", str(draft), "-C", classes, "."])
        # A JVM that runs keeps the file it opened; writing into that would break it.
        draft.replace(folder / "millrace.jar")

    digest = _digest(*sources, HOME / "infra" / "pom.xml", HOME / "uv.lock")
    _once("Java for Spark", folder / ".stamp", digest, folder, compile_all)


def _archive_classes() -> None:
    """Half of what a job's start costs is the reading of classes; without it all works as well."""
    folders = [HOME / ".jars" / "spark", HOME / ".jars" / "jvm"]
    python = HOME / ".venv-lake" / "bin" / "python"
    stamp = folders[-1] / ".stamp-classes"

    def archive() -> None:
        command = [str(python), "-m", "spark_jobs.ingest.class_archive", *map(str, folders)]
        try:
            _call(command, PYTHONPATH=str(HOME))
        except StepError as error:
            _say(f"jobs will start more slowly: {error}")

    _once("an archive of Spark's classes", stamp, _state_of(PYSPARK_JARS, *folders), stamp, archive)


def _state_of(*folders: Path) -> str:
    """Another one where Java or a jar is another: then the archive would not be taken."""
    java = shutil.which("java") or "java"
    version = subprocess.run([java, "-version"], capture_output=True, check=False).stderr
    jars_there = sorted(file for folder in folders for file in folder.glob("*.jar"))
    stats = [f"{file} {(s := file.stat()).st_size} {s.st_mtime_ns}" for file in jars_there]
    made_by = (HOME / "spark_jobs" / "ingest" / "class_archive.py").read_bytes()
    return hashlib.sha256(version + made_by + "\n".join(stats).encode()).hexdigest()[:16]


def _once(title: str, stamp: Path, sources: str, result: Path, install: Callable[[], None]) -> None:
    """Skip what is there already; say what takes long."""
    if result.exists() and stamp.is_file() and stamp.read_text() == sources:
        return
    started = time.monotonic()
    done = threading.Event()
    ticker = threading.Thread(target=_tick, args=(title, started, done))
    ticker.start()
    _say(f"installing {title} ...")
    try:
        install()
    finally:
        done.set()
        ticker.join()
    stamp.write_text(sources)
    _say(f"installed {title} in {time.monotonic() - started:.0f} s")


def _tick(title: str, started: float, done: threading.Event) -> None:
    while not done.wait(PROGRESS_S):
        _say(f"  still installing {title}: {time.monotonic() - started:.0f} s")


def _call(command: list[str], **environment: str) -> None:
    with LOG.open("ab") as log:
        code = subprocess.call(
            command,
            cwd=HOME,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
        )
    if code:
        last = "\n  ".join(LOG.read_text(errors="replace").splitlines()[-15:])
        text = f"'{' '.join(command)}' failed with exit code {code}; its last words ({LOG}):"
        raise StepError(f"{text}\n  {last}")


def _digest(*files: Path) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - progress of make up


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
