"""Agreement between the raters of an annotation project: measured, explained, gated, and written back into the tool."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from connector.agreement.alpha import krippendorff_alpha
    from connector.agreement.consensus import UnitResult, UnitResults
    from connector.agreement.gate import GateDecision, GateRule, Obstacle, QuestionDecision, decide
    from connector.agreement.intervals import Coefficient, Interval
    from connector.agreement.ratings import InvalidRatings, Level, Ratings
    from connector.agreement.report import AgreementReport, QuestionRatings, QuestionReport, assess

_HOME = {
    "AgreementReport": "report",
    "Coefficient": "intervals",
    "GateDecision": "gate",
    "GateRule": "gate",
    "Interval": "intervals",
    "InvalidRatings": "ratings",
    "Level": "ratings",
    "Obstacle": "gate",
    "QuestionDecision": "gate",
    "QuestionRatings": "report",
    "QuestionReport": "report",
    "Ratings": "ratings",
    "UnitResult": "consensus",
    "UnitResults": "consensus",
    "assess": "report",
    "decide": "gate",
    "krippendorff_alpha": "alpha",
}

__all__ = [
    "AgreementReport",
    "Coefficient",
    "GateDecision",
    "GateRule",
    "Interval",
    "InvalidRatings",
    "Level",
    "Obstacle",
    "QuestionDecision",
    "QuestionRatings",
    "QuestionReport",
    "Ratings",
    "UnitResult",
    "UnitResults",
    "assess",
    "decide",
    "krippendorff_alpha",
]


def __getattr__(name: str) -> Any:
    # NumPy is loaded with the first name that needs it, so that `connector --help` stays fast
    if name in _HOME:
        return getattr(import_module(f"connector.agreement.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
