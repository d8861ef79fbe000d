"""`connector check` against the real server: every usual mistake has a message of its own and says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from connector.demo.label_studio_seed import Api
from connector.demo.label_studio_server import LabelStudioServer
from tests.live.running import Run
from tests.live.support import SmallProject

ROWS = [["yes", "yes", "no"], ["no", "no"], ["yes"], []]


def test_what_a_sync_would_find(
    owner: Api, label_studio: LabelStudioServer, project: Callable[..., SmallProject], tmp_path: Path
) -> None:
    made = project(ROWS, maximum_annotations=1)
    annotation = owner.call("GET", f"/api/tasks/{made.task_ids[0]}/annotations/")[0]
    owner.call("PATCH", f"/api/annotations/{annotation['id']}/", {"ground_truth": True})
    owner.call("POST", f"/api/tasks/{made.task_ids[3]}/annotations/", {"result": []})
    said = Run(label_studio.url, label_studio.token, made.id, tmp_path)("check")
    for words in (
        "1.23.2",
        "Question sentiment: choice, level nominal",
        "1 submitted annotation holds no answer",
        "1 with 0, 1 with 1, 1 with 2, 1 with 3",
        "1 annotation is marked as ground truth",
        "maximum_annotations",
        "overwrites",
        "connector sync",
    ):
        assert words in said, said
    assert sorted(file.name for file in tmp_path.iterdir()) == ["config.yaml"], "check writes nothing"


def test_a_label_that_left_the_configuration_is_named(
    owner: Api, label_studio: LabelStudioServer, project: Callable[..., SmallProject], tmp_path: Path
) -> None:
    made = project(ROWS)
    config = owner.call("GET", f"/api/projects/{made.id}/")["label_config"]
    owner.call("PATCH", f"/api/projects/{made.id}/", {"label_config": config.replace('value="no"', 'value="nope"')})
    said = Run(label_studio.url, label_studio.token, made.id, tmp_path)("check")
    assert "label 'no' is not in the project's configuration (3 answers)" in said
    assert "relabel: {no: NEW}" in said


def test_a_question_that_is_not_asked_is_an_error_with_the_nearest_name(
    label_studio: LabelStudioServer, project: Callable[..., SmallProject], tmp_path: Path
) -> None:
    made = project(ROWS)
    connector = Run(
        label_studio.url, label_studio.token, made.id, tmp_path, questions={"sentimnt": {"level": "ordinal"}}
    )
    assert "Did you mean sentiment?" in connector("check", code=2)
    assert "sentiment" in connector("sync", code=2)


@pytest.mark.parametrize(
    "token", ["not-a-token-of-this-server-0123456789", "eyJhbGciOiJIUzI1NiJ9.eyJ0eXBlIjoiYSJ9.c2lnbg"]
)
def test_a_wrong_token_names_the_page_where_one_is_made(
    label_studio: LabelStudioServer, project: Callable[..., SmallProject], tmp_path: Path, token: str
) -> None:
    made = project(ROWS)
    said = Run(label_studio.url, token, made.id, tmp_path)("check", code=4)
    assert "Account & Settings" in said
    assert "Personal Access Token" in said
    assert ("personal access token" if "." in token else "legacy token") in said


@pytest.mark.usefixtures("legacy_tokens_off")
def test_a_legacy_token_where_they_are_switched_off(
    label_studio: LabelStudioServer, personal_token: str, project: Callable[..., SmallProject], tmp_path: Path
) -> None:
    said = Run(label_studio.url, label_studio.token, 1, tmp_path)("check", code=4)
    assert "legacy" in said
    assert "Personal Access Token" in said


def test_a_personal_access_token_does_the_whole_job(
    owner: Api,
    label_studio: LabelStudioServer,
    personal_token: str,
    project: Callable[..., SmallProject],
    tmp_path: Path,
) -> None:
    made = project(ROWS)
    connector = Run(label_studio.url, personal_token, made.id, tmp_path)
    connector("sync")
    assert owner.call("GET", f"/api/tasks/{made.task_ids[0]}/")["data"]["iaa_status"] == "majority"
    assert b"eyJ" not in (tmp_path / "connector.db").read_bytes(), "no token in the store"


def test_a_project_that_is_not_there(label_studio: LabelStudioServer, tmp_path: Path) -> None:
    said = Run(label_studio.url, label_studio.token, 999_999, tmp_path)("check", code=4)
    assert "999999" in said
    assert "/projects/N" in said


def test_an_address_that_is_not_label_studio(label_studio: LabelStudioServer, tmp_path: Path) -> None:
    said = Run(f"{label_studio.url}/static", label_studio.token, 1, tmp_path)("check", code=4)
    assert "Label Studio" in said


def test_an_empty_project_and_one_rater_are_fine_but_have_no_number(
    label_studio: LabelStudioServer, project: Callable[..., SmallProject], tmp_path: Path
) -> None:
    empty, alone = project([]), project([["yes"], ["no"]])
    for made, reason in ((empty, "no unit has two ratings"), (alone, "no unit has two ratings")):
        folder = tmp_path / str(made.id)
        folder.mkdir()
        connector = Run(label_studio.url, label_studio.token, made.id, folder)
        connector("check")
        said = connector("sync")
        assert "UNDECIDED" in said
        assert reason in said
        connector("gate", "-c", "config.yaml", code=3)
