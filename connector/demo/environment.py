"""A virtual environment for each server: built from PyPI on first use, kept under the user's cache folder.

Two callers at once: one builds, the other waits. A build that was killed is thrown away and made anew, and so is an
environment that no longer works or was made from other packages.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import platformdirs
from filelock import FileLock

from connector.demo.process import Progress, clean_environment, end_of, guarded, to_stderr
from connector.errors import FixConfiguration, RetryLater

PYTHONS = ((3, 11), (3, 12))
"""The interpreters that the servers and their packages were tested with."""


@dataclass(frozen=True, slots=True)
class Package:
    """A server's package on PyPI and what its environment must hold.

    Attributes
    ----------
    name : as people call the server.
    distribution, version : what PyPI calls it. Its locked packages ship as `<file>-<version>.txt` beside this module.
    file : the beginning of names of files and folders.
    size : of the environment, for the person who waits.
    modules : some of those it depends on; that they can be imported tells a whole environment from a torn one.
    beside : distributions that are installed with it.
    programs : files of the environment that must be there, as patterns below its folder.
    """

    name: str
    distribution: str
    version: str
    file: str
    size: str
    modules: tuple[str, ...]
    beside: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()

    @property
    def constraints(self) -> str | None:
        """The locked package versions that ship for this version; None for a version that has none."""
        file = resources.files("connector.demo") / f"{self.file}-{self.version}.txt"
        return file.read_text(encoding="utf-8") if file.is_file() else None


def server_environment(package: Package, *, cache: Path | None = None, progress: Progress = to_stderr) -> Path:
    """The folder of a virtual environment that holds the package; built on first use.

    A virtual environment cannot be moved, so it is built in place and counts only once its last file, `complete.json`,
    is there.

    Raises
    ------
    FixConfiguration : no Python 3.11 or 3.12 is found.
    RetryLater : the packages could not be installed.
    """
    python, release = _find_python(package)
    folder = (cache or _cache_folder()) / f"{package.file}-{package.version}-py{release[0]}.{release[1]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not _is_complete(folder, package):
            shutil.rmtree(folder, ignore_errors=True)
            _build(folder, python, package, progress)
    return folder


def _cache_folder() -> Path:
    return Path(platformdirs.user_cache_dir("agreement-connector")) / "servers"


def _marker(package: Package) -> dict[str, str]:
    digest = hashlib.sha256((package.constraints or "").encode()).hexdigest()
    return {"version": package.version, "constraints": digest}


def _is_complete(folder: Path, package: Package) -> bool:
    """Whether the build was finished, from these constraints, and its interpreter still runs and finds the server."""
    try:
        marker = json.loads((folder / "complete.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if marker != _marker(package) or not all(any(folder.glob(program)) for program in package.programs):
        return False
    ask = f"import importlib.metadata as m, {', '.join(package.modules)}; print(m.version('{package.distribution}'))"
    try:
        answer = subprocess.run(
            [folder / "bin" / "python", "-c", ask],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=clean_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.stdout.strip() == package.version


def _build(folder: Path, python: str, package: Package, progress: Progress) -> None:
    title = f"{package.name} {package.version}"
    progress(f"Installing {title} into {folder} (about {package.size}, once; one to three minutes) ...")
    folder.mkdir(parents=True)
    log = folder / "install.log"
    locked: list[str] = []
    if package.constraints is not None:
        (folder / "constraints.txt").write_text(package.constraints, encoding="utf-8")
        locked = ["-c", str(folder / "constraints.txt")]
    venv = [python, "-m", "venv", "--without-pip", str(folder)]
    options = ["install", "--quiet", "--disable-pip-version-check", "--no-input", *locked]
    wanted = [f"{package.distribution}=={package.version}", *package.beside]
    pip = [*_pip(python), "--python", str(folder / "bin" / "python"), *options, *wanted]
    for command in (venv, pip):
        if _run_logged(command, log, progress) != 0:
            raise RetryLater(f"{title} could not be installed.", end_of(log, 12))
    _mark_complete(folder, package)


def _mark_complete(folder: Path, package: Package) -> None:
    unfinished = folder / "complete.json.new"
    unfinished.write_text(json.dumps(_marker(package)), encoding="utf-8")
    unfinished.replace(folder / "complete.json")


def _run_logged(command: Sequence[str], log: Path, progress: Progress) -> int:
    """Run `command` with its output in `log`; a sign of life every 20 seconds; ended with us."""
    environment = {
        **os.environ,
        "PYTHONNOUSERSITE": "1",
    }  # pip keeps the person's index, proxy and certificate settings
    for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_CONSTRAINT"):
        environment.pop(name, None)
    with guarded(command, log, environment) as running:
        started = time.monotonic()
        while True:
            try:
                return running.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                progress(f"  still installing ({time.monotonic() - started:.0f} s)")


def _find_python(package: Package) -> tuple[str, tuple[int, int]]:
    """An interpreter that the server was tested with: the running one if it is, else one from PATH."""
    if sys.version_info[:2] in PYTHONS:
        return sys.executable, (sys.version_info[0], sys.version_info[1])
    for release in PYTHONS:
        found = shutil.which(f"python{release[0]}.{release[1]}")
        # A name on PATH may be a shim whose interpreter is not there: ask it.
        if found and _release_of(found) == release:
            return found, release
    raise FixConfiguration(
        f"{package.name} needs Python 3.11 or 3.12, and neither is on the PATH.",
        "Install one of them (for instance `apt install python3.11 python3.11-venv` or `pyenv install 3.11`).",
    )


def _release_of(python: str) -> tuple[int, int] | None:
    ask = [python, "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        major, minor = subprocess.run(ask, capture_output=True, text=True, check=False, timeout=30).stdout.split()
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return int(major), int(minor)


def _pip(python: str) -> list[str]:
    """A pip that can install into another environment (22.3 or newer), wherever there is one."""
    for candidate in dict.fromkeys([sys.executable, python, _base_python()]):
        command = [candidate, "-m", "pip"]
        answer = subprocess.run([*command, "--python", candidate, "--version"], capture_output=True, check=False)
        if answer.returncode == 0:
            return command
    raise FixConfiguration("No pip of version 22.3 or newer is found.", "Install it: python3 -m ensurepip --upgrade")


def _base_python() -> str:
    return str(getattr(sys, "_base_executable", sys.executable))
