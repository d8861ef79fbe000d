"""Agreement between the raters of an annotation project: measured, explained, gated, and written back into the tool.

From Python, on a table of units x raters with None or NaN where a rating is missing:

>>> from connector import krippendorff_alpha
>>> found = krippendorff_alpha([[1, 1, None], [2, 2, 3], [3, 3, 3], [1, 2, 1]] * 10, level="ordinal", confidence=0.95)
>>> round(found.value, 3), found.reason
(0.752, None)
>>> found.low < found.value < found.high
True
>>> krippendorff_alpha([["yes", "yes"], ["yes", None]]).reason
'no_variation'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from connector.agreement.alpha import krippendorff_alpha
    from connector.agreement.comparison import Compared, Difference, paired_difference
    from connector.agreement.consensus import UnitResult, UnitResults
    from connector.agreement.dawid_skene import DawidSkene, dawid_skene
    from connector.agreement.gate import GateDecision, GateRule, Obstacle, QuestionDecision, decide
    from connector.agreement.gwet import brennan_prediger, conger_kappa, fleiss_kappa, gwet_ac1, gwet_ac2
    from connector.agreement.icc import intraclass
    from connector.agreement.intervals import Coefficient, Interval
    from connector.agreement.kappa import cohen_kappa, scott_pi, weighted_kappa
    from connector.agreement.power import Power, bloch_kraemer_units, units_for_half_width
    from connector.agreement.ratings import InvalidRatings, Level, Ratings
    from connector.agreement.report import AgreementReport, QuestionRatings, QuestionReport, assess
    from connector.agreement.scales import Band, read

_HOME = {
    "AgreementReport": "report",
    "Band": "scales",
    "Coefficient": "intervals",
    "Compared": "comparison",
    "DawidSkene": "dawid_skene",
    "Difference": "comparison",
    "GateDecision": "gate",
    "GateRule": "gate",
    "Interval": "intervals",
    "InvalidRatings": "ratings",
    "Level": "ratings",
    "Obstacle": "gate",
    "Power": "power",
    "QuestionDecision": "gate",
    "QuestionRatings": "report",
    "QuestionReport": "report",
    "Ratings": "ratings",
    "UnitResult": "consensus",
    "UnitResults": "consensus",
    "assess": "report",
    "bloch_kraemer_units": "power",
    "brennan_prediger": "gwet",
    "cohen_kappa": "kappa",
    "conger_kappa": "gwet",
    "dawid_skene": "dawid_skene",
    "decide": "gate",
    "fleiss_kappa": "gwet",
    "gwet_ac1": "gwet",
    "gwet_ac2": "gwet",
    "intraclass": "icc",
    "krippendorff_alpha": "alpha",
    "paired_difference": "comparison",
    "read": "scales",
    "scott_pi": "kappa",
    "units_for_half_width": "power",
    "weighted_kappa": "kappa",
}

__all__ = [
    "AgreementReport",
    "Band",
    "Coefficient",
    "Compared",
    "DawidSkene",
    "Difference",
    "GateDecision",
    "GateRule",
    "Interval",
    "InvalidRatings",
    "Level",
    "Obstacle",
    "Power",
    "QuestionDecision",
    "QuestionRatings",
    "QuestionReport",
    "Ratings",
    "UnitResult",
    "UnitResults",
    "assess",
    "bloch_kraemer_units",
    "brennan_prediger",
    "cohen_kappa",
    "conger_kappa",
    "dawid_skene",
    "decide",
    "fleiss_kappa",
    "gwet_ac1",
    "gwet_ac2",
    "intraclass",
    "krippendorff_alpha",
    "paired_difference",
    "read",
    "scott_pi",
    "units_for_half_width",
    "weighted_kappa",
]


def __getattr__(name: str) -> Any:
    # NumPy is loaded with the first name that needs it, so that `connector --help` stays fast
    if name in _HOME:
        found = globals()[name] = getattr(import_module(f"connector.agreement.{_HOME[name]}"), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
