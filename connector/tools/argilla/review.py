"""The review dataset: the conflicts of a dataset, with the same questions, in a workspace of its own.

The votes stand in a field of their own, as a table. As suggestions they would be pre-selected on the page and lead the
reviewer; as a custom field they would be shown by a script, which one answer could break for all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid5

from connector.errors import FixAccess, FixConfiguration, NotThere, UnexpectedAnswer
from connector.output.harmless import clean
from connector.output.markdown import escape
from connector.tools.argilla.check import is_owner
from connector.tools.argilla.client import Client, items_of
from connector.tools.argilla.read import Reader, Unreadable
from connector.tools.argilla.schema import Dataset
from connector.tools.argilla.write import Records, is_id, page_of, put_records, refused_unit
from connector.tools.base import Finding, PutReviewTasks, Receipt, ReviewItem
from connector.tools.http import Refused

MARK = "agreement_connector"
"""The key of a dataset's own metadata that says it is ours, and of which dataset, by id and by the name that it had
then: the server (2.8) says yes to a change of what is there, and does not keep it. No page shows it."""
SOURCE = "source_record"
"""The metadata of a review record: the record it is about. It is the external id too."""
VOTES, TITLE = "iaa_votes", "Votes"
HEADER = "| Rater | Answer |\n| --- | --- |\n"
BATCH, BYTES = 100, 4_000_000
"""Records per bulk write: so many, and of so much text."""
NAME_LENGTH, GUIDELINES_LENGTH = 200, 10_000
NAMES = 9
"""Names that are tried for the dataset where others have the first ones."""
_WORKSPACES = UUID("6f0a3c52-94e1-4d0b-8c7e-2f1d5b9a7e30")
"""Begins the ids of workspaces that we make, so that they are known again."""


class Reviews:
    """The review dataset of one dataset."""

    def __init__(self, client: Client, reader: Reader, records: Records, source: Dataset) -> None:
        self.client = client
        self.reader = reader
        self.records = records
        self.source = source

    def find(self) -> dict[str, Any] | None:
        """The dataset with our mark, also one that is not finished; of several the oldest."""
        return min(filter(self._is_ours, self._datasets()), key=_age, default=None)

    def earlier(self) -> list[dict[str, Any]]:
        """The review datasets of datasets that bore this one's name and were deleted, the newest first.

        A dataset that is made again under a name is another source, with other records: what was decided on the old
        ones stays where it is and counts for none of the new.
        """
        return sorted(filter(self._is_earlier, self._datasets()), key=_age, reverse=True)

    def findings(self) -> Iterator[Finding]:
        """What `connector check` says of them."""
        for item in self.earlier():
            yield Finding(
                "warning",
                f"The review dataset of an earlier {self._place}, which was deleted, is still there:"
                f" {page_of(self.client.url, item['id'])}",
                "Its decisions are on records that are gone; the dataset of now gets a review dataset of its own. To"
                " delete the old one with the decisions in it: connector remove --review.",
            )

    def tasks_in(self, dataset: str) -> dict[str, str]:
        """The source records that have a review record in `dataset`, with its id.

        Raises NotThere where it is the review dataset of another dataset.
        """
        if _marked(self.client.get(f"api/v1/datasets/{dataset}")).get("review_of", self.source.id) != self.source.id:
            raise NotThere(f"The review dataset {dataset} belongs to another dataset than {self._place}.")
        return self._tasks(dataset)

    def undecided(self, dataset: str) -> set[str]:
        """The source records whose review record in `dataset` nobody has submitted an answer to; of one that is not
        sent for what is in its answers it is not known."""
        records = (record for rows in self.reader.scan(dataset, include="responses") for record in rows.records)
        found = ((unit_of(record), record.get("responses")) for record in records if not isinstance(record, Unreadable))
        return {unit for unit, responses in found if unit is not None and not _is_decided(responses)}

    def _tasks(self, dataset: str) -> dict[str, str]:
        records = (record for rows in self.reader.scan(dataset) for record in rows.records)
        return {unit: record["id"] for record in records if (unit := unit_of(record)) is not None}

    def verify(self, op: PutReviewTasks) -> None:
        """Raises FixConfiguration where `put` would, for the workspace; writes nothing."""
        target = self.find()
        if target is not None:
            self._in_place(target, op.project)
            return
        name = op.project or self.source.review_workspace
        if all(one["name"] != name for one in self._workspaces()) and not is_owner(self.client):
            raise _no_workspace(name)

    def put(self, op: PutReviewTasks) -> Receipt:
        """Make the review records that are not there yet; one that is there stays as it is.

        Raises FixConfiguration where the workspace is missing and the key may not make it, and where the review dataset
        stands in another one already.
        """
        if not op.items:
            return Receipt()
        target = self.find()
        there = {} if target is None else self._tasks(target["id"])
        new = [item for item in op.items if item.unit not in there]
        found = self.records.now([item.unit for item in new if is_id(item.unit)])
        missing = [item.unit for item in new if item.unit not in found]
        if target is None and not found:
            return Receipt(missing=tuple(missing))
        target = self._ready(target, op.project)
        votes = _marked(target).get("votes") or VOTES
        bodies = {item.unit: self._record(item, found[item.unit], votes) for item in new if item.unit in found}
        failed = None
        for part in _batches(bodies):
            made, failed = self._make_records(target["id"], part)
            there |= made
            if failed:
                break
        tasks = {item.unit: there[item.unit] for item in op.items if item.unit in there}
        return Receipt(tuple(tasks), tuple(missing), {"review_project": target["id"], **tasks}, failed)

    def remove(self, remote: str) -> Receipt:
        """Delete the review dataset, one of an earlier dataset of this name too, and the workspace where we made it and
        nobody was put into it.

        Of a dataset that holds records of others, or bears our mark no more, only our records that nobody has worked on
        go, and nothing of one that is another dataset's; `remote` says what stays as for Label Studio.
        """
        if remote == self.source.id:
            raise FixConfiguration("The review dataset is the source dataset itself.", "It is not touched.")
        try:
            target = self.client.get(f"api/v1/datasets/{remote}")
            rows = self.reader.scan(remote, include="responses")
            ours = {record["id"]: unit_of(record) for part in rows for record in part.records}
        except NotThere:  # or no more: another run takes it away at the same time
            self._delete_workspaces()
            return Receipt()
        units = [unit for unit in ours.values() if unit is not None]
        mine = self._is_ours(target) or self._is_earlier(target)
        if not mine and "review_of" in _marked(target):  # the store may still know it from before it was another's
            return Receipt(remote={"kept_project": remote, "kept_others": str(len(ours))})
        if not mine or len(units) < len(ours):
            return self._remove_records(remote, ours)
        self._delete(f"api/v1/datasets/{remote}")
        self._delete_workspaces()
        return Receipt(tuple(units))

    # Making the dataset

    def _ready(self, target: dict[str, Any] | None, workspace: str | None) -> dict[str, Any]:
        """The review dataset, made or finished where it is not there or not whole."""
        if target is None:
            target = self._make(self._workspace(workspace or self.source.review_workspace))
        else:
            self._in_place(target, workspace)
        if target.get("status") != "ready":
            self._finish(target)
        return target

    def _in_place(self, target: Mapping[str, Any], workspace: str | None) -> None:
        if workspace is None:
            return
        name = next((one["name"] for one in self._workspaces() if one["id"] == target["workspace_id"]), None)
        if name != workspace:
            raise FixConfiguration(
                f"The review dataset of {self.source.name} is in workspace '{name}' already.",
                "Name that one under review.workspace, or first take it away: connector remove --review.",
            )

    def _workspace(self, name: str) -> str:
        """The id of the workspace of this name, made where it is not there."""
        found = next((one for one in self._workspaces() if one["name"] == name), None)
        if found is not None:
            return str(found["id"])
        failure: FixConfiguration
        try:
            body = {"id": workspace_id(name), "name": name}
            made = self.client.call("POST", "api/v1/workspaces", body=body, repeatable=False)
        except FixAccess:
            failure = _no_workspace(name)
        except Refused as refused:
            again = next((one for one in self._workspaces() if one["name"] == name), None)
            if refused.status != 409 or again is None:
                raise
            return str(again["id"])
        else:
            if not isinstance(made, dict) or not isinstance(made.get("id"), str):
                raise UnexpectedAnswer("Argilla made a workspace but did not say its id.")
            return str(made["id"])
        raise failure

    def _workspaces(self) -> list[dict[str, Any]]:
        return items_of(self.client.get("api/v1/me/workspaces"), "workspaces")

    def _make(self, workspace: str) -> dict[str, Any]:
        source = self.client.get(f"api/v1/datasets/{self.source.id}")
        votes = free_name(VOTES, [item["name"] for item in self._parts(self.source.id, "fields")])
        for number in range(1, NAMES + 1):
            end = "-review" if number == 1 else f"-review-{number}"
            body = {
                "name": self.source.name[: NAME_LENGTH - len(end)] + end,
                "guidelines": self._guidelines(source.get("guidelines") if isinstance(source, dict) else None),
                "allow_extra_metadata": False,
                "distribution": {"strategy": "overlap", "min_submitted": 1},
                "metadata": {MARK: {"review_of": self.source.id, "source": self._place, "votes": votes}},
                "workspace_id": workspace,
            }
            try:
                made = self.client.call("POST", "api/v1/datasets", body=body, repeatable=False)
            except Refused as refused:
                if refused.status != 409:
                    raise
                other_run = self.find()
                if other_run is not None:
                    return other_run
                continue
            if not isinstance(made, dict) or not isinstance(made.get("id"), str):
                raise UnexpectedAnswer("Argilla made a dataset but did not say its id.")
            if not self._is_ours(made):
                self._delete(f"api/v1/datasets/{made['id']}")
                raise UnexpectedAnswer(
                    "This Argilla keeps no metadata of a dataset, by which the review dataset would be found again.",
                    "Upgrade it, or leave out the review section.",
                )
            return made
        raise FixConfiguration(
            f"The review workspace has other datasets called {self.source.name}-review to -review-{NAMES}.",
            "Name another workspace under review.workspace. If they belong to earlier datasets of this name (connector"
            " check says so), connector remove --review deletes them.",
        )

    def _guidelines(self, source: Any) -> str:
        place = literal(self._place)
        ours = f"Conflicts of [{place}]({self._link()}) for a reviewer to decide; the votes stand below each text."
        theirs = f"\n\n{source}" if isinstance(source, str) and source else ""
        return (ours + theirs)[:GUIDELINES_LENGTH]

    def _finish(self, target: Mapping[str, Any]) -> None:
        """Give the dataset what it lacks (another run may be at the same work) and publish it."""
        dataset = str(target["id"])
        votes = {
            "name": _marked(target).get("votes") or VOTES,
            "title": TITLE,
            "required": False,
            "settings": {"type": "text", "use_markdown": True},
        }
        fields = [
            _copy(item, ("name", "title", "required", "settings")) for item in self._parts(self.source.id, "fields")
        ]
        keys = ("name", "title", "description", "required", "settings")
        questions = [_copy(item, keys) for item in self._parts(self.source.id, "questions")]
        record = {"name": SOURCE, "title": "Source record", "settings": {"type": "terms"}}
        # Fields first: a span question names its own.
        self._add(dataset, "fields", [*fields, votes])
        self._add(dataset, "questions", questions)
        self._add(dataset, "metadata-properties", [record])
        self._publish(dataset)

    def _publish(self, dataset: str) -> None:
        try:
            self.client.call("PUT", f"api/v1/datasets/{dataset}/publish")
        except Refused:
            now = self.client.get(f"api/v1/datasets/{dataset}")
            if not isinstance(now, dict) or now.get("status") != "ready":
                raise
            # Published by another run at the same time; or by this one, but without an index, for good.
            if not self._is_indexed(dataset):
                with suppress(Refused):
                    self._delete(f"api/v1/datasets/{dataset}")
                raise

    def _is_indexed(self, dataset: str) -> bool:
        try:
            self.client.call("POST", f"api/v1/me/datasets/{dataset}/records/search", params={"limit": 1}, body={})
        except Refused:
            return False
        return True

    def _add(self, dataset: str, part: str, wanted: Sequence[Mapping[str, Any]]) -> None:
        there = {item["name"] for item in self._parts(dataset, part)}
        for item in wanted:
            if item["name"] in there:
                continue
            try:
                self.client.call("POST", f"api/v1/datasets/{dataset}/{part}", body=dict(item), repeatable=False)
            except Refused:
                there = {item["name"] for item in self._parts(dataset, part)}
                if item["name"] not in there:
                    raise

    def _parts(self, dataset: str, part: str) -> list[dict[str, Any]]:
        me = "me/" if part == "metadata-properties" else ""
        return items_of(self.client.get(f"api/v1/{me}datasets/{dataset}/{part}"), part)

    # Making its records

    def _record(self, item: ReviewItem, record: Mapping[str, Any], votes: str) -> dict[str, Any]:
        fields = record.get("fields")
        own = {name: value for name, value in fields.items() if value is not None} if isinstance(fields, dict) else {}
        return {
            "external_id": item.unit,
            "fields": {**own, votes: self._votes(item, record.get("external_id"))},
            "metadata": {SOURCE: item.unit},
        }

    def _votes(self, item: ReviewItem, external: Any) -> str:
        rows = "".join(f"| {literal(rater)} | {literal(answer)} |\n" for rater, answer in item.votes.items())
        also = f", {literal(str(external))}" if external else ""
        place = literal(self._place)
        return f"{HEADER}{rows}\nFrom [{place}]({self._link()}), record {item.unit}{also}."

    def _make_records(self, dataset: str, bodies: Mapping[str, dict[str, Any]]) -> tuple[dict[str, str], str | None]:
        """The ids of the records made, by source record, and why the rest was refused."""
        todo, there = dict(bodies), dict[str, str]()
        refusal: str | None = None
        while todo:
            try:
                # An upsert by external id: of a record that another run has just made the answers stay.
                records = put_records(self.client, dataset, list(todo.values()))
            except Refused as refused:
                unit = refused_unit(refused, list(todo))
                if unit is not None:
                    del todo[unit]
                    refusal = refusal or refused.message
                    continue
                there = {unit: task for unit, task in self._tasks(dataset).items() if unit in bodies}
                if not there.keys() & todo.keys():
                    raise
                todo = {unit: one for unit, one in todo.items() if unit not in there}
                continue
            made = {str(one.get("external_id")): one["id"] for one in records}
            if made.keys() != todo.keys():
                refusal = f"Argilla made {len(made)} review records where {len(todo)} were sent"
            return there | {unit: made[unit] for unit in todo if unit in made}, refusal
        return there, refusal

    # Taking away

    def _remove_records(self, dataset: str, ours: Mapping[str, str | None]) -> Receipt:
        mine = {record: unit for record, unit in ours.items() if unit is not None}
        free = [record for record in mine if self._is_untouched(record)]
        for start in range(0, len(free), BATCH):
            ids = ",".join(free[start : start + BATCH])
            self.client.call("DELETE", f"api/v1/datasets/{dataset}/records", params={"ids": ids})
        kept = {"kept": len(mine) - len(free), "kept_others": len(ours) - len(mine)}
        counts = {key: str(number) for key, number in kept.items() if number}
        return Receipt(tuple(mine[record] for record in free), remote={"kept_project": dataset, **counts})

    def _is_untouched(self, record: str) -> bool:
        """Whether nobody has answered it, not even with a draft; asked right before it is deleted."""
        try:
            now = self.client.get(f"api/v1/records/{record}")
        except NotThere:
            return True
        except Refused as refused:
            if refused.status != 422:  # of what somebody answered, the server cannot send it
                raise
            return False
        if not isinstance(now, dict) or not isinstance(now.get("responses"), list):
            raise UnexpectedAnswer("Argilla's record has another form than expected (no responses).")
        return not now["responses"]

    def _delete_workspaces(self) -> None:
        """Delete a workspace that we made, once nothing and nobody is in it."""
        for workspace in self._workspaces():
            number = str(workspace["id"])
            if number != workspace_id(str(workspace.get("name"))):
                continue
            try:
                left = items_of(self.client.get("api/v1/me/datasets", {"workspace_id": number}), "datasets")
                people = items_of(self.client.get(f"api/v1/workspaces/{number}/users"), "users")
                if not left and not people:
                    self._delete(f"api/v1/workspaces/{number}")
            except FixAccess:  # no longer an owner's key
                continue

    def _delete(self, path: str) -> None:
        try:
            self.client.call("DELETE", path)
        except NotThere:
            return

    @property
    def _place(self) -> str:
        """What the configuration calls the source."""
        return f"{self.source.workspace}/{self.source.name}"

    def _datasets(self) -> list[dict[str, Any]]:
        return items_of(self.client.get("api/v1/me/datasets"), "datasets")

    def _is_ours(self, dataset: Any) -> bool:
        return _marked(dataset).get("review_of") == self.source.id

    def _is_earlier(self, dataset: Any) -> bool:
        mark = _marked(dataset)
        of = str(mark.get("review_of"))
        return mark.get("source") == self._place and of != self.source.id and is_id(of) and self._is_gone(of)

    def _is_gone(self, dataset: str) -> bool:
        """Whether there is no such dataset; one that has another name by now, or is not for this key, is there."""
        try:
            self.client.get(f"api/v1/datasets/{dataset}")
        except NotThere:
            return True
        except FixAccess:
            pass
        return False

    def _link(self) -> str:
        return page_of(self.client.url, self.source.id)


def unit_of(record: Mapping[str, Any]) -> str | None:
    """The source record of a review record of ours, None for any other record.

    Uploading a record again with the `argilla` library empties its metadata; the votes still tell.
    """
    external, metadata, fields = record.get("external_id"), record.get("metadata"), record.get("fields")
    if not isinstance(external, str) or not is_id(external):
        return None
    if isinstance(metadata, dict) and metadata.get(SOURCE) == external:
        return external
    texts = fields.values() if isinstance(fields, dict) else ()
    return external if any(isinstance(text, str) and text.startswith(HEADER) for text in texts) else None


def workspace_id(name: str) -> str:
    """The id of a workspace that we make, for whichever dataset."""
    return str(uuid5(_WORKSPACES, name))


def literal(text: str) -> str:
    """Text that Markdown shows as it is, in one cell of a table."""
    return "<br>".join(escape(clean(line)).strip() for line in text.splitlines()) or " "


def free_name(name: str, taken: Iterable[str]) -> str:
    """`name`, or the first of name_2, name_3, ... that is free."""
    names, number, free = set(taken), 1, name
    while free in names:
        number += 1
        free = f"{name}_{number}"
    return free


def _batches(bodies: Mapping[str, dict[str, Any]]) -> Iterator[dict[str, dict[str, Any]]]:
    part: dict[str, dict[str, Any]] = {}
    size = 0
    for unit, body in bodies.items():
        length = len(json.dumps(body))
        if part and (len(part) == BATCH or size + length > BYTES):
            yield part
            part, size = {}, 0
        part[unit] = body
        size += length
    if part:
        yield part


def _marked(dataset: Any) -> Mapping[str, Any]:
    metadata = dataset.get("metadata") if isinstance(dataset, dict) else None
    mark = metadata.get(MARK) if isinstance(metadata, dict) else None
    return mark if isinstance(mark, dict) else {}


def _age(dataset: Mapping[str, Any]) -> str:
    return str(dataset.get("inserted_at"))


def _is_decided(responses: Any) -> bool:
    """The record's own status is not asked: it stays completed where the reviewer was deleted, decision and all."""
    if not isinstance(responses, list):
        raise UnexpectedAnswer("Argilla's record has another form than expected (no responses).")
    return any(isinstance(one, dict) and one.get("status") == "submitted" for one in responses)


def _copy(item: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: item[key] for key in keys if item.get(key) is not None}


def _no_workspace(name: str) -> FixConfiguration:
    return FixConfiguration(
        f"The review workspace '{name}' is not there for this key, and only an owner can make it.",
        "Ask an owner to make it and to put you and the reviewers into it, or name one that you are an admin of under"
        " review.workspace.",
    )
