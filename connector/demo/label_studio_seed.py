"""Fills a Label Studio with a project as several people would have labelled it: made up, the same every time.

Four raters sign up through the invitation page like real ones. 500 short reviews get two to four ratings each. Some
tasks are skipped, some drafts are left, some annotations are marked as ground truth.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

from connector.demo.api import JsonApi, loopback_session
from connector.demo.process import Progress, to_stderr
from connector.demo.reviews import GUIDELINE, RATERS, vote, write
from connector.errors import ToolTrouble

TITLE = "Demo: sentiment of reviews"
LABEL_CONFIG = """<View>
  <Text name="text" value="$text"/>
  <Choices name="sentiment" toName="text" choice="single" required="true" showInLine="true">
    <Choice value="Positive"/><Choice value="Neutral"/><Choice value="Mixed"/><Choice value="Negative"/>
  </Choices>
</View>"""


class Api(JsonApi):
    """Label Studio with one person's token: a legacy one, or an access token as `Bearer`."""

    def __init__(self, url: str, token: str, scheme: str = "Token") -> None:
        super().__init__(url, {"Authorization": f"{scheme} {token}"})


@dataclass(frozen=True, slots=True)
class Rater:
    """One who labels: their id and login, and their own legacy token."""

    id: int
    email: str
    password: str = field(repr=False)
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SeededProject:
    """What seeding made. `n_annotations` counts what was submitted and not skipped."""

    id: int
    title: str
    raters: tuple[Rater, ...]
    task_ids: tuple[int, ...]
    n_annotations: int


def sign_up(url: str, owner_token: str, email: str, password: str) -> Rater:
    """A member of the owner's organization: through the invitation page, or by logging in if they are one already."""
    owner = Api(url, owner_token)
    known = {person["email"] for person in owner.call("GET", "/api/users/")}
    invitation = owner.call("GET", "/api/invite")["invite_url"]  # with or without the server's address
    page = urljoin(f"{url}/", "/user/login/" if email in known else invitation)
    owner.close()
    with loopback_session() as session:
        session.get(page, timeout=60)
        form = {
            "csrfmiddlewaretoken": session.cookies.get("csrftoken", ""),
            "email": email,
            "password": password,
        }
        session.post(page, data=form, headers={"Referer": page}, timeout=60, allow_redirects=False)
        me = session.get(f"{url}/api/current-user/whoami", timeout=60)
        if not me.ok:
            raise ToolTrouble(f"{email} could not sign up or log in ({me.status_code}).")
        token = session.get(f"{url}/api/current-user/token", timeout=60).json()["token"]
    return Rater(int(me.json()["id"]), email, password, token)


def make_project(owner: Api, title: str, label_config: str, tasks: Sequence[Mapping[str, Any]], **settings: Any) -> int:
    """A project with these tasks (in Label Studio's import form); its id. `settings` are the project's own fields."""
    project = owner.call("POST", "/api/projects/", {"title": title, "label_config": label_config, **settings})["id"]
    if tasks:
        owner.call("POST", f"/api/projects/{project}/import", list(tasks))
    return int(project)


def task_ids(owner: Api, project: int) -> list[int]:
    """The project's task ids, ascending (the order of import)."""
    rows = owner.call("GET", "/api/tasks", project=project, page_size=100_000, include="id", fields="all")["tasks"]
    return sorted(row["id"] for row in rows)


def choice(category: str, control: str = "sentiment", target: str = "text") -> dict[str, Any]:
    """A result as the labelling page makes it when `category` is picked."""
    return {"from_name": control, "to_name": target, "type": "choices", "value": {"choices": [category]}}


def seed_sentiment(
    url: str, owner_token: str, password: str, *, n_tasks: int = 500, seed: int = 3, progress: Progress = to_stderr
) -> SeededProject:
    """Make the project; the same reviews, ratings, skips, drafts and marks for the same `seed`.

    Parameters
    ----------
    owner_token : the owner's legacy token (legacy tokens must be enabled).
    password : of the four raters.
    """
    owner = Api(url, owner_token)
    progress("Signing up four raters ...")
    raters = tuple(sign_up(url, owner_token, f"{name}@example.org", password) for name, _ in RATERS)
    tasks = _tasks(random.Random(seed), n_tasks, raters)
    n_annotations = sum(not a.get("was_cancelled") for task in tasks for a in task["annotations"])
    progress(f"Importing {n_tasks} tasks with {n_annotations} annotations ...")
    project = make_project(owner, TITLE, LABEL_CONFIG, tasks, maximum_annotations=2, expert_instruction=GUIDELINE)
    ids = task_ids(owner, project)
    _leave_traces(url, ids, raters[-1])
    owner.close()
    return SeededProject(project, TITLE, raters, tuple(ids), n_annotations)


def _tasks(rng: random.Random, n_tasks: int, raters: Sequence[Rater]) -> list[dict[str, Any]]:
    return [_task(rng, number, raters) for number in range(1, n_tasks + 1)]


def _task(rng: random.Random, number: int, raters: Sequence[Rater]) -> dict[str, Any]:
    """One review in Label Studio's import form, rated by two to four people; one in sixteen is skipped by another."""
    meant, text = write(rng)
    order = rng.sample(range(len(raters)), len(raters))
    n_ratings = rng.choice((2, 2, 3, 3, 4))
    annotations = [_annotation(rng, raters[who], choice(vote(rng, meant, RATERS[who][1]))) for who in order[:n_ratings]]
    annotations[0]["ground_truth"] = rng.random() < 0.04
    if n_ratings < len(raters) and rng.random() < 1 / 16:
        annotations.append({**_annotation(rng, raters[order[-1]], None), "was_cancelled": True})
    return {"data": {"text": text, "review": f"R{number:04d}"}, "annotations": annotations}


def _annotation(rng: random.Random, rater: Rater, result: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "completed_by": rater.id,
        "result": [] if result is None else [{**result, "id": f"{rng.getrandbits(40):010x}"}],
        "ground_truth": False,  # an import marks every annotation unless told otherwise
        "lead_time": round(rng.lognormvariate(2.0, 0.5), 2),
    }


def _leave_traces(url: str, ids: Sequence[int], rater: Rater) -> None:
    """What a rater leaves behind on the page: skips and unfinished drafts (on the last tasks)."""
    api = Api(url, rater.token)
    for task in ids[-4:-2]:
        api.call("POST", f"/api/tasks/{task}/annotations/", {"result": [], "lead_time": 2.1}, was_cancelled=1)
    for task in ids[-2:]:
        api.call("POST", f"/api/tasks/{task}/drafts", {"result": [choice("Negative")], "lead_time": 3.4})
    api.close()
