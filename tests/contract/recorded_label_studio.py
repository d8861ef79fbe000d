"""A Label Studio on loopback made of recorded answers, which can be told to fail.

Its answers have the form that a real 1.23.2 gave (`label_studio_1.23.2.json`, held against it by
`test_recorded_server.py`), odd ones included: a filter that is not understood lets everything through, an empty list of
chosen tasks means all of them, text as a number is a 500. What it holds changes as the real one's does.
"""

from __future__ import annotations

import base64
import copy
import itertools
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from tests.contract.conversation import RECORDING
from tests.contract.served import Answer, Fault, Hangup, Request, Served

__all__ = ["HTML", "RECORDED", "Answer", "Fault", "Hangup", "RecordedLabelStudio", "Request", "recorded"]

RECORDED: dict[str, dict[str, Any]] = json.loads(RECORDING.read_text())
HTML = "<!doctype html><html><head><title>404 | Label Studio</title></head><body></body></html>"
LEGACY_OFF = "Authentication token no longer valid: legacy token authentication has been disabled for this organization"


def recorded(name: str, **changes: Any) -> Answer:
    answer = RECORDED[name]
    body = copy.deepcopy(answer["answer"])
    if changes:
        body.update(changes)
    return Answer(answer["status"], body, answer["type"])


