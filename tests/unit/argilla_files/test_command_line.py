"""Argilla's files as SOURCE of the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.unit.argilla_files.records import CASES, flat, record, response

ROOT = Path(__file__).parents[3]
ANN, BOB = (f"00000000-0000-4000-8000-00000000000{n}" for n in (1, 2))


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "connector", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_real_export_is_measured_and_the_report_says_what_it_had_to_infer(tmp_path: Path) -> None:
    done = run(tmp_path, "agreement", str(CASES / "argilla" / "kinds_flat.json"))
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "Left out: 2 skipped or cancelled; 2 drafts" in said
    assert "No settings came with the data: the kind (choice) was read off the values." in said
    assert "order (ranking): its answers are the same items in different orders" in said


def test_without_statuses_the_exit_code_is_2_unless_they_are_assumed(tmp_path: Path) -> None:
    source = str(CASES / "argilla" / "kinds_nested.json")
    refused = run(tmp_path, "table", source)
    assert refused.returncode == 2
    assert "--assume-submitted" in refused.stderr
    assert run(tmp_path, "table", source, "--assume-submitted").returncode == 0


def test_a_gate_on_a_page_of_many_is_undecided(tmp_path: Path) -> None:
    rows = [
        record(str(n), *(response(rater, q="ab"[n % 2]) for rater in (ANN, BOB)), metadata={"batch": "one"})
        for n in range(20)
    ]
    for name, total in (("whole.json", 20), ("part.json", 21)):
        (tmp_path / name).write_text(json.dumps({"items": rows, "total": total}), encoding="utf-8")
    whole = run(tmp_path, "gate", "whole.json", "--where", "batch=one", "--size", "20")
    assert whole.returncode == 0, whole.stdout
    part = run(tmp_path, "gate", "part.json", "--size", "20", "--format", "json")
    assert part.returncode == 3
    assert "incomplete" in json.loads(part.stdout)["gate"]["reasons"]


def test_too_many_malformed_records_are_not_trusted(tmp_path: Path) -> None:
    rows = [flat(str(n), (ANN, "submitted", "q", "a"), (BOB, "submitted", "q", "a")) for n in range(10)]
    rows[3]["q.responses"] = "a"
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    done = run(tmp_path, "agreement", "rows.json")
    assert done.returncode == 5
    assert "server-3" in done.stderr
