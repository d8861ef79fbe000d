"""What a Label Studio Repeater makes controls for: the items of lists in a task's data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from connector.annotations.model import Unit

_FLAG = re.compile(r"\{\{[^}]*\}\}")
USUAL_FLAG = "{{idx}}"


class Repeater(NamedTuple):
    """The list that it goes through, as a path into a task's data, and what stands for the place of an item in it."""

    on: str
    flag: str


class Item(NamedTuple):
    """An item of a Repeater: the place for every flag. NO_ITEM is none."""

    places: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """Its place, of nested Repeaters the places joined by dots."""
        return ".".join(place for _, place in self.places)

    def fill(self, text: str) -> str:
        """A name or a path of the config with the places in it."""
        known = dict(self.places)
        return _FLAG.sub(lambda flag: known.get(flag[0], flag[0]), text) if known else text


NO_ITEM = Item()


class RepeatedName:
    """The name of a control in a Repeater, with flags in it."""

    def __init__(self, name: str) -> None:
        self._flags = list(dict.fromkeys(_FLAG.findall(name)))
        parts = re.split(f"({_FLAG.pattern})", name)
        self._pattern = re.compile("".join(self._piece(part, parts[:n]) for n, part in enumerate(parts)))

    def item_of(self, name: str) -> Item | None:
        """The item whose control has this name."""
        found = self._pattern.fullmatch(name)
        return Item(tuple(zip(self._flags, found.groups(), strict=True))) if found else None

    def items(self, repeaters: Sequence[Repeater], data: Mapping[str, Any]) -> list[Item]:
        """The items that a task has, as its data tell."""
        found = dict.fromkeys(
            tuple((flag, places.get(flag, "")) for flag in self._flags) for places in _all(repeaters, data)
        )
        return [Item(places) for places in found if all(place for _, place in places)]

    def _piece(self, part: str, before: Sequence[str]) -> str:
        if part not in self._flags:
            return re.escape(part)
        return (
            rf"(?P={_group(self._flags.index(part))})"
            if part in before
            else rf"(?P<{_group(self._flags.index(part))}>\d+)"
        )


def resolved(data: Mapping[str, Any], path: str) -> Any:
    """What a path such as `pages[0].url` leads to in a task's data; None where it leads nowhere."""
    found: Any = data
    for step in re.findall(r"[^.\[\]]+", path.removeprefix("$")):
        if isinstance(found, list):
            found = found[int(step)] if step.isdecimal() and int(step) < len(found) else None
        else:
            found = found.get(step) if isinstance(found, Mapping) else None
    return found


class ItemView:
    """A task as the controls of one item see it: what their object shows stands in the data under its own path."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._last: tuple[Unit, Unit] | None = None

    def of(self, unit: Unit) -> Unit:
        """The same for the same task, whose readers remember it."""
        if self._path is None:
            return unit
        if self._last is None or self._last[0] is not unit:
            self._last = unit, unit._replace(data={**unit.data, self._path: resolved(unit.data, self._path)})
        return self._last[1]


def _all(repeaters: Sequence[Repeater], data: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    if not repeaters:
        yield {}
        return
    *outer, inner = repeaters
    for places in _all(outer, data):
        listed = resolved(data, Item(tuple(places.items())).fill(inner.on))
        for place in range(len(listed)) if isinstance(listed, list) else ():
            yield {**places, inner.flag: str(place)}


def _group(number: int) -> str:
    return f"flag{number}"
