"""Several projects of a recorded Label Studio in one configuration, and the verbs run on them."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import requests

from connector import cli
from connector.config import Settings, parse
from connector.store import Store
from connector.workflow import removal
from connector.workflow import sync as syncing
from connector.workflow.sources import LiveSource, Source
from connector.workflow.sync import Synced, Watch
from tests.contract.conversation import LABEL_CONFIG, choice
from tests.contract.label_studio_world import PAGE
from tests.contract.recorded_label_studio import RecordedLabelStudio
from tests.contract.synced_project import Mortal, Sections

Ratings = Mapping[int, str]
"""rater -> label"""


class JoinedProjects:
    """Projects, numbered from 7 on, whose tasks bear a `sku`. The configuration lists them all with `unit_key: sku`.

    `now` is the clock that a run sees.
    """

    def __init__(self, server: RecordedLabelStudio, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.store_path = folder / "connector.db"
        self.now = 1_800_000_000.0
        self.dies_after: Callable[[str], bool] = lambda _moment: False
        self.projects: list[int] = []
        self.files: list[Path] = []
        self.others: list[dict[str, str]] = []
        """Further tools, as the configuration names them; for `shell` alone."""

    # What the people do

    def make(self, *tasks: tuple[Any, Ratings], label_config: str = LABEL_CONFIG) -> int:
        """A project with these tasks: the value of `sku` (None: none), and who said what."""
        body = {"title": f"Project {len(self.projects) + 1}", "label_config": label_config, "maximum_annotations": 2}
        number: int = self.api("POST", "/api/projects/", body)["id"]
        self.projects.append(number)
        self.add(number, *tasks)
        return number

    def add(self, project: int, *tasks: tuple[Any, Ratings]) -> list[int]:
        rows = [
            {
                "data": {"text": "words", **({} if sku is None else {"sku": sku})},
                "annotations": [
                    {"completed_by": rater, "ground_truth": False, "result": choice(label)}
                    for rater, label in ratings.items()
                ],
            }
            for sku, ratings in tasks
        ]
        ids: list[int] = self.api("POST", f"/api/projects/{project}/import?return_task_ids=true", rows)["task_ids"]
        return ids

    def answer(self, task: int, label: str, place: int = 0) -> None:
        """Change one rater's answer on a task."""
        annotation = self.server.tasks[task]["annotations"][place]
        self.api("PATCH", f"/api/annotations/{annotation['id']}/", {"result": choice(label)})

    def api(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Token {self.server.legacy_token}"}
        response = requests.request(method, self.server.url + path, json=body, headers=headers, timeout=60)
        response.raise_for_status()
        return response.json() if response.content else None

    # The verbs

    def configuration(self, sections: Sections) -> str:
        tools = [
            {"tool": "label_studio", "url": self.server.url, "api_key": self.server.legacy_token, "project": number}
            for number in self.projects
        ]
        files = [{"file": str(path)} for path in self.files]
        return json.dumps({"sources": [*tools, *self.others, *files], "unit_key": "sku", **sections})

    def settings(self, sections: Sections) -> Settings:
        return parse(self.configuration(sections), environ={})

    def sync(self, *, dry_run: bool = False, full: bool = False, **sections: Any) -> tuple[Synced, ...]:
        settings = self.settings(sections)
        with self._sources(settings) as sources, Store(self.store_path, keep=not dry_run) as store:
            return syncing.sync(sources, store, settings, dry_run=dry_run, full=full, watch=self._watch())

    def remove(self, *, reviews: bool = False, **sections: Any) -> tuple[removal.Removal, ...]:
        settings, watch = self.settings(sections), self._watch()
        with self._sources(settings) as sources, Store(self.store_path) as store:
            return removal.remove(
                sources,
                store,
                settings.push.prefix,
                review=reviews,
                dry_run=False,
                reading=watch.pulling,
                writing=watch.writing,
            )

    def shell(self, *arguments: str, **sections: Any) -> int:
        """The exit code of `connector ARGUMENTS -c config.yaml`."""
        config = self.folder / "config.yaml"
        config.write_text(self.configuration(sections))
        return cli.run([*arguments, "-c", str(config)])

    def _watch(self) -> Watch:
        return Watch(lambda _done, _total: None, lambda _done, _total: None, lambda: self.now)

    @contextmanager
    def _sources(self, settings: Settings) -> Iterator[list[Source]]:
        with ExitStack() as stack:
            found: list[Source] = []
            for number, name in zip(self.projects, settings.named_sources, strict=False):
                tool = Mortal(
                    self, self.server.url, self.server.legacy_token, str(number), settings.push.prefix, patience=0.2
                )
                tool.reader.page_size = PAGE
                stack.callback(tool.close)
                found.append(LiveSource(name, tool))
            found += [cli._file_source(name, path) for name, path in self._named_files(settings)]
            yield found

    def _named_files(self, settings: Settings) -> list[tuple[str, Path]]:
        return list(zip(list(settings.named_sources)[len(self.projects) :], self.files, strict=True))

    # What people see

    def tasks(self, project: int) -> list[int]:
        return [task["id"] for task in self.server._of(project)]

    def ours(self, project: int) -> dict[Any, dict[str, Any]]:
        """Our fields on each task of a project, by its `sku`."""
        return {
            data.get("sku"): {key: value for key, value in data.items() if key.startswith("iaa_")}
            for task in self.tasks(project)
            for data in [self.server.tasks[task]["data"]]
        }

    def column(self, project: int, field: str = "iaa_status") -> dict[Any, Any]:
        return {sku: fields[field] for sku, fields in self.ours(project).items() if field in fields}

    def description(self, project: int) -> str:
        return str(self.server.projects[project]["description"])

    def tabs(self, project: int) -> list[str]:
        return [view["data"]["title"] for view in self.server.views.values() if view["project"] == project]

    @property
    def review_projects(self) -> list[int]:
        return [number for number in self.server.projects if number not in self.projects]

    def reviewed(self) -> list[tuple[str, str]]:
        """The (project, task) behind each review task."""
        data = [self.server.tasks[task]["data"] for room in self.review_projects for task in self.tasks(room)]
        return sorted((str(one["iaa_source_project"]), str(one["iaa_source_task"])) for one in data)

    def state(self) -> Any:
        """Everything that stands in the tool, without the times and the counters."""
        projects = {
            number: {key: project[key] for key in ("title", "description", "label_config")}
            for number, project in self.server.projects.items()
        }
        tasks = {number: (task["data"], task["annotations"]) for number, task in self.server.tasks.items()}
        views = [(view["project"], view["data"]) for view in self.server.views.values()]
        columns = {number: sorted(self.server.columns[number]) for number in projects}
        return copy.deepcopy((projects, tasks, views, columns))

    def shown(self) -> Any:
        """The same without what differs between two servers, and with the review tasks in no order."""
        text = json.dumps(self.state()[:3]).replace(self.server.url, "SERVER")
        text = re.sub(r"made [\dT:.-]+Z", "made THEN", text)
        projects, tasks, views = json.loads(text)
        contents = sorted(json.dumps(data, sort_keys=True) for data, _ in tasks.values())
        return sorted(json.dumps(one, sort_keys=True) for one in projects.values()), contents, views

    def source(self, project: int) -> str:
        return f"label_studio:{self.server.url}:{project}"

    def ledger(self, project: int) -> dict[str, dict[str, Any]]:
        with Store(self.store_path, keep=False) as store:
            return store.ledger(self.source(project))

    def lose_the_store(self) -> None:
        for file in self.folder.glob("connector.db*"):
            file.unlink()

    @contextmanager
    def counting(self) -> Iterator[list[str]]:
        """Fills the list with the calls made inside, as "METHOD /path"."""
        calls: list[str] = []
        before = len(self.server.log)
        yield calls
        calls += [f"{request.method} {request.path}" for request in self.server.log[before:]]


def by_rater(table: Sequence[Mapping[int, str]]) -> dict[int, list[tuple[str, Ratings]]]:
    """Units x raters -> what each rater alone said, as tasks of a project of that rater's: all as user 1."""
    raters = sorted({rater for row in table for rater in row})
    return {
        rater: [(f"unit {number}", {1: row[rater]} if rater in row else {}) for number, row in enumerate(table)]
        for rater in raters
    }
