"""Runs a command and ends it, children included, as soon as standard input closes.

The launcher of a server starts this file with the server's command line and holds the other end of the pipe: however
the launcher ends (return, Ctrl-C, SIGTERM, SIGKILL, a crash), the pipe closes and no server is left behind. The first
line on standard output is the command's process id; the exit code is the command's.

Standard library only: it is started as a file, without the package around it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

PATIENCE = 8.0
"""Seconds between asking the command to end and killing it."""


def run(command: Sequence[str], log: str) -> int:
    """Run `command` with its output appended to the file `log` until it ends or standard input closes."""
    with open(log, "ab") as sink:  # noqa: PTH123 - started before anything else, keep it bare
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True
        )
    print(child.pid, flush=True)  # noqa: T201 - this is the interface
    while child.poll() is None and not select.select([sys.stdin], [], [], 0.2)[0]:
        pass
    _end_group(child)
    return child.wait()


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """End the command's whole process group, also what outlived the command itself."""
    for sign, patience in ((signal.SIGTERM, PATIENCE), (signal.SIGKILL, 2.0)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, sign)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            child.poll()  # reaps it, so that the group can become empty
            try:
                os.killpg(child.pid, 0)
            except (ProcessLookupError, PermissionError):
                return
            time.sleep(0.05)


def _outlast(sign: int, frame: object) -> None:
    """Do nothing: the pipe is what ends it. (Ignoring the signal would be inherited by the command.)"""


if __name__ == "__main__":
    for outlasted in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(outlasted, _outlast)
    sys.exit(abs(run(sys.argv[2:], sys.argv[1])))
