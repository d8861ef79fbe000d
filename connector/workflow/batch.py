"""The batch that a gate judges: named units, the first N, or those with a value in a field; else every unit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from connector.annotations.collect import natural_key
from connector.annotations.model import Unit
from connector.errors import FixConfiguration, SkippedTask


@dataclass(frozen=True, slots=True)
class Batch:
    """Which units are judged; at most one of the three is set.

    units : ids, in the order given. first : the first so many by id, or by time of creation where ids are drawn at
    random, as Argilla's are. where : a field of the unit's data and its text.
    """

    units: tuple[str, ...] = ()
    first: int | None = None
    where: tuple[str, str] | None = None

    @property
    def named(self) -> Sequence[str] | None:
        """The units asked for by id, None where none were."""
        return self.units or None

    @property
    def count(self) -> int | None:
        """How many units were asked for, None where the batch does not say."""
        return len(self.units) or self.first

    def holds(self, one: Unit | SkippedTask) -> bool:
        """Whether a unit's field has the value of `where`; a malformed task's may."""
        if self.where is None or isinstance(one, SkippedTask):
            return True
        field, value = self.where
        return _text(one.data.get(field)) == value

    def by_name(self, units: Iterable[Unit | SkippedTask]) -> Batch:
        """The same batch with the units that `where` selects named: of one that comes several times every part belongs
        to it, whichever holds the field."""
        if self.where is None:
            return self
        named = tuple(dict.fromkeys(_id(one) for one in units if self.holds(one)))
        return Batch(units=named or ("",))  # no unit is called so; no name at all would mean every unit


def parse_batch(ids: str | None, first: int | None, where: str | None) -> Batch:
    """The batch of the command line.

    Parameters
    ----------
    ids : ids separated by commas or blanks, with ranges of numbers as in "1-200,305"; or "@FILE", one id a line.
    first : N. where : "FIELD=VALUE".

    Raises
    ------
    FixConfiguration : more than one of the three, or one that cannot be read.
    """
    if sum(option is not None for option in (ids, first, where)) > 1:
        raise FixConfiguration("--batch, --first and --where exclude each other.", "Give one of them.")
    if first is not None and first < 1:
        raise FixConfiguration(f"--first must be at least 1, not {first}.")
    if where is not None:
        field, equals, value = where.partition("=")
        if not (field and equals):
            raise FixConfiguration(f"--where {where!r} is not FIELD=VALUE.", "For example: --where batch=pilot-1")
        return Batch(where=(field, value))
    return Batch(units=_ids(ids)) if ids is not None else Batch(first=first)


def _ids(text: str) -> tuple[str, ...]:
    if text.startswith("@"):
        from pathlib import Path

        try:
            words = Path(text[1:]).read_text(encoding="utf-8-sig").split()
        except (OSError, UnicodeDecodeError):
            raise FixConfiguration(f"The file of --batch {text} cannot be read.") from None
    else:
        words = text.replace(",", " ").split()
    ids: dict[str, None] = {}
    for word in words:
        low, dash, high = word.partition("-")
        if dash and low.isascii() and low.isdigit() and high.isascii() and high.isdigit():
            if len(low) > 18 or len(high) > 18 or not 0 <= int(high) - int(low) < 1_000_000:
                raise FixConfiguration(f"The range {word} of --batch is empty or too long.")
            ids.update(dict.fromkeys(str(number) for number in range(int(low), int(high) + 1)))
        else:
            ids[word] = None
    if not ids:
        raise FixConfiguration("--batch names no unit.", "For example: --batch 1-500 or --batch @ids.txt")
    return tuple(ids)


class Restricted:
    """The units of the batch, to be gone through once; malformed tasks pass where they may belong to it.

    `outside` are the ids of the units that were left out, complete after the last unit.
    """

    def __init__(self, units: Iterable[Unit | SkippedTask], batch: Batch) -> None:
        self._units = units
        self._batch = batch
        self.outside: list[str] = []

    def __iter__(self) -> Iterator[Unit | SkippedTask]:
        belongs = self._test()
        units = self._units
        if self._batch.first is not None:
            units = sorted(units, key=_place)
        for one in units:
            if belongs(one):
                yield one
            else:
                self.outside.append(_id(one))

    def _test(self) -> Callable[[Unit | SkippedTask], bool]:
        batch = self._batch
        if batch.units:
            asked = set(batch.units)
            return lambda one: _id(one) in asked
        if batch.where is not None:
            return batch.holds
        if batch.first is not None:
            return _Among(batch.first)
        return lambda one: True  # noqa: ARG005 - every unit


class _Among:
    """Whether a unit is among the first so many different ones that come."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._ids: set[str] = set()

    def __call__(self, one: Unit | SkippedTask) -> bool:
        if len(self._ids) < self._count:
            self._ids.add(_id(one))
        return _id(one) in self._ids


_DRAWN = re.compile(r"(?:.*/)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
"""A UUID, behind its source's name where there are several."""


def _place(one: Unit | SkippedTask) -> tuple[str, Any]:
    """Where a unit stands in the order of `first`; a malformed one whose id tells nothing stands last."""
    ident = _id(one)
    if not _DRAWN.fullmatch(ident):
        return "", natural_key(ident)
    created = None if isinstance(one, SkippedTask) else one.created_at
    # an export without times holds its records in the order of insertion
    return (created, natural_key(ident)) if created else ("~", ())


def _id(one: Unit | SkippedTask) -> str:
    return one.unit if isinstance(one, SkippedTask) else one.id


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else None
