"""Vectors of Label Studio: points that each go on from another one, straight or along a Bezier curve.

A vector that is closed and goes round once encloses an area. Any other is a line, which may branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from connector.annotations.regions import numbers

STEPS = 32
"""Straight pieces that stand for one curve: a circle of four curves keeps all but .05% of its area."""
_HANDLE = 0.3
"""How far along the way the tool puts the handle that the straight end of a half curved piece lacks."""

Point = tuple[float, float]
Piece = tuple[float, float, float, float]


class Vertex(NamedTuple):
    """One point, in percent of the image, with its handles where the line is curved there.

    name : of the point. before : the name of the one that it goes on from; None: of the one ahead of it in the list.
    """

    at: Point
    name: str | int | None
    before: str | int | None
    entering: Point | None
    leaving: Point | None


class Vector(NamedTuple):
    """The points of a vector, and whether it is closed."""

    vertices: Sequence[Vertex]
    closed: bool

    @classmethod
    def of(cls, value: Any) -> Vector | None:
        """A vector as the tool stores it; None where a point or a handle has no usable coordinates."""
        given = value.get("vertices")
        found = [_vertex(one) for one in given] if isinstance(given, list) else []
        usable = [one for one in found if one is not None]
        return cls(usable, value.get("closed") is True) if usable and len(usable) == len(found) else None

    def towards(self, other: Vector, part: float) -> Vector:
        """The vector on the way to another one: points go to those of their name, the others and all handles stay."""
        there = {one.name: one.at for one in other.vertices if one.name is not None}
        moved = []
        for one in self.vertices:
            (x, y), (x2, y2) = one.at, one.at if one.name is None else there.get(one.name, one.at)
            moved.append(one._replace(at=(x + (x2 - x) * part, y + (y2 - y) * part)))
        return self._replace(vertices=moved)

    def outline(self) -> list[Point] | None:
        """The corners of what a closed vector encloses; None for a line."""
        links = self._links()
        following = dict(links)
        if not self.closed or not len(self.vertices) == len(links) == len(following):
            return None
        way = [0]
        while following[way[-1]] != 0 and len(way) < len(links):
            way.append(following[way[-1]])
        if len(way) < len(links) or following[way[-1]] != 0:
            return None
        return [point for start in way for point in self._piece(start, following[start])]

    def pieces(self) -> list[Piece]:
        """The straight pieces of a line, those of its branches too."""
        found: list[Piece] = []
        for start, end in self._links():
            here = self.vertices[start].at
            for there in self._piece(start, end):
                found.append((*here, *there))
                here = there
        return found

    def _links(self) -> list[tuple[int, int]]:
        """Which point each goes on from; one that names none from the one ahead of it, as the tool takes it."""
        place_of = {one.name: place for place, one in enumerate(self.vertices) if one.name is not None}
        links = []
        for place, one in enumerate(self.vertices):
            before = place - 1 if one.before is None else place_of.get(one.before, -1)
            if before not in (-1, place):
                links.append((before, place))
        if self.closed and len(self.vertices) > 1 and all(end != 0 for _, end in links):
            links.append((len(self.vertices) - 1, 0))
        return links

    def _piece(self, start: int, end: int) -> list[Point]:
        """The points that follow the start, up to the end."""
        one, other = self.vertices[start], self.vertices[end]
        if one.leaving is None and other.entering is None:
            return [other.at]
        (x, y), (x2, y2) = one.at, other.at
        across, down = _HANDLE * (x2 - x), _HANDLE * (y2 - y)
        leaving = one.leaving or (x + across, y + down)
        entering = other.entering or (x2 - across, y2 - down)
        found: list[Point] = []
        for step in range(1, STEPS):
            t = step / STEPS
            shares = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            corners = one.at, leaving, entering, other.at
            found.append(
                (
                    sum(share * corner[0] for share, corner in zip(shares, corners, strict=True)),
                    sum(share * corner[1] for share, corner in zip(shares, corners, strict=True)),
                )
            )
        return [*found, other.at]


def _vertex(given: Any) -> Vertex | None:
    if not isinstance(given, dict):
        return None
    at = _point(given)
    handles = [given.get(name) if given.get("isBezier") else None for name in ("controlPoint1", "controlPoint2")]
    entering, leaving = (None if one is None else _point(one) for one in handles)
    sound = all(one is None or _point(one) is not None for one in handles)
    return (
        Vertex(at, _name(given.get("id")), _name(given.get("prevPointId")), entering, leaving) if at and sound else None
    )


def _point(given: Any) -> Point | None:
    found = numbers(given.get("x"), given.get("y")) if isinstance(given, dict) else None
    return None if found is None else (found[0], found[1])


def _name(given: Any) -> str | int | None:
    return given if isinstance(given, str | int) and given != "" else None
