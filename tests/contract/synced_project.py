"""A recorded Label Studio with a project, the store and the configuration beside it, and the verbs run on them."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from connector import cli
from connector.config import Settings, parse
from connector.store import Store
from connector.tools.base import Receipt, WriteOp
from connector.tools.label_studio.tool import LabelStudio
from connector.workflow import gating, removal
from connector.workflow import sync as syncing
from connector.workflow.batch import Batch
from connector.workflow.sources import LiveSource, Source
from connector.workflow.sync import Synced, Watch
from tests.contract.conversation import LABEL_CONFIG, choice
from tests.contract.label_studio_world import PAGE, RecordedWorld
from tests.contract.recorded_label_studio import Answer, Fault, Hangup, RecordedLabelStudio, Request

ROOT = Path(__file__).parents[2]
DAY = 24 * 3600.0
Matches = Callable[[Request], bool]
Sections = Mapping[str, Any]


class Killed(BaseException):
    """Stands for a process that is gone from one moment to the next."""


class SyncedProject:
    """Eight tasks, 101 to 108, two raters each: 101, 104 and 107 agreed, the rest conflicts.

    Pages hold three tasks. `now` is the clock that a run sees. The configuration is the least that works, with the
    sections that a call names.
    """

    def __init__(self, server: RecordedLabelStudio, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.world = RecordedWorld(server, server.legacy_token)
        self.project = int(self.world.project)
        self.store_path = folder / "connector.db"
        self.now = 1_800_000_000.0
        self.dies_after: Callable[[str], bool] = lambda _moment: False

    def close(self) -> None:
        self.world.close()

    # The verbs

    def settings(self, sections: Sections) -> Settings:
        return parse(self.configuration(sections), environ={})

    def configuration(self, sections: Sections) -> str:
        whole: dict[str, Any] = {
            "tool": "label_studio",
            "url": self.world.url,
            "api_key": self.world.token,
            "project": self.project,
        }
        return json.dumps({**whole, **sections})  # JSON is YAML

    def sync(self, *, dry_run: bool = False, full: bool = False, **sections: Any) -> Synced:
        settings = self.settings(sections)
        with self._sources(settings) as sources, Store(self.store_path, keep=not dry_run) as store:
            (done,) = syncing.sync(sources, store, settings, dry_run=dry_run, full=full, watch=self._watch())
            return done

    def planned(self, **sections: Any) -> list[str]:
        """What a dry run says."""
        return self.sync(dry_run=True, **sections).plan.lines()

    def review(self, **sections: Any) -> syncing.ReviewStatus:
        settings = self.settings({"review": {}, **sections})
        with self._sources(settings) as sources, Store(self.store_path) as store:
            return syncing.review(sources, store, settings, create=True, watch=self._watch())

    def remove(self, *, reviews: bool = False, dry_run: bool = False, **sections: Any) -> removal.Removal:
        settings = self.settings(sections)
        watch = self._watch()
        with self._sources(settings) as sources, Store(self.store_path, keep=not dry_run) as store:
            (done,) = removal.remove(
                sources,
                store,
                settings.push.prefix,
                review=reviews,
                dry_run=dry_run,
                reading=watch.pulling,
                writing=watch.writing,
            )
        return done

    def gate(self, batch: Batch | None = None, **sections: Any) -> gating.Gated:
        settings = self.settings(sections)
        with self._sources(settings) as sources, Store(self.store_path) as store:
            return gating.gate(sources, store, settings, batch or Batch(), self._watch())

    def shell(self, *arguments: str, **sections: Any) -> int:
        """The exit code of `connector ARGUMENTS -c config.yaml`."""
        return cli.run([*arguments, "-c", self._config(sections)])

    def start(self, *arguments: str, **sections: Any) -> subprocess.Popen[bytes]:
        """The same as a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "connector", *arguments, "-c", self._config(sections)],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _config(self, sections: Sections) -> str:
        config = self.folder / "config.yaml"
        config.write_text(self.configuration(sections))
        return str(config)

    def _watch(self) -> Watch:
        return Watch(lambda _done, _total: None, lambda _done, _total: None, lambda: self.now)

    @contextmanager
    def _sources(self, settings: Settings) -> Iterator[list[Source]]:
        tool = Mortal(self, self.world.url, self.world.token, str(self.project), settings.push.prefix, patience=0.2)
        tool.reader.page_size = PAGE
        try:
            yield [LiveSource(f"label_studio:{self.project}", tool)]
        finally:
            tool.close()

    # What the people do

    def rate(self, *labels: Sequence[str | None]) -> list[int]:
        """New tasks with these labels of raters 1, 2, ... (None: not rated); their ids."""
        tasks = [
            {
                "data": {"text": "more"},
                "annotations": [
                    {"completed_by": rater, "ground_truth": False, "result": choice(label)}
                    for rater, label in enumerate(row, start=1)
                    if label is not None
                ],
            }
            for row in labels
        ]
        ids: list[int] = self.world.api("POST", f"/api/projects/{self.project}/import?return_task_ids=true", tasks)[
            "task_ids"
        ]
        return ids

    def answer(self, task: int, *labels: str) -> None:
        """Change the answers of raters 1, 2, ... on a task."""
        for annotation, label in zip(self.server.tasks[task]["annotations"], labels, strict=False):
            self.world.api("PATCH", f"/api/annotations/{annotation['id']}/", {"result": choice(label)})

    def unrate(self, task: int, place: int = 0) -> None:
        """Delete an annotation; the server moves the task's `updated_at`."""
        del self.server.tasks[task]["annotations"][place]
        self.server.tasks[task]["updated_at"] = datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z"

    def put(self, task: int, **fields: Any) -> None:
        """Set fields of a task's data, as a person does."""
        self.world.api("PATCH", f"/api/tasks/{task}/", {"data": {**self.data(task), **fields}})

    def ask(self, *more: str) -> None:
        """Let the project ask for these beside the sentiment: a single choice of a, b or c each."""
        controls = "".join(
            f'<Choices name="{name}" toName="text" choice="single">'
            '<Choice value="a"/><Choice value="b"/><Choice value="c"/></Choices>'
            for name in more
        )
        config = LABEL_CONFIG.replace("</View>", f"{controls}</View>")
        self.world.api("PATCH", f"/api/projects/{self.project}/", {"label_config": config})

    def answer_also(self, task: int, question: str, *labels: str) -> None:
        """Let raters 1, 2, ... answer another question too."""
        for annotation, label in zip(self.server.tasks[task]["annotations"], labels, strict=False):
            also = {**choice(label)[0], "from_name": question, "id": question}
            self.world.api("PATCH", f"/api/annotations/{annotation['id']}/", {"result": [*annotation["result"], also]})

    # What people see

    def tasks(self, project: int | None = None) -> list[int]:
        return [task["id"] for task in self.server._of(project or self.project)]

    def data(self, task: int) -> dict[str, Any]:
        data: dict[str, Any] = self.server.tasks[task]["data"]
        return data

    def fields(self, name: str = "iaa_status") -> dict[int, Any]:
        """A field's value on each task that has it."""
        return {task: self.data(task)[name] for task in self.tasks() if name in self.data(task)}

    @property
    def description(self) -> str:
        return str(self.server.projects[self.project]["description"])

    @property
    def tabs(self) -> list[str]:
        return [view["data"]["title"] for view in self.server.views.values() if view["project"] == self.project]

    @property
    def review_projects(self) -> list[int]:
        return [number for number in self.server.projects if number != self.project]

    def reviewed(self) -> Counter[str]:
        """The source tasks of all review tasks, with how many each has."""
        return Counter(
            self.data(task)["iaa_source_task"] for project in self.review_projects for task in self.tasks(project)
        )

    def shown(self) -> Any:
        """All that a sync may change, without numbers that count calls; comparable between two servers."""
        projects = [self.server.projects[number] for number in self.review_projects]
        seen = {
            "data": {task: self.data(task) for task in self.tasks()},
            "tabs": [view["data"] for view in self.server.views.values()],
            "description": self.description,
            "reviews": [
                {
                    "title": project["title"],
                    "config": project["label_config"],
                    "tasks": sorted(json.dumps(self.data(task), sort_keys=True) for task in self.tasks(project["id"])),
                }
                for project in projects
            ],
        }
        return copy.deepcopy(json.loads(re.sub(r"127\.0\.0\.1:\d+", "SERVER", json.dumps(seen))))

    # What goes over the wire

    @contextmanager
    def counting(self) -> Iterator[list[str]]:
        """Fills the list with the calls made inside, as "METHOD /path"."""
        calls: list[str] = []
        before = len(self.server.log)
        yield calls
        calls += [f"{request.method} {request.path}" for request in self.server.log[before:]]

    @contextmanager
    def failing(self, matches: Matches, how: str) -> Iterator[list[Request]]:
        """Let the calls that match fail: "refused" with a 500, "nothing_done" with a 200 that counts no task, or
        "done_then_cut": the server does the work and the answer never comes. Fills the list with them."""
        hit: list[Request] = []

        def fault(request: Request) -> Answer | None:
            if not matches(request):
                return None
            hit.append(request)
            if how == "refused":
                return Answer(500, {"status_code": 500, "detail": "it broke"})
            if how == "nothing_done":
                return Answer(200, {"detail": "Updated 0 tasks"})
            self.server.real(request)
            raise Hangup

        with self.server.failing(fault):
            yield hit

    @contextmanager
    def malformed(self, *tasks: int) -> Iterator[None]:
        """The server gives the annotations of these tasks as a text."""

        def fault(request: Request) -> Answer | None:
            answer = self.server.real(request)
            if request.is_page and answer.status == 200:
                for row in answer.body["tasks"]:
                    if row["id"] in tasks and "annotations" in row:
                        row["annotations"] = "three of them"
            return answer

        with self.server.failing(fault):
            yield

    def short(self, kept: int) -> Fault:
        """The server counts all tasks and sends only the first `kept`."""

        def fault(request: Request) -> Answer | None:
            answer = self.server.real(request)
            if request.is_page and answer.status == 200 and request.params.get("fields") == "all":
                few = self.tasks()[:kept]
                answer.body["tasks"] = [row for row in answer.body["tasks"] if row["id"] in few]
            return answer

        return fault

    # What the store knows

    def store(self) -> Store:
        return Store(self.store_path, keep=False)

    @property
    def source(self) -> str:
        return f"label_studio:{self.world.url}:{self.project}"

    def ledger(self) -> dict[str, dict[str, Any]]:
        with self.store() as store:
            return store.ledger(self.source)


class Owner(Protocol):
    """Whoever decides when a process dies."""

    dies_after: Callable[[str], bool]


class Mortal(LabelStudio):
    """The real tool, which the process may not outlive: see its owner's `dies_after`."""

    def __init__(self, owner: Owner, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._owner = owner
        call = self.client.call

        def watched(method: str, path: str, **more: Any) -> Any:
            answer = call(method, path, **more)
            if owner.dies_after("read" if method == "GET" else "call"):
                raise Killed
            return answer

        self.client.call = watched  # type: ignore[method-assign]

    def apply(self, op: WriteOp) -> Receipt:
        receipt = super().apply(op)
        if self._owner.dies_after("operation"):
            raise Killed
        return receipt


def writes(calls: Sequence[str]) -> list[str]:
    """Those of these calls that change something."""
    return [call for call in calls if not call.startswith("GET ")]
