"""Questions about regions, and relations between them, through a sync: pulled, measured, pushed by task, reviewed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.conversation import LABEL_CONFIG, choice
from tests.contract.recorded_label_studio import RecordedLabelStudio
from tests.contract.synced_project import SyncedProject

CONFIG = LABEL_CONFIG.replace(
    "</View>",
    """<Labels name="ner" toName="text"><Label value="PER"/><Label value="LOC"/></Labels>
    <Choices name="tone" toName="text" perRegion="true"><Choice value="good"/><Choice value="bad"/></Choices>
    <Relations><Relation value="knows"/></Relations></View>""",
)
TEXT = "Ana knows Ben in Rome"
Results = list[dict[str, Any]]


def marked(first: str, second: str, *, prefix: str, end: int = 13, related: bool = True) -> Results:
    """Two people with a tone each, and that the one knows the other."""
    made: Results = [*choice("Positive")]
    for number, (start, stop, tone) in enumerate(((0, 3, first), (10, end, second))):
        place = {"start": start, "end": stop}
        common = {"id": f"{prefix}{number}", "to_name": "text"}
        made.append({**common, "from_name": "ner", "type": "labels", "value": {**place, "labels": ["PER"]}})
        if tone:
            made.append({**common, "from_name": "tone", "type": "choices", "value": {**place, "choices": [tone]}})
    if related:
        ends = {"from_id": f"{prefix}0", "to_id": f"{prefix}1"}
        made.append({"type": "relation", **ends, "direction": "right", "labels": ["knows"]})
    return made


@pytest.fixture
def project(tmp_path: Path) -> Iterator[SyncedProject]:
    """Eight tasks: two raters agree about all but two of them."""
    with RecordedLabelStudio() as server:
        made = SyncedProject(server, tmp_path)
        made.world.api("PATCH", f"/api/projects/{made.project}/", {"label_config": CONFIG})
        for task in made.tasks():
            made.put(task, text=TEXT)
            rate(made, task, marked("good", "bad", prefix="a"), marked("good", "bad", prefix="b"))
        # 10-13 and 10-14 are alike by 3/4
        rate(made, 102, marked("good", "bad", prefix="a"), marked("good", "good", prefix="b", end=14))
        rate(made, 103, marked("bad", "", prefix="a"), marked("bad", "bad", prefix="b", related=False))
        yield made
        made.close()


def rate(project: SyncedProject, task: int, *results: Results) -> None:
    """Let raters 1, 2, ... answer so."""
    for annotation, result in zip(project.server.tasks[task]["annotations"], results, strict=False):
        project.world.api("PATCH", f"/api/annotations/{annotation['id']}/", {"result": result})


def test_scores_stand_on_the_tasks(project: SyncedProject) -> None:
    report = project.sync().measured.report
    tone = report.questions["tone"]
    # 15 regions with two answers, one with one: good 7 + 1 pairs of equal ones ... one disagrees
    values = [("good", "good")] * 7 + [("bad", "bad")] * 7 + [("bad", "good")]
    n, good = 30, 15
    assert tone.n_pairable_units == len(values)
    assert tone.alpha.value == pytest.approx(1 - (n - 1) * 2 / (2 * good * (n - good)))
    assert project.fields("iaa_status_tone") == {**dict.fromkeys(range(101, 109), "agreed"), 102: "conflict"}
    assert project.fields("iaa_agreement_tone") == {**dict.fromkeys(range(101, 109), 1.0), 102: 0.5}
    assert project.fields("iaa_raters_tone") == dict.fromkeys(range(101, 109), 2.0)
    assert project.fields("iaa_majority_tone") == {}


def test_relations_stand_on_the_tasks(project: SyncedProject) -> None:
    found = project.sync().measured.report.questions["relations"]
    # one of 103's two raters drew none: 2 of 16 ratings; by chance all pairs differ but the seven equal ones
    assert found.alpha.value == pytest.approx(1 - (2 / 16) / ((16 * 15 - 7 * 2) / (16 * 15)))
    assert project.fields("iaa_status_relations") == {**dict.fromkeys(range(101, 109), "agreed"), 103: "conflict"}
    assert project.data(101)["iaa_majority_relations"] == "0-3 PER -> knows -> 10-13 PER"


def test_conflicts_about_them_are_reviewed_with_every_vote(project: SyncedProject) -> None:
    project.sync(review={})
    assert project.reviewed().keys() == {"102", "103"}
    votes = {
        task["data"]["iaa_source_task"]: task["data"]["iaa_votes"]
        for task in project.server.tasks.values()
        if "iaa_votes" in task["data"]
    }
    shown = {vote: value for vote, value in votes["102"].items() if vote.startswith("tone")}
    assert shown == {
        "tone: #1 Rater A": "good",
        "tone: #1 Rater B": "good",
        "tone: #2 Rater A": "bad",
        "tone: #2 Rater B": "good",
    }
    related = {vote: value for vote, value in votes["103"].items() if vote.startswith("relations")}
    assert related == {
        "relations: Rater A": "0-3 PER -> knows -> 10-13 PER",
        "relations: Rater B": "(none)",
    }


def test_what_did_not_change_is_not_written_again(project: SyncedProject) -> None:
    assert project.sync(review={}).plan.operations
    project.now += 3600
    assert project.sync(review={}).plan.operations == ()
    # another rater's region elsewhere in the text changes what the regions are called, and no score of other tasks
    rate(project, 102, marked("good", "good", prefix="a"))
    done = project.sync(review={})
    assert project.data(102)["iaa_status_tone"] == "agreed"
    assert {unit for op in done.plan.operations for unit in getattr(op, "units", ())} == {"102"}


def test_removal_leaves_the_tasks_as_they_were(project: SyncedProject) -> None:
    before = {task: dict(project.data(task)) for task in project.tasks()}
    project.sync(review={})
    project.remove(reviews=True)
    assert {task: project.data(task) for task in project.tasks()} == before
