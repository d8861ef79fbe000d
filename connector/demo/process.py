"""Processes that end with whoever started them, and ports of the loopback address."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from connector.errors import ToolTrouble

Progress = Callable[[str], None]


def to_stderr(line: str) -> None:
    """Show one line of progress on standard error."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - shown to a person who waits


class ServerFailed(ToolTrouble):
    """The server could not be installed or did not come up."""


@dataclass
class Guarded:
    """A command under `guard.py`: `process` is the guard, `pid` the command's own process."""

    process: subprocess.Popen[bytes]
    pid: int

    @property
    def is_running(self) -> bool:
        """Whether the command is still there."""
        return self.process.poll() is None

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


def start_guarded(
    command: Sequence[str], log: Path, environment: Mapping[str, str], folder: Path | None = None
) -> Guarded:
    """Start `command` in `folder` (ours unless given) with its output appended to `log`; it ends when we do.

    Raises ServerFailed where there is no such program.
    """
    guard = Path(__file__).with_name("guard.py")
    process = subprocess.Popen(
        [sys.executable, "-I", str(guard), str(log), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=dict(environment),
        cwd=folder,
        start_new_session=True,  # Ctrl-C in the terminal is for the caller, who closes the pipe
    )
    assert process.stdout is not None
    first = process.stdout.readline().strip()
    if not first:
        process.wait()
        raise ServerFailed(f"{command[0]} could not be started.", end_of(log))
    return Guarded(process, int(first))


@contextlib.contextmanager
def guarded(
    command: Sequence[str], log: Path, environment: Mapping[str, str], folder: Path | None = None
) -> Iterator[Guarded]:
    """`start_guarded` for the time of the block."""
    started = start_guarded(command, log, environment, folder)
    try:
        yield started
    finally:
        started.end()


def end_of(log: Path, n: int = 20) -> str:
    """The log's last lines, for the hint of an error."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = ["(no log)"]
    return f"The end of {log}:\n" + ("\n".join(f"    {line}" for line in lines[-n:]) or "    (empty)")


def clean_environment() -> dict[str, str]:
    """Of the person's own environment only what every program needs."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"PYTHONNOUSERSITE": "1"}


def is_free(port: int) -> bool:
    """Whether nobody listens on this port of the loopback address."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """A port of the loopback address that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
