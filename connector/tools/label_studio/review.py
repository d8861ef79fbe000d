"""Review tasks: the conflicts of a project, in a project of their own beside it.

The votes stand in the task's data and are shown as a table. As predictions they would pre-select one of them and bias
the reviewer; how marks are drawn all the same, `marks` says.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from connector.annotations.choices import clean
from connector.annotations.model import Unit
from connector.errors import FixConfiguration, NotThere, SkippedTask, UnexpectedAnswer
from connector.tools.base import DrawMarks, PutReviewTasks, Receipt, ReviewItem
from connector.tools.http import Refused
from connector.tools.label_studio import marks
from connector.tools.label_studio.client import Client
from connector.tools.label_studio.read import FIELDS, Reader
from connector.tools.label_studio.shape import unit_of
from connector.tools.sound import sound
from connector.workflow.fields import sort_fields

TITLE_LENGTH = 50
KEY_TASK, KEY_PROJECT, KEY_VOTES, KEY_LINK = "iaa_source_task", "iaa_source_project", "iaa_votes", "iaa_source_link"
"""What a review task's data hold of ours. Not named by the configured prefix: the project outlives a change of it."""
BATCH = 100
"""Review tasks per import."""
IMPORT_PATIENCE = 60.0
"""Seconds of waiting for a server that imports in the background."""


