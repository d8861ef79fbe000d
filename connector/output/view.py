"""What every surface shows, decided once: the numbers as text, the sentences, what to list and what to leave out.

Text, HTML and Markdown lay the same `View` out, so that no two of them can say different things of one report.
Everything in it is harmless text (`shown.clean`); a surface escapes only for its own language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from connector.agreement.diagnosis import CategoryFinding, PairFinding
from connector.agreement.intervals import FEW_OUTSIDE, Coefficient, Interval
from connector.agreement.ratings import NOTES
from connector.agreement.report import AgreementReport, QuestionReport
from connector.agreement.scales import SCALES
from connector.annotations.collect import natural_key
from connector.annotations.display import mended_text
from connector.output import findings, further, shown
from connector.output.findings import Grid, UnitRow

if TYPE_CHECKING:
    from connector.agreement.gate import GateDecision, QuestionDecision
    from connector.annotations.collect import Table

ALPHA = "krippendorff_alpha"
OF_WHOLE_ANSWERS = ("percent_agreement", "cohen_kappa", "fleiss_kappa")
"""Coefficients by which two answers are equal or not, whatever the question's distance."""
MOST_CATEGORIES = 20
MOST_PAIRS = 10
MOST_CONFLICTS = 10
MOST_RATER_PAIRS = {"report": 10, "page": 30}
HOW = {
    "jackknife": "jackknife over {noun}s on Fisher's z",
    "infinitesimal_jackknife": "infinitesimal jackknife over {noun}s on Fisher's z",
    "gwet": "Gwet's analytic interval",
    "f": "F distribution",
}
MOST_NAMED = 5
"""Ids written out in a sentence before it says how many more there are."""


@dataclass(frozen=True)
class Context:
    """What a report cannot know of itself: where the ratings came from and what happened on the way.

    title : heads the report. sources : names of files or projects. link : the project's page.
    n_units, n_annotations : tasks and annotations read (None: not told). left_out : annotations by reason.
    incomplete : units that declare more annotations than came. malformed : (unit, reason) of tasks left out.
    stale : by question, labels that the tool no longer declares, with their ratings.
    inferred : questions whose kind was read off their values.
    notes : further sentences. threshold : what the summary sentence compares with where there is no gate.
    unit_link : the page of a unit, None where it has none. next_command : what to run next.
    noun : what people call a unit of the source. scale : the reading scale (`scales.SCALES`) that names each value;
        never beside a verdict.
    parts : the sources of a table that several make, as plain data.
    """

    title: str = "Agreement"
    sources: Sequence[str] = ()
    link: str | None = None
    n_units: int | None = None
    n_annotations: int | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    incomplete: Sequence[str] = ()
    malformed: Sequence[tuple[str, str]] = ()
    stale: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    inferred: Sequence[str] = ()
    notes: Sequence[str] = ()
    threshold: float | None = None
    unit_link: Callable[[str], str | None] | None = None
    next_command: str | None = None
    noun: str = "task"
    scale: str | None = None
    parts: Sequence[Mapping[str, Any]] = ()


