"""`connector report`: the numbers again out of the store, without the network."""

from __future__ import annotations

from collections.abc import Sequence

from connector.annotations.collect import Table
from connector.config import Settings
from connector.errors import FixConfiguration
from connector.store import Store
from connector.tools.base import Project, Tool
from connector.workflow.joining import Joined
from connector.workflow.measure import Measured, collect_joined, measure
from connector.workflow.sources import Source, join_stored, opened


def report(sources: Sequence[Source], store: Store, settings: Settings) -> Measured:
    """The report and the gate on everything the store holds of the sources' projects, and on their files.

    Raises
    ------
    FixConfiguration : a project was never pulled into this store.
    """
    table, joined = stored_table(sources, store, settings)
    return measure(table, settings, live=True, joined=joined)


def stored_table(sources: Sequence[Source], store: Store, settings: Settings) -> tuple[Table, Joined]:
    """The one table of them, and its sources. Raises FixConfiguration as `report`."""
    known = opened(sources, lambda tool: _stored(tool, store, "this project" if len(sources) == 1 else tool.source))
    joined = join_stored(sources, known, store, settings)
    table, _ = collect_joined(joined, settings)
    return table, joined


def _stored(tool: Tool, store: Store, called: str) -> Project:
    stored = store.source(tool.source)
    if stored is None:
        raise FixConfiguration(f"The store holds nothing of {called} yet.", "Run: connector sync")
    return Project(
        stored.source,
        stored.title,
        stored.link,
        tool.read_schema(stored.settings),
        settings=stored.settings,
        required_ratings=stored.required_ratings,
    )
