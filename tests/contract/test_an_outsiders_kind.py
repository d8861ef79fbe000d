"""Another package measures a kind of annotation that this one does not know: an entry point and one module."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MODULE = """
import numpy as np

from connector.agreement.distances import Comparison
from connector.annotations.kind import Kind
from connector.annotations.model import Missing


class Hue(Comparison):
    name = "hue"

    def comparable(self, value):
        return isinstance(value, float)

    def pairs(self, values, a, b):
        hue = np.array(values)
        apart = np.abs(hue[a] - hue[b]) % 360
        return np.minimum(apart, 360 - apart) / 180


def read(results, unit):
    hues = {float(one["value"]["hue"]) for one in results}
    return hues.pop() if len(hues) == 1 else Missing("unreadable")


COLOUR = Kind(
    distances=("hue",),
    comparisons=(Hue(),),
    types={"label_studio": ("colour",)},
    read=read,
    text=lambda hue: f"{hue:g} degrees",
)
"""
CONFIG = '<View><Text name="text" value="$text"/><Colour name="paint" toName="text"/></View>'
ROWS = [(0, 90), (10, 350), (200, 200), (30, 30)]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder as pip would leave it behind: the package and what it declares."""
    (tmp_path / "colours.py").write_text(MODULE)
    about = tmp_path / "colours-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: colours\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[connector.kinds]\ncolour = colours:COLOUR\n")
    return tmp_path


@pytest.fixture
def export(tmp_path: Path) -> Path:
    tasks: list[dict[str, Any]] = [
        {
            "id": number,
            "data": {"text": "x"},
            "annotations": [
                {
                    "id": 10 * number + rater,
                    "completed_by": rater,
                    "result": [{"from_name": "paint", "to_name": "text", "type": "colour", "value": {"hue": hue}}],
                }
                for rater, hue in enumerate(row, 1)
            ],
        }
        for number, row in enumerate(ROWS, 1)
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    return path


def run(elsewhere: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    here = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, "-m", "connector", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(elsewhere), str(here)])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("configured", [True, False])
def test_its_annotations_are_measured(elsewhere: Path, export: Path, configured: bool, tmp_path: Path) -> None:
    config = tmp_path / "config.xml"
    config.write_text(CONFIG)
    with_config = ["--label-config", str(config)] if configured else []
    done = run(elsewhere, "agreement", str(export), *with_config, "--format", "json")
    assert done.returncode == 0, done.stderr
    question = json.loads(done.stdout)["questions"]["paint"]
    assert (question["kind"], question["distance"], question["n_ratings"]) == ("colour", "hue", 8)

    def apart(x: float, y: float) -> float:
        return min(abs(x - y), 360 - abs(x - y)) / 180

    pool = [hue for row in ROWS for hue in row]
    observed = sum(2 * apart(*row) for row in ROWS)
    expected = sum(apart(x, y) for x in pool for y in pool)
    alpha = question["coefficients"]["krippendorff_alpha"]["value"]
    assert alpha == pytest.approx(1 - (len(pool) - 1) * observed / expected)


def test_people_see_it_as_its_author_says(elsewhere: Path, export: Path) -> None:
    done = run(elsewhere, "agreement", str(export))
    assert done.returncode == 0, done.stderr
    assert "90 degrees" in done.stdout


def test_its_distance_can_be_named_and_no_other(elsewhere: Path, export: Path) -> None:
    assert run(elsewhere, "agreement", str(export), "--distance", "hue").returncode == 0
    refused = run(elsewhere, "agreement", str(export), "--distance", "masi")
    assert refused.returncode == 2
    assert "no distance 'masi'" in refused.stderr


def test_without_the_package_it_is_named_as_not_measured(export: Path) -> None:
    done = run(export.parent / "nowhere", "agreement", str(export), "--format", "json")
    assert json.loads(done.stdout)["not_measured"][0]["kind"] == "colour"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("colour = colours:NOTHING", "cannot be loaded"),
        ("colour = colours:MODULE", "cannot be loaded"),
        ("colour = colours:Hue", "is no connector.annotations.kind.Kind"),
        ("choice = colours:COLOUR", "is there already"),
    ],
)
def test_a_package_that_is_not_in_order_is_named(elsewhere: Path, export: Path, entry: str, message: str) -> None:
    (elsewhere / "colours-1.0.dist-info" / "entry_points.txt").write_text(f"[connector.kinds]\n{entry}\n")
    done = run(elsewhere, "agreement", str(export))
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "colours" in done.stderr
