"""A question's diagnosis as plain data, with the report's stable names.

    raters: [{rater, n_ratings, alpha_without, change, cost, leaning: [{category, own, others}], shift,
              gold: {n, accuracy, low, high, leaning: [{category, own, others}]} or null (accuracy: the share that is
                    equal; of spans, regions, rankings and texts the mean of 1 - the distance to the known answer),
              seconds, n_timed, repeated, repeated_alike}]
    rater_pairs: [{a, b, n, agreement, cohen_kappa}]                        a diagnostic only, never to be gated on
    units_by_influence, units_by_disagreement: [{unit, n_ratings, cost, influence}]
    way_to_threshold: {threshold, alpha, n_conflicts, n_units, needed, alpha_then, curve: [{resolved, alpha}],
                       pairs: [{a, b, cost}]} or null
    paradox: {percent_agreement, alpha, category, share, brennan_prediger, gwet_ac1,
              specific_agreement: [{category, value}]} or null
    mend: {pairs: [{a, b, n, share}], share} or null

Lists are bounded; `raters_left_out` and `rater_pairs_left_out` say by how much. `needed` is null where no number of
resolved conflicts reaches the threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from connector.agreement.keys import brief_value

if TYPE_CHECKING:
    from connector.agreement.diagnosis import Concentration, Diagnosis, Paradox
    from connector.agreement.influence import UnitFinding, WayToThreshold
    from connector.agreement.raters import GoldFinding, Leaning, RaterFinding

MOST_RATERS = 200
MOST_PAIRS = 500


def diagnosis_json(found: Diagnosis) -> dict[str, Any]:
    """The diagnosis as plain data: what stands in the JSON report beside the question's numbers."""
    body: dict[str, Any] = {
        "raters": [_rater(one) for one in found.raters[:MOST_RATERS]],
        "rater_pairs": [
            {"a": pair.a, "b": pair.b, "n": pair.n, "agreement": pair.agreement, "cohen_kappa": pair.kappa}
            for pair in found.rater_pairs[:MOST_PAIRS]
        ],
        "units_by_influence": _units(found.units_by_influence),
        "units_by_disagreement": _units(found.units_by_disagreement),
        "way_to_threshold": _way(found.way_to_threshold) if found.way_to_threshold else None,
        "paradox": _paradox(found.paradox) if found.paradox else None,
        "mend": _mend(found.mend) if found.mend else None,
    }
    for name, listed, most in (("raters", found.raters, MOST_RATERS), ("rater_pairs", found.rater_pairs, MOST_PAIRS)):
        if len(listed) > most:
            body[f"{name}_left_out"] = len(listed) - most
    return body


def _rater(one: RaterFinding) -> dict[str, Any]:
    return {
        "rater": one.rater,
        "n_ratings": one.n_ratings,
        "alpha_without": one.alpha_without,
        "change": one.change,
        "cost": one.cost,
        "leaning": _leaning(one.leaning),
        "shift": one.shift,
        "gold": _gold(one.gold) if one.gold else None,
        "seconds": one.seconds,
        "n_timed": one.n_timed,
        "repeated": one.repeated,
        "repeated_alike": one.repeated_alike,
    }


def _leaning(listed: Sequence[Leaning]) -> list[dict[str, Any]]:
    return [{"category": brief_value(one.category), "own": one.own, "others": one.others} for one in listed]


def _gold(one: GoldFinding) -> dict[str, Any]:
    return {
        "n": one.n,
        "accuracy": one.accuracy,
        "low": one.low,
        "high": one.high,
        "leaning": _leaning(one.leaning),
    }


def _units(listed: Sequence[UnitFinding]) -> list[dict[str, Any]]:
    return [
        {"unit": one.unit, "n_ratings": one.n_ratings, "cost": one.cost, "influence": one.influence} for one in listed
    ]


def _way(way: WayToThreshold) -> dict[str, Any]:
    return {
        "threshold": way.threshold,
        "alpha": way.alpha,
        "n_conflicts": way.n_conflicts,
        "n_units": way.n_units,
        "needed": way.needed,
        "alpha_then": way.alpha_then,
        "curve": [{"resolved": resolved, "alpha": alpha} for resolved, alpha in way.curve],
        "pairs": [
            {"a": brief_value(pair.a), "b": brief_value(pair.b), "cost": pair.cost} for pair in way.pairs[:MOST_PAIRS]
        ],
    }


def _paradox(one: Paradox) -> dict[str, Any]:
    return {
        "percent_agreement": one.percent_agreement,
        "alpha": one.alpha,
        "category": brief_value(one.category),
        "share": one.share,
        "brennan_prediger": one.brennan_prediger,
        "gwet_ac1": one.gwet_ac1,
        "specific_agreement": [{"category": brief_value(category), "value": value} for category, value in one.specific],
    }


def _mend(one: Concentration) -> dict[str, Any]:
    return {
        "pairs": [
            {"a": brief_value(pair.a), "b": brief_value(pair.b), "n": pair.n, "share": pair.share} for pair in one.pairs
        ],
        "share": one.share,
    }
