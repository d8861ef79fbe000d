"""The sources of a run: projects of tools and files, and how they are opened, pulled and joined into one table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from connector.annotations.model import Question, Unit
from connector.config import Settings
from connector.errors import SkippedTask
from connector.store import Store
from connector.tools.base import Project, Tool
from connector.workflow.joining import Joined, Part, Reading
from connector.workflow.pulling import reach


@dataclass(frozen=True, slots=True)
class LiveSource:
    """A project or dataset of a tool. `name` is what ids of the table call it."""

    name: str
    tool: Tool


@dataclass(frozen=True, slots=True)
class FileSource:
    """An export or a long table, which is read and never written.

    path : its stable identity. read : goes through it once more. unit_is_key : its units' ids are their keys.
    noun : what people call one of its units.
    """

    name: str
    path: str
    read: Callable[[], Reading]
    unit_is_key: bool = False
    noun: str = "task"


Source = LiveSource | FileSource


@dataclass(frozen=True, slots=True)
class Reached:
    """A project that answers. `place` is its source's among all."""

    place: int
    name: str
    tool: Tool
    project: Project


def live(sources: Sequence[Source]) -> list[LiveSource]:
    """Those of the sources that stand in a tool."""
    return [source for source in sources if isinstance(source, LiveSource)]


def opened(sources: Sequence[Source], project_of: Callable[[Tool], Project]) -> list[Reached]:
    """Every project of the sources, one after the other."""
    return [
        Reached(place, source.name, source.tool, project_of(source.tool))
        for place, source in enumerate(sources)
        if isinstance(source, LiveSource)
    ]


def reach_all(sources: Sequence[Source], store: Store, *, now: float, full: bool) -> list[Reached]:
    """Open every project, so that one that is away stops a run before anything is pulled. Raises ToolTrouble."""
    return opened(sources, lambda tool: reach(tool, store, now=now, full=full))


def join(
    sources: Sequence[Source],
    projects: Sequence[Reached],
    settings: Settings,
    units: Callable[[Reached], Iterable[Unit | SkippedTask]],
) -> Joined:
    """The sources as one table; `units` gives those of a project.

    Raises
    ------
    FixConfiguration : a file that cannot be read, or questions of one name that are not one question.
    DataNotTrusted : a file that is truncated.
    """
    reached = {one.place: one for one in projects}
    parts = [
        _file_part(source) if isinstance(source, FileSource) else _live_part(reached[place], units)
        for place, source in enumerate(sources)
    ]
    joined = Joined(parts, settings)
    joined.check()
    return joined


def join_stored(sources: Sequence[Source], projects: Sequence[Reached], store: Store, settings: Settings) -> Joined:
    """The same with what the store holds of each project, at the time it is read."""
    return join(sources, projects, settings, lambda one: store.entries(one.project.source))


def history(sources: Sequence[Source]) -> str:
    """Under which name the runs on these sources together are remembered: that of the only one, where there is one."""
    names = [source.tool.source if isinstance(source, LiveSource) else f"file:{source.path}" for source in sources]
    return names[0] if len(names) == 1 else json.dumps(sorted(names))


def _live_part(one: Reached, units: Callable[[Reached], Iterable[Unit | SkippedTask]]) -> Part:
    schema = one.project.schema
    noun = one.tool.capabilities.noun
    return Part(one.name, dict(schema.questions), lambda: Reading(schema, units(one)), one.project, noun=noun)


def _file_part(source: FileSource) -> Part:
    asked = _asked_in(source.read())
    return Part(source.name, asked, source.read, unit_is_key=source.unit_is_key, noun=source.noun)


def _asked_in(reading: Reading) -> Mapping[str, Question]:
    """What a file asks. It is read whole for that: an export without settings tells only at its end."""
    for unit in reading.units:
        if not isinstance(unit, SkippedTask):
            with suppress(SkippedTask):
                for one in unit.annotations:
                    if one.status == "submitted":
                        reading.schema.answers(one, unit)
    return dict(reading.schema.questions)