def context_of(table: Table, **others: Any) -> Context:
    """The context that a collected table gives; `others` are further fields of `Context`, its notes being added to."""
    notes = []
    if table.copies:
        times = shown.counted(table.copies, "time")
        noun = others.get("noun", "task")
        notes.append(f"A {noun} came again {times} and was merged, annotation by annotation.")
    if table.edited_by_other:
        were = shown.counted(table.edited_by_other, "annotation was", "annotations were")
        notes.append(f"{were} last changed by another person.")
    if table.copied:
        began = shown.counted(table.copied, "annotation")
        blind = "it is" if table.copied == 1 else "they are"
        notes.append(f"{began} began as a copy of another one: {blind} not blind.")
    if table.accepted_unchanged:
        same = shown.counted(table.accepted_unchanged, "annotation equals", "annotations equal")
        notes.append(f"{same} the prediction it began from: such agreement may be the model's.")
    if table.ground_truth:
        by = shown.listed(f"{rater} ({n})" for rater, n in table.ground_truth.items())
        notes.append(f"Annotations marked as ground truth, by rater: {by}.")
    if table.unanswered:
        notes.append(f"Nobody answered: {_named(table.unanswered)}.")
    given = dict(others)
    return Context(
        **{
            "n_units": len(table.unit_ids),
            "n_annotations": table.n_annotations,
            "left_out": table.left_out,
            "incomplete": table.incomplete,
            "malformed": [(one.unit, one.reason) for one in table.malformed],
            "stale": {name: one.stale for name, one in table.questions.items() if one.stale},
            "inferred": [name for name, one in table.questions.items() if one.question.inferred],
            **given,
            "notes": (*notes, *table.notes, *given.get("notes", ())),
        }
    )


class CoefficientRow(NamedTuple):
    """A coefficient as text; `note` says why there is no number."""

    name: str
    value: str
    interval: str
    note: str


class PairRow(NamedTuple):
    """Two categories that raters disagreed between."""

    a: str
    b: str
    n: str
    share: str


class ConflictRow(NamedTuple):
    """A unit whose raters disagree, with what they said."""

    unit: str
    link: str | None
    votes: str
    agreement: str
    status: str


class Bar(NamedTuple):
    """A coefficient with its interval for drawing, exact."""

    value: float
    low: float | None
    high: float | None
    threshold: float | None


@dataclass(frozen=True)
class QuestionView:
    """One question, as text. `facts` are the lines of the table to paste, in order.

    pairs_name : what the pairs of categories count. reading : what a scale calls the value. difference : from another
    side that was asked about. steps : what to do next. curve : what settling units would give. consensus : Dawid and
    Skene's. coefficients_notes : what does not apply, what is Gwet's generalisation, what never to decide by.
    """

    name: str
    sentence: str
    reading: str
    difference: Sequence[str]
    steps: Sequence[str]
    facts: Sequence[tuple[str, str]]
    interval_name: str
    coefficients: Sequence[CoefficientRow]
    coefficients_notes: Sequence[str]
    categories: Grid | None
    categories_notes: Sequence[str]
    pairs: Sequence[PairRow]
    pairs_name: str
    pairs_sentence: str
    costs: str
    curve: str
    consensus: further.Consensus
    raters: Grid | None
    raters_sentence: str
    rater_pairs: Grid | None
    rater_pairs_sentence: str
    influence: Sequence[UnitRow]
    conflicts: Sequence[ConflictRow]
    conflicts_sentence: str
    left_out: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    bar: Bar | None


@dataclass(frozen=True)
class GateView:
    """The verdict and everything it rests on."""

    verdict: str
    sentence: str
    facts: Sequence[tuple[str, str]]
    messages: Sequence[str]
    questions: Sequence[tuple[str, str, str, str]]


@dataclass(frozen=True)
class View:
    """The whole report as text."""

    title: str
    sources: Sequence[str]
    link: str | None
    summary: str
    left_out: Sequence[tuple[str, str]]
    not_measured: Sequence[tuple[str, str, str]]
    notes: Sequence[str]
    questions: Sequence[QuestionView]
    gate: GateView | None
    method: Sequence[str]
    next_command: str


def view(
    report: AgreementReport, context: Context | None = None, *, detail: Literal["verdict", "report", "page"] = "report"
) -> View:
    """The report as text. The gate's decision is the report's (`with_gate`).

    detail : "verdict" leaves the questions out, "page" lists more pairs of raters.
    """
    context = context or Context()
    gate = report.gate
    threshold = context.threshold if gate is None else gate.rule.threshold
    return View(
        title=shown.clean(context.title),
        sources=[shown.clean(name) for name in context.sources],
        link=shown.safe_link(context.link),
        summary=_summary(report, context),
        left_out=_counts(context.left_out),
        not_measured=[
            (shown.clean(one["question"]), shown.clean(one["kind"]), shown.clean(one["reason"]))
            for one in report.not_measured
        ],
        notes=_notes(context),
        questions=[
            _question(one, report, context, threshold, MOST_RATER_PAIRS[detail])
            for one in report.questions.values()
            if detail != "verdict"
        ],
        gate=None if gate is None else _gate(gate, report),
        method=_method(report, context),
        next_command=shown.clean(context.next_command or ""),
    )


