"""`connector gate` on the configured project: pull, store, decide; nothing is pushed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from connector.agreement.gate import Obstacle
from connector.annotations.collect import Table
from connector.config import Settings
from connector.errors import DataNotTrusted
from connector.store import Store
from connector.tools.base import Project, Tool
from connector.workflow.batch import Batch, Restricted
from connector.workflow.measure import Measured, collect, measure
from connector.workflow.pulling import Pulled, pull
from connector.workflow.sync import Watch


@dataclass(frozen=True, slots=True)
class Gated:
    """The verdict on a live batch, with the pull it rests on and the units outside the batch."""

    project: Project
    pulled: Pulled
    measured: Measured
    outside: tuple[str, ...]


def gate(
    tool: Tool, store: Store, settings: Settings, batch: Batch, watch: Watch, questions: Sequence[str] = ()
) -> Gated:
    """Pull into the store and judge the batch. Each new state of the batch's data counts as one look.

    Raises
    ------
    ToolTrouble : the tool can't be reached or refuses us.
    """
    started = watch.now()
    project = tool.open()
    cut_short: list[Obstacle] = []
    try:
        pulled = pull(tool, store, project, settings.push.prefix, now=started, full=False, progress=watch.pulling)
    except DataNotTrusted as error:  # nothing of it was kept: what the store held before is shown, and decides nothing
        pulled = Pulled(0, 0, False, store.skipped(project.source))
        cut_short.append(Obstacle("pull_cut_short", f"The pull was cut short: {error.message}"))
    run = store.start_run(project.source, "gate", started)
    chosen = Restricted(store.entries(project.source), batch)
    table = collect(chosen, project.schema, settings)
    data, name = fingerprint(table), _name(batch)
    look = _look(store, project.source, name, data)
    measured = measure(
        table, settings, batch=batch.named, look=look, live=True, questions=questions, obstacles=cut_short
    )
    if cut_short:  # no look: the batch's data are as they were
        store.end_run(run, watch.now(), measured.decision.verdict, {"pulled": 0})
        return Gated(project, pulled, measured, tuple(chosen.outside))
    judged = {**measured.decision.to_json(), "batch": name, "data": data}
    store.end_run(run, watch.now(), measured.decision.verdict, {"pulled": pulled.fetched}, judged)
    return Gated(project, pulled, measured, tuple(chosen.outside))


def fingerprint(table: Table) -> str:
    """A digest of the batch's ratings: equal exactly when the same raters gave the same units the same values."""
    digest = hashlib.sha256()
    for name, one in sorted(table.questions.items()):
        ratings = one.ratings
        rows = sorted(
            (str(ratings.unit_ids[unit]), str(ratings.rater_ids[rater]), repr(ratings.codebook.categories[value]))
            for unit, rater, value in zip(
                ratings.units.tolist(), ratings.raters.tolist(), ratings.values.tolist(), strict=True
            )
        )
        digest.update(json.dumps([name, rows], ensure_ascii=True).encode())
    return digest.hexdigest()


def _name(batch: Batch) -> str:
    """The batch's own name in the history: looks are counted per batch."""
    return json.dumps([sorted(batch.units), batch.first, batch.where], ensure_ascii=True)


def _look(store: Store, source: str, name: str, data: str) -> int:
    seen = [judged["data"] for _, judged in store.looks(source) if judged.get("batch") == name]
    states = [one for place, one in enumerate(seen) if place == 0 or one != seen[place - 1]]
    return len(states) + (0 if states and states[-1] == data else 1)
