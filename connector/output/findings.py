"""What a question's diagnosis says, as text: what to mend, the way to the threshold, raters, units, the paradox."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from connector.agreement.distances import Comparison
from connector.agreement.ratings import Level
from connector.agreement.scales import read
from connector.agreement.spans import CHARACTER
from connector.output import shown

if TYPE_CHECKING:
    from connector.agreement.diagnosis import Diagnosis
    from connector.agreement.influence import WayToThreshold
    from connector.agreement.raters import RaterFinding
    from connector.agreement.report import QuestionReport

MOST_RATERS = 12
MOST_UNITS = 5
MOST_COSTS = 3
MOST_VALUES = 20
"""Distinct numbers at interval or ratio level up to which they are listed as categories are."""

SCALE_NAMES = {
    "landis_koch": "Landis and Koch",
    "fleiss": "Fleiss",
    "daily": "the daily bands",
    "krippendorff": "Krippendorff",
}


class Grid(NamedTuple):
    """A table of text; `numeric` are the places of its columns of numbers."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[int]


class UnitRow(NamedTuple):
    """A unit and how alpha would change without it."""

    unit: str
    link: str | None
    change: str


class _Column(NamedTuple):
    """A column of the raters' table: shown where a rater has something in it, with the sentence that explains it."""

    heading: str
    cell: Callable[[RaterFinding], str]
    meaning: str
    numeric: bool = True


def reading(value: float | None, scale: str | None) -> str:
    """What a scale calls a value; "" without a scale or a value."""
    if scale is None or value is None:
        return ""
    band = read(value, scale)
    if band.low is None:
        span = "" if band.high is None else f"under {shown.threshold(band.high)}"
    else:
        low = shown.threshold(band.low)
        span = f"from {low} up" if band.high is None else f"{low} to {shown.threshold(band.high)}"
    return f"Read by {SCALE_NAMES[scale]}: {band.name} ({span}). {band.advice}"


def steps(question: QuestionReport, found: Diagnosis | None) -> list[str]:
    """What to do next: the pairs of categories to mend, and what settling units would give."""
    if found is None:
        return []
    return [*_mend(question, found), *_way(found.way_to_threshold)]


def _mend(question: QuestionReport, found: Diagnosis) -> list[str]:
    if found.mend is None:
        return []
    what = "this pair" if len(found.mend.pairs) == 1 else "these two pairs"
    pairs = shown.listed(
        f"{versus(pair.a, pair.b, question.kind)} ({shown.count(pair.n)})" for pair in found.mend.pairs
    )
    of = disagreements(question)
    share = shown.percent(found.mend.share)
    return [f"Mend {what} in the guideline first: {pairs} hold {share} of {of}."]


def confused(question: QuestionReport) -> tuple[str, str]:
    """What the question's pairs of categories count, one of it and several: of marked stretches their positions."""
    if question.comparison is None:
        return Comparison.confused
    if question.comparison is CHARACTER and (position := _position(question)) is not None:
        return position, f"{position}s"
    return question.comparison.confused


def _position(question: QuestionReport) -> str | None:
    """What a place of a text or a time line is called; where nobody says, whole numbers are a text's characters."""
    lengths = (value[0] for value in question.source.ratings.codebook.categories)
    return question.source.position or ("character" if all(isinstance(one, int) for one in lengths) else None)


def disagreements(question: QuestionReport) -> str:
    """How many disagreements the pairs of categories come to, in words."""
    one, many = confused(question)
    n = sum(pair.n for pair in question.pairs)
    if (one, many) == Comparison.confused:
        return shown.counted(n, f"disagreeing {one}", f"disagreeing {many}")
    return f"{shown.counted(n, one, many)} on which two raters differ"


def _way(way: WayToThreshold | None) -> list[str]:
    if way is None or way.needed == 0:
        return []
    line, differ = shown.threshold(way.threshold), shown.count(way.n_conflicts)
    if way.needed is None:
        return [f"Alpha can't reach {line} by settling units, however many of the {differ} where raters differ."]
    then = shown.number(way.alpha_then, way.threshold)
    which, whose = (f"{shown.count(way.needed)} costliest", "their") if way.needed > 1 else ("costliest", "its")
    units = f"the {which} of the {differ} units" if way.n_conflicts > 1 else "the one unit"
    return [f"Alpha would reach {line} ({then}) if {units} where raters differ took {whose} commonest answer."]


