"""`connector gate` on the configured projects: pull, store, decide; nothing is pushed."""

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
from connector.workflow.batch import Batch
from connector.workflow.measure import Measured, collect_joined, measure
from connector.workflow.pulling import pull
from connector.workflow.sources import Source, history, join_stored, reach_all
from connector.workflow.sync import Watch


@dataclass(frozen=True, slots=True)
class Gated:
    """The verdict on a live batch, the units outside the batch, and what became of ratings that are in no tool now."""

    measured: Measured
    outside: tuple[str, ...]
    notes: tuple[str, ...] = ()


def gate(
    sources: Sequence[Source],
    store: Store,
    settings: Settings,
    batch: Batch,
    watch: Watch,
    questions: Sequence[str] = (),
) -> Gated:
    """Pull into the store and judge the batch. Each new state of the batch's data counts as one look.

    Raises
    ------
    ToolTrouble : a tool can't be reached or refuses us.
    """
    started = watch.now()
    reached = reach_all(sources, store, now=started, full=False)
    joined = join_stored(sources, reached, store, settings)
    fetched = 0
    cut_short: list[Obstacle] = []
    notes: list[str] = []
    for one in reached:
        prefix, progress = settings.push.prefix, watch.pulling
        try:
            pulled = pull(one.tool, store, one.project, prefix, now=started, full=False, progress=progress)
        except DataNotTrusted as error:  # nothing of it was kept: what the store held is shown, and decides nothing
            which = "The pull" if len(sources) == 1 else f"The pull of {one.name}"
            cut_short.append(Obstacle("pull_cut_short", f"{which} was cut short: {error.message}"))
        else:
            fetched += pulled.fetched
            notes += [note if len(sources) == 1 else f"{one.name}: {note}" for note in pulled.notes()]
    together = history(sources)
    run = store.start_run(together, "gate", started)
    table, outside = collect_joined(joined, settings, batch)
    data, name = fingerprint(table), _name(batch)
    measured = measure(
        table,
        settings,
        batch=batch.named,
        look=_look(store, together, name, data),
        live=True,
        questions=questions,
        obstacles=cut_short,
        joined=joined,
    )
    if cut_short:  # no look: the batch's data are as they were
        store.end_run(run, watch.now(), measured.decision.verdict, {"pulled": 0})
        return Gated(measured, outside, tuple(notes))
    judged = {**measured.decision.to_json(), "batch": name, "data": data}
    store.end_run(run, watch.now(), measured.decision.verdict, {"pulled": fetched}, judged)
    return Gated(measured, outside, tuple(notes))


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
