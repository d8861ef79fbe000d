"""A Label Studio with a small project, recorded or real, as the contract suite's `World`."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import requests

from connector.tools.base import PutReviewTasks, ReviewItem, Tool, WriteOp
from connector.tools.label_studio.tool import LabelStudio
from tests.contract.conversation import LABEL_CONFIG, choice
from tests.contract.recorded_label_studio import HTML, Answer, RecordedLabelStudio, Request

PAGE = 3
TASKS = 8


class LabelStudioWorld:
    """Seeds a project of eight tasks, each with two raters' annotations, through the API.

    `token` is the one the tool uses, `owner` (a legacy token) the one the test acts with.
    """

    secrets: tuple[str, ...]
    faults: Collection[str] = ()

    def __init__(self, url: str, token: str, owner: str, title: str = "Contract") -> None:
        self.url, self.token = url.rstrip("/"), token
        self.secrets = (token, owner)
        self.tools: list[LabelStudio] = []
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["Authorization"] = f"Token {owner}"
        self.raters = [user["id"] for user in self.api("GET", "/api/users/")][:2]
        body = {"title": title, "label_config": LABEL_CONFIG, "maximum_annotations": 2}
        self.project = str(self.api("POST", "/api/projects/", body)["id"])
        self.first = self._import(TASKS)

    def close(self) -> None:
        for project in self._projects():
            self.api("DELETE", f"/api/projects/{project['id']}/")
        self.session.close()
        for tool in self.tools:
            tool.close()

    def api(self, method: str, path: str, body: Any = None) -> Any:
        response = self.session.request(method, self.url + path, json=body, timeout=60)
        response.raise_for_status()
        return response.json() if response.content else None

    def tool(self) -> Tool:
        tool = LabelStudio(self.url, self.token, self.project, patience=self.patience)
        tool.reader.page_size = PAGE
        self.tools.append(tool)
        return tool

    def requests(self, tool: Tool) -> int:
        assert isinstance(tool, LabelStudio)
        return tool.client.requests

    def annotations(self) -> Mapping[str, int]:
        return {str(task["id"]): len(task["annotations"]) for task in self._tasks()}

    def change(self, unit: str) -> None:
        annotation = self.api("GET", f"/api/tasks/{unit}/")["annotations"][0]
        before = annotation["result"][0]["value"]["choices"][0]
        other = "Negative" if before == "Positive" else "Positive"
        self.api("PATCH", f"/api/annotations/{annotation['id']}/", {"result": choice(other)})

    def add(self) -> str:
        return str(self._import(1)[0])

    def add_unrated(self) -> str:
        made = self.api(
            "POST", f"/api/projects/{self.project}/import?return_task_ids=true", [{"data": {"text": "new"}}]
        )
        return str(made["task_ids"][0])

    def delete(self, unit: str) -> None:
        self.api("DELETE", f"/api/tasks/{unit}/")

    def describe(self, text: str) -> None:
        self.api("PATCH", f"/api/projects/{self.project}/", {"description": text})

    def state(self) -> Any:
        project = self.api("GET", f"/api/projects/{self.project}/")
        counters = {"queue_total", "queue_done"}
        columns = self.api("GET", f"/api/dm/columns?project={self.project}")["columns"]
        return {
            "project": {key: value for key, value in project.items() if key not in counters},
            "tasks": {task["id"]: (task["data"], task["annotations"]) for task in self._tasks()},
            "views": self.api("GET", f"/api/dm/views/?project={self.project}"),
            "columns": {column["id"] for column in columns},
            "projects": sorted(project["id"] for project in self._projects()),
        }

    def content(self, unit: str) -> Mapping[str, Any]:
        data: Mapping[str, Any] = self.api("GET", f"/api/tasks/{unit}/?resolve_uri=false")["data"]
        return data

    @contextmanager
    def in_the_way(self) -> Iterator[WriteOp]:
        """Two projects bear the title configured for reviews."""
        body = {"title": "Of two people", "label_config": LABEL_CONFIG}
        made = [self.api("POST", "/api/projects/", body)["id"] for _ in range(2)]
        try:
            yield PutReviewTasks((ReviewItem(str(self.first[0]), {"rater 1": "Positive"}),), body["title"])
        finally:
            for project in made:
                self.api("DELETE", f"/api/projects/{project}/")

    def decide(self, task: str, *, submitted: bool) -> None:
        skipping = "" if submitted else "?was_cancelled=1"
        self.api("POST", f"/api/tasks/{task}/annotations/{skipping}", {"result": choice("Positive")})

    def fault(self, name: str) -> Any:
        raise NotImplementedError(name)

    def malformed(self) -> Any:
        raise NotImplementedError

    def reordered(self) -> Any:
        raise NotImplementedError

    patience = 60.0

    def _tasks(self) -> list[dict[str, Any]]:
        order = json.dumps({"ordering": ["tasks:id"]})
        params: dict[str, str | int] = {"project": self.project, "fields": "all", "page_size": 1000, "query": order}
        response = self.session.get(f"{self.url}/api/tasks", params=params, timeout=60)
        tasks: list[dict[str, Any]] = response.json()["tasks"]
        return tasks

    def _projects(self) -> list[dict[str, Any]]:
        """This world's project and what the tool made for it; a real server may hold other people's beside them."""
        found: list[dict[str, Any]] = self.api("GET", "/api/projects/?page_size=100")["results"]
        marker = f"review of project {self.project},"
        return [one for one in found if str(one["id"]) == self.project or marker in (one["description"] or "")]

    def _import(self, count: int) -> list[int]:
        def annotation(number: int, rater: int) -> dict[str, Any]:
            label = "Positive" if (number + rater) % 3 else "Negative"
            return {"completed_by": rater, "ground_truth": False, "result": choice(label)}

        tasks = [
            {
                "data": {"text": f"text {number}", "iaa": number},
                "annotations": [annotation(number, r) for r in self.raters],
            }
            for number in range(count)
        ]
        made = self.api("POST", f"/api/projects/{self.project}/import?return_task_ids=true", tasks)
        ids: list[int] = made["task_ids"]
        return ids


class RecordedWorld(LabelStudioWorld):
    """The recorded server, which can be told to fail."""

    faults = (
        *("down", "overloaded", "server_error", "html", "login_page", "broken_json", "cut_connection", "refused_token"),
        *("forbidden", "short_page", "ignored_filter", "no_annotations", "restart", "malformed", "reordered"),
    )
    patience = 0.9

    def __init__(self, server: RecordedLabelStudio, token: str) -> None:
        self.server = server
        super().__init__(server.url, token, server.legacy_token)
        self.secrets = (server.legacy_token, server.personal_token)

    @contextmanager
    def fault(self, name: str) -> Iterator[None]:
        if name == "down":
            self.server.stop()
            yield
            self.server.start()
        elif name == "restart":
            with self._restart():
                yield
        else:
            with self.server.failing(getattr(self, f"_{name}")):
                yield

    @contextmanager
    def malformed(self) -> Iterator[str]:
        """The server gives the annotations of one task as a text."""
        broken = self.first[1]

        def fault(request: Request) -> Answer | None:
            answer = self.server.real(request)
            for row in answer.body["tasks"] if request.is_page and answer.status == 200 else ():
                if row["id"] == broken and "annotations" in row:
                    row["annotations"] = "two of them"
            return answer

        with self.server.failing(fault):
            yield str(broken)

    @contextmanager
    def reordered(self) -> Iterator[None]:
        """The server gives the annotations of each task in another order; that of the tasks is the query's."""

        def fault(request: Request) -> Answer | None:
            answer = self.server.real(request)
            for row in answer.body["tasks"] if request.is_page and answer.status == 200 else ():
                row.get("annotations", []).reverse()
            return answer

        with self.server.failing(fault):
            yield

    @contextmanager
    def _restart(self) -> Iterator[None]:
        """The server goes down on the second page, without answering it, and is back a moment later."""
        pages: list[Request] = []

        def once(request: Request) -> Answer | None:
            if request.is_page:
                pages.append(request)
                if len(pages) == 2:
                    back.start()
            return None

        def bounce() -> None:
            self.server.stop()
            threading.Event().wait(0.3)
            self.server.start()

        back = threading.Thread(target=bounce)
        with self.server.failing(once):
            yield
        back.join()

    def _overloaded(self, request: Request) -> Answer | None:
        return Answer(503, HTML, "text/html")

    def _server_error(self, request: Request) -> Answer | None:
        return Answer(500, {"status_code": 500, "detail": f"it broke on {request.headers['Authorization']}"})

    def _html(self, request: Request) -> Answer | None:
        return Answer(200, HTML, "text/html")

    def _login_page(self, request: Request) -> Answer | None:
        return Answer(302, "", "text/html", {"Location": "/user/login/"})

    def _broken_json(self, request: Request) -> Answer | None:
        return Answer(200, '{"tasks": [{"id": 1, "da', "application/json")

    def _cut_connection(self, request: Request) -> Answer | None:
        answer = self.server.real(request)
        answer.cut = 40
        return answer

    def _refused_token(self, request: Request) -> Answer | None:
        return Answer(401, {"status_code": 401, "detail": "Invalid token."})

    def _forbidden(self, request: Request) -> Answer | None:
        return Answer(403, {"status_code": 403, "detail": "You do not have permission to perform this action."})

    def _short_page(self, request: Request) -> Answer | None:
        """The second page is empty although the server counts more."""
        answer = self.server.real(request)
        if request.is_page and answer.status == 200 and '"value":0' not in request.params["query"]:
            answer.body["tasks"] = []
        return answer

    def _ignored_filter(self, request: Request) -> Answer | None:
        if request.is_page:
            request.params = {**request.params, "query": "{}"}
        return None

    def _no_annotations(self, request: Request) -> Answer | None:
        request.params.pop("fields", None)
        return None
