"""Standard output, standard error and output files, written so that no fault there looks like a verdict."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from connector.errors import FixConfiguration
from connector.output.harmless import clean


class ClosedPipe(Exception):
    """The reader of standard output is gone. The command-line library would make the exit code of a NO-GO of it."""


def begin() -> None:
    """Let both streams take any text: what their encoding lacks is written as its escape."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # None where it is closed


def finish() -> None:
    """Flush both streams; what cannot be flushed is dropped, since the interpreter would end with a code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def out(text: str) -> None:
    """Write to standard output.

    Raises
    ------
    ClosedPipe : its reader is gone. FixConfiguration : it is closed, or its disk is full.
    """
    if sys.stdout is None:
        raise FixConfiguration("Standard output is closed.", "Write into a file: -o FILE")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise ClosedPipe from None
    except OSError as error:
        raise FixConfiguration(f"Standard output cannot be written: {error.strerror}.") from None


def say(text: str) -> None:
    """Write lines to standard error, harmless for a terminal; where that cannot be written, nothing happens."""
    if sys.stderr is None:
        return
    lines = "\n".join(clean(line) for line in text.split("\n"))
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{lines}\n")
        sys.stderr.flush()


def to_file(text: str, path: Path, sources: Sequence[Path] = ()) -> None:
    """Write a file, whole or not at all, with the rights it had; a device or a pipe is written to, a link followed.

    Raises
    ------
    FixConfiguration : the path is a folder or one of the `sources`, or cannot be written.
    """
    try:
        target = Path(os.path.realpath(path))
        there = target.stat() if target.exists() else None
        if not path.name or (there is not None and stat.S_ISDIR(there.st_mode)):
            raise FixConfiguration(f"-o {path} is a folder, and a file is needed.")
        if any(source.exists() and target.samefile(source) for source in sources if there is not None):
            raise FixConfiguration(f"-o {path} is one of the sources; it was left as it is.")
        if there is not None and not stat.S_ISREG(there.st_mode):
            with target.open("w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
                stream.write(text)
        else:
            _replace(text, target, _default_mode() if there is None else stat.S_IMODE(there.st_mode))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no such name is allowed"
        raise FixConfiguration(f"{path} cannot be written: {why}.") from None


def _replace(text: str, target: Path, mode: int) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:50]}.", dir=target.parent)
    unfinished = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            stream.write(text)
        unfinished.chmod(mode)
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _default_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
