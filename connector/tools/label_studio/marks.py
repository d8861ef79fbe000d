"""What each rater marked, drawn on review tasks in Label Studio's own way: a prediction for each rater, which has a tab
beside the reviewer's annotation.

From the list of tasks, a task without annotations opens with a copy of a prediction, whatever the project's settings:
of the one whose version is the project's own, else of the newest. So that the reviewer starts with nothing, each task
has one more prediction without marks, the newest, whose version is the project's where we made it. The label stream
shows and copies predictions of the project's own version alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from connector.annotations.columns import AnnotationColumns
from connector.annotations.model import Annotation, Unit
from connector.annotations.settled import COUNTS, Settled
from connector.errors import NotThere, UnexpectedAnswer
from connector.tools.http import Refused
from connector.tools.label_studio.client import Client
from connector.tools.label_studio.read import Reader
from connector.tools.label_studio.regions import is_region
from connector.tools.label_studio.spans import is_span

OURS = "iaa "
"""Begins the version of every prediction of ours; the page shows it on the prediction's tab."""
NOTHING = OURS + "nothing"
"""The version of the prediction without marks."""
SETTINGS = {"show_collab_predictions": False, "model_version": NOTHING}
"""Of the projects that we make."""
KINDS = frozenset({"spans", "regions", "relations"})
"""Kinds whose answers are drawn; a prediction of another kind would answer for the reviewer."""

_KEPT = (
    *("id", "type", "from_name", "to_name", "value", "original_width", "original_height", "original_length"),
    *("image_rotation", "item_index", "parentID", "from_id", "to_id", "direction", "labels"),
)
"""Of a result: where its mark lies and what it is, but no remarks of its rater."""

Result = Sequence[Mapping[str, Any]]
Predictions = Mapping[str, Result]
"""Version -> result, the oldest first."""


def starts_empty(project: Mapping[str, Any]) -> bool:
    """Whether a reviewer's annotation starts empty in a project: its version is ours or none (as it is after somebody
    saved the settings' page)."""
    return project.get("model_version") in (NOTHING, "", None)


def wanted(unit: Unit, raters: Mapping[str, Sequence[str]]) -> Predictions:
    """The predictions that the review task of `unit` should have: the page lists the newest first.

    raters : as of `ReviewItem`. Who rated the unit elsewhere (in another project, say) has none; nobody, no prediction.
    """
    label_of = {account: label for label, accounts in raters.items() for account in accounts}
    theirs = [
        one._replace(rater=label_of[one.rater], updated_by=label_of.get(one.updated_by or "", one.updated_by))
        for one in unit.annotations
        if one.status == "submitted" and one.rater in label_of
    ]
    newest = {one.rater: one for one in _newest(unit._replace(annotations=theirs))}
    found = {OURS + label: marks_of(newest[label].result) for label in reversed(list(raters)) if label in newest}
    return {**found, NOTHING: []} if found else {}


def _newest(unit: Unit) -> Iterable[Annotation]:
    """Each rater's annotation that counts."""
    columns = AnnotationColumns()
    annotations = columns.new_in(unit)
    columns.add(unit, annotations, lambda _: COUNTS)
    return (annotations[row] for row in np.flatnonzero(Settled(columns).counted).tolist())


def marks_of(result: Result) -> Result:
    """The marks of an annotation, with what is said of each of them and of pairs."""
    marks = {one.get("id") for one in result if is_span(one) or is_region(one)} - {None}
    return [
        {key: one[key] for key in _KEPT if key in one}
        for one in result
        if one.get("id") in marks or (one.get("from_id") in marks and one.get("to_id") in marks)
    ]


def held(task: Mapping[str, Any]) -> dict[int, tuple[str, Any]]:
    """Our predictions of a task: id -> (version, result), the oldest first."""
    ours = {
        one["id"]: (one["model_version"], one.get("result"))
        for one in task.get("predictions") or ()
        if str(one.get("model_version")).startswith(OURS)
    }
    return dict(sorted(ours.items()))


def put(target: Reader, tasks: Mapping[int, Predictions]) -> None:
    """Make these predictions of tasks that have none of ours, and check that they arrived.

    Of many predictions at once the server leaves out those that it holds to be invalid (every box of a video, for one),
    or refuses all of them; alone it takes them. One that it refuses even so is not there: the votes in words are.
    """
    bodies = [_body(task, version, result) for task, ours in tasks.items() for version, result in ours.items()]
    if not bodies:
        return
    address = f"api/projects/{target.project}/import/predictions"
    with suppress(Refused):
        answer = target.client.call("POST", address, body=bodies, repeatable=False)
        if isinstance(answer, dict) and answer.get("created") == len(bodies):
            return
    for row in target.by_id(sorted(tasks), "id,predictions,result,model_version", whole=True):
        if list(held(row).values()) != list(tasks[row["id"]].items()):
            _put_singly(target.client, row, tasks[row["id"]])


def _put_singly(client: Client, task: Mapping[str, Any], predictions: Predictions) -> None:
    """At no moment has the task a rater's prediction and not the empty one."""
    there = held(task)
    if NOTHING not in {version for version, _ in there.values()}:
        there[_made(client, task["id"], NOTHING, [])] = (NOTHING, [])
    take_away(client, [one for one, (version, _) in there.items() if version != NOTHING])
    for version, result in predictions.items():
        with suppress(Refused):
            _made(client, task["id"], version, result)
    take_away(client, [one for one, (version, _) in there.items() if version == NOTHING])


def _made(client: Client, task: int, version: str, result: Result) -> int:
    answer = client.call("POST", "api/predictions/", body=_body(task, version, result), repeatable=False)
    if not isinstance(answer, dict) or type(answer.get("id")) is not int:
        raise UnexpectedAnswer("Label Studio made a prediction but did not say its id.")
    return int(answer["id"])


def _body(task: int, version: str, result: Result) -> dict[str, Any]:
    return {"task": task, "model_version": version, "result": result}


def take_away(client: Client, predictions: Iterable[int]) -> None:
    """Delete these predictions."""
    for one in predictions:
        with suppress(NotThere):
            client.call("DELETE", f"api/predictions/{one}/")
