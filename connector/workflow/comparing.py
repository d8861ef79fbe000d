"""Two sides set against each other over the same units: another source, fewer raters, or another coefficient."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from connector.agreement.comparison import ALPHA, Compared, paired_difference
from connector.agreement.ratings import Ratings
from connector.agreement.report import AgreementReport, QuestionReport
from connector.annotations.display import few
from connector.annotations.model import Unit
from connector.annotations.order import natural_key
from connector.errors import FixConfiguration, SkippedTask
from connector.workflow.joining import as_key


def against(
    report: AgreementReport, other: AgreementReport, names: tuple[str, str], coefficient: str = ALPHA
) -> AgreementReport:
    """The report with how much higher the agreement of another source is, question by question.

    names : of the report's source and of the other. Questions that only one of them asks have no difference, nor have
        those about regions: the regions of two sources are not the same units.

    Raises
    ------
    FixConfiguration : the two share no question, or no unit with two ratings in both.
    """
    shared = [name for name, one in report.questions.items() if name in other.questions and not one.source.of_regions]
    if not shared:
        raise FixConfiguration(
            f"{names[0]} and {names[1]} share no question that can be compared.",
            f"They ask: {few(list(report.questions))}; and: {few(list(other.questions))}.",
        )
    found = {
        name: _compared(
            report.questions[name], other.questions[name].declared(), names, (coefficient, coefficient), report
        )
        for name in shared
    }
    if all(one.difference.reason == "no_common_units" for one in found.values()):
        raise FixConfiguration(
            f"{names[0]} and {names[1]} have no unit in common with two ratings on both sides.",
            "--unit-key FIELD matches tasks by a field of their data instead of their ids.",
        )
    return report.with_differences(found)


def without(report: AgreementReport, raters: Sequence[str], coefficient: str = ALPHA) -> AgreementReport:
    """The report with how much higher agreement is without these raters.

    Raises
    ------
    FixConfiguration : one of them rated nothing.
    """
    known = {
        str(one.source.ratings.rater_ids[code])
        for one in report.questions.values()
        for code in set(one.source.ratings.raters.tolist())
    }
    for rater in raters:
        if rater not in known:
            raise FixConfiguration(
                f"No rater '{rater}' has rated anything.", f"Raters: {few(sorted(known, key=natural_key))}."
            )
    names = ("all raters", f"without {few(list(raters))}")
    found = {}
    for name, one in report.questions.items():
        ratings = one.declared()
        left_out = [rater for rater in ratings.rater_ids if str(rater) in raters]
        found[name] = _compared(one, ratings.without(left_out), names, (coefficient, coefficient), report)
    return report.with_differences(found)


def between(report: AgreementReport, a: str, b: str) -> AgreementReport:
    """The report with how much higher coefficient b is than a, on the same ratings."""
    return report.with_differences(
        {
            name: _compared(one, one.declared(), ("all raters", "all raters"), (a, b), report)
            for name, one in report.questions.items()
        }
    )


def keyed(units: Iterable[Unit | SkippedTask], key: str, source: str) -> Iterator[Unit | SkippedTask]:
    """Tasks under the value of a field of their data; those without it as SOURCE/ID, which matches nothing else."""
    for one in units:
        if isinstance(one, SkippedTask):
            yield one
        else:
            yield one._replace(id=as_key(one.data.get(key)) or f"{source}/{one.id}", declared=None)


def _compared(
    question: QuestionReport,
    b: Ratings,
    names: tuple[str, str],
    coefficients: tuple[str, str],
    report: AgreementReport,
) -> Compared:
    found = paired_difference(
        question.declared(),
        b,
        question.level.value,
        distance=question.distance,
        coefficient=coefficients[0],
        other=coefficients[1],
        confidence=report.confidence,
        seed=report.seed,
        task_of=question.source.task_of,
    )
    return Compared(*names, *coefficients, found)
