"""The report as one page: a single file that asks nothing of the network and runs no script."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from connector.output import shown
from connector.output.view import Bar, Context, view

if TYPE_CHECKING:
    from jinja2 import Template

    from connector.agreement.report import AgreementReport


class Axis(NamedTuple):
    """A drawn coefficient: places on an axis 0 to 100 wide, and the ends of the axis as text."""

    value: float
    low: float | None
    width: float
    threshold: float | None
    zero: float | None
    left: str
    right: str


def render(report: AgreementReport, context: Context | None = None) -> str:
    """The report as an HTML page."""
    seen = view(report, context, detail="page")
    bars = [None if question.bar is None else axis(question.bar) for question in seen.questions]
    text = _template().render(
        view=seen, questions=list(zip(seen.questions, bars, strict=True)), threshold=shown.threshold
    )
    return text if text.endswith("\n") else text + "\n"


def axis(bar: Bar) -> Axis:
    """Where value, interval and threshold lie between the left end (0, or lower where something is) and 1."""
    ends = [one for one in (bar.value, bar.low, bar.threshold) if one is not None]
    left = min(0.0, *ends)
    left = left if left == 0 else float(int(left * 10 - 1)) / 10

    def place(one: float) -> float:
        return round(100 * (min(max(one, left), 1.0) - left) / (1.0 - left), 2)

    low = None if bar.low is None or bar.high is None else place(bar.low)
    width = 0.0 if low is None or bar.high is None else round(place(bar.high) - low, 2)
    return Axis(
        place(bar.value),
        low,
        width,
        None if bar.threshold is None else place(bar.threshold),
        place(0.0) if left < 0 else None,
        f"{left:g}",
        "1",
    )


@cache
def _template() -> Template:
    from importlib.resources import files

    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    source = files("connector.output").joinpath("report.html.jinja").read_text(encoding="utf-8")
    names: dict[str, Any] = {"counted": shown.counted}
    return environment.from_string(source, globals=names)
