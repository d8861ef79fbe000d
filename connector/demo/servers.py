"""Starts a real Label Studio on this machine: from its PyPI package, in a virtual environment of its own, on loopback.

    with label_studio_server(folder) as server:
        requests.get(server.url + "/api/projects", headers={"Authorization": f"Token {server.token}"})

The environment (about 1 GB) is built once and kept under the user's cache folder. The server is ended, with its
children, however the caller ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import platformdirs
import requests
from filelock import FileLock

from connector.errors import FixConfiguration, RetryLater, ToolTrouble

VERSION = "1.23.2"
"""The Label Studio that is started unless another is asked for."""

EMAIL = "admin@example.org"
PYTHONS = ((3, 11), (3, 12))
"""The interpreters that Label Studio and its packages were tested with."""

BOOT_SECONDS = 300.0
BOOT_TRIES = 3

Progress = Callable[[str], None]


def to_stderr(line: str) -> None:
    """Show one line of progress on standard error."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - shown to a person who waits


class ServerFailed(ToolTrouble):
    """The server could not be installed or did not come up."""


# The environment ------------------------------------------------------------------------------------------------------


def server_environment(version: str = VERSION, *, cache: Path | None = None, progress: Progress = to_stderr) -> Path:
    """The folder of a virtual environment that holds `label-studio==version`; built on first use.

    A virtual environment cannot be moved, so it is built in place and counts only once its last file, `complete.json`,
    is there: a killed build is thrown away and made anew. Two callers at once: one builds, the other waits.

    Raises
    ------
    FixConfiguration : no Python 3.11 or 3.12 is found.
    RetryLater : the packages could not be installed.
    """
    python, release = _find_python()
    folder = (cache or _cache_folder()) / f"label-studio-{version}-py{release[0]}.{release[1]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    constraints = _constraints(version)
    with FileLock(f"{folder}.lock"):
        if not _is_complete(folder, version, constraints):
            shutil.rmtree(folder, ignore_errors=True)
            _build(folder, python, version, constraints, progress)
    return folder


def _cache_folder() -> Path:
    return Path(platformdirs.user_cache_dir("agreement-connector")) / "servers"


def _constraints(version: str) -> str | None:
    """The locked package versions that ship for `version`; None for a version that has none."""
    file = resources.files("connector.demo") / f"label-studio-{version}.txt"
    return file.read_text(encoding="utf-8") if file.is_file() else None


def _digest(constraints: str | None) -> str:
    return hashlib.sha256((constraints or "").encode()).hexdigest()


