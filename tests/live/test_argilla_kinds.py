"""Every kind of question there and back on a real Argilla: answered, pulled, measured, its scores pushed and read back.

Each alpha is worked out by hand beside its answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from connector import cli
from connector.demo.argilla_seed import question
from connector.demo.argilla_server import ArgillaServer
from tests.live.argilla_fixtures import SmallDataset
from tests.live.running import PREFIX

VOTES = ("aa", "ab", "cc")
"""What two annotators say of three records: `a` three times of six, `b` once, `c` twice."""


@dataclass(frozen=True)
class Case:
    """One question: as the server takes it, what `a`, `b` and `c` are, and what must come of them.

    agreement, status : of each record.
    """

    kind: str
    asked: dict[str, Any]
    answers: Sequence[Any]
    alpha: float
    agreement: Sequence[float]
    status: Sequence[str]


CONFLICT, MAJORITY = (("agreed", one, "agreed") for one in ("conflict", "majority"))


def ranked(x: int, y: int, z: int) -> list[dict[str, Any]]:
    return [{"value": item, "rank": rank} for item, rank in zip("xyz", (x, y, z), strict=True)]


def marked(*spans: tuple[int, int, str]) -> list[dict[str, Any]]:
    return [{"start": start, "end": end, "label": label} for start, end, label in spans]


CASES = {
    # Two values, three times each: observed 1/3, expected 2 x 3 x 3 / (6 x 5) = 3/5.
    "sentiment": Case(
        "choice",
        question("sentiment", "label_selection", ["yes", "no"]),
        ("yes", "no", "no"),
        1 - (1 / 3) / (3 / 5),
        (1, 0, 1),
        CONFLICT,
    ),
    # MASI of {a, b} and {a} is 1 - 1/2 x 2/3 = 2/3: observed 2/9, expected 2 x (3 x 2/3 + 3 x 2 + 2) / (6 x 5) = 2/3.
    "topics": Case(
        "choices",
        question("topics", "multi_label_selection", ["a", "b", "c"]),
        (["a", "b"], ["a"], ["c"]),
        1 - (2 / 9) / (2 / 3),
        (1, 0.33, 1),
        CONFLICT,
    ),
    # Ordinal: 4 three times, 1 once, 5 twice. 1 and 4 lie (1 + 3) / 2 apart, 4 and 5 lie (3 + 2) / 2, 1 and 5 both:
    # observed 4 / 3, expected 2 x (3 x 4 + 6 x 6.25 + 2 x 20.25) / (6 x 5) = 6.
    "stars": Case(
        "rating", question("stars", "rating", range(1, 6)), (4, 1, 5), 1 - (4 / 3) / 6, (1, 0.25, 1), CONFLICT
    ),
    # x = y > z and z > y > x: two pairs of three opposed, one tied in one of them, 5/6. x = y > z and x > y > z: 1/6.
    # Observed 5/18, expected 2 x (3 x 5/6 + 6 x 1/6 + 2 x 1) / (6 x 5) = 11/30.
    "order": Case(
        "ranking",
        question("order", "ranking", ["x", "y", "z"]),
        (ranked(1, 1, 3), ranked(3, 2, 1), ranked(1, 2, 3)),
        1 - (5 / 18) / (11 / 30),
        (1, 0.17, 1),
        CONFLICT,
    ),
    # One letter of four between "cats" and "cat", none in common with "dog": observed 1/12, expected
    # 2 x (3 x 1/4 + 6 + 2) / (6 x 5) = 7/12.
    "why": Case(
        "text", question("why", "text"), ("cats", "cat", "dog"), 1 - (1 / 12) / (7 / 12), (1, 0.75, 1), MAJORITY
    ),
    # Of 13 places each ("text number 0"): PER over 4 of them, LOC over 6 more, or nothing. Of 78 places judged 16 are
    # PER, 6 LOC and 56 blank; on 6 places two annotators differ. F1 of {PER, LOC} and {PER}: 8 / (10 + 4), under .6.
    "names": Case(
        "spans",
        question("names", "span", ["PER", "LOC"], field="text"),
        (marked((0, 4, "PER")), marked((0, 4, "PER"), (5, 11, "LOC")), marked()),
        1 - 77 * 12 / (78**2 - (16**2 + 6**2 + 56**2)),
        (1, 0.57, 1),
        CONFLICT,
    ),
}


def test_every_kind_of_question_there_and_back(
    dataset: Callable[..., SmallDataset],
    argilla: ArgillaServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [
        [{name: case.answers["abc".index(letter)] for name, case in CASES.items()} for letter in votes]
        for votes in VOTES
    ]
    made = dataset(rows, questions=[case.asked for case in CASES.values()])
    monkeypatch.setenv("ARGILLA_API_KEY", argilla.api_key)
    config = tmp_path / "config.yaml"
    config.write_text(f"tool: argilla\nurl: {argilla.url}\nproject: {made.path}\n", encoding="utf-8")
    assert cli.run(["sync", "-c", str(config)]) == 0
    capsys.readouterr()
    assert cli.run(["report", "-c", str(config), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["questions"]

    assert {name: (one["kind"], one["n_units"], one["n_ratings"]) for name, one in found.items()} == {
        name: (case.kind, 3, 6) for name, case in CASES.items()
    }
    alphas = {name: one["coefficients"]["krippendorff_alpha"]["value"] for name, one in found.items()}
    assert alphas == pytest.approx({name: case.alpha for name, case in CASES.items()})

    pushed = [record["metadata"] for record in made.records()]
    for name, case in CASES.items():
        of_question = [
            {key: one.get(f"{PREFIX}{key}_{name}") for key in ("agreement", "status", "raters")} for one in pushed
        ]
        assert [one["agreement"] for one in of_question] == pytest.approx(list(case.agreement)), name
        assert [one["status"] for one in of_question] == list(case.status), name
        assert [one["raters"] for one in of_question] == [2, 2, 2], name
