"""The main job on a real server, through the command line: scores, tags and the tab appear, follow changes, and go
away."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connector.demo.label_studio_seed import Api, choice
from connector.demo.label_studio_server import LabelStudioServer
from tests.live.running import Run, fields, state
from tests.live.support import SmallProject

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROWS = [
    ["yes", "yes", "yes"],
    ["yes", "yes", "no"],
    ["yes", "no"],
    ["no", "no", None],
    ["yes"],
    [],
    ["no", "yes", "maybe"],
]


@pytest.fixture
def run(label_studio: LabelStudioServer, tmp_path: Path) -> Callable[..., Run]:
    return lambda made, **sections: Run(label_studio.url, label_studio.token, made.id, tmp_path, **sections)


def test_scores_tags_and_the_tab_appear_follow_a_change_and_go_away(
    owner: Api,
    project: Callable[..., SmallProject],
    run: Callable[..., Run],
    page: Page,
    login: Callable[..., None],
    shown: Callable[..., str],
    screenshot: Callable[..., Path],
    label_studio: LabelStudioServer,
) -> None:
    made = project(ROWS, title="Main job", description="The owner's <b>words</b>.\nSecond line.")
    before = state(owner, made.id)
    connector = run(made)

    plan = connector("sync", "--dry-run")
    assert "set iaa_status on 7 tasks" in plan
    assert state(owner, made.id) == before
    assert sorted(file.name for file in connector.folder.iterdir()) == ["config.yaml"]

    connector("sync")
    assert fields(owner, made) == [
        {"agreement": 1.0, "consensus": 1.0, "majority": "yes", "raters": 3, "status": "agreed"},
        {"agreement": 0.3333, "consensus": 0.6667, "majority": "yes", "raters": 3, "status": "majority"},
        {"agreement": 0.0, "consensus": 0.5, "raters": 2, "status": "conflict"},
        {"agreement": 1.0, "consensus": 1.0, "majority": "no", "raters": 2, "status": "agreed"},
        {"raters": 1, "status": "single"},
        {"raters": 0, "status": "unrated"},
        {"agreement": 0.0, "consensus": 0.3333, "raters": 3, "status": "conflict"},
    ]
    description = state(owner, made.id)["description"]
    assert description.startswith("The owner's <b>words</b>.\nSecond line.")
    assert "alpha" in description
    views = owner.call("GET", "/api/dm/views/", project=made.id)
    (tab,) = [view for view in views if view["data"]["title"] == "Conflicts"]

    login(page)
    page.goto(f"{label_studio.url}/projects/{made.id}/data?tab={tab['id']}")
    shown(page, "text number 6", "text number 2", without=["text number 0"])  # the tab holds the conflicts alone
    screenshot(page)

    assert "Nothing to write" in connector("sync")

    rater = Api(label_studio.url, made.raters[1].token)
    annotations = owner.call("GET", f"/api/tasks/{made.task_ids[2]}/annotations/")
    (annotation,) = [a for a in annotations if a["completed_by"] == made.raters[1].id]
    rater.call("PATCH", f"/api/annotations/{annotation['id']}/", {"result": [choice("yes")]})
    said = connector("sync")
    assert "set iaa_status on 1 task " in said
    assert fields(owner, made)[2] == {
        "agreement": 1.0,
        "consensus": 1.0,
        "majority": "yes",
        "raters": 2,
        "status": "agreed",
    }

    rater.call("PATCH", f"/api/annotations/{annotation['id']}/", {"result": annotation["result"]})
    connector("sync")
    owner.call("DELETE", f"/api/annotations/{annotation['id']}/")
    connector("sync")
    assert fields(owner, made)[2] == {"raters": 1, "status": "single"}, "scores that no longer hold are taken away"

    before["tasks"][2] = state(owner, made.id)["tasks"][2] | {"data": before["tasks"][2]["data"]}
    assert "take iaa_status away from 7 tasks" in connector("remove", "--dry-run")
    connector("remove")
    assert state(owner, made.id) == before
    assert "Nothing of ours" in connector("remove")


def test_a_lost_store_is_rebuilt_without_a_duplicate(
    owner: Api, project: Callable[..., SmallProject], run: Callable[..., Run]
) -> None:
    made = project(ROWS)
    connector = run(made, review={})
    connector("sync")
    review = _review_project(owner, made)
    before = state(owner, made.id), state(owner, review)
    for file in connector.folder.glob("connector.db*"):
        file.unlink()
    connector("sync")
    assert (state(owner, made.id), state(owner, review)) == before
    assert "Nothing to write" in connector("sync")
    connector("remove", "--review")
    assert review not in [row["id"] for row in owner.call("GET", "/api/projects/", page_size=1000)["results"]]


def test_conflicts_go_to_a_review_project_once(
    owner: Api,
    project: Callable[..., SmallProject],
    run: Callable[..., Run],
    page: Page,
    login: Callable[..., None],
    shown: Callable[..., str],
    screenshot: Callable[..., Path],
    label_studio: LabelStudioServer,
) -> None:
    made = project(ROWS, title="A title that is much longer than the fifty characters allowed"[:50])
    connector = run(made, review={})
    connector("sync")
    review = _review_project(owner, made)
    tasks = owner.call("GET", "/api/tasks", project=review, fields="all", page_size=100)["tasks"]
    assert {task["data"]["iaa_source_task"] for task in tasks} == {str(made.task_ids[2]), str(made.task_ids[6])}
    votes = {str(task["data"]["iaa_source_task"]): task["data"]["iaa_votes"] for task in tasks}
    assert sorted(votes[str(made.task_ids[6])].values()) == ["maybe", "no", "yes"]
    assert not any(str(rater.id) in votes[str(made.task_ids[6])] or rater.email in str(votes) for rater in made.raters)
    assert all(task["predictions"] == [] and task["annotations"] == [] for task in tasks)

    login(page)
    page.goto(f"{label_studio.url}/projects/{review}/data?task={tasks[0]['id']}")
    shown(page, "Rater A", "text number")
    screenshot(page)

    owner.call("POST", f"/api/tasks/{tasks[0]['id']}/annotations/", {"result": [choice("yes")]})
    work = state(owner, review)["tasks"]
    connector("sync", "--full")
    assert "0 conflicts without one" in connector("review", "status")
    assert state(owner, review)["tasks"] == work, "a reviewer's work stays, and no task is made twice"


def test_two_runs_at_once_and_a_killed_run_leave_no_duplicate(
    owner: Api, project: Callable[..., SmallProject], run: Callable[..., Run]
) -> None:
    made = project(ROWS * 12)
    connector = run(made, review={})
    for delay in (0.9, 1.3, 1.8, 2.4):
        started = subprocess.Popen(
            connector.command("sync"),
            cwd=connector.folder,
            env=connector.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(delay)
        started.send_signal(signal.SIGKILL)
        started.wait()
    both = [
        subprocess.Popen(
            connector.command("sync"),
            cwd=connector.folder,
            env=connector.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    codes = sorted(one.wait() for one in both)
    for one in both:
        if one.stderr is not None:
            one.stderr.close()
    assert codes in ([0, 7], [0, 0])
    assert "Nothing to write" in connector("sync")
    found = fields(owner, made)
    assert [row["status"] for row in found[:7]] == [
        "agreed",
        "majority",
        "conflict",
        "agreed",
        "single",
        "unrated",
        "conflict",
    ]
    titles = [view["data"]["title"] for view in owner.call("GET", "/api/dm/views/", project=made.id)]
    assert sorted(titles) == ["Conflicts", "Default"]
    tasks = owner.call("GET", "/api/tasks", project=_review_project(owner, made), fields="all", page_size=1000)["tasks"]
    sources = [str(task["data"]["iaa_source_task"]) for task in tasks]
    assert len(sources) == len(set(sources)) == 24


def test_the_gate_decides_by_exit_code_and_pushes_nothing(
    owner: Api, project: Callable[..., SmallProject], run: Callable[..., Run]
) -> None:
    made = project([["yes", "yes"], ["no", "no"], ["yes", "yes"], ["no", "yes"]])
    connector = run(made)
    before = state(owner, made.id)
    assert "missing_units" in connector("gate", "-c", "config.yaml", "--format", "json", code=3)
    good = ",".join(map(str, made.task_ids[:3]))
    assert (
        json.loads(connector("gate", "-c", "config.yaml", "--batch", good, "--format", "json"))["gate"]["verdict"]
        == "GO"
    )
    connector("gate", "-c", "config.yaml", "--first", "4", code=1)
    connector("gate", "-c", "config.yaml", "--batch", f"{good},999999", code=3)
    assert state(owner, made.id) == before
    report = json.loads(connector("report", "--format", "json"))
    assert report["version"] == 1
    assert report["questions"]["sentiment"]["n_units"] == 4


def _review_project(owner: Api, made: SmallProject) -> int:
    rows = owner.call("GET", "/api/projects/", page_size=1000)["results"]
    (review,) = [row["id"] for row in rows if row["title"].startswith("Review") and made.title[:20] in row["title"]]
    return int(review)
