"""Reports that several tests render."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from connector.agreement.gate import GateRule, decide
from connector.agreement.ratings import Ratings
from connector.agreement.report import AgreementReport, QuestionRatings, assess
from connector.output.view import Context

HOSTILE = (
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "\x1b[31mred\x1b[0m\u202egnp.exe",
    "漢字のとても長いラベル" * 6,
    "👩‍👩‍👧 family",
    "a|b `c`\n# d [x](javascript:alert(1)) *e* @all https://evil.example",
    "half a pair \ud800",
    '"><img src=x onerror=alert(1)>',
)


def ratings_of(values: Sequence[Sequence[object]]) -> Ratings:
    """Ratings of units 1, 2, ... by raters r1, r2, ..."""
    return Ratings.from_wide(
        values,
        unit_ids=[str(place + 1) for place in range(len(values))],
        rater_ids=[f"r{place + 1}" for place in range(len(values[0]))],
    )


def mixed_report() -> AgreementReport:
    """Questions ordered and ragged, of sets, of one category, of one rater, not measured; and a gate decision."""
    ordered: list[list[object]] = [
        [float(1 + (u + r * (u % 5 == 0)) % 5) if (u + r) % 7 else None for r in range(3)] for u in range(120)
    ]
    sets: list[list[object]] = [[("A",), ("A", "B")] if u % 4 == 0 else [("B",), ("B",)] for u in range(40)]
    questions = [
        QuestionRatings("stars", "rating", ratings_of(ordered), level="ordinal", bounds=(1, 5), left_out={"empty": 34}),
        QuestionRatings("tags", "choices", ratings_of(sets), distance="masi", categories=("A", "B", "C")),
        QuestionRatings("constant", "choice", ratings_of([["x", "x"], ["x", "x"]]), required=False),
        QuestionRatings("alone", "choice", ratings_of([["x"], ["y"]]), required=False),
    ]
    report = assess(
        questions, not_measured=[{"question": "boxes", "kind": "rectanglelabels", "reason": "not compared yet"}]
    )
    return report.with_gate(decide(report, GateRule(size=30)))


def hostile_report() -> AgreementReport:
    """Everything that a tool's text can be, as labels, units, raters and the question's name."""
    count = len(HOSTILE)
    values: list[list[object]] = [[HOSTILE[u % count], HOSTILE[(u + (u % 3 == 0)) % count]] for u in range(30)]
    ratings = Ratings.from_wide(
        values, unit_ids=[f"{HOSTILE[u % count]}{u}" for u in range(30)], rater_ids=["=1+1", "unit"]
    )
    report = assess([QuestionRatings(HOSTILE[7], "choice", ratings, left_out={"<b>why</b>": 3})])
    return report.with_gate(decide(report, GateRule(size=30)))


def hostile_context() -> Context:
    return Context(
        title=HOSTILE[0] + HOSTILE[2],
        sources=[HOSTILE[5], HOSTILE[1]],
        link="javascript:alert(1)",
        n_units=30,
        n_annotations=63,
        left_out={"<b>why</b>": 3, "cancelled": 4},
        incomplete=[HOSTILE[0]],
        malformed=[(HOSTILE[2], HOSTILE[7])],
        stale={HOSTILE[7]: {HOSTILE[0]: 2}},
        inferred=[HOSTILE[7]],
        notes=[HOSTILE[7]],
        threshold=0.7,
        unit_link=lambda unit: f"javascript:alert(1)//{unit}",
        next_command=HOSTILE[2],
    )


def hostile_raters_report() -> AgreementReport:
    """A diagnosis with something in every part, of labels, units and raters that are hostile; no gate."""
    labels = (HOSTILE[0], HOSTILE[5], HOSTILE[6], HOSTILE[7])
    rows, gold = [], {}
    for u in range(120):
        right = labels[u % 4]
        gold[f"{HOSTILE[u % 8]}{u}"] = right
        for r in range(3):
            said = labels[(u % 4) ^ 1] if (u + r) % 3 == 0 and u % 2 else right
            rows.append((f"{HOSTILE[u % 8]}{u}", HOSTILE[(u + r) % 8], said))
    units, ids, values = zip(*rows, strict=True)
    question = QuestionRatings(
        HOSTILE[7],
        "choice",
        Ratings.from_long(units, ids, values),
        gold=gold,
        lead_times=np.linspace(1.0, 90.0, len(rows), dtype=np.float64),
        repeats=rows[:40],
    )
    return assess([question], threshold=0.95)
