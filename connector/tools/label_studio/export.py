"""A Label Studio JSON export, read as a stream: memory is one window of text, however long the file."""

from __future__ import annotations

import codecs
import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from connector.annotations.model import Unit
from connector.errors import DataNotTrusted, SkippedTask
from connector.tools.label_studio.shape import unit_of

WINDOW = 1 << 20
"""Bytes read at once."""
_BLANK = " \t\n\r"


def read_export(path: str | Path) -> Iterator[Unit | SkippedTask]:
    """The units of an export file, in its order; a malformed task comes as the SkippedTask that says what is wrong.

    Raises DataNotTrusted, saying at which byte, for a file that ends too early or is not JSON, and OSError.
    """
    for task in read_array(path):
        try:
            unit = unit_of(task)
        except SkippedTask as malformed:
            yield malformed
        else:
            yield unit


def read_array(path: str | Path) -> Iterator[Any]:
    """The elements of a JSON array in a file, one by one.

    The cyclic garbage collector rests meanwhile: JSON has no cycles, and passes over the growing number of living
    objects would cost more than the parsing.
    """
    with Path(path).open("rb") as file, _collector_at_rest():
        yield from _Window(file, str(path)).elements()


class _Window:
    """The part of the file that is in memory."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._place = 0
        self._read = 0
        self._ended = False
        self._parse = json.JSONDecoder().raw_decode

    def elements(self) -> Iterator[Any]:
        if self._next_sign() != "[":
            raise self._fault("is not a JSON array")
        self._place += 1
        if self._next_sign() == "]":
            self._place += 1
        else:
            while True:
                yield self._element()
                sign = self._next_sign()
                self._place += 1
                if sign == "]":
                    break
                if sign != ",":
                    raise self._fault("is not valid JSON (',' or ']' expected)", self._place - 1)
                self._next_sign()
        if self._next_sign():
            raise self._fault("goes on after the end of its JSON array")

    def _next_sign(self) -> str:
        """The next character that is not blank, "" at the end of the file; `_place` is then at it."""
        while True:
            text, place, length = self._text, self._place, len(self._text)
            while place < length and text[place] in _BLANK:
                place += 1
            self._place = place
            if place < length:
                return text[place]
            if self._ended:
                return ""
            self._more(WINDOW)

    def _element(self) -> Any:
        size = WINDOW
        while True:
            try:
                found, end = self._parse(self._text, self._place)
            except json.JSONDecodeError as fault:
                if self._ended:
                    raise self._truncated(fault) from fault
                if not self._may_go_on(fault):
                    raise self._fault(f"is not valid JSON ({fault.msg})", fault.pos) from fault
            except RecursionError as fault:
                raise self._fault("is nested too deeply") from fault
            except ValueError as fault:  # an integer beyond the interpreter's limit of digits
                raise self._fault("holds a number of too many digits") from fault
            else:
                # a number at the end of the window may have more digits
                if end < len(self._text) or self._ended or isinstance(found, dict | list | str):
                    self._place = end
                    return found
            self._more(size)
            # one task larger than the window: look at it again only when there is twice as much
            size *= 2

    def _may_go_on(self, fault: json.JSONDecodeError) -> bool:
        """Whether the fault may be but the end of the window: it lies there, or a text began that has no end yet."""
        return fault.pos >= len(self._text) - 16 or fault.msg.startswith("Unterminated string")

    def _more(self, size: int) -> None:
        data = self._file.read(size)
        self._ended = not data
        try:
            text = self._decoder.decode(data, final=self._ended)
        except UnicodeDecodeError as fault:
            if self._ended:
                raise self._too_early() from fault
            at = self._read - len(self._decoder.getstate()[0]) + fault.start
            raise DataNotTrusted(f"{self._name} is not UTF-8 text at byte {at:,}.") from fault
        self._read += len(data)
        self._text = self._text[self._place :] + text
        self._place = 0

    def _truncated(self, fault: json.JSONDecodeError) -> DataNotTrusted:
        rest = self._text[fault.pos :].rstrip(_BLANK)
        if not rest or (self._may_go_on(fault) and not rest.endswith("]")):
            return self._too_early()
        return self._fault(f"is not valid JSON ({fault.msg})", fault.pos)

    def _too_early(self) -> DataNotTrusted:
        return DataNotTrusted(
            f"{self._name} ends too early, at byte {self._read:,}: the file is truncated.", "Export it again."
        )

    def _fault(self, what: str, place: int | None = None) -> DataNotTrusted:
        at = self._place if place is None else place
        if self._ended and at >= len(self._text):
            return self._too_early()
        behind = len(self._text[at:].encode("utf-8", "surrogatepass")) + len(self._decoder.getstate()[0])
        return DataNotTrusted(f"{self._name} {what} at byte {self._read - behind:,}.")


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
