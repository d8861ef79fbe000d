"""Label Studio exports that tests make."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def task(number: int, labels: Sequence[str | None], question: str = "sentiment") -> dict[str, Any]:
    """A task rated by raters 1, 2, ... with these labels (None: not rated)."""
    annotations = [
        {
            "id": number * 100 + rater,
            "completed_by": rater,
            "was_cancelled": False,
            "ground_truth": False,
            "created_at": "2026-01-01T10:00:00.000001Z",
            "updated_at": "2026-01-01T10:00:00.000001Z",
            "result": [{"from_name": question, "to_name": "text", "type": "choices", "value": {"choices": [label]}}],
        }
        for rater, label in enumerate(labels, start=1)
        if label is not None
    ]
    return {
        "id": number,
        "data": {"text": f"text {number}"},
        "annotations": annotations,
        "total_annotations": len(annotations),
        "cancelled_annotations": 0,
    }


def export(path: Path, tasks: Sequence[dict[str, Any]]) -> Path:
    """The tasks as a JSON export."""
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return path