def _summary(report: AgreementReport, context: Context) -> str:
    read = []
    if context.n_units is not None:
        read.append(shown.counted(context.n_units, context.noun))
    if context.n_annotations is not None:
        read.append(shown.counted(context.n_annotations, "annotation"))
    per_question = [
        f"{shown.counted(one.n_ratings, 'rating')} of {shown.clean(name)} by {shown.counted(one.n_raters, 'rater')}"
        for name, one in report.questions.items()
    ]
    found = "; ".join(per_question) if per_question else "no question that can be measured"
    return f"Read {shown.listed(read)}: {found}." if read else f"{found[0].upper()}{found[1:]}."


def _counts(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    order = {reason: place for place, reason in enumerate(shown.LEFT_OUT)}
    known = sorted(counts, key=lambda reason: (order.get(reason, len(order)), reason))
    return [(shown.left_out(reason), shown.count(counts[reason])) for reason in known if counts[reason]]


def _notes(context: Context) -> list[str]:
    notes = []
    if context.incomplete:
        many = shown.counted(len(context.incomplete), f"{context.noun} declares", f"{context.noun}s declare")
        notes.append(f"{many} more annotations than came: {_named(context.incomplete)}.")
    if context.malformed:
        were = f"malformed {context.noun} was", f"malformed {context.noun}s were"
        many = shown.counted(len(context.malformed), *were)
        examples = [f"{shown.clean(unit)} ({shown.clean(reason)})" for unit, reason in context.malformed[:MOST_NAMED]]
        more = len(context.malformed) - len(examples)
        notes.append(f"{many} left out: {'; '.join(examples)}{f'; and {shown.count(more)} more' if more else ''}.")
    return [*notes, *(shown.clean(note) for note in context.notes)]


def _named(ids: Sequence[str]) -> str:
    first = [shown.clean(one) for one in ids[:MOST_NAMED]]
    more = len(ids) - len(first)
    return ", ".join(first) + (f" and {shown.count(more)} more" if more else "")


# One question.


def _question(
    question: QuestionReport,
    report: AgreementReport,
    context: Context,
    threshold: float | None,
    most_pairs: int,
) -> QuestionView:
    headline = _headline(question, report.gate)
    guards = () if threshold is None else (threshold,)
    coefficient = question.coefficients[headline]
    pairable = question.patterns.pairable
    facts = [
        ("Level", question.level.value),
        ("Distance", shown.clean(question.distance)),
        ("Coefficient", f"{shown.coefficient(headline)} {shown.number(coefficient.value, *guards)}"),
        (_interval_name(report), _interval_fact(coefficient, guards, context.noun)),
        *_analytic_fact(coefficient, guards, context.noun),
        ("Units", f"{shown.count(question.n_units)}, with two ratings or more {shown.count(pairable.n_units)}"),
        ("Raters", shown.count(question.n_raters)),
        ("Ratings", shown.count(question.n_ratings)),
        ("Pairable values", shown.count(pairable.n_ratings)),
        ("Distinct answers" if _answers_alone(question) else "Categories", shown.count(question.n_categories)),
        *_majority_fact(question),
        *further.power(question),
    ]
    disagreements = sum(pair.n for pair in question.pairs)
    listed = _listed_pairs(question)
    conflicting = _conflicting(question)
    found = question.diagnosis
    categories, categories_notes = _categories(question, _interval_name(report))
    raters, raters_sentence = findings.raters(question, found)
    rater_pairs, rater_pairs_sentence = findings.rater_pairs(found, most_pairs)
    return QuestionView(
        name=shown.clean(question.name),
        sentence=sentence(coefficient, threshold),
        reading=findings.reading(coefficient.value, None if report.gate else context.scale),
        difference=further.difference(question),
        steps=findings.steps(question, found),
        facts=facts,
        interval_name=_interval_name(report),
        coefficients=_coefficients(question, headline, guards),
        coefficients_notes=_coefficients_notes(question, headline, findings.never_by(question, found)),
        categories=categories,
        categories_notes=categories_notes,
        pairs=[_pair_row(pair, question.kind) for pair in listed[:MOST_PAIRS]],
        pairs_name=_capital(findings.confused(question)[1]),
        pairs_sentence=_pairs_sentence(question, disagreements, len(listed)),
        costs=findings.costs(question, found),
        curve=further.curve(found),
        consensus=further.consensus(question),
        raters=raters,
        raters_sentence=" ".join(filter(None, (raters_sentence, further.gold(question, found)))),
        rater_pairs=rater_pairs,
        rater_pairs_sentence=rater_pairs_sentence,
        influence=findings.units(found, context.unit_link),
        conflicts=_conflict_rows(question, conflicting[:MOST_CONFLICTS], context),
        conflicts_sentence=_conflicts_sentence(question, len(conflicting)),
        left_out=_counts(question.left_out),
        warnings=_warnings(question, context),
        bar=None if coefficient.value is None else Bar(coefficient.value, coefficient.low, coefficient.high, threshold),
    )


def _headline(question: QuestionReport, gate: GateDecision | None) -> str:
    """The coefficient that stands for the question: the gate's where it decides the question, else alpha (of rankings
    of items that differ by task, tau-b)."""
    decision = gate.questions.get(question.name) if gate else None
    name = decision.coefficient if decision else question.comparison.headline if question.comparison else ALPHA
    return name if name in question.coefficients else ALPHA


def sentence(coefficient: Coefficient, threshold: float | None) -> str:
    """The finding in one sentence: the value, its interval, and what they say about the threshold."""
    if coefficient.value is None:
        return f"No number: {shown.no_number(coefficient.reason)}."
    guards = () if threshold is None else (threshold,)
    value = shown.number(coefficient.value, *guards)
    bounds = shown.interval(coefficient.low, coefficient.high, *guards)
    found = f"{value} ({bounds})" if bounds else f"{value}, without an interval"
    if threshold is None:
        return f"{found}."
    line = shown.threshold(threshold)
    reached = coefficient.value >= threshold - shown.TOLERANCE
    if coefficient.low is None or coefficient.high is None:
        return f"{found}: it {'reaches' if reached else 'is under'} {line}."
    if coefficient.low >= threshold - shown.TOLERANCE:
        return f"{found}: the whole interval reaches {line}."
    if coefficient.high < threshold - shown.TOLERANCE:
        return f"{found}: the whole interval lies under {line}."
    doubt = "clear it" if reached else "miss it"
    return f"{found}: the interval runs on both sides of {line}, so it can't be said to {doubt}."


def _interval_name(report: AgreementReport) -> str:
    return f"{100 * report.confidence:g}% interval"


def _interval_fact(coefficient: Coefficient, guards: Sequence[float], noun: str) -> str:
    found = coefficient.interval
    if found is None:
        return shown.NOTHING
    return f"{shown.interval(found.low, found.high, *guards)} ({_how(found, noun)})"


def _how(interval: Interval, noun: str) -> str:
    if interval.method == "bootstrap":
        return f"bootstrap over {noun}s, {shown.count(interval.replicates or 0)} replicates, seed {interval.seed}"
    how = HOW.get(interval.method)
    return shown.clean(interval.method) if how is None else how.format(noun=noun)


def _analytic_fact(coefficient: Coefficient, guards: Sequence[float], noun: str) -> list[tuple[str, str]]:
    found = coefficient.analytic
    if found is None:
        return []
    return [("Beside it", f"{shown.interval(found.low, found.high, *guards)} ({_how(found, noun)})")]


def _coefficients(question: QuestionReport, headline: str, guards: Sequence[float]) -> list[CoefficientRow]:
    """Those that have a number, and the one that stands for the question whether it has one or not."""
    return [
        CoefficientRow(
            _named_for(question, name),
            shown.number(one.value, *guards),
            shown.interval(one.low, one.high, *guards),
            shown.no_number(one.reason) if one.value is None else "",
        )
        for name, one in question.coefficients.items()
        if one.value is not None or name == headline
    ]


def _named_for(question: QuestionReport, name: str) -> str:
    """A coefficient's name; of answers that are more or less alike, that it asks only whether two are equal."""
    graded = question.comparison is not None and question.comparison.graded
    return f"{shown.coefficient(name)}{' (whole answers)' if graded and name in OF_WHOLE_ANSWERS else ''}"


def _coefficients_notes(question: QuestionReport, headline: str, never_by: str) -> list[str]:
    absent: dict[str, list[str]] = {}
    ragged = []
    for name, one in question.coefficients.items():
        if one.value is None and name != headline:
            absent.setdefault(one.reason or "", []).append(shown.FAMILIES.get(name, shown.coefficient(name)))
        elif one.reason == "ragged":
            ragged.append(shown.coefficient(name))
    notes = [never_by] if never_by else []
    if ragged:
        are = "are Gwet's generalisations" if len(ragged) > 1 else "is Gwet's generalisation"
        notes.append(f"Not every rater rated every unit. Alpha is made for that; {shown.listed(ragged)} {are} to it.")
    first = question.coefficients[headline]
    same = absent.pop(first.reason or "", None) if first.value is None else None
    for start, known in (("Not applicable here", True), ("No number", False)):
        listed = [
            f"{_together(names)} ({shown.beside(reason)})"
            for reason, names in absent.items()
            if (reason in shown.NOT_APPLICABLE) is known
        ]
        notes += [f"{start}: {'; '.join(listed)}."] if listed else []
    return [*notes, f"No number for the same reason: {_together(same)}."] if same else notes


def _together(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _categories(question: QuestionReport, interval_name: str) -> tuple[Grid | None, list[str]]:
    """The table of categories; those too rare for a coefficient of their own carry a star."""
    listed = _listed_categories(question)
    if not listed or findings.measures(question):
        return None, []
    rare = [one.too_rare and one.one_vs_rest is not None for one in listed]
    rows = [
        (
            shown.category(one.category, question.kind),
            shown.number(one.share),
            shown.number(one.specific_agreement),
            shown.number(one.one_vs_rest),
            shown.interval(one.interval.low, one.interval.high) if one.interval else "",
            "*" if starred else "",
        )
        for one, starred in zip(listed, rare, strict=True)
    ]
    headings = ("Category", "Share", "Specific", "One-vs-rest", interval_name, "")
    shown_columns = [place for place in range(6) if place < 4 or any(row[place] for row in rows)]
    more = _more(len(question.categories) - len(listed), "category", "categories")
    notes = [more] if more else []
    if any(rare):
        notes.append("* so rare that its own coefficient means little (under five agreements on it are due by chance).")
    return Grid(
        [headings[place] for place in shown_columns],
        [[row[place] for place in shown_columns] for row in rows],
        [1, 2, 3, 4] if 4 in shown_columns else [1, 2, 3],
    ), notes


def _listed_categories(question: QuestionReport) -> list[CategoryFinding]:
    """All categories in their own order, or the commonest where there are many."""
    found = list(question.categories)
    if len(found) <= MOST_CATEGORIES:
        return found
    return sorted(found, key=lambda one: -one.share)[:MOST_CATEGORIES]


def _more(n: int, one: str, many: str) -> str:
    return f"and {shown.counted(n, one, many)} more, less common" if n > 0 else ""


def _listed_pairs(question: QuestionReport) -> Sequence[PairFinding]:
    """What was confused with what, commonest first; pairs of sets by what only one of the two holds."""
    if findings.measures(question):
        return ()
    if not _labelled(question):
        return question.pairs
    counts: Counter[tuple[Any, Any]] = Counter()
    for pair in question.pairs:
        a, b = findings.differing(pair.a, pair.b)
        counts[(b, a) if (not a, a) > (not b, b) else (a, b)] += pair.n
    whole = sum(counts.values())
    return [PairFinding(a, b, n, n / whole) for (a, b), n in counts.most_common()]


def _answers_alone(question: QuestionReport) -> bool:
    """Whether nothing but whole answers can be counted: they are made of no declared categories."""
    return question.comparison is not None and not question.categories and question.source.categories is None


def _majority_fact(question: QuestionReport) -> list[tuple[str, str]]:
    by = question.majority_by
    return [] if by == "commonest" else [("Common answer", shown.MAJORITIES.get(by, shown.clean(by)))]


def _labelled(question: QuestionReport) -> bool:
    """Whether answers are sets of labels."""
    return question.comparison is not None and question.comparison.labelled


def _pair_row(pair: PairFinding, kind: str) -> PairRow:
    return PairRow(shown.label(pair.a, kind), shown.label(pair.b, kind), shown.count(pair.n), shown.percent(pair.share))


def _pairs_sentence(question: QuestionReport, disagreements: int, kinds: int) -> str:
    if not disagreements:
        return ""
    many = findings.disagreements(question)
    if len(question.pairs) < 3 or findings.measures(question):
        return f"{many}."
    first = sum(pair.n for pair in question.pairs[:2]) / disagreements
    rest = max(kinds - MOST_PAIRS, 0)
    further = f" {shown.counted(rest, 'rarer pair is', 'rarer pairs are')} not listed." if rest else ""
    if _labelled(question):
        return f"{many}; below stands what only one of the two sets holds.{further}"
    if question.diagnosis is not None and question.diagnosis.mend is not None:  # which has said the share already
        return f"{many}.{further}"
    return f"{many}; the two commonest pairs of categories hold {shown.percent(first)} of them.{further}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _conflicting(question: QuestionReport) -> list[int]:
    """Places of the units whose raters disagree, worst first."""
    units = question.units
    found = [
        place
        for place, (n, status) in enumerate(zip(units.n_ratings, units.status, strict=True))
        if n > 1 and status != "agreed"
    ]

    def worst_first(place: int) -> tuple[Any, ...]:
        share = units.top_share[place] or 0.0  # of whole answers without a consensus there is none
        agreement = units.agreement[place]
        known = share if agreement is None else agreement
        return known, share, -units.n_ratings[place], natural_key(str(units.unit_ids[place]))

    return sorted(found, key=worst_first)


def _conflict_rows(question: QuestionReport, places: Sequence[int], context: Context) -> list[ConflictRow]:
    units = question.units
    votes = _votes(question, places)
    rows = []
    for place in places:
        unit = str(units.unit_ids[place])
        link = shown.safe_link(context.unit_link(unit)) if context.unit_link else None
        status = units.status[place] or shown.NOTHING
        rows.append(ConflictRow(shown.clean(unit), link, votes[place], shown.number(units.agreement[place]), status))
    return rows


def _votes(question: QuestionReport, places: Sequence[int]) -> dict[int, str]:
    """What was said of these units, the commonest first, without saying by whom."""
    ratings = question.source.ratings
    rows = np.flatnonzero(np.isin(ratings.units, np.array(places, dtype=np.int64)))
    tallies: dict[int, dict[int, int]] = {place: {} for place in places}
    for unit, value in zip(ratings.units[rows].tolist(), ratings.values[rows].tolist(), strict=True):
        tallies[unit][value] = tallies[unit].get(value, 0) + 1
    categories = ratings.codebook.categories
    return {
        place: "; ".join(
            f"{n}\u00a0×\u00a0{shown.label(categories[code], question.kind)}"
            for code, n in sorted(tally.items(), key=lambda one: (-one[1], one[0]))
        )
        for place, tally in tallies.items()
    }


def _conflicts_sentence(question: QuestionReport, conflicting: int) -> str:
    if not question.n_pairable_units:
        return ""
    of = shown.counted(question.n_pairable_units, "unit")
    if not conflicting:
        return f"In none of {of} with two ratings or more do raters differ."
    conflicts = sum(status == "conflict" for status in question.units.status)
    found = f"Raters differ in {shown.count(conflicting)} of {of} with two ratings or more"
    if None in question.units.status:
        found += (
            "; without a declared range of the scale none has an agreement of its own, and none is called a conflict."
        )
        return f"{found} {MOST_CONFLICTS} of them:" if conflicting > MOST_CONFLICTS else found
    found += f"; {shown.count(conflicts)} {'is a conflict' if conflicts == 1 else 'are conflicts'}."
    return f"{found} The {MOST_CONFLICTS} worst:" if conflicting > MOST_CONFLICTS else found


def _numbers_hint(question: QuestionReport) -> str:
    numbers = question.source.ratings.codebook.numbers
    if question.level.ordered or len(numbers) < 3 or bool(np.isnan(numbers).any()):
        return ""
    return " They are numbers: --level ordinal or interval would count how far apart they are."


def _warnings(question: QuestionReport, context: Context) -> list[str]:
    warnings = [NOTES[code] for code in question.notes if code in NOTES]
    alpha = question.alpha
    if "low_variation" in question.notes:
        few = shown.counted(question.outside_commonest, "rating lies", "ratings lie")
        where = f"Only {few} outside the commonest category"
        if not question.outside_commonest:
            where = "All pairable ratings lie in one category"
        warnings.append(
            f"{where} (fewer than {FEW_OUTSIDE} outside): every coefficient and interval here rests on few cases."
        )
    if "no_interval" in question.notes:
        warnings.append(
            "No interval of alpha can be given: resampling the units shows no spread of it, as where all of them are "
            "alike. That is no certainty."
        )
    if alpha.interval and alpha.interval.added_conflict:
        warnings.append(
            f"At most one {context.noun} holds a disagreement. For the interval one conflict between the two commonest "
            "categories was added before resampling, which would else find no doubt at all."
        )
    if alpha.interval and alpha.interval.added_agreement:
        warnings.append(
            f"No {context.noun} agrees on any category but the commonest. For the interval one that agrees on the "
            "second commonest was added, which would else find too little doubt."
        )
    if alpha.expected_error is not None:
        warnings.append(
            "Expected disagreement was estimated from sampled pairs of answers: "
            f"standard error of alpha {alpha.expected_error:.2g}."
        )
    stale = context.stale.get(question.name, {})
    if stale:
        labels = shown.listed(f"{shown.label(name)} ({shown.count(n)})" for name, n in stale.items())
        warnings.append(f"Labels that the tool no longer declares, with their ratings: {labels}.")
    if question.source.mended:
        warnings.append(f"While the answers were read: {mended_text(question.source.mended, question.kind)}.")
    if question.name in context.inferred:
        warnings.append(
            f"No settings came with the data: the kind ({shown.clean(question.kind)}) was read off the values."
            f"{_numbers_hint(question)}"
        )
    return warnings


# The gate.


def _gate(gate: GateDecision, report: AgreementReport) -> GateView:
    rule, deciding = gate.rule, gate.deciding
    line = shown.threshold(rule.threshold)
    facts = [("Rule", _rule(gate)), ("Threshold", line)]
    if deciding.name:
        facts = [
            *([("Question", shown.clean(deciding.name))] if len(gate.questions) > 1 else []),
            (
                "Coefficient",
                f"{shown.coefficient(deciding.coefficient)} {shown.number(deciding.value, rule.threshold)}",
            ),
            (_bounds_name(gate, report), shown.interval(deciding.low, deciding.high, rule.threshold) or shown.NOTHING),
            *facts,
            ("Units", f"{shown.count(deciding.n_units)}, at least {shown.count(rule.size)} asked for"),
            (
                "Ratings per unit",
                f"{rule.required_ratings} required, on {100 * rule.coverage:g}% of the units",
            ),
        ]
    facts += [
        (f"Beside it, {shown.coefficient(name)}", shown.number(value, rule.threshold))
        for name, value in deciding.beside.items()
    ]
    return GateView(
        gate.verdict,
        _gate_sentence(gate),
        facts,
        [shown.clean(message) for message in deciding.messages],
        [_gate_row(one, rule.threshold) for one in gate.questions.values()] if len(gate.questions) > 1 else [],
    )


def _gate_row(one: QuestionDecision, threshold: float) -> tuple[str, str, str, str]:
    return (
        shown.clean(one.name),
        one.verdict,
        shown.number(one.value, threshold),
        "; ".join(shown.clean(reason) for reason in one.reasons),
    )


def _gate_sentence(gate: GateDecision) -> str:
    deciding, rule = gate.deciding, gate.rule
    line = shown.threshold(rule.threshold)
    value = shown.number(deciding.value, rule.threshold)
    if gate.verdict == "UNDECIDED":
        return f"{value}: this batch decides nothing." if deciding.value is not None else "No number to decide by."
    if rule.rule == "point":
        return f"{value} {'reaches' if gate.verdict == 'GO' else 'is under'} {line}."
    if gate.verdict == "GO":
        return f"The lower bound {shown.number(deciding.low, rule.threshold)} reaches {line}."
    return f"The upper bound {shown.number(deciding.high, rule.threshold)} is under {line}."


def _rule(gate: GateDecision) -> str:
    if gate.rule.rule == "point":
        return "point: the value itself, unrounded"
    look = f"; look {gate.look} at these units' data" if gate.look > 1 else ""
    return f"confident: one-sided bounds, each wrong in {5 / 2**gate.look:.3g}% of batches{look}"


def _bounds_name(gate: GateDecision, report: AgreementReport) -> str:
    return _interval_name(report) if gate.rule.rule == "point" else "One-sided bounds"


def _method(report: AgreementReport, context: Context) -> list[str]:
    """How the numbers were made, for whoever wants to make them again."""
    method = [
        "Krippendorff's alpha over all units with two ratings or more, unequal numbers of ratings as they come.",
        "Percent agreement is the mean over units of the share of agreeing pairs of ratings, not corrected for chance.",
    ]
    intervals = [one.alpha.interval for one in report.questions.values() if one.alpha.interval]
    method += [
        f"{_interval_name(report)}: {how}; whole {context.noun}s are drawn or left out, expected disagreement computed"
        " anew."
        for how in dict.fromkeys(_how(found, context.noun) for found in intervals)
    ]
    method.append(
        "Specific agreement of a category: where one rater says it, how often another rater of the unit does. "
        "One-vs-rest: nominal alpha of that category or not."
    )
    below = f"{report.share_below:g}"
    method.append(
        f"A unit is a conflict when its commonest answer is tied or has a share under {below} "
        f"(numbers, ordered labels and whole answers but sets: when its agreement is under {below})."
    )
    compared = (one.comparison for one in report.questions.values())
    method += dict.fromkeys(one.note for one in compared if one is not None and one.note)
    if context.scale is not None and report.gate is None:
        method.append(f"Reading scale: {SCALES[context.scale].source}. It names a value and decides nothing.")
    return method
