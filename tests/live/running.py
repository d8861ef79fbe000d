"""`connector` run as a process against a test's project or dataset, and what stands in a project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from connector.demo.label_studio_seed import Api
from tests.live.support import SmallProject

PREFIX = "iaa_"


class Run:
    """`connector` in a folder of its own, with one configuration. Each call gives what it printed."""

    def __init__(
        self, url: str, token: str, project: int | str, folder: Path, tool: str = "label_studio", **sections: Any
    ) -> None:
        self.folder = folder
        self.token = token
        variable = f"{tool.upper()}_API_KEY"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            variable: token,
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        settings = {"tool": tool, "url": url, "api_key": f"${{{variable}}}", "project": str(project)}
        (folder / "config.yaml").write_text(json.dumps({**settings, **sections}), encoding="utf-8")

    def command(self, *arguments: str) -> list[str]:
        """The command line of a run."""
        return [sys.executable, "-m", "connector", *arguments]

    def __call__(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            self.command(*arguments), cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout[-3000:] + done.stderr
        assert "Traceback" not in done.stderr
        assert self.token not in done.stdout + done.stderr
        return done.stdout + done.stderr


def state(owner: Api, project: int) -> dict[str, Any]:
    """What a removal must leave as it was: tasks with their annotations, views, description, columns."""
    tasks = owner.call("GET", "/api/tasks", project=project, fields="all", page_size=1000, resolve_uri="false")["tasks"]
    columns = owner.call("GET", "/api/dm/columns/", project=project)["columns"]
    return {
        "tasks": [
            {key: task[key] for key in ("id", "data", "meta", "created_at", "overlap", "is_labeled")}
            | {"annotations": [(a["id"], a["completed_by"], a["result"], a["updated_at"]) for a in task["annotations"]]}
            for task in tasks
        ],
        "views": owner.call("GET", "/api/dm/views/", project=project),
        "description": owner.call("GET", f"/api/projects/{project}/")["description"],
        "columns": [column["id"] for column in columns],
    }


def fields(owner: Api, made: SmallProject) -> list[dict[str, Any]]:
    """Our fields on each task, without the prefix, in the order of the project's rows."""
    tasks = owner.call("GET", "/api/tasks", project=made.id, fields="all", page_size=1000)["tasks"]
    by_id = {task["id"]: task["data"] for task in tasks}
    return [{k.removeprefix(PREFIX): v for k, v in by_id[id_].items() if k.startswith(PREFIX)} for id_ in made.task_ids]
