"""Fills an Argilla with a dataset as several people would have labelled it: made up, the same every time.

500 short reviews get two to four submitted responses each, with an answer to every required question and to most of the
others. Some responses are drafts, some are discarded.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from connector.demo.api import JsonApi
from connector.demo.process import Progress, to_stderr
from connector.demo.reviews import CATEGORIES, GUIDELINE, RATERS, THINGS, vote, write

WORKSPACE = "demo"
NAME = "reviews"

BULK = 100
"""Records that one call makes: the server takes 500, but its time grows with their square."""

UNFINISHED = len(RATERS) + 1
"""More responses than there are raters: the page shows a completed record only to those who answered it."""

_TOPICS = ("quality", "price", "delivery", "design")
_STARS = {"Positive": 5, "Neutral": 3, "Mixed": 3, "Negative": 1}
_MARKED = {"Positive": "praise", "Negative": "complaint"}


class ArgillaApi(JsonApi):
    """Argilla with one person's key."""

    def __init__(self, url: str, api_key: str) -> None:
        super().__init__(url, {"X-Argilla-Api-Key": api_key})


@dataclass(frozen=True, slots=True)
class Annotator:
    """One who labels: their id and login, and their own key."""

    id: str
    username: str
    password: str = field(repr=False)
    api_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SeededDataset:
    """What seeding made. `n_responses` counts what was submitted."""

    id: str
    workspace: str
    name: str
    annotators: tuple[Annotator, ...]
    record_ids: tuple[str, ...]
    n_responses: int


def make_workspace(owner: ArgillaApi, name: str) -> str:
    """The id of the workspace of this name, made where there is none."""
    there = {one["name"]: str(one["id"]) for one in owner.call("GET", "/api/v1/me/workspaces")["items"]}
    return there.get(name) or str(owner.call("POST", "/api/v1/workspaces", {"name": name})["id"])


def make_annotator(owner: ArgillaApi, workspace: str, username: str, password: str) -> Annotator:
    """An annotator who is a member of the workspace (by its id); one who is there already keeps their password."""
    people = {one["username"]: one for one in owner.call("GET", "/api/v1/users")["items"]}
    person = people.get(username)
    if person is None:
        asked = {"username": username, "first_name": username.capitalize(), "role": "annotator", "password": password}
        person = owner.call("POST", "/api/v1/users", asked)
    members = {one["id"] for one in owner.call("GET", f"/api/v1/workspaces/{workspace}/users")["items"]}
    if person["id"] not in members:
        owner.call("POST", f"/api/v1/workspaces/{workspace}/users", {"user_id": person["id"]})
    return Annotator(person["id"], username, password, person["api_key"])


def question(
    name: str, kind: str, options: Sequence[str | int] = (), *, required: bool = True, **settings: Any
) -> dict[str, Any]:
    """A question in the form the server takes.

    Parameters
    ----------
    kind : label_selection, multi_label_selection, rating, ranking, span or text.
    options : what can be picked; the numbers of a rating.
    settings : others of that kind, as `field="text"` of a span question.
    """
    described: list[dict[str, Any]] = [
        {"value": option} if kind == "rating" else {"value": option, "text": option} for option in options
    ]
    given = {"type": kind, **settings} | ({"options": described} if described else {})
    return {"name": name, "title": name, "required": required, "settings": given}


def response(user: str, values: Mapping[str, Any], status: str = "submitted") -> dict[str, Any]:
    """What one user (by id) answered: question -> value."""
    return {"user_id": user, "status": status, "values": {name: {"value": value} for name, value in values.items()}}


def make_dataset(
    owner: ArgillaApi,
    workspace: str,
    name: str,
    questions: Sequence[Mapping[str, Any]],
    *,
    fields: Sequence[str] = ("text",),
    metadata: Mapping[str, str] | None = None,
    min_submitted: int = 1,
    **settings: Any,
) -> str:
    """A published dataset without records; its id.

    Parameters
    ----------
    workspace : its id.
    fields : names of text fields, of which the first must be filled.
    metadata : name -> type (terms, integer, float) of properties that every annotator sees.
    settings : other fields of the dataset, as `guidelines`.
    """
    asked = {"name": name, "workspace_id": workspace, **settings}
    asked["distribution"] = {"strategy": "overlap", "min_submitted": min_submitted}
    dataset = str(owner.call("POST", "/api/v1/datasets", asked)["id"])
    place = f"/api/v1/datasets/{dataset}"
    for number, one in enumerate(fields):
        body = {"name": one, "title": one, "required": number == 0, "settings": {"type": "text"}}
        owner.call("POST", f"{place}/fields", body)
    for asking in questions:
        owner.call("POST", f"{place}/questions", asking)
    for one, kind in (metadata or {}).items():
        body = {"name": one, "title": one, "settings": {"type": kind}, "visible_for_annotators": True}
        owner.call("POST", f"{place}/metadata-properties", body)
    owner.call("PUT", f"{place}/publish")
    return dataset


