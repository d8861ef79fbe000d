"""Progress of long work on standard error: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from connector.output.terminal import say

Update = Callable[[str, int, int | None], None]
"""What is being done, how much is done, and of how much (None: unknown)."""

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def shown_progress() -> Iterator[Update]:
    """Show progress while the block runs; standard output is left alone."""
    if sys.stderr is not None and sys.stderr.isatty():
        with _bars() as update:
            yield update
    else:
        yield _lines()


@contextmanager
def _bars() -> Iterator[Update]:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    tasks: dict[str, TaskID] = {}
    with Progress(console=Console(stderr=True), transient=True) as progress:

        def update(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield update


def _lines() -> Update:
    last = time.monotonic()

    def update(what: str, done: int, total: int | None) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            say(f"{what} {done:,}{'' if total is None else f' of {total:,}'} ...")

    return update
