"""Types that the live tests share."""

from __future__ import annotations

from dataclasses import dataclass

from connector.demo.seed import Rater


@dataclass(frozen=True)
class SmallProject:
    """A project that a test made: task ids in the order of its rows, and the raters of its columns."""

    id: int
    title: str
    task_ids: tuple[int, ...]
    raters: tuple[Rater, ...]
