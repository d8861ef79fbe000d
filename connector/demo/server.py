"""What the launchers of real servers share: a login that stays with the data, a boot that is waited for, an end."""

from __future__ import annotations

import abc
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import requests

from connector.demo.api import loopback_session
from connector.demo.process import Guarded, Progress, ServerFailed, end_of, free_port, is_free
from connector.errors import FixConfiguration

BOOT_SECONDS = 300.0
BOOT_TRIES = 3


class Server(abc.ABC):
    """A server on a port of the loopback address, with its data in a folder of its own.

    Attributes
    ----------
    name : as people call the server.
    url : http://127.0.0.1:PORT
    password : of its owner on the page.
    data_dir, log : where it keeps its database and writes what it has to say.
    """

    name: str
    password: str

    _first_boot: str
    """How long the first boot takes, for the person who waits."""

    _ready_path: str
    """What answers as soon as the server is up."""

    def __init__(self, environment: Path, data_dir: Path, port: int | None, progress: Progress) -> None:
        self.data_dir = data_dir.absolute()
        self.log = self.data_dir / "server.log"
        self._environment = environment
        self._port = port
        self._progress = progress
        self._guarded: Guarded | None = None
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url if self._port else 'not started'})"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

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
        return self._guarded is not None and self._guarded.is_running

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
            port = self._port if self._port is not None else free_port()
            if not is_free(port):
                raise FixConfiguration(f"Port {port} of this machine is taken.", "Name another one, or none.")
            self._progress(f"Booting {self.name} on 127.0.0.1:{port} (the first time {self._first_boot}) ...")
            try:
                self._guarded = self._launch(port)
                if self._wait(self._guarded, port):
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

    @abc.abstractmethod
    def _launch(self, port: int) -> Guarded:
        """Start it on this port, and before it what it needs."""

    @abc.abstractmethod
    def _is_ours(self, port: int) -> bool:
        """Whether the one who answers on this port knows our owner."""

    def _wait(self, guarded: Guarded, port: int) -> bool:
        """True once it answers; False when somebody else has its port."""
        deadline = time.monotonic() + BOOT_SECONDS
        while time.monotonic() < deadline:
            if not guarded.is_running:
                if not is_free(port):
                    return False
                raise ServerFailed(f"{self.name} ended while it was starting.", end_of(self.log))
            if answers(f"http://127.0.0.1:{port}{self._ready_path}"):
                return self._is_ours(port)
            time.sleep(0.25)
        raise ServerFailed(f"{self.name} did not answer within {BOOT_SECONDS:.0f} s.", end_of(self.log))


def kept_login(data_dir: Path, make: Callable[[], dict[str, str]]) -> dict[str, str]:
    """What opens the server: made once for a data folder, kept in it for its owner's eyes only."""
    file = data_dir / "login.json"
    if file.exists():
        kept: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
        return kept
    login = make()
    file.touch(mode=0o600)
    file.write_text(json.dumps(login), encoding="utf-8")
    return login


def answers(url: str) -> bool:
    """Whether a GET of `url` is answered with success."""
    try:
        with loopback_session() as session:
            return session.get(url, timeout=5).ok
    except requests.RequestException:
        return False