class Reviews:
    """The review project of one source project.

    Parameters
    ----------
    settings : the source project's own settings, as the server gives them.
    prefix : begins the keys of ours in a task's data.
    """

    def __init__(self, client: Client, source: Reader, settings: Mapping[str, Any], prefix: str) -> None:
        self.client = client
        self.source = source
        self.settings = settings
        self.prefix = prefix
        # Ids are used again by some servers after a deletion: the time of making tells two projects of one id apart.
        self.marker = f"{_MARKER_BEGINS} of project {source.project}, made {clean(str(settings.get('created_at')))}]"

    def find(self, configured: str | None) -> dict[str, Any] | None:
        """The configured project (by id, else by title), or the one that is ours; None where there is none.

        Ours holds our marker and, since a person may have copied that, our tasks or our table of votes and no tasks at
        all; of several the oldest.

        Raises NotThere for a configured id that does not exist, FixConfiguration for a title that several bear.
        """
        if configured is not None and configured.isascii() and configured.isdigit():
            return self._project(configured)
        if configured is not None:
            # The server cuts no title but refuses a long one: what we made bears the cut form.
            named = [project for project in self._projects() if project.get("title") == fitting(configured)]
            if len(named) > 1:
                raise FixConfiguration(
                    f"{len(named)} Label Studio projects are called {configured!r}.", "Name it by its id."
                )
            return named[0] if named else None
        projects = sorted(self._projects(), key=lambda project: int(project["id"]))
        marked = (self._project(str(project["id"])) for project in projects if self._is_marked(project))
        ours = next((project for project in marked if self._has_our_shape(project)), None)
        return ours or self._unmarked(projects)

    def _has_our_shape(self, project: Mapping[str, Any]) -> bool:
        first = Reader(self.client, str(project["id"])).page(0, "id,data", BATCH * 10).tasks
        return any(map(self._unit_of, first)) if first else _has_votes(project)

    def _unmarked(self, projects: list[dict[str, Any]]) -> dict[str, Any] | None:
        """The review project whose description somebody wrote anew: it still has our title, table and tasks.

        Without the marker it counts as its owner's: tasks are added to it, and it is never deleted.
        """
        for listed in projects:
            if listed["title"] != self._title() or _MARKER_BEGINS in str(listed["description"]):
                continue
            project = self._project(str(listed["id"]))
            first = Reader(self.client, str(listed["id"])).page(0, "id,data", 1).tasks
            if _has_votes(project) and any(map(self._unit_of, first)):
                return project
        return None

    def _title(self) -> str:
        return fitting(f"Review: {clean(str(self.settings.get('title') or self.source.project))}")

    def tasks_in(self, project: str) -> dict[str, str]:
        """The source units that have a review task in `project`, with its id."""
        return self._there(Reader(self.client, project))

    def undecided(self, project: str) -> set[str]:
        """The source units whose review task in `project` holds no annotation that was submitted; skipping is none."""
        rows = Reader(self.client, project).scan("id,data,annotations,was_cancelled", BATCH, whole=True)
        found = ((self._unit_of(row), row.get("annotations")) for row in rows)
        return {unit for unit, annotations in found if unit is not None and not _is_decided(annotations)}

    def verify(self, op: PutReviewTasks) -> None:
        """Raises FixConfiguration, or NotThere, where `put` would; writes nothing."""
        project = self.find(op.project)
        if project is None:
            self._label_config()
        else:
            self._not_the_source(project)

    def put(self, op: PutReviewTasks) -> Receipt:
        """Make the review tasks that are not there yet; one that is there stays as it is.

        `remote["review_title"]` says what the project is called where it was made under less than the title configured.
        """
        if not op.items:
            return Receipt()
        project, remote = self.find(op.project), {}
        if project is None:
            project = self._make(op.project)
            remote = {"review_title": fitting(op.project)} if op.project and fitting(op.project) != op.project else {}
        self._not_the_source(project)
        target = Reader(self.client, str(project["id"]))
        there = self._there(target)
        sources, missing = self._sources([item for item in op.items if item.unit not in there])
        failed = None
        for start in range(0, len(sources), BATCH):
            part = sources[start : start + BATCH]
            try:
                self._import(target, [self._task(item, data) for item, data in part])
            except Refused as refused:
                failed = refused.message
                break
        if sources:
            there = self._there(target)
        made = {item.unit: there[item.unit] for item in op.items if item.unit in there}
        lacking = [item.unit for item in op.items if item.unit not in made and item.unit not in missing]
        if lacking and not failed:
            failed = (
                f"{len(lacking)} review tasks are not in project {project['id']} after the import, such as {lacking[0]}"
            )
        return Receipt(tuple(made), tuple(missing), {"review_project": str(project["id"]), **remote, **made}, failed)

    def draw(self, op: DrawMarks) -> Receipt:
        """Draw what each rater marked on the review tasks that nobody has worked on; show the votes as they are now.

        In a project whose own predictions would be put before the reviewer nothing is drawn.
        """
        project = self.find(op.project)
        if project is None:
            return Receipt()
        if not marks.starts_empty(project):
            return Receipt(tuple(item.unit for item in op.items))
        target = Reader(self.client, str(project["id"]))
        there = self._there(target)
        drawn: list[str] = []
        for start in range(0, len(op.items), BATCH):
            part = {there[item.unit]: item for item in op.items[start : start + BATCH] if item.unit in there}
            try:
                self._draw(target, part)
            except Refused as refused:
                return Receipt(tuple(drawn), failed=refused.message)
            drawn += [item.unit for item in part.values()]
        return Receipt(tuple(drawn))

    def _draw(self, target: Reader, items: Mapping[str, ReviewItem]) -> None:
        """Draw on these review tasks, by their ids."""
        units = self._units([int(item.unit) for item in items.values()])
        new: dict[int, marks.Predictions] = {}
        for row in target.by_id(sorted(map(int, items)), _DRAWN_ON, whole=True):
            task, item = row["id"], items[str(row["id"])]
            if item.unit not in units or _has_work(row):
                continue
            wanted, there = marks.wanted(units[item.unit], item.raters), marks.held(row)
            if list(there.values()) != list(wanted.items()):
                marks.take_away(self.client, there)
                new[task] = wanted
            if row["data"].get(KEY_VOTES) != item.votes:
                votes = {**row["data"], KEY_VOTES: dict(item.votes)}
                self.client.call("PATCH", f"api/tasks/{task}/", body={"data": votes})
        marks.put(target, new)

    def _units(self, ids: Sequence[int]) -> dict[str, Unit]:
        """Source tasks with their annotations, as far as they can be read."""
        found: dict[str, Unit] = {}
        for row in sound(self.source.by_id(ids, FIELDS, whole=True)):
            with suppress(SkippedTask):
                found[str(row["id"])] = unit_of(row)
        return found

    def remove(self, remote: str) -> Receipt:
        """Delete the review project that we made; of one that the owner made, or that holds tasks which are not ours,
        only our tasks that nobody has worked on.

        `written` are the source units whose review task is gone. Of a project that stays, `remote` says its id under
        "kept_project", and how many there are of our tasks with work in them ("kept") and of others ("kept_others").
        """
        try:
            project = self._project(remote)
        except NotThere:
            return Receipt()
        if str(project["id"]) == self.source.project:
            raise FixConfiguration("The review project is the source project itself.", "It is not touched.")
        target = Reader(self.client, str(project["id"]))
        rows = [(row["id"], self._unit_of(row)) for row in target.scan("id,data", BATCH * 10)]
        if self._is_marked(project) and _has_votes(project) and all(unit is not None for _, unit in rows):
            self._delete(f"api/projects/{project['id']}/")
            return Receipt(tuple(dict.fromkeys(unit for _, unit in rows if unit is not None)))
        return self._remove_tasks(str(project["id"]), rows)

    def _remove_tasks(self, project: str, rows: Sequence[tuple[int, str | None]]) -> Receipt:
        ours = [(task, unit) for task, unit in rows if unit is not None]
        gone = [unit for task, unit in ours if self._remove_untouched(task)]
        kept = {"kept": len(ours) - len(gone), "kept_others": len(rows) - len(ours)}
        if not kept["kept"]:
            self._forget_columns(project)
        counts = {key: str(number) for key, number in kept.items() if number}
        return Receipt(tuple(dict.fromkeys(gone)), remote={"kept_project": project, **counts})

    def _remove_untouched(self, task: int) -> bool:
        try:
            # The counters drift: the task itself is asked before it is deleted.
            now = self.client.get(f"api/tasks/{task}/")
        except NotThere:
            return True
        if not isinstance(now, dict):
            raise UnexpectedAnswer(f"Label Studio's task {task} has another form than expected.")
        if _has_work(now):
            marks.take_away(self.client, marks.held(now))
            return False
        self._delete(f"api/tasks/{task}/")
        return True

    def _forget_columns(self, project: str) -> None:
        """Let the server count the columns anew where it still names ours; also after a removal that was cut short."""
        summary = self.client.get(f"api/projects/{project}/summary/")
        columns = summary.get("all_data_columns") if isinstance(summary, dict) else None
        if isinstance(columns, dict) and KEY_TASK in columns:
            self.client.call("POST", f"api/projects/{project}/summary/reset/", body={})

    def _delete(self, path: str) -> None:
        try:
            self.client.call("DELETE", path)
        except NotThere:
            return

    def _project(self, number: str) -> dict[str, Any]:
        answer = self.client.get(f"api/projects/{number}/")
        if not isinstance(answer, dict) or type(answer.get("id")) is not int:
            raise UnexpectedAnswer("Label Studio's project has another form than expected.")
        return answer

    def _projects(self) -> Iterator[dict[str, Any]]:
        page = 1
        while True:
            answer = self.client.get("api/projects/", {"page": page, "page_size": 100, "include": _PROJECT_FIELDS})
            results = answer.get("results") if isinstance(answer, dict) else answer
            if not isinstance(results, list) or not all(_has_marker_field(project) for project in results):
                # Without descriptions nothing of ours would be found, and a second project be made.
                raise UnexpectedAnswer("Label Studio's list of projects has another form than expected.")
            yield from results
            if not isinstance(answer, dict) or not answer.get("next"):
                return
            page += 1

    def _is_marked(self, project: Mapping[str, Any]) -> bool:
        return self.marker in str(project.get("description") or "")

    def _make(self, title: str | None) -> dict[str, Any]:
        body = {
            "title": fitting(title) if title else self._title(),
            "description": f"Conflicts of {self._link()} for a reviewer to decide.\n\n{self.marker}",
            "label_config": self._label_config(),
            "expert_instruction": clean(str(self.settings.get("expert_instruction") or "")),
            "show_instruction": bool(self.settings.get("show_instruction")),
            **marks.SETTINGS,
        }
        answer = self.client.call("POST", "api/projects/", body=body, repeatable=False)
        if not isinstance(answer, dict) or type(answer.get("id")) is not int:
            raise UnexpectedAnswer("Label Studio made a project but did not say its id.")
        return answer

    def _label_config(self) -> str:
        return with_votes(clean(str(self.settings["label_config"])), KEY_VOTES)

    def _not_the_source(self, project: Mapping[str, Any]) -> None:
        if str(project["id"]) == self.source.project:
            raise FixConfiguration("The review project is the source project itself.", "Name another, or none.")

    def _link(self, unit: str | None = None) -> str:
        address = f"{self.client.url}projects/{self.source.project}/data"
        return f"{address}?task={unit}" if unit else address

    def _there(self, target: Reader) -> dict[str, str]:
        """The source units that have a review task, with its id; of several the oldest."""
        found: dict[str, str] = {}
        for row in target.scan("id,data", BATCH * 10):
            unit = self._unit_of(row)
            if unit is not None:
                found.setdefault(unit, str(row["id"]))
        return found

    def _unit_of(self, row: Mapping[str, Any]) -> str | None:
        """The source unit of a review task of ours, None for any other task."""
        data = row.get("data")
        if not isinstance(data, dict) or str(data.get(KEY_PROJECT)) != self.source.project:
            return None
        unit = data.get(KEY_TASK)
        return None if unit is None else clean(str(unit))

    def _sources(self, items: Sequence[ReviewItem]) -> tuple[list[tuple[ReviewItem, dict[str, Any]]], list[str]]:
        """Each item with its source task's data, and the units that no longer exist."""
        ids = [int(item.unit) for item in items if item.unit.isascii() and item.unit.isdigit()]
        data = {str(row["id"]): sound([row.get("data")])[0] for row in self.source.by_id(ids, "id,data")}
        found = [(item, content) for item in items if isinstance(content := data.get(item.unit), dict)]
        return found, [item.unit for item in items if not isinstance(data.get(item.unit), dict)]

    def _task(self, item: ReviewItem, data: Mapping[str, Any]) -> dict[str, Any]:
        ours_at_source, _ = sort_fields(data, self.prefix)
        own = {key: value for key, value in data.items() if key not in ours_at_source}
        ours = {
            KEY_VOTES: dict(item.votes),
            KEY_TASK: item.unit,
            KEY_PROJECT: self.source.project,
            KEY_LINK: self._link(item.unit),
        }
        return {"data": {**own, **ours}}

    def _import(self, target: Reader, tasks: list[dict[str, Any]]) -> None:
        answer = self.client.call(
            "POST",
            f"api/projects/{target.project}/import",
            params={"return_task_ids": "true", "commit_to_project": "true"},
            body=tasks,
            repeatable=False,
        )
        made = answer.get("task_ids") if isinstance(answer, dict) else None
        if isinstance(made, list):
            self._came(target, tasks, made)
        elif isinstance(answer, dict) and "import" in answer:
            self._wait(target.project, answer["import"])

    def _came(self, target: Reader, tasks: list[dict[str, Any]], made: list[Any]) -> None:
        """Hold the ids that the server gave against the keys that were sent: their order is not ours to assume."""
        rows = target.by_id(sorted(one for one in made if isinstance(one, int)), "id,data")
        sent = {task["data"][KEY_TASK] for task in tasks}
        if {self._unit_of(row) for row in rows} != sent:
            raise UnexpectedAnswer(
                f"The import made {len(rows)} review tasks of {len(sent)} in project {target.project}."
            )

    def _wait(self, project: str, number: Any) -> None:
        until = time.monotonic() + IMPORT_PATIENCE
        while time.monotonic() < until:
            state = self.client.get(f"api/projects/{project}/imports/{number}")
            if not isinstance(state, dict) or state.get("status") in ("completed", "failed"):
                return
            time.sleep(1.0)


