"""What `connector agreement` takes for a large Label Studio export, against `json.load` of the same file alone.

    python -m tests.bench.bench_export [--tasks 100000] [--file EXPORT]

Makes an export of tasks x 3 annotations with the server's fields (about 250 MB at 100,000 tasks) unless one is named,
and runs each in a fresh process, in turns: time by the clock, memory as the peak resident set. To reach: half the time,
a fifth of the memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

ROUNDS = 3
LABELS = ("Positive", "Negative", "Neutral")
WORDS = ("lorem", "ipsum", "dolor", "amet", "consetetur", "sadipscing", "elitr", "nonumy", "tempor", "magna")


class Run(NamedTuple):
    seconds: float
    megabytes: float


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--tasks", type=int, default=100_000)
    arguments.add_argument("--file", type=Path)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or write_export(Path(folder) / "export.json", given.tasks)
        print(f"{path.name}: {path.stat().st_size / 1e6:.0f} MB")
        load = f"import json; json.load(open({str(path)!r}, encoding='utf-8'))"
        loads, ours = [], []
        for _ in range(ROUNDS):
            loads.append(run([sys.executable, "-c", load]))
            ours.append(run([sys.executable, "-m", "connector", "agreement", str(path), "--format", "json"]))
        base, mine = best(loads), best(ours)
        print(f"json.load            {base.seconds:6.2f} s {base.megabytes:7.0f} MB")
        print(f"connector agreement  {mine.seconds:6.2f} s {mine.megabytes:7.0f} MB")
        print(f"time ratio    {mine.seconds / base.seconds:.3f} (to reach .500)")
        print(f"memory ratio  {mine.megabytes / base.megabytes:.3f} (to reach .200)")


def run(command: list[str]) -> Run:
    """One fresh process to its end; its own peak memory, not that of all children."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    peak = usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return Run(time.perf_counter() - started, peak)


def best(runs: list[Run]) -> Run:
    return Run(min(one.seconds for one in runs), min(one.megabytes for one in runs))


def write_export(path: Path, tasks: int) -> Path:
    """An export as the server writes it: every field, no blanks, sorted by id."""
    rng = random.Random(1)
    annotations = 0
    with path.open("w", encoding="utf-8") as file:
        for number in range(1, tasks + 1):
            true = rng.choices(LABELS, [0.6, 0.3, 0.1])[0]
            made = []
            for rater in rng.sample(range(1, 6), 3):
                annotations += 1
                label = true if rng.random() < 0.85 else rng.choice(LABELS)
                made.append(annotation(annotations, number, rater, label, rng))
            file.write("[" if number == 1 else ",")
            json.dump(task(number, made, rng), file, ensure_ascii=False, separators=(",", ":"))
        file.write("]")
    return path


def annotation(ident: int, unit: int, rater: int, label: str, rng: random.Random) -> dict[str, Any]:
    result = {
        "value": {"choices": [label]},
        "id": f"{rng.getrandbits(40):010x}",
        "from_name": "sentiment",
        "to_name": "text",
        "type": "choices",
        "origin": "manual",
    }
    return {
        "id": ident,
        "completed_by": rater,
        "result": [result],
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": moment(rng),
        "updated_at": moment(rng),
        "draft_created_at": None,
        "lead_time": round(rng.random() * 20, 3),
        "prediction": {},
        "result_count": 1,
        "unique_id": f"{rng.getrandbits(32):08x}-aaaa-4bbb-8ccc-{rng.getrandbits(48):012x}",
        "import_id": None,
        "last_action": None,
        "bulk_created": False,
        "task": unit,
        "project": 1,
        "updated_by": rater,
        "parent_prediction": None,
        "parent_annotation": None,
        "last_created_by": None,
    }


def task(ident: int, annotations: list[dict[str, Any]], rng: random.Random) -> dict[str, Any]:
    return {
        "id": ident,
        "annotations": annotations,
        "file_upload": None,
        "drafts": [],
        "predictions": [],
        "data": {"text": " ".join(rng.choices(WORDS, k=48)), "ext_id": f"doc-{ident:06d}"},
        "meta": {},
        "created_at": moment(rng),
        "updated_at": moment(rng),
        "allow_skip": True,
        "inner_id": ident,
        "total_annotations": 3,
        "cancelled_annotations": 0,
        "total_predictions": 0,
        "comment_count": 0,
        "unresolved_comment_count": 0,
        "last_comment_updated_at": None,
        "project": 1,
        "updated_by": 1,
        "comment_authors": [],
    }


def moment(rng: random.Random) -> str:
    day, hour, minute, second = rng.randint(1, 28), rng.randint(0, 23), rng.randint(0, 59), rng.randint(0, 59)
    return f"2026-11-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}.{rng.randint(0, 999_999):06d}Z"


if __name__ == "__main__":
    main()
