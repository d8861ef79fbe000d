"""Files of JSON, read as streams: memory is one window of text, however long the file."""

from __future__ import annotations

import codecs
import gc
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from connector.errors import DataNotTrusted

WINDOW = 1 << 20
"""Bytes read at once where elements are read one by one."""
SMALL_WINDOW = 1 << 17
"""Bytes read at once where many elements are parsed together: what they become should stay in the processor's cache."""
_BLANK = " \t\n\r"
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_ .-]+")
_SEAM = re.compile(rb"\}[ \t\n\r]*,[ \t\n\r]*\{")


def read_array(path: str | Path) -> Iterator[Any]:
    """The elements of a JSON array in a file, one by one.

    The cyclic garbage collector rests meanwhile: JSON has no cycles, and passes over the growing number of living
    objects would cost more than the parsing.
    """
    with Path(path).open("rb") as file, _collector_at_rest():
        yield from _Window(file, str(path)).elements()


def read_lines(path: str | Path) -> Iterator[tuple[int, Any]]:
    """The numbers of a file's lines, from 1, and what they hold, one JSON value a line; blank lines are passed over.

    Raises DataNotTrusted, saying at which line, for what is not JSON, and OSError.
    """
    from msgspec import MsgspecError
    from msgspec.json import Decoder

    parse = Decoder().decode
    with Path(path).open("rb") as file, _collector_at_rest():
        for number, line in enumerate(file, 1):
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)  # noqa: PLW2901 - the same line
            if not line.strip():
                continue
            try:
                found = parse(line)
            except (MsgspecError, RecursionError, ValueError):
                found = _parsed_slowly(line, str(path), number)
            yield number, found


def read_object(path: str | Path) -> Any:
    """The one JSON value in a file. Raises DataNotTrusted for what is not JSON, and OSError."""
    return _parsed_slowly(Path(path).read_bytes().removeprefix(codecs.BOM_UTF8), str(path), 1)


def _parsed_slowly(line: bytes, name: str, number: int) -> Any:
    """What the standard library makes of a line: it takes NaN and infinities."""
    try:
        return json.loads(line)
    except UnicodeDecodeError as fault:
        raise DataNotTrusted(f"{name} is not UTF-8 text at line {number:,}.", "Save it as UTF-8.") from fault
    except (ValueError, RecursionError) as fault:
        raise DataNotTrusted(
            f"{name} is not valid JSON at line {number:,}.", "The file may be truncated: export it again."
        ) from fault


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
            first = True
            while True:
                element = self._element()
                yield element
                sign = self._next_sign()
                self._place += 1
                if sign == "]":
                    break
                if sign != ",":
                    raise self._fault("is not valid JSON (',' or ']' expected)", self._place - 1)
                self._next_sign()
                if first:
                    yield from self._many(element)
                    first = False
        if self._next_sign():
            raise self._fault("goes on after the end of its JSON array")

    def _many(self, first: Any) -> Iterator[Any]:
        """Elements by the windowful, as long as their seams are found; what is left is read one by one.

        A seam is guessed: the first `},{` after the last mention of the key that ends the first element. It is proven
        by the parse, since a cut anywhere else, in a text or between inner objects, leaves brackets open. Where the
        parse fails once, or the file is no such export, the slow way is taken for all of the rest.
        """
        key = list(first)[-1] if type(first) is dict and first else None
        if not isinstance(key, str) or not _PLAIN_KEY.fullmatch(key):
            return
        from msgspec import MsgspecError
        from msgspec.json import Decoder

        parse = Decoder().decode
        last_key = f'"{key}"'.encode()
        data = self._text[self._place :].encode("utf-8", "surrogatepass") + self._decoder.getstate()[0]
        place = 0
        while True:
            more = self._file.read(SMALL_WINDOW)
            self._read += len(more)
            data, place = data[place:] + more, 0
            seam = _last_seam(data, last_key)
            if not more or (seam is None and len(data) > WINDOW):
                break
            if seam is None:
                continue
            try:
                found = parse(b"[" + data[: seam.start() + 1] + b"]")
            except (MsgspecError, RecursionError, ValueError):
                break
            yield from found
            place = seam.end() - 1
        self._go_on_from(data)

    def _go_on_from(self, data: bytes) -> None:
        """Let the text be that of these bytes, the last ones read."""
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._place = 0
        try:
            self._text = self._decoder.decode(data)
        except UnicodeDecodeError as fault:
            at = self._read - len(data) + fault.start
            raise DataNotTrusted(f"{self._name} is not UTF-8 text at byte {at:,}.") from fault

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


def _last_seam(data: bytes, last_key: bytes) -> re.Match[bytes] | None:
    """The seam after the last mention of the key that has one: behind the very last the window may end."""
    last = data.rfind(last_key)
    before = data.rfind(last_key, 0, max(last, 0))
    for mention in (last, before):
        if mention >= 0 and (seam := _SEAM.search(data, mention)):
            return seam
    return None


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