_MARKER_BEGINS = "[agreement-connector review"
_PROJECT_FIELDS = "id,title,description"
_DRAWN_ON = "id,data,annotations,drafts,draft_exists,predictions,result,model_version"


def _has_work(task: Mapping[str, Any]) -> bool:
    """Whether somebody has submitted, skipped or begun something on a review task."""
    if not isinstance(task.get("annotations"), list):
        raise UnexpectedAnswer("Label Studio's review task has another form than expected (no annotations).")
    # the list of drafts holds one's own alone
    return bool(task["annotations"] or task.get("drafts") or task.get("draft_exists"))


def _is_decided(annotations: Any) -> bool:
    """The server's own counters are not asked: they drift."""
    if not isinstance(annotations, list):
        raise UnexpectedAnswer("Label Studio's list of tasks has another form than expected (no annotations).")
    return any(isinstance(one, dict) and not one.get("was_cancelled") for one in annotations)


def _has_marker_field(project: Any) -> bool:
    named = isinstance(project, dict) and {"id", "title", "description"} <= set(project)
    return named and type(project["id"]) is int


def _has_votes(project: Mapping[str, Any]) -> bool:
    table = rf"""<Table\b[^>]*\bname\s*=\s*["']{KEY_VOTES}["']"""
    return re.search(table, str(project.get("label_config"))) is not None


def fitting(title: str) -> str:
    """A project's title as the server takes it."""
    return title.strip()[:TITLE_LENGTH].rstrip()


def with_votes(label_config: str, key: str) -> str:
    """The label config with a table of the votes as its last part, otherwise unchanged.

    Raises FixConfiguration where the config has no closing View to stand in.
    """
    at = label_config.rfind("</View>")
    if at < 0:
        raise FixConfiguration(
            "The project's label config has no closing </View>, so no table of votes can be added to it.",
            "Make the review project by hand and name it under review.project.",
        )
    return f'{label_config[:at]}<Table name="{key}" value="${key}"/>{label_config[at:]}'
