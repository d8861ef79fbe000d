"""Consensus by Dawid and Skene, units for a narrow interval, and differences between two sides, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from connector.agreement.dawid_skene import DawidSkene
from connector.output import shown
from connector.output.findings import Grid

if TYPE_CHECKING:
    from connector.agreement.comparison import Compared
    from connector.agreement.diagnosis import Diagnosis
    from connector.agreement.report import QuestionReport

MOST_UNITS = 5
MOST_RATERS = 12
MOST_GOLD = 3
LEAST_GAP = 0.005
MOST_MARKS = 5
METHODS = {
    "bootstrap": "bootstrap",
    "jackknife": "jackknife",
    "infinitesimal_jackknife": "infinitesimal jackknife",
}


class Consensus(NamedTuple):
    """What Dawid and Skene's consensus says: in a sentence, of units where it is not the majority, and of raters."""

    sentence: str = ""
    units: Grid | None = None
    raters: str = ""


def consensus(question: QuestionReport) -> Consensus:
    """Empty where the answers are no choices without order."""
    found = question.dawid_skene
    if found == "too_large":
        return Consensus("No consensus by Dawid and Skene: raters, categories or answers are too many for it.")
    if isinstance(found, str) or len(found.classes) < 2:
        return Consensus()
    return Consensus(_sentence(found), _units(found, question.kind), _raters(found))


def _sentence(found: DawidSkene) -> str:
    rounds = shown.counted(found.iterations, "iteration")
    state = f"converged after {rounds}" if found.converged else f"NOT converged after {rounds}: not to be relied on"
    other = f"another answer than the majority's for {shown.count(found.n_other)} of {shown.count(found.n_units)} units"
    ties = shown.counted(found.n_ties, "tie")
    settled = f"; of {ties} it settles {shown.count(found.n_settled)}" if found.n_ties else ""
    how = "weighs answers by how each rater's go with the others'"
    return f"The consensus by Dawid and Skene, which {how} ({state}), is {other}{settled}."


def _units(found: DawidSkene, kind: str) -> Grid | None:
    listed = [one for one in found.units(MOST_UNITS) if one.label != one.majority]
    rows = [
        (
            shown.ends(shown.clean(one.unit)),
            shown.label(one.majority, kind),
            shown.label(one.label, kind),
            shown.number(one.probability),
        )
        for one in listed
    ]
    return Grid(("Unit", "Majority", "Consensus", "Probability"), rows, (3,)) if rows else None


def _raters(found: DawidSkene) -> str:
    places = found.worst_raters
    listed = [
        f"{shown.ends(shown.clean(found.rater_ids[place]), shown.LONGEST_IN_A_SENTENCE)} "
        f"{shown.percent(float(found.errors[place]))}"
        for place in places[:MOST_RATERS]
    ]
    more = len(places) - len(listed)
    rest = f"; and {shown.count(more)} more with fewer" if more else ""
    return f"Answers unlike this consensus, by rater: {', '.join(listed)}{rest}."


def gold(question: QuestionReport, found: Diagnosis | None) -> str:
    """Whose shares of a category are farthest from those of the known answers."""
    gaps = [
        (one.rater, leaning)
        for one in (found.raters if found else ())
        for leaning in (one.gold.leaning[:1] if one.gold else ())
        if abs(leaning.difference) >= LEAST_GAP
    ]
    listed = [
        f"{shown.ends(shown.clean(rater), shown.LONGEST_IN_A_SENTENCE)} says "
        f"{shown.quoted(one.category, question.kind)} in {shown.percent(one.own)} of answers, "
        f"gold in {shown.percent(one.others)}"
        for rater, one in sorted(gaps, key=lambda gap: -abs(gap[1].difference))[:MOST_GOLD]
    ]
    return f"Against gold: {'; '.join(listed)}." if listed else ""


def curve(found: Diagnosis | None) -> str:
    """What alpha would be if more and more of the costliest units were settled."""
    way = found.way_to_threshold if found else None
    if way is None or way.n_conflicts < 2:
        return ""
    marks = [(resolved, alpha) for resolved, alpha in way.curve if resolved and alpha is not None]
    step = max(1, -(-len(marks) // MOST_MARKS))
    shown_marks = marks[::-1][::step][::-1]
    if not shown_marks:
        return ""
    (resolved, alpha), *more = shown_marks
    costliest = "costliest unit" if resolved == 1 else f"{shown.count(resolved)} costliest units"
    told = [f"{shown.number(alpha)} with the {costliest} settled"]
    told += [f"{shown.number(alpha)} with {shown.count(resolved)}" for resolved, alpha in more]
    return f"Alpha would be {', '.join(told)}."


def power(question: QuestionReport) -> list[tuple[str, str]]:
    """How many units would give a narrow interval, as a fact; none without an interval."""
    found = question.power
    if found is None:
        return []
    units = "no practical number" if found.units is None else f"about {shown.count(found.units)} like these"
    noun = "Units" if question.source.task_of is None else "Tasks"
    return [(f"{noun} for \u00b1{shown.threshold(found.half_width)}", units)]


def difference(question: QuestionReport) -> list[str]:
    """How the two sides differ that were asked about."""
    asked = question.difference
    if asked is None:
        return []
    found = asked.difference
    sides = _sides(asked)
    units = f"{shown.counted(found.n_common, 'unit')} with two ratings on both sides"
    left = f", {shown.count(found.n_left_out)} left out" if found.n_left_out else ""
    if found.value is None:
        return [f"{sides}: no difference can be given. {_why(asked)} ({units}{left}.)"]
    numbers = f"{shown.number(found.b)} less {shown.number(found.a)} is {shown.signed(found.value)}"
    if found.low is None or found.p is None:
        return [f"{sides}: {numbers}. No resample of the units changes that ({units}{left})."]
    how = f"{found.confidence * 100:g}% interval {shown.signed(found.low)} to {shown.signed(found.high or 0.0)}"
    method = METHODS.get(found.method or "", "")
    within = found.low <= 0 <= (found.high or 0.0)
    verdict = "which units were taken may explain it" if within else "more than the choice of units explains"
    return [f"{sides}: {numbers}; {how}, p {_p(found.p)}; {verdict} ({method}, {units}{left})."]


def _sides(asked: Compared) -> str:
    a, b = (shown.coefficient(name) for name in (asked.a_coefficient, asked.b_coefficient))
    if asked.a_coefficient != asked.b_coefficient:
        return f"{b} against {a}"
    return f"{a}, {shown.clean(asked.b_name)} against {shown.clean(asked.a_name)}"


def _why(asked: Compared) -> str:
    found = asked.difference
    if found.reason == "no_common_units":
        return "No unit has two ratings on both sides."
    if found.reason == "no_pairable_units":
        return "One of the two sides has no unit with two ratings."
    undefined = next(
        name for name, value in ((_side_name(asked, "a"), found.a), (_side_name(asked, "b"), found.b)) if value is None
    )
    return f"{undefined} has no number: {shown.no_number(found.reason)}."


def _side_name(asked: Compared, side: str) -> str:
    if asked.a_coefficient != asked.b_coefficient:
        return shown.coefficient(asked.a_coefficient if side == "a" else asked.b_coefficient)
    return shown.clean(asked.a_name if side == "a" else asked.b_name)


def _p(p: float) -> str:
    return "under 0.001" if p < 0.001 else f"{p:.3f}"
