"""`connector report`: the numbers again out of the store, without the network."""

from __future__ import annotations

from connector.config import Settings
from connector.errors import FixConfiguration
from connector.store import Store
from connector.tools.base import Project, Tool
from connector.workflow.measure import Measured
from connector.workflow.sync import measure_stored


def report(tool: Tool, store: Store, settings: Settings) -> tuple[Project, Measured]:
    """The report and the gate on everything the store holds of the tool's project.

    Raises
    ------
    FixConfiguration : the project was never pulled into this store.
    """
    stored = store.source(tool.source)
    if stored is None:
        raise FixConfiguration("The store holds nothing of this project yet.", "Run: connector sync")
    schema = tool.read_schema(stored.settings)
    project = Project(
        stored.source,
        stored.title,
        stored.link,
        schema,
        settings=stored.settings,
        required_ratings=stored.required_ratings,
    )
    return project, measure_stored(store, project, settings)