def _is_complete(folder: Path, version: str, constraints: str | None) -> bool:
    """Whether the build was finished, from these constraints, and its interpreter still runs and finds the server."""
    try:
        marker = json.loads((folder / "complete.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if marker != {"version": version, "constraints": _digest(constraints)}:
        return False
    ask = "import importlib.metadata as m, django; print(m.version('label-studio'))"
    try:
        answer = subprocess.run(
            [folder / "bin" / "python", "-c", ask],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=_clean_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.stdout.strip() == version


def _build(folder: Path, python: str, version: str, constraints: str | None, progress: Progress) -> None:
    progress(f"Installing Label Studio {version} into {folder} (about 1 GB, once; one to three minutes) ...")
    folder.mkdir(parents=True)
    log = folder / "install.log"
    locked: list[str] = []
    if constraints is not None:
        (folder / "constraints.txt").write_text(constraints, encoding="utf-8")
        locked = ["-c", str(folder / "constraints.txt")]
    venv = [python, "-m", "venv", "--without-pip", str(folder)]
    options = ["install", "--quiet", "--disable-pip-version-check", "--no-input", *locked]
    pip = [*_pip(python), "--python", str(folder / "bin" / "python"), *options, f"label-studio=={version}"]
    for command in (venv, pip):
        if _run_logged(command, log, progress) != 0:
            raise RetryLater(
                f"Label Studio {version} could not be installed.",
                f"The end of {log}:\n{_last_lines(log, 12)}",
            )
    _mark_complete(folder, version, constraints)


def _mark_complete(folder: Path, version: str, constraints: str | None) -> None:
    marker = {"version": version, "constraints": _digest(constraints)}
    unfinished = folder / "complete.json.new"
    unfinished.write_text(json.dumps(marker), encoding="utf-8")
    unfinished.replace(folder / "complete.json")


def _run_logged(command: Sequence[str], log: Path, progress: Progress) -> int:
    """Run `command` with its output in `log`; a sign of life every 20 seconds; ended with us."""
    environment = {
        **os.environ,
        "PYTHONNOUSERSITE": "1",
    }  # pip keeps the person's index, proxy and certificate settings
    for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_CONSTRAINT"):
        environment.pop(name, None)
    with _guarded(command, log, environment) as guard:
        started = time.monotonic()
        while True:
            try:
                return guard.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                progress(f"  still installing ({time.monotonic() - started:.0f} s)")


def _find_python() -> tuple[str, tuple[int, int]]:
    """An interpreter that Label Studio was tested with: the running one if it is, else one from PATH."""
    if sys.version_info[:2] in PYTHONS:
        return sys.executable, (sys.version_info[0], sys.version_info[1])
    for release in PYTHONS:
        found = shutil.which(f"python{release[0]}.{release[1]}")
        # A name on PATH may be a shim whose interpreter is not there: ask it.
        if found and _release_of(found) == release:
            return found, release
    raise FixConfiguration(
        "Label Studio needs Python 3.11 or 3.12, and neither is on the PATH.",
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


# The process ----------------------------------------------------------------------------------------------------------


@dataclass
class _Guarded:
    """A command under `guard.py`: `process` is the guard, `pid` the command's own process."""

    process: subprocess.Popen[bytes]
    pid: int

    def end(self) -> None:
        """End the command with its children and wait until they are gone. Doing it twice is harmless."""
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def _start_guarded(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> _Guarded:
    guard = Path(__file__).with_name("guard.py")
    process = subprocess.Popen(
        [sys.executable, "-I", str(guard), str(log), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=dict(environment),
        start_new_session=True,  # Ctrl-C in the terminal is for the caller, who closes the pipe
    )
    assert process.stdout is not None
    first = process.stdout.readline().strip()
    if not first:
        process.wait()
        raise ServerFailed(f"{command[0]} could not be started.", f"The end of {log}:\n{_last_lines(log, 12)}")
    return _Guarded(process, int(first))


@contextlib.contextmanager
def _guarded(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> Iterator[_Guarded]:
    guarded = _start_guarded(command, log, environment)
    try:
        yield guarded
    finally:
        guarded.end()


def _last_lines(log: Path, n: int) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "(no log)"
    return "\n".join(f"    {line}" for line in lines[-n:]) or "    (empty)"


# The server -----------------------------------------------------------------------------------------------------------


class LabelStudioServer:
    """A running Label Studio.

    Attributes
    ----------
    url : http://127.0.0.1:PORT
    email, password : the owner's login on the page.
    token : the owner's legacy API token (sent as `Authorization: Token ...`); legacy tokens are enabled at the start.
    data_dir, log : where it keeps its database and writes what it has to say.
    """

    def __init__(self, environment: Path, data_dir: Path, port: int | None, version: str, progress: Progress) -> None:
        self.email = EMAIL
        self.data_dir = data_dir
        self.log = data_dir / "server.log"
        self.version = version
        self._environment = environment
        self._port = port
        self._progress = progress
        self._guarded: _Guarded | None = None
        data_dir.mkdir(parents=True, exist_ok=True)
        self.password, self.token = _credentials(data_dir)

    def __repr__(self) -> str:
        return f"LabelStudioServer({self.url if self._port else 'not started'})"

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        """The port of the loopback address that it listens on."""
        if self._port is None:
            raise RuntimeError("the server was not started yet")
        return self._port

    @property
    def pid(self) -> int:
        """The server's own process id."""
        if self._guarded is None:
            raise RuntimeError("the server is not running")
        return self._guarded.pid

    @property
    def is_running(self) -> bool:
        """Whether its process is still there."""
        return self._guarded is not None and self._guarded.process.poll() is None

    def start(self) -> None:
        """Start it and wait until it answers as itself.

        Raises
        ------
        FixConfiguration : the port that was asked for is taken.
        ServerFailed : it ended or stayed silent; the message holds the end of its log.
        """
        if self._guarded is not None:
            return
        for attempt in range(1, BOOT_TRIES + 1):
            port = self._port if self._port is not None else _free_port()
            if not is_free(port):
                raise FixConfiguration(f"Port {port} of this machine is taken.", "Name another one, or none.")
            self._progress(f"Booting Label Studio {self.version} on 127.0.0.1:{port} (the first time about 25 s) ...")
            self._guarded = _start_guarded(self._command(port), self.log, self._variables(port))
            try:
                if self._wait(port):
                    self._port = port
                    return
            except BaseException:
                self.stop()
                raise
            self.stop()
            # Somebody else took the free port between our look and the server's: look for another.
            if self._port is not None or attempt == BOOT_TRIES:
                break
        raise ServerFailed(
            "Somebody else answers on the server's port, or its owner's login was changed.",
            f"Start again; to begin with an empty server delete {self.data_dir}.",
        )

    def stop(self) -> None:
        """End it with its children and wait until they are gone. Doing it twice is harmless."""
        if self._guarded is not None:
            self._guarded.end()
            self._guarded = None

    def restart(self) -> None:
        """Stop it and start it again on the same port with the same data."""
        self.stop()
        self.start()

    def _command(self, port: int) -> list[str]:
        python = self._environment / "bin" / "python"
        script = self._environment / "bin" / "label-studio"
        return [
            str(python), str(script), "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port),
        ]  # fmt: skip

    def _variables(self, port: int) -> dict[str, str]:
        """The server's whole environment; of the person's own only what every program needs.

        Label Studio reads its settings with and without a prefix (PORT, DEBUG, USERNAME ...): nothing else may leak in.
        """
        return {
            **_clean_environment(),
            "LABEL_STUDIO_BASE_DATA_DIR": str(self.data_dir),
            "LABEL_STUDIO_HOST": f"http://127.0.0.1:{port}",
            "LABEL_STUDIO_USERNAME": self.email,
            "LABEL_STUDIO_PASSWORD": self.password,
            "LABEL_STUDIO_USER_TOKEN": self.token,
            "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
            "LABEL_STUDIO_COLLECT_ANALYTICS": "false",
            "LATEST_VERSION_CHECK": "false",
            "SENTRY_DSN": "",
            "FRONTEND_SENTRY_DSN": "",
            # it serves one machine: webhooks and connected models live on loopback too
            "SSRF_PROTECTION_ENABLED": "false",
            "ML_BLOCK_LOCAL_IP": "false",
        }

    def _wait(self, port: int) -> bool:
        """True once it answers; False when somebody else answers on its port (it then silently takes the next one)."""
        assert self._guarded is not None
        deadline = time.monotonic() + BOOT_SECONDS
        while time.monotonic() < deadline:
            if self._guarded.process.poll() is not None:
                raise ServerFailed("Label Studio ended while it was starting.", self._log_end())
            if _answers(f"http://127.0.0.1:{port}/health"):
                return self._is_ours(port)
            time.sleep(0.25)
        raise ServerFailed(f"Label Studio did not answer within {BOOT_SECONDS:.0f} s.", self._log_end())

    def _is_ours(self, port: int) -> bool:
        """Whether the one who answers knows our owner: our password opens it (a token may have been disabled since)."""
        page = f"http://127.0.0.1:{port}/user/login/"
        try:
            with requests.Session() as session:
                session.trust_env = False
                session.get(page, timeout=30)
                form = {
                    "csrfmiddlewaretoken": session.cookies.get("csrftoken", ""),
                    "email": self.email,
                    "password": self.password,
                }
                session.post(page, data=form, headers={"Referer": page}, timeout=30, allow_redirects=False)
                me = session.get(f"http://127.0.0.1:{port}/api/current-user/whoami", timeout=30)
                return me.ok and me.json()["email"] == self.email
        except (requests.RequestException, ValueError, KeyError, TypeError):
            return False

    def _log_end(self) -> str:
        return f"The end of {self.log}:\n{_last_lines(self.log, 20)}"


@contextlib.contextmanager
def label_studio_server(
    data_dir: Path, port: int | None = None, *, version: str = VERSION, progress: Progress = to_stderr
) -> Iterator[LabelStudioServer]:
    """A real Label Studio for the time of the block; on a free port unless one is named.

    Parameters
    ----------
    data_dir : where it keeps its database; the same folder again is the same server with the same login.
    port : a free one when None.
    version : of the PyPI package `label-studio`.
    progress : takes one line of text at a time.

    Raises
    ------
    FixConfiguration : no suitable Python, or the port is taken.
    RetryLater : it could not be installed.
    ServerFailed : it did not come up.
    """
    environment = server_environment(version, progress=progress)
    server = LabelStudioServer(environment, data_dir, port, version, progress)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _clean_environment() -> dict[str, str]:
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"PYTHONNOUSERSITE": "1"}


def _credentials(data_dir: Path) -> tuple[str, str]:
    """The owner's password and token: made once for a data folder, kept in it for its owner's eyes only."""
    file = data_dir / "login.json"
    if file.exists():
        kept = json.loads(file.read_text(encoding="utf-8"))
        return kept["password"], kept["token"]
    password, token = secrets.token_urlsafe(9), secrets.token_hex(20)
    file.touch(mode=0o600)
    file.write_text(json.dumps({"email": EMAIL, "password": password, "token": token}), encoding="utf-8")
    return password, token


def is_free(port: int) -> bool:
    """Whether nobody listens on this port of the loopback address."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(url: str) -> bool:
    try:
        with requests.Session() as session:
            session.trust_env = False  # a proxy has no business on loopback
            return session.get(url, timeout=5).ok
    except requests.RequestException:
        return False