def costs(question: QuestionReport, found: Diagnosis | None) -> str:
    """The pairs of categories that take most from alpha."""
    way = found.way_to_threshold if found else None
    if way is None or len(way.pairs) < 2 or question.comparison is not None or measures(question):
        return ""  # two whole sets, rankings, texts or measured numbers hardly ever meet twice
    listed = "; ".join(
        f"{versus(pair.a, pair.b, question.kind)} {shown.number(pair.cost)}" for pair in way.pairs[:MOST_COSTS]
    )
    return f"What they take from alpha, the costliest first: {listed}."


def never_by(question: QuestionReport, found: Diagnosis | None) -> str:
    """The paradox with its numbers, where percent agreement and its like say something else than alpha."""
    paradox = found.paradox if found else None
    if paradox is None:
        return ""
    high = [("PABAK", paradox.brennan_prediger), ("AC1", paradox.gwet_ac1)]
    named = [f"{name} ({shown.number(value)})" for name, value in high if value is not None]
    named.append(f"percent agreement ({shown.number(paradox.percent_agreement)})")
    which = " or ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    ruling = shown.quoted(paradox.category, question.kind)
    rarest = next(((category, value) for category, value in paradox.specific if value is not None), None)
    own = ""
    if rarest is not None and rarest[0] != paradox.category:
        own = f" Agreement on {shown.quoted(rarest[0], question.kind)} alone: {shown.number(rarest[1])}."
    return (
        f"Never decide by {which}: {ruling} has {shown.percent(paradox.share)} of the ratings, so raters who guess by "
        f"the shares reach such values too, and alpha is {shown.number(paradox.alpha)} (the kappa paradox).{own}"
    )


def units(found: Diagnosis | None, link: Callable[[str], str | None] | None) -> list[UnitRow]:
    """The units without which alpha would be highest."""
    listed = found.units_by_influence[:MOST_UNITS] if found else ()
    return [
        UnitRow(
            shown.ends(shown.clean(one.unit), shown.LONGEST_IN_A_SENTENCE),
            shown.safe_link(link(str(one.unit))) if link else None,
            shown.signed(one.influence or 0.0),
        )
        for one in listed
    ]


def raters(question: QuestionReport, found: Diagnosis | None) -> tuple[Grid | None, str]:
    """The raters that change alpha most, and how to read their table; no table where it would say nothing."""
    if found is None:
        return None, ""
    listed = found.raters[:MOST_RATERS]
    told = [column for column in _columns(question) if any(column.cell(one) != shown.NOTHING for one in listed)]
    if not told:
        return None, ""
    columns = [
        _Column("Rater", lambda one: shown.ends(shown.clean(one.rater)), "", numeric=False),
        _Column("Ratings", lambda one: shown.count(one.n_ratings), ""),
        *told,
    ]
    rows = [[column.cell(one) for column in columns] for one in listed]
    numeric = [place for place, column in enumerate(columns) if column.numeric]
    left = len(found.raters) - len(listed)
    more = f" {shown.counted(left, 'rater is', 'raters are')} not listed." if left else ""
    meaning = " ".join(column.meaning for column in told if column.meaning)
    sentence = f"{meaning} Whoever differs from the others may be the one who is right.{more}"
    return Grid([column.heading for column in columns], rows, numeric), sentence