def add_records(owner: ArgillaApi, dataset: str, records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Put records (in the form the server takes) into the dataset; their ids, in the same order."""
    ids: list[str] = []
    for start in range(0, len(records), BULK):
        items = {"items": records[start : start + BULK]}
        made = owner.call("POST", f"/api/v1/datasets/{dataset}/records/bulk", items)
        ids += [str(one["id"]) for one in made["items"]]
    return ids


def seed_reviews(
    url: str, api_key: str, password: str, *, n_records: int = 500, seed: int = 3, progress: Progress = to_stderr
) -> SeededDataset:
    """Make the dataset; the same reviews and responses for the same `seed`.

    Parameters
    ----------
    api_key : the owner's.
    password : of the four annotators.
    """
    owner = ArgillaApi(url, api_key)
    progress("Making four annotators ...")
    workspace = make_workspace(owner, WORKSPACE)
    annotators = tuple(make_annotator(owner, workspace, name, password) for name, _ in RATERS)
    records = _records(random.Random(seed), n_records, annotators)
    n_responses = sum(one["status"] == "submitted" for record in records for one in record["responses"])
    progress(f"Importing {n_records} records with {n_responses} responses (about 10 s) ...")
    questions = (
        question("sentiment", "label_selection", CATEGORIES),
        question("stars", "rating", range(1, 6)),
        question("topics", "multi_label_selection", _TOPICS, required=False),
        question("telling", "span", tuple(_MARKED.values()), required=False, field="text"),
    )
    dataset = make_dataset(
        owner, workspace, NAME, questions, metadata={"product": "terms"}, min_submitted=UNFINISHED, guidelines=GUIDELINE
    )
    ids = add_records(owner, dataset, records)
    owner.close()
    return SeededDataset(dataset, WORKSPACE, NAME, annotators, tuple(ids), n_responses)


def _records(rng: random.Random, n_records: int, annotators: Sequence[Annotator]) -> list[dict[str, Any]]:
    return [_record(rng, number, annotators) for number in range(1, n_records + 1)]


def _record(rng: random.Random, number: int, annotators: Sequence[Annotator]) -> dict[str, Any]:
    """One review, answered by two to four people; one in six has a draft or a discarded response of another."""
    meant, text = write(rng)
    about = rng.sample(_TOPICS, rng.choice((1, 1, 2)))
    order = rng.sample(range(len(annotators)), len(annotators))
    n_responses = rng.choice((2, 2, 3, 3, 4))
    responses = [
        response(annotators[who].id, _values(rng, meant, text, about, RATERS[who][1])) for who in order[:n_responses]
    ]
    if n_responses < len(annotators) and rng.random() < 1 / 6:
        status = "draft" if number % 2 else "discarded"
        responses.append(response(annotators[order[-1]].id, {"sentiment": rng.choice(CATEGORIES)}, status))
    return {
        "fields": {"text": text},
        "external_id": f"R{number:04d}",
        "metadata": {"product": next(thing for thing in THINGS if thing in text)},
        "responses": responses,
    }


def _values(rng: random.Random, meant: str, text: str, about: Sequence[str], care: float) -> dict[str, Any]:
    """What one rater answers to the four questions."""
    sentiment = vote(rng, meant, care)
    stars = _STARS[sentiment] + rng.choice((-1, 0, 0, 0, 1))
    values: dict[str, Any] = {"sentiment": sentiment, "stars": min(5, max(1, stars))}
    seen = [topic for topic in about if rng.random() < care]
    if seen:
        values["topics"] = seen
    values["telling"] = _marks(rng, sentiment, text)
    return values


def _marks(rng: random.Random, sentiment: str, text: str) -> list[dict[str, Any]]:
    """The review's second sentence, where it tells something; some raters leave its first word out."""
    if sentiment not in _MARKED:
        return []
    start = text.index(". ") + 2
    if rng.random() < 0.2:
        start = text.index(" ", start) + 1
    return [{"label": _MARKED[sentiment], "start": start, "end": len(text)}]