class RecordedLabelStudio(Served):
    """The server. `access_lives` is how many requests an access token is good for."""

    page = HTML

    def __init__(self, sub_path: str = "", access_lives: int | None = None) -> None:
        super().__init__(sub_path)
        self.legacy_token = "legacy0123456789abcdef0123456789abcdef01"
        self.personal_token = _jwt({"token_type": "refresh", "jti": "recorded"})
        self.legacy_enabled = True
        self.access_lives = access_lives
        self.refreshes = 0
        self.has_bulk_action = True
        self._access: dict[str, int] = {}
        self._ids = {
            kind: itertools.count(first)
            for kind, first in (("project", 7), ("task", 101), ("annotation", 1001), ("prediction", 5001))
        }
        self._ids["view"] = itertools.count(1)
        self.projects: dict[int, dict[str, Any]] = {}
        self.tasks: dict[int, dict[str, Any]] = {}
        self.views: dict[int, dict[str, Any]] = {}
        self.columns: dict[int, set[str]] = {}

    # Routes

    def _route(self, request: Request) -> None:
        parts = request.path.strip("/").split("/")
        if parts[0] != "api":
            raise Answer(302, "", "text/html", {"Location": f"{self.sub_path}/user/login/?next={request.path}"})
        if parts == ["api", "version"]:
            raise recorded("version")
        if parts == ["api", "token", "refresh"]:
            self._refresh(request)
        self._authenticate(request)
        match [request.method, *parts[1:]]:
            case ["GET", "users"]:
                raise Answer(200, [{"id": number} for number in (1, 2, 3, 4)])
            case ["GET", "projects"]:
                fields = [{k: p[k] for k in ("id", "title", "description")} for p in self.projects.values()]
                raise Answer(200, {"count": len(fields), "next": None, "previous": None, "results": fields[::-1]})
            case ["POST", "projects"]:
                self._make_project(request.body)
            case [method, "projects", number, *rest]:
                self._project(method, self._find("project", self.projects, number), rest, request)
            case ["GET", "tasks"]:
                self._list(request)
            case [method, "tasks", number, *rest]:
                self._task(method, self._find("task", self.tasks, number), rest, request)
            case ["POST", "predictions"]:
                task = self._find("task", self.tasks, str(request.body["task"]))
                raise Answer(201, self._predict(task["project"], [request.body])[0])
            case ["DELETE", "predictions", number]:
                self._delete_prediction(int(number))
            case ["PATCH", "annotations", number]:
                self._change_annotation(int(number), request.body)
            case ["POST", "dm", "actions"]:
                self._action(request)
            case ["GET", "dm", "columns"]:
                names = sorted(self.columns[int(request.params["project"])])
                template = RECORDED["columns"]["answer"]["columns"]
                own = [{**template[0], "id": name, "title": name} for name in names]
                raise Answer(200, {"columns": [*own, *(one for one in template if one.get("parent") != "data")]})
            case ["GET", "dm", "views"]:
                raise Answer(200, [v for v in self.views.values() if v["project"] == int(request.params["project"])])
            case ["POST", "dm", "views"]:
                self._make_view(request.body)
            case [method, "dm", "views", number]:
                self._view(method, self._find("view", self.views, number), request.body)
        raise Answer(404, HTML, "text/html")

    def _refresh(self, request: Request) -> None:
        if not isinstance(request.body, dict) or request.body.get("refresh") != self.personal_token:
            raise recorded("wrong personal token")
        self.refreshes += 1
        now = int(time.time())
        access = _jwt({"token_type": "access", "iat": now, "exp": now + 300, "jti": str(self.refreshes)})
        self._access[access] = self.access_lives if self.access_lives is not None else 10**9
        raise Answer(200, {"access": access})

    def _authenticate(self, request: Request) -> None:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        if kind == "Token" and token == self.legacy_token:
            if self.legacy_enabled:
                return
            raise recorded("no token", detail=LEGACY_OFF)
        if kind == "Bearer" and self._access.get(token, 0) > 0:
            self._access[token] -= 1
            return
        raise recorded("no token", **({"detail": "Invalid token."} if kind == "Token" else {}))

    @staticmethod
    def _find(kind: str, table: dict[int, dict[str, Any]], number: str) -> dict[str, Any]:
        if not number.isdigit() or int(number) not in table:
            raise recorded({"project": "deleted project", "task": "deleted task", "view": "delete view again"}[kind])
        return table[int(number)]

    # Projects

    def _make_project(self, body: dict[str, Any]) -> None:
        if len(body["title"]) > 50:
            raise recorded("title too long")
        number = next(self._ids["project"])
        template = copy.deepcopy(RECORDED["make project"]["answer"])
        given = {key: value for key, value in body.items() if key in template}
        project = {**template, **given, "id": number, "created_at": _now()}
        project["description"] = (project["description"] or "").strip()
        self.projects[number] = project
        self.columns[number] = set()
        raise Answer(201, project)

    def _project(self, method: str, project: dict[str, Any], rest: list[str], request: Request) -> None:
        number = project["id"]
        tasks = self._of(number)
        match [method, *rest]:
            case ["GET"]:
                raise recorded("project", **{**project, **self._counts(tasks)})
            case ["PATCH"]:
                # The server trims text at both ends.
                changes = {key: v.strip() if isinstance(v, str) else v for key, v in request.body.items()}
                project.update(changes)
                raise recorded("describe", **{**project, **self._counts(tasks)})
            case ["DELETE"]:
                del self.projects[number]
                for task in tasks:
                    del self.tasks[task["id"]]
                raise Answer(204, None, "")
            case ["POST", "import"]:
                ids = [self._import(number, task) for task in request.body]
                changes = {"task_count": len(ids), "task_ids": ids}
                raise recorded("import", **changes)
            case ["POST", "import", "predictions"]:
                raise recorded("import predictions", created=len(self._predict(number, request.body)))
            case ["POST", "summary", "reset"]:
                self.columns[number] = {key for task in tasks for key in task["data"]}
                raise Answer(200, None, "")
            case ["GET", "summary"]:
                columns = {column: len(tasks) for column in self.columns[number]}
                raise recorded("summary", project=number, all_data_columns=columns)

    @staticmethod
    def _counts(tasks: list[dict[str, Any]]) -> dict[str, Any]:
        return {"task_number": len(tasks), "total_annotations_number": sum(len(t["annotations"]) for t in tasks)}

    def _of(self, project: int) -> list[dict[str, Any]]:
        return [task for number, task in sorted(self.tasks.items()) if task["project"] == project]

    def _import(self, project: int, task: dict[str, Any]) -> int:
        # An "id" in the imported task is ignored, and so is its "meta".
        number = next(self._ids["task"])
        now = _now()
        made = {
            "id": number,
            "project": project,
            "data": task["data"],
            "meta": {},
            "created_at": now,
            "updated_at": now,
        }
        self.tasks[number] = {
            **made,
            "annotations": [],
            "predictions": [],
            "drafts": [],
            "draft_exists": False,
            "updated_by": None,
        }
        self.columns[project] |= set(task["data"])
        for annotation in task.get("annotations", ()):
            self._annotate(number, annotation)
        return number

    # Tasks

    def _annotate(self, task: int, body: dict[str, Any], *, cancelled: bool = False) -> dict[str, Any]:
        now = _now()
        made = {
            **copy.deepcopy(RECORDED["annotate"]["answer"]),
            "id": next(self._ids["annotation"]),
            "task": task,
            "project": self.tasks[task]["project"],
            "result": body["result"],
            "completed_by": body.get("completed_by", 1),
            "was_cancelled": cancelled or body.get("was_cancelled", False),
            "ground_truth": body.get("ground_truth", False),
            "created_at": now,
            "updated_at": now,
        }
        self.tasks[task]["annotations"].append(made)
        self.tasks[task]["updated_at"] = now
        return made

    def _change_annotation(self, number: int, body: dict[str, Any]) -> None:
        for task in self.tasks.values():
            for annotation in task["annotations"]:
                if annotation["id"] == number:
                    annotation.update(body, updated_at=_now(), updated_by=1)
                    task["updated_at"] = annotation["updated_at"]
                    raise Answer(200, annotation)
        raise recorded("deleted task")

    def _predict(self, project: int, bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for body in bodies:
            task = self.tasks.get(body["task"])
            if task is None or task["project"] != project:
                raise recorded("import predictions for no task")
        made = []
        for body in bodies:
            template = copy.deepcopy(RECORDED["make prediction"]["answer"])
            made.append({**template, **body, "id": next(self._ids["prediction"]), "project": project})
            self.tasks[body["task"]]["predictions"].append(made[-1])
        return made

    def _delete_prediction(self, number: int) -> None:
        for task in self.tasks.values():
            for prediction in task["predictions"]:
                if prediction["id"] == number:
                    task["predictions"].remove(prediction)
                    raise Answer(204, None, "")
        raise recorded("delete prediction again")

    def _task(self, method: str, task: dict[str, Any], rest: list[str], request: Request) -> None:
        match [method, *rest]:
            case ["GET"]:
                people = [{**a, "completed_by": {"id": a["completed_by"]}} for a in task["annotations"]]
                raise recorded("task", **{**self._row(task), "annotations": people, "updated_by": []})
            case ["PATCH"]:
                task.update(request.body, updated_at=_now(), updated_by=1)
                self.columns[task["project"]] |= set(task["data"]) if isinstance(task["data"], dict) else set()
                raise recorded("patch task", **self._row(task))
            case ["DELETE"]:
                del self.tasks[task["id"]]
                raise Answer(204, None, "")
            case ["POST", "annotations"]:
                made = self._annotate(task["id"], request.body, cancelled="was_cancelled" in request.params)
                raise Answer(201, made)

    @staticmethod
    def _row(task: dict[str, Any]) -> dict[str, Any]:
        cancelled = sum(annotation["was_cancelled"] for annotation in task["annotations"])
        counts = {"total_annotations": len(task["annotations"]) - cancelled, "cancelled_annotations": cancelled}
        return {**task, **counts}

    def _list(self, request: Request) -> None:
        params = request.params
        project = self._find("project", self.projects, params.get("project", ""))
        rows = [
            self._row(task) for task in self._selected(project["id"], json.loads(unquote(params.get("query", "{}"))))
        ]
        size = int(params["page_size"]) if params.get("page_size", "").isdigit() else 0
        size = size or 100
        page = int(params.get("page", 1))
        part = rows[(page - 1) * size : page * size]
        if not part and page > 1:
            raise recorded("page by number past the end")
        hidden = set() if params.get("fields") == "all" else {"annotations", "predictions", "drafts"}
        included = set(params["include"].split(",")) if "include" in params else None
        tasks = [_included({k: v for k, v in row.items() if k not in hidden}, included) for row in part]
        counts = {"total": len(rows), "total_annotations": sum(row["total_annotations"] for row in rows)}
        raise Answer(200, {"tasks": tasks, "total_predictions": 0, **counts})

    def _selected(self, project: int, query: dict[str, Any]) -> list[dict[str, Any]]:
        filters = query.get("filters") or {"conjunction": "and", "items": []}
        tests = [_test(item) for item in filters["items"]]
        how = all if filters["conjunction"] == "and" else any
        return [task for task in self._of(project) if not tests or how(test(task) for test in tests)]

    def _action(self, request: Request) -> None:
        action = request.params["id"]
        if action != "add_data_field" or not self.has_bulk_action:
            raise recorded("unknown action", detail=f"Can't find '{action}' in registered actions")
        body = request.body
        chosen = body["selectedItems"]["included"]
        tasks = self._of(int(request.params["project"]))
        if chosen:
            tasks = [task for task in tasks if task["id"] in chosen]
        try:
            value = {"Number": float, "String": str}[body["value_type"]](body["value"])
        except ValueError as error:
            raise recorded("set a text as a number", detail=str(error)) from None
        for task in tasks:
            task["data"] = {**task["data"], body["value_name"]: value}
        if tasks:
            self.columns[tasks[0]["project"]].add(body["value_name"])
        raise Answer(200, {"detail": f"Updated {len(tasks)} tasks"})

    # Tabs

    def _make_view(self, body: dict[str, Any]) -> None:
        number = next(self._ids["view"])
        order = sum(view["project"] == body["project"] for view in self.views.values())
        view = {"id": number, "data": body["data"], "order": order, "user": 1, "project": body["project"]}
        self.views[number] = view
        raise Answer(201, view)

    def _view(self, method: str, view: dict[str, Any], body: Any) -> None:
        if method == "DELETE":
            del self.views[view["id"]]
            raise Answer(204, None, "")
        kept = {key: view["data"][key] for key in ("filters", "ordering") if key in view["data"]}
        view["data"] = {**kept, **body["data"]}
        raise Answer(200, view)


def _test(item: Mapping[str, Any]) -> Callable[[dict[str, Any]], bool]:
    field, operator, value = item["filter"].removeprefix("filter:tasks:"), item["operator"], item["value"]
    if operator == "in_list":
        return lambda task: task[field] in value
    if field == "updated_at" and operator.startswith("greater"):
        try:
            since = datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
        except ValueError as error:
            raise recorded("time without a fraction", detail=str(error)) from None
        return lambda task: datetime.fromisoformat(task[field]) >= since
    if operator == "greater":
        return lambda task: task[field] > value
    # What the server does not understand it lets through.
    return lambda task: True


def _included(row: dict[str, Any], fields: set[str] | None) -> dict[str, Any]:
    if fields is None:
        return row
    kept = {key: value for key, value in row.items() if key in fields}
    if "annotations" in kept:
        kept["annotations"] = [{k: v for k, v in a.items() if k in fields} for a in kept["annotations"]]
    if "updated_by" in kept:
        kept["updated_by"] = [{"user_id": row["updated_by"]}] if row["updated_by"] else []
    return kept


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _jwt(claims: dict[str, Any]) -> str:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(claims)}.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg"
