"""What `connector agreement` takes for exports of marks, against `json.load` of the same file alone.

    python -m tests.bench.bench_kinds [spans regions ...] [--tasks 10000] [--rounds 3]

spans : documents of 2,000 characters x 3 raters x 20 spans.
regions : images x 3 raters x 10 boxes. To reach: at most three times `json.load`.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.bench_export import WORDS, annotation, best, run, task

RATERS = (1, 2, 3)
LABELS = ("Person", "Place", "Date", "Age", "Money", "Event")
SPANS = 20
BOXES = 10
MOST = 3.0


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("kinds", nargs="*", choices=[*TASKS, []], default=[])
    arguments.add_argument("--tasks", type=int, default=10_000)
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    for kind in given.kinds or TASKS:
        with tempfile.TemporaryDirectory() as folder:
            path = write_export(Path(folder) / f"{kind}.json", given.tasks, TASKS[kind])
            measure(kind, path, given.rounds)


def measure(kind: str, path: Path, rounds: int) -> None:
    load = f"import json; json.load(open({str(path)!r}, encoding='utf-8'))"
    loads, ours = [], []
    for _ in range(rounds):
        loads.append(run([sys.executable, "-c", load]))
        ours.append(run([sys.executable, "-m", "connector", "agreement", str(path), "--format", "json"]))
    base, mine = best(loads), best(ours)
    print(f"{kind}: {path.stat().st_size / 1e6:.0f} MB")
    print(f"  json.load            {base.seconds:6.2f} s {base.megabytes:7.0f} MB")
    print(f"  connector agreement  {mine.seconds:6.2f} s {mine.megabytes:7.0f} MB")
    print(f"  time ratio {mine.seconds / base.seconds:.2f} (to reach {MOST:.2f})")


def write_export(path: Path, tasks: int, task_of: Callable[[int, random.Random], Any]) -> Path:
    rng = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        for number in range(1, tasks + 1):
            file.write("[" if number == 1 else ",")
            json.dump(task_of(number, rng), file, ensure_ascii=False, separators=(",", ":"))
        file.write("]")
    return path


def document(number: int, rng: random.Random) -> dict[str, Any]:
    """A text with the spans of three raters, who agree on most of them."""
    words = rng.choices(WORDS, k=320)
    text = " ".join(words)
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word) + 1)
    truth = [(first, rng.choice(LABELS)) for first in sorted(rng.sample(range(0, len(words) - 8, 12), SPANS))]
    made = [
        annotation(3 * number + rater, number, rater, "", rng)
        | {"result": [span(text, starts, first, label, rng) for first, label in truth], "result_count": SPANS}
        for rater in RATERS
    ]
    found = task(number, made, rng)
    found["data"] = {"text": text, "ext_id": f"doc-{number:06d}"}
    return found


def span(text: str, starts: list[int], first: int, label: str, rng: random.Random) -> dict[str, Any]:
    first += rng.random() < 0.1
    last = first + rng.choice((1, 2, 2, 3))
    start, end = starts[first], starts[last] - 1
    labels = [label if rng.random() < 0.93 else rng.choice(LABELS)]
    return {
        "value": {"start": start, "end": end, "text": text[start:end], "labels": labels},
        "id": f"{rng.getrandbits(40):010x}",
        "from_name": "label",
        "to_name": "text",
        "type": "labels",
        "origin": "manual",
    }


def image(number: int, rng: random.Random) -> dict[str, Any]:
    """An image with the boxes of three raters, who agree on most of them."""
    truth = [
        (rng.uniform(0, 80), rng.uniform(0, 80), rng.uniform(5, 20), rng.uniform(5, 20), rng.choice(LABELS))
        for _ in range(BOXES)
    ]
    made = [
        annotation(3 * number + rater, number, rater, "", rng)
        | {"result": [box(*one, rng) for one in truth], "result_count": BOXES}
        for rater in RATERS
    ]
    found = task(number, made, rng)
    found["data"] = {"image": f"/data/upload/{number}.jpg", "ext_id": f"img-{number:06d}"}
    return found


def box(x: float, y: float, width: float, height: float, label: str, rng: random.Random) -> dict[str, Any]:
    sides = {"x": x, "y": y, "width": width, "height": height}
    drawn = {side: place + rng.gauss(0, 0.6) for side, place in sides.items()}
    return {
        "original_width": 1920,
        "original_height": 1080,
        "image_rotation": 0,
        "value": {**drawn, "rotation": 0, "rectanglelabels": [label if rng.random() < 0.93 else rng.choice(LABELS)]},
        "id": f"{rng.getrandbits(40):010x}",
        "from_name": "box",
        "to_name": "image",
        "type": "rectanglelabels",
        "origin": "manual",
    }


TASKS: dict[str, Callable[[int, random.Random], Any]] = {"spans": document, "regions": image}


if __name__ == "__main__":
    main()
