"""Types that the live tests share, and what they ask the system about processes."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from connector.demo.label_studio_seed import Rater


@dataclass(frozen=True)
class SmallProject:
    """A project that a test made: task ids in the order of its rows, and the raters of its columns."""

    id: int
    title: str
    task_ids: tuple[int, ...]
    raters: tuple[Rater, ...]


def alive(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def listening(pid: int) -> set[tuple[str, int]]:
    """The addresses that a process listens on, from the kernel's tables (Linux)."""
    inodes = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            inodes.add(str(fd.readlink()).removeprefix("socket:[").removesuffix("]"))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                address, port = fields[1].split(":")
                host = socket.inet_ntoa(bytes.fromhex(address)[::-1]) if len(address) == 8 else address
                found.add((host, int(port, 16)))
    return found


def group(leader: int) -> set[int]:
    """The processes of a process group (Linux)."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            after_the_name = stat.read_text().rpartition(")")[2].split()
            if int(after_the_name[2]) == leader:
                found.add(int(stat.parent.name))
    return found