def _columns(question: QuestionReport) -> list[_Column]:
    graded = question.comparison is not None and question.comparison.graded
    leaning = [
        _Column("Leaning", lambda one: _leaning(one, question.kind)[0], "", numeric=False),
        _Column(
            "By",
            lambda one: _leaning(one, question.kind)[1],
            "Leaning: the category whose share is farthest from the others' on the same units.",
        ),
    ]
    shift = [_Column("Shift", _shift, "Shift: mean distance to the mean of the others.")]
    return [
        _Column(
            "Alpha without",
            lambda one: shown.NOTHING if one.change is None else shown.signed(one.change),
            "Alpha without: how much higher or lower alpha would be without the rater's answers.",
        ),
        *(leaning if _leans(question) else shift if measures(question) and question.kind != "date" else ()),
        _Column(
            "Gold",
            _gold_likeness if graded else _gold,
            "Gold: likeness to the known answers (1 - distance) on average, and to how many."
            if graded
            else "Gold: answers equal to the known one.",
        ),
        _Column(
            "Seconds",
            lambda one: shown.NOTHING if one.seconds is None else f"{one.seconds:.1f}",
            "Seconds: the median answer.",
        ),
        _Column(
            "Repeats",
            _repeats_likeness if graded else _repeats,
            "Repeats: likeness of earlier answers to the one of the same unit that counts, and of how many."
            if graded
            else "Repeats: earlier answers to the same unit equal to the one that counts.",
        ),
    ]


def _leans(question: QuestionReport) -> bool:
    """Whether a rater can lean to a category: whole texts, say, are none."""
    comparison = question.comparison
    return not measures(question) and (comparison is None or comparison.labelled)


def _leaning(one: RaterFinding, kind: str) -> tuple[str, str]:
    farthest = one.leaning[0] if one.leaning else None
    if farthest is None or abs(farthest.difference) < shown.TOLERANCE:
        return shown.NOTHING, shown.NOTHING
    return shown.category(farthest.category, kind), shown.signed(farthest.difference, places=2)


def _shift(one: RaterFinding) -> str:
    return shown.NOTHING if one.shift is None else shown.signed(one.shift, places=2)


def _gold(one: RaterFinding) -> str:
    return shown.NOTHING if one.gold is None else f"{round(one.gold.accuracy * one.gold.n)}/{one.gold.n}"


def _gold_likeness(one: RaterFinding) -> str:
    return shown.NOTHING if one.gold is None else f"{shown.number(one.gold.accuracy, places=2)} of {one.gold.n}"


def _repeats_likeness(one: RaterFinding) -> str:
    if one.repeated_alike is None:
        return shown.NOTHING
    return f"{shown.number(one.repeated_alike, places=2)} of {one.repeated}"


def _repeats(one: RaterFinding) -> str:
    if one.repeated_alike is None:
        return shown.NOTHING
    return f"{round(one.repeated_alike * one.repeated)}/{one.repeated}"


def rater_pairs(found: Diagnosis | None, most: int) -> tuple[Grid | None, str]:
    """Every two raters, those with most units in common; for finding who reads the guideline differently."""
    pairs = found.rater_pairs if found else ()
    if len(pairs) < 2:  # of two raters the question's own coefficients say it
        return None, ""
    graded = found is not None and found.data.comparison is not None
    rows = [
        (
            shown.ends(shown.clean(pair.a)),
            shown.ends(shown.clean(pair.b)),
            shown.count(pair.n),
            shown.number(pair.agreement),
            *(() if graded else (shown.number(pair.kappa),)),
        )
        for pair in pairs[:most]
    ]
    left = len(pairs) - len(rows)
    more = f" {shown.counted(left, 'pair', 'pairs')} with fewer units in common are in the JSON report." if left else ""
    sentence = f"Diagnostic only: the mean of these is no coefficient of the whole.{more}"
    if graded:
        return Grid(
            ("Rater", "and", "Units", "Likeness"), rows, (2, 3)
        ), f"Likeness: 1 - distance on average. {sentence}"
    return Grid(("Rater", "and", "Units", "Agreement", "Cohen's kappa"), rows, (2, 3, 4)), sentence


def measures(question: QuestionReport) -> bool:
    """Whether values are measured numbers, too many to say anything one by one."""
    return question.level in (Level.INTERVAL, Level.RATIO) and question.n_categories > MOST_VALUES


def versus(a: Any, b: Any, kind: str) -> str:
    """Two categories in a sentence."""
    first, second = (shown.quoted(one, kind) for one in differing(a, b))
    return f"{first}/{second}"


def differing(a: Any, b: Any) -> tuple[Any, Any]:
    """Two answers; of two sets what only one of them holds."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(one for one in a if one not in b), tuple(one for one in b if one not in a)
    return a, b
