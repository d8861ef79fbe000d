"""Argilla as a `Tool`: one dataset of one server, over its API."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import SecretStr

from connector.annotations.choices import clean
from connector.annotations.display import few
from connector.annotations.model import Schema
from connector.errors import FixAccess, NotThere, UnexpectedAnswer
from connector.tools import base
from connector.tools.argilla import check, review, schema, write
from connector.tools.argilla.client import Client, items_of
from connector.tools.argilla.read import Reader
from connector.tools.argilla.schema import ArgillaSchema, Dataset
from connector.tools.sound import sound


class Argilla:
    """One Argilla dataset.

    Parameters
    ----------
    url : where the server's start page opens, sub-path included.
    api_key : of an owner, or of an admin of the dataset's workspace.
    project : "workspace/dataset".
    prefix : begins the name of every field that is written.
    patience : seconds of waiting, in all, for a server that goes away in the middle.
    """

    name = "argilla"
    capabilities = base.Capabilities(
        per_unit=True, longest_text=write.LONGEST, view=False, summary=False, outlive_users=False, noun="record"
    )

    def __init__(
        self, url: str, api_key: SecretStr | str, project: str, prefix: str = "iaa_", patience: float = 75.0
    ) -> None:
        workspace, slash, dataset = (part.strip() for part in str(project).partition("/"))
        if not (workspace and slash and dataset) or "/" in dataset:
            raise NotThere(f"An Argilla dataset is named as workspace/dataset, not {clean(str(project))[:60]!r}.")
        self.workspace, self.dataset_name = workspace, dataset
        self.client = Client(url, api_key, patience)
        self.prefix = prefix
        self.reader = Reader(self.client)
        self._dataset: Dataset | None = None
        self._writer: write.Writer | None = None
        self._fresh = False
        self._former: str | None = None
        """What the dataset that had the name before is called now."""

    def __repr__(self) -> str:
        return f"Argilla({self.source!r})"

    @property
    def source(self) -> str:
        """The dataset as the configuration names it. Its name may change; its `link` holds its id."""
        return f"argilla:{self.client.url.rstrip('/')}:{self.workspace}/{self.dataset_name}"

    @property
    def dataset(self) -> Dataset:
        """What is known of the dataset, found at first need."""
        return self._dataset or self._look()

    @property
    def writer(self) -> write.Writer:
        """Writes into the dataset."""
        if self._writer is None or self._writer.dataset != self.dataset.id:
            self._writer = write.Writer(self.client, self.reader, self.dataset.id, self.prefix)
        return self._writer

    @property
    def link(self) -> str:
        """Where people open the dataset."""
        return write.page_of(self.client.url, self.dataset.id)

    def open(self, known: str = "") -> base.Project:
        """Reach the dataset: two requests where it is as it was when `known` was written, else up to four."""
        before = Dataset.from_text(known)
        dataset = self._look(before)
        is_new = before is not None and before.id != dataset.id
        return base.Project(
            source=self.source,
            title=f"{self.workspace}/{self.dataset_name}",
            link=self.link,
            is_named=True,
            is_new=is_new,
            former_stays=is_new and self._former is not None,
            schema=ArgillaSchema(dataset.questions),
            n_units=dataset.total,
            required_ratings=dataset.min_submitted,
            settings=dataset.to_text(),
            warnings=(_DRAFT,) if dataset.is_draft else (),
            conflicts=write.conflicts_link(self.client.url, dataset.id, self.prefix),
        )

    def pull(self) -> Iterator[base.Page]:
        """Every record with every response, 1,000 a page."""
        dataset = self._state()
        return self.reader.pages(dataset.id, dataset.activity)

    def pull_changed(self, cursor: base.Cursor, known: Mapping[str, str | None]) -> Iterator[base.Page]:
        """The records that are new or changed since `cursor`: no request after `open`, else two, where there are none.

        What moves neither the dataset's last activity nor the number of its records does not show: responses written in
        bulk by the SDK, and a user's deletion.
        """
        dataset = self._state()
        if cursor == base.Cursor(dataset.activity, str(dataset.total)):
            return iter(())
        return self.reader.changed(dataset.id, dataset.activity, known)

    def unit_ids(self) -> Mapping[str, str | None]:
        """Every record's id and time of insertion."""
        return self.reader.created(self.dataset.id)

    def verify(self, op: base.WriteOp) -> None:
        """Raises FixConfiguration for a property of ours that is a person's, and a review workspace out of reach."""
        match op:
            case base.PutFields(units=units):
                named = {name for fields in units.values() for name, value in fields.items() if value is not None}
                self.writer.accept(named)
            case base.SetField(field=field):
                self.writer.accept([field])
            case base.PutReviewTasks():
                self._reviews().verify(op)
            case _:
                pass

    def apply(self, op: base.WriteOp) -> base.Receipt:
        """Carry out one operation and check that it arrived."""
        match op:
            case base.PutFields():
                return self.writer.put(op)
            case base.SetField(field=field, value=value, units=units):
                return self.writer.put(base.PutFields({unit: {field: value} for unit in units}))
            case base.ClearFields(fields=fields, units=units):
                return self.writer.put(base.PutFields({unit: dict.fromkeys(fields) for unit in units}))
            case base.ResetColumns():
                return self.writer.reset_columns()
            case base.PutReviewTasks():
                return self._reviews().put(op)
            case base.RemoveReview():
                return self._reviews().remove(op.remote)
            case base.PutView() | base.RemoveView() | base.PutSummary() | base.RemoveSummary() | base.DrawMarks():
                raise TypeError("Argilla has neither tabs nor a description of ours, and draws no marks")

    def find_ours(self) -> Mapping[str, str]:
        """Our metadata properties, our review dataset and those of earlier datasets, where they are there."""
        found = {"columns": ",".join(self.writer.columns())}
        reviews = self._reviews()
        dataset = reviews.find()
        if dataset is not None:
            found["review_project"] = str(dataset["id"])
        if earlier := [str(one["id"]) for one in reviews.earlier()]:
            found["earlier_reviews"] = ",".join(earlier)
        return found

    def review_tasks(self, remote: str) -> Mapping[str, str]:
        """The records that have a review record in the dataset `remote`, with its id."""
        return self._reviews().tasks_in(remote)

    def undecided(self, remote: str) -> Collection[str]:
        """The records whose review record in the dataset `remote` nobody has submitted an answer to."""
        return self._reviews().undecided(remote)

    def review_link(self, remote: str) -> str:
        """The page of a review dataset."""
        return write.page_of(self.client.url, remote)

    def rater_names(self) -> Mapping[str, str]:
        """Name or user name by id: of all users for an owner's key, of the workspace's for an admin's."""
        return check.names(self.client, self.dataset.workspace_id)

    def inspect(self, review: str | None = None) -> list[base.Finding]:
        """Server, rights, what the dataset collects, what its answers cannot say, and where reviews go and went."""
        return [*check.inspect(self.client, self.reader, self.dataset, review), *self._reviews().findings()]

    def close(self) -> None:
        """Give connections back."""
        self.client.close()

    @staticmethod
    def read_schema(settings: str) -> Schema:
        """The questions out of `Project.settings`."""
        return schema.read_schema(settings)

    def _reviews(self) -> review.Reviews:
        return review.Reviews(self.client, self.reader, self.writer.records, self.dataset)

    def _state(self) -> Dataset:
        """The dataset as it is now: as `open` has just seen it, the first time."""
        if self._dataset is None or not self._fresh:
            self._look(self._dataset)
        self._fresh = False
        assert self._dataset is not None
        return self._dataset

    def _look(self, known: Dataset | None = None) -> Dataset:
        item = self._again(known) if known is not None else None
        self._former = None
        if item is not None and item.get("name") != self.dataset_name:
            self._former, item = self.client.line(str(item.get("name"))), None
        if item is None:
            known = None
            item = self._find()
        seen = Dataset(
            id=_text(item, "id"),
            name=self.dataset_name,
            workspace=self.workspace,
            workspace_id=_text(item, "workspace_id"),
            activity=_text(item, "last_activity_at"),
            total=self._total(_text(item, "id")),
            min_submitted=_min_submitted(item),
            questions=(),
            is_draft=item.get("status") == "draft",
        )
        same = known is not None and (known.activity, known.total) == (seen.activity, seen.total)
        self._dataset = replace(seen, questions=known.questions if known and same else self._questions(seen.id))
        self._fresh = True
        return self._dataset

    def _again(self, known: Dataset) -> Mapping[str, Any] | None:
        """The dataset by the id it had; None where that is gone."""
        try:
            item = self.client.get(f"api/v1/datasets/{known.id}")
        except NotThere:
            return None
        return item if isinstance(item, dict) else None

    def _questions(self, dataset: str) -> list[Mapping[str, Any]]:
        kept = ("id", "name", "title", "required", "settings")
        items = items_of(self.client.get(f"api/v1/datasets/{dataset}/questions"), "questions")
        return sound([{key: item.get(key) for key in kept} for item in items if isinstance(item.get("name"), str)])

    def _total(self, dataset: str) -> int:
        """How many records there are; an annotator may know the dataset, but not this."""
        try:
            return self.reader.total(dataset)
        except FixAccess as refused:
            refusal = FixAccess(f"{check.whose_key(self.client)} {refused.message}", refused.hint)
        raise refusal

    def _find(self) -> Mapping[str, Any]:
        """The dataset by its name.

        Raises NotThere, naming what there is, for an unknown workspace or dataset.
        """
        workspaces = items_of(self.client.get("api/v1/me/workspaces"), "workspaces")
        workspace = next((one for one in workspaces if one.get("name") == self.workspace), None)
        if workspace is None:
            raise self._not_there("workspace", self.workspace, workspaces)
        there = items_of(self.client.get("api/v1/me/datasets", {"workspace_id": workspace["id"]}), "datasets")
        dataset = next((one for one in there if one.get("name") == self.dataset_name), None)
        if dataset is None and self._former is not None:
            raise NotThere(
                f"The dataset '{clean(self.dataset_name)}' is called '{self._former}' now.",
                f"Set project: {self.workspace}/{self._former}. What the store holds of it goes on under that name.",
            )
        if dataset is None:
            raise self._not_there("dataset", self.dataset_name, there)
        return dataset

    def _not_there(self, what: str, name: str, there: Sequence[Mapping[str, Any]]) -> NotThere:
        names = sorted(self.client.line(str(one.get("name"))) for one in there)
        near = difflib.get_close_matches(name, names, 1)
        where = f"Argilla at {self.client.url}" if what == "workspace" else f"The workspace '{self.workspace}'"
        return NotThere(
            f"{where} has no {what} '{clean(name)}', or not for this key.",
            f"Did you mean '{near[0]}'?" if near else f"There are: {few(names)}." if names else "It shows none at all.",
        )


_DRAFT = "The dataset is a draft: until it is published it takes no records and no answers."


def _text(item: Mapping[str, Any], key: str) -> str:
    found = item.get(key)
    if not isinstance(found, str) or not found:
        raise UnexpectedAnswer(f"Argilla answers, but not with a dataset (no {key}).")
    return clean(found)


def _min_submitted(item: Mapping[str, Any]) -> int | None:
    distribution = item.get("distribution")
    found = distribution.get("min_submitted") if isinstance(distribution, dict) else None
    return found if type(found) is int and found > 0 else None
