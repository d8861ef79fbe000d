"""A real Argilla, four annotators, and small datasets, started by the first test that asks for them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from connector.demo.argilla_seed import (
    Annotator,
    ArgillaApi,
    add_records,
    make_annotator,
    make_dataset,
    make_workspace,
    question,
    response,
)
from connector.demo.argilla_server import ArgillaServer, argilla_server

if TYPE_CHECKING:
    from playwright.sync_api import Page

WORKSPACE = "live"

Values = Mapping[str, Any]
"""Question -> value, in the form of Argilla's API without the `{"value": ...}` around it."""

Cell = str | Values | tuple[Values, str] | None
"""One annotator's response to one record: a label of the question "sentiment", or the values of several questions
(submitted), or such values with a status (draft, discarded), or none."""


@dataclass(frozen=True)
class SmallDataset:
    """A dataset that a test made: record ids in the order of its rows, and the annotators of its columns."""

    id: str
    name: str
    record_ids: tuple[str, ...]
    annotators: tuple[Annotator, ...]
    owner: ArgillaApi

    @property
    def path(self) -> str:
        """As a configuration names it."""
        return f"{WORKSPACE}/{self.name}"

    def records(self) -> list[dict[str, Any]]:
        """The records as they stand, with their responses, in the order of the rows; deleted ones are left out."""
        place = f"/api/v1/datasets/{self.id}/records"
        found = self.owner.call("GET", place, include="responses", limit=1000)["items"]
        by_id = {record["id"]: record for record in found}
        return [by_id[id_] for id_ in self.record_ids if id_ in by_id]

    def respond(self, row: int, column: int, values: Values, status: str = "submitted") -> str:
        """Answer as the annotator of this column, in place of what they answered before; gives the response's id."""
        annotator = self.annotators[column]
        body = {key: value for key, value in response("", values, status).items() if key != "user_id"}
        record = self.record_ids[row]
        old = [r["id"] for r in self.records()[row]["responses"] if r["user_id"] == annotator.id]
        as_annotator = ArgillaApi(self.owner.url, annotator.api_key)
        if old:
            made = as_annotator.call("PUT", f"/api/v1/responses/{old[0]}", body)
        else:
            made = as_annotator.call("POST", f"/api/v1/records/{record}/responses", body)
        as_annotator.close()
        return str(made["id"])


@pytest.fixture(scope="session")
def argilla(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArgillaServer]:
    """A running server with an empty database. Whoever takes a part of it away or restarts it puts it back."""
    with argilla_server(tmp_path_factory.mktemp("argilla")) as server:
        yield server


@pytest.fixture(scope="session")
def argilla_owner(argilla: ArgillaServer) -> Iterator[ArgillaApi]:
    """The API as the server's owner."""
    api = ArgillaApi(argilla.url, argilla.api_key)
    yield api
    api.close()


@pytest.fixture(scope="session")
def argilla_annotators(argilla_owner: ArgillaApi) -> tuple[Annotator, ...]:
    """Four annotators, members of the workspace "live"."""
    workspace = make_workspace(argilla_owner, WORKSPACE)
    return tuple(
        make_annotator(argilla_owner, workspace, f"annotator{n}", f"annotator-{n}-password") for n in range(1, 5)
    )


@pytest.fixture
def dataset(
    argilla_owner: ArgillaApi, argilla_annotators: tuple[Annotator, ...]
) -> Iterator[Callable[..., SmallDataset]]:
    """Makes small datasets in the workspace "live"; deletes them after the test, and all that runs on them have made.

    `dataset(rows)`: one record a row, one annotator a column (see `Cell`); one question, "sentiment", unless others are
    given as `questions=[question("stars", "rating", range(1, 6)), ...]`. `dataset(records=[...])`: the server's form.
    Responses come in bulk, as with the SDK; `respond` of what this gives answers one by one, as the page does. With
    four annotators nothing is complete unless `min_submitted` says otherwise: the page hides completed records.
    """
    workspace = make_workspace(argilla_owner, WORKSPACE)
    numbers = itertools.count(1)

    def there(what: str) -> set[str]:
        return {one["id"] for one in argilla_owner.call("GET", f"/api/v1/me/{what}")["items"]}

    before = {what: there(what) for what in ("datasets", "workspaces")}

    def make(
        rows: Sequence[Sequence[Cell]] = (),
        *,
        records: Sequence[Mapping[str, Any]] | None = None,
        questions: Sequence[Mapping[str, Any]] | None = None,
        name: str | None = None,
        **settings: Any,
    ) -> SmallDataset:
        labels = list(dict.fromkeys(cell for row in rows for cell in row if isinstance(cell, str)))
        asked = questions or [question("sentiment", "label_selection", labels if len(labels) > 1 else ["yes", "no"])]
        if records is None:
            records = [_record(number, row, argilla_annotators) for number, row in enumerate(rows)]
        name = name or f"small-{next(numbers)}"
        id_ = make_dataset(argilla_owner, workspace, name, asked, **{"min_submitted": 5, **settings})
        ids = tuple(add_records(argilla_owner, id_, records))
        return SmallDataset(id_, name, ids, argilla_annotators, argilla_owner)

    yield make
    # A review dataset and its workspace, left behind by a test that failed, would make others fail.
    for what, known in before.items():
        for id_ in there(what) - known:
            argilla_owner.call("DELETE", f"/api/v1/{what}/{id_}")


def _record(number: int, row: Sequence[Cell], annotators: Sequence[Annotator]) -> dict[str, Any]:
    return {
        "fields": {"text": f"text number {number}"},
        "external_id": f"record-{number}",
        "responses": [
            _response(cell, annotator) for annotator, cell in zip(annotators, row, strict=False) if cell is not None
        ],
    }


def _response(cell: str | Values | tuple[Values, str], annotator: Annotator) -> dict[str, Any]:
    if isinstance(cell, str):
        return response(annotator.id, {"sentiment": cell})
    if isinstance(cell, tuple):
        return response(annotator.id, *cell)
    return response(annotator.id, cell)


@pytest.fixture
def argilla_login(argilla: ArgillaServer) -> Callable[..., None]:
    """`argilla_login(page)` logs the owner in through the login page; `argilla_login(page, annotator)` one of them."""

    def through_the_page(page: Page, who: Annotator | None = None) -> None:
        person = who or argilla
        page.goto(f"{argilla.url}/sign-in")
        page.fill("input[type=text]", person.username)
        page.fill("input[type=password]", person.password)
        page.click("button[type=submit]")
        page.wait_for_url(re.compile(r"^(?!.*/sign-in)"))

    return through_the_page
