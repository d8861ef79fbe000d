"""Review tasks: the conflicts of a project, in a project of their own beside it.

The votes stand in the task's data and are shown as a table. As predictions they would pre-select one of them and bias
the reviewer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from connector.errors import FixConfiguration, NotThere, UnexpectedAnswer
from connector.tools.base import PutReviewTasks, Receipt, ReviewItem
from connector.tools.label_studio.client import Client, Refused
from connector.tools.label_studio.read import Reader
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
        self.marker = f"{_MARKER_BEGINS} of project {source.project}, made {settings.get('created_at')}]"

    def find(self, configured: str | None) -> dict[str, Any] | None:
        """The configured project (by id, else by title), or the one that holds our marker; None where there is none.

        Raises NotThere for a configured id that does not exist, FixConfiguration for a title that several bear.
        """
        if configured is not None and configured.isascii() and configured.isdigit():
            return self._project(configured)
        if configured is not None:
            named = [project for project in self._projects() if project.get("title") == configured]
            if len(named) > 1:
                raise FixConfiguration(
                    f"{len(named)} Label Studio projects are called {configured!r}.", "Name it by its id."
                )
            return named[0] if named else None
        projects = list(self._projects())
        marked = next((project for project in projects if self._is_ours(project)), None)
        return marked or self._unmarked(projects)

    def _unmarked(self, projects: list[dict[str, Any]]) -> dict[str, Any] | None:
        """The review project whose description somebody wrote anew: it still has our title, table and tasks.

        Without the marker it counts as its owner's: tasks are added to it, and it is never deleted.
        """
        for listed in projects:
            if listed["title"] != self._title() or _MARKER_BEGINS in str(listed["description"]):
                continue
            project = self._project(str(listed["id"]))
            first = Reader(self.client, str(listed["id"])).page(0, "id,data", 1).tasks
            if f'name="{KEY_VOTES}"' in str(project.get("label_config")) and any(map(self._unit_of, first)):
                return project
        return None

    def _title(self) -> str:
        return f"Review: {self.settings.get('title') or self.source.project}"[:TITLE_LENGTH].rstrip()

    def tasks_in(self, project: str) -> dict[str, str]:
        """The source units that have a review task in `project`, with its id."""
        return self._there(Reader(self.client, project))

    def put(self, op: PutReviewTasks) -> Receipt:
        """Make the review tasks that are not there yet; one that is there stays as it is."""
        if not op.items:
            return Receipt()
        project = self.find(op.project) or self._make(op.project)
        if str(project["id"]) == self.source.project:
            raise FixConfiguration("The review project is the source project itself.", "Name another, or none.")
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
        return Receipt(tuple(made), tuple(missing), {"review_project": str(project["id"]), **made}, failed)

    def remove(self, remote: str) -> Receipt:
        """Delete the review project that we made; of one that the owner made, only our tasks that nobody has annotated.

        `written` are the source units whose review task is gone; `remote["kept"]` counts those left with work in them.
        """
        try:
            project = self._project(remote)
        except NotThere:
            return Receipt()
        if str(project["id"]) == self.source.project:
            raise FixConfiguration("The review project is the source project itself.", "It is not touched.")
        target = Reader(self.client, str(project["id"]))
        if self._is_ours(project):
            units = tuple(self._there(target))
            self.client.call("DELETE", f"api/projects/{project['id']}/")
            return Receipt(units)
        return self._remove_tasks(target)

    def _remove_tasks(self, target: Reader) -> Receipt:
        gone, kept = [], 0
        for row in list(target.scan("id,data,total_annotations,cancelled_annotations", BATCH * 10)):
            unit = self._unit_of(row)
            if unit is None:
                continue
            # The counters drift: the task itself is asked before it is deleted.
            task = self.client.get(f"api/tasks/{row['id']}/")
            if task.get("annotations") or task.get("drafts"):
                kept += 1
                continue
            self.client.call("DELETE", f"api/tasks/{row['id']}/")
            gone.append(unit)
        return Receipt(tuple(gone), remote={"kept": str(kept)} if kept else {})

    def _project(self, number: str) -> dict[str, Any]:
        answer = self.client.get(f"api/projects/{number}/")
        if not isinstance(answer, dict) or "id" not in answer:
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

    def _is_ours(self, project: Mapping[str, Any]) -> bool:
        return self.marker in str(project.get("description") or "")

    def _make(self, title: str | None) -> dict[str, Any]:
        body = {
            "title": (title or self._title())[:TITLE_LENGTH].rstrip(),
            "description": f"Conflicts of {self._link()} for a reviewer to decide.\n\n{self.marker}",
            "label_config": with_votes(str(self.settings["label_config"]), KEY_VOTES),
            "expert_instruction": str(self.settings.get("expert_instruction") or ""),
            "show_instruction": bool(self.settings.get("show_instruction")),
        }
        answer = self.client.call("POST", "api/projects/", body=body, repeatable=False)
        if not isinstance(answer, dict) or "id" not in answer:
            raise UnexpectedAnswer("Label Studio made a project but did not say its id.")
        return answer

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
        return None if unit is None else str(unit)

    def _sources(self, items: Sequence[ReviewItem]) -> tuple[list[tuple[ReviewItem, dict[str, Any]]], list[str]]:
        """Each item with its source task's data, and the units that no longer exist."""
        ids = [int(item.unit) for item in items if item.unit.isascii() and item.unit.isdigit()]
        data = {str(row["id"]): row.get("data") for row in self.source.by_id(ids, "id,data")}
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


def _has_marker_field(project: Any) -> bool:
    return isinstance(project, dict) and {"id", "title", "description"} <= set(project)


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
