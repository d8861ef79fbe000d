"""Tables that hold nothing to measure, or not what was asked for: a reason or a message, never a number."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from connector import cli

ROWS = {
    "one rater": "1,a,x\n2,a,y\n",
    "one category": "1,a,x\n1,b,x\n2,a,x\n2,b,x\n",
    "all missing": "1,a,\n1,b,nan\n2,a,NaN\n",
    "no rater twice on a unit": "1,a,x\n2,b,y\n",
    "ratings without a rater": "1,,x\n1,b,y\n",
    "text": "1,a,x\n1,b,y\n2,a,y\n2,b,y\n",
    "infinite": "1,a,inf\n1,b,2\n2,a,2\n2,b,2\n",
    "over what a number holds": "1,a,1e400\n1,b,2\n2,a,2\n2,b,2\n",
    "text beside numbers": "1,a,1\n1,b,one\n2,a,1\n2,b,1\n",
    "below zero": "1,a,-1\n1,b,2\n2,a,2\n2,b,2\n",
}
FOUND = [
    ("one rater", "nominal", "no_pairable_units"),
    ("one rater", "interval", "no_pairable_units"),
    ("one category", "nominal", "no_variation"),
    ("all missing", "nominal", "no_pairable_units"),
    ("all missing", "ratio", "no_pairable_units"),
    ("no rater twice on a unit", "nominal", "no_pairable_units"),
    ("ratings without a rater", "nominal", "no_pairable_units"),
    ("text", "interval", "wrong_level"),
    ("text", "ordinal", "wrong_level"),
    ("infinite", "interval", "wrong_level"),
    ("over what a number holds", "interval", "wrong_level"),
    ("text beside numbers", "ratio", "wrong_level"),
    ("below zero", "ratio", "wrong_level"),
]


@pytest.mark.parametrize(("rows", "level", "reason"), FOUND)
def test_alpha_is_null_with_a_reason_on_every_surface(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: str, level: str, reason: str
) -> None:
    source = tmp_path / "table.csv"
    source.write_text(f"unit,rater,value\n{ROWS[rows]}")
    for form in ("text", "html", "markdown", "csv"):
        assert cli.run(["agreement", str(source), "--level", level, "--format", form]) == 0
        assert not re.search(r"\bnan\b", capsys.readouterr().out, re.IGNORECASE)
    assert cli.run(["agreement", str(source), "--level", level, "--format", "json"]) == 0
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    alpha = body["questions"]["value"]["coefficients"]["krippendorff_alpha"]
    assert (alpha["value"], alpha["low"], alpha["high"], alpha["reason"]) == (None, None, None, reason)
    assert cli.run(["gate", str(source), "--level", level, "--size", "1"]) == 3
    assert "UNDECIDED" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", 5, "is empty"),
        ("unit,ann,bob\n1,x,y\n2,y,y\n", 2, "--columns"),
        ("unit,rater,value\n1,a\n1,b,y,z\n", 5, "malformed"),
        ("unit,rater,value\n1,a,x\x00\n", 2, "UTF-8"),
    ],
)
def test_what_is_no_long_table_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: int, says: str
) -> None:
    source = tmp_path / "table.csv"
    source.write_text(text)
    assert cli.run(["agreement", str(source)]) == code
    assert says in capsys.readouterr().err


def test_a_table_of_headings_alone_has_nothing_to_measure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "table.csv"
    source.write_text("unit,rater,value\n")
    assert cli.run(["agreement", str(source)]) == 0
    assert "no question that can be measured" in capsys.readouterr().out
    assert cli.run(["gate", str(source), "--size", "1"]) == 3


def test_numbers_that_no_float_holds_apart_are_refused_at_the_ratio_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large = 2**53
    source = tmp_path / "table.csv"
    source.write_text(f"unit,rater,value\n1,a,{large}\n1,b,{large + 1}\n2,a,{large + 1}\n2,b,{large + 1}\n")
    assert cli.run(["agreement", str(source), "--level", "ratio"]) == 2
    assert "ratio level" in capsys.readouterr().err
    assert cli.run(["agreement", str(source), "--level", "interval", "--format", "json"]) == 0
    alpha = json.loads(capsys.readouterr().out)["questions"]["value"]["coefficients"]["krippendorff_alpha"]
    assert alpha["value"] == pytest.approx(0.0)
