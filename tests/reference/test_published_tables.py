"""Every published table with the coefficients it was published with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from connector import Ratings, assess, krippendorff_alpha
from connector.agreement.alpha import alpha_statistic, prepare
from connector.agreement.diagnosis import category_findings
from connector.agreement.gwet import brennan_prediger, conger_kappa, fleiss_kappa, gwet_ac1, gwet_ac2
from connector.agreement.icc import NAMES as ICCS
from connector.agreement.icc import intraclass
from connector.agreement.intervals import Coefficient, jackknife_error
from connector.agreement.kappa import cohen_kappa, pair_agreement, percent_agreement, scott_pi, weighted_kappa
from connector.agreement.patterns import fold
from connector.agreement.ratings import Level
from tests.reference.support import convabuse, records, table

LEVELS = ("nominal", "ordinal", "interval", "ratio")


def _icc(ratings: Ratings, name: str) -> Coefficient:
    return intraclass(ratings)[name]


def _light(ratings: Ratings) -> Coefficient:
    """Light (1971): the mean of Cohen's kappas, which the report gives pair by pair and never as one number."""
    diagnosis = assess(ratings).questions["value"].diagnosis
    assert diagnosis is not None
    return Coefficient(float(np.mean([pair.kappa for pair in diagnosis.rater_pairs if pair.kappa is not None])))


KNOWN: dict[str, Callable[[Ratings], Coefficient]] = {
    **{f"alpha_{level}": partial(krippendorff_alpha, level=level) for level in LEVELS},
    **{f"alpha_{distance}": partial(krippendorff_alpha, distance=distance) for distance in ("masi", "jaccard")},
    "percent_agreement": lambda ratings: percent_agreement(fold(ratings)),
    "fleiss_kappa": fleiss_kappa,
    "fleiss_quadratic": partial(fleiss_kappa, weights="quadratic"),
    "conger_kappa": conger_kappa,
    "conger_quadratic": partial(conger_kappa, weights="quadratic"),
    # Bennett, Alpert and Goldstein's S and Randolph's free-marginal kappa are the same coefficient on complete data
    **dict.fromkeys(("brennan_prediger", "randolph_kappa", "bennett_S"), brennan_prediger),
    "bp_quadratic": partial(brennan_prediger, weights="quadratic"),
    "gwet_ac1": gwet_ac1,
    "gwet_ac2_quadratic": gwet_ac2,
    "scott_pi": scott_pi,
    # icc_1_1 and icc_1_k in the tables
    **{f"{name[:5]}_{name[5:] or 1}": partial(_icc, name=name) for name in ICCS},
    "cohen_kappa": cohen_kappa,
    "cohen_kappa_linear": partial(weighted_kappa, weights="linear"),
    "cohen_kappa_quadratic": weighted_kappa,
    "light_kappa": _light,
}
IN_TABLES = {"pct": "percent_agreement"}
BY_THEMSELVES = {"Do", "De", "Ao", "Ae", "per_category"}
"""What `tables.json` knows beside coefficients; tested below."""

PUBLISHED = [
    pytest.param(record["data"], name, expected["value"], expected["tolerance"], id=f"{record['name']}-{name}")
    for record in records("reference.json")
    for name, expected in record["expected"].items()
    if record.get("level") != "unitizing"  # no units x raters table: tests/reference/test_unitizing.py
]


@pytest.mark.parametrize(("data", "name", "expected", "tolerance"), PUBLISHED)
def test_published(data: list[list[Any]], name: str, expected: float | None, tolerance: float) -> None:
    found = KNOWN[name](table(data))
    if expected is None:
        assert found.value is None
        assert found.reason in ("no_variation", "no_pairable_units")
    else:
        assert found.value == pytest.approx(expected, abs=tolerance, rel=0)


OTHERS = [
    pytest.param(record, name, package, value, id=f"{record['name']}-{name}-{package}")
    for record in records("reference.json")
    for name, packages in record.get("others", {}).items()
    for package, value in packages.items()
]


@pytest.mark.parametrize(("record", "name", "package", "theirs"), OTHERS)
def test_right_where_a_package_is_not(record: dict[str, Any], name: str, package: str, theirs: float) -> None:
    """Programs that give another value for a table, and by what rule where that is known."""
    expected = record["expected"][name]
    found = KNOWN[name](table(record["data"]))
    assert found.value == pytest.approx(expected["value"], abs=expected["tolerance"], rel=0)
    assert found.value != pytest.approx(theirs, abs=max(expected["tolerance"], 1e-4))
    if package.startswith("R irr"):
        # it divides a unit's pairs by m - 1 only where some rating is missing, so that n counts each rating m - 1 times
        width = len(record["data"][0])
        n = len(record["data"]) * width
        by_their_rule = 1 - (1 - (found.value or 0)) * (n * (width - 1) - 1) / ((n - 1) * (width - 1))
        assert by_their_rule == pytest.approx(theirs, abs=1e-9)
    if package == "DKPro" and name == "percent_agreement":
        # each unit weighs as much as it has ratings, where Gwet takes the mean of the units
        patterns = fold(table(record["data"])).pairable
        ratings = patterns.size * patterns.weights
        pooled = float(pair_agreement(patterns) @ ratings) / float(ratings.sum())
        assert pooled == pytest.approx(theirs, abs=1e-9)


def test_nothing_that_the_tables_know_is_left_out() -> None:
    known = {name for record in records("tables.json") for name in record["known"]}
    assert known - BY_THEMSELVES <= {*KNOWN, *IN_TABLES}


EXTRA = [
    ("krippendorff2011_canonical", "fleiss_quadratic", 0.865, 6e-4),
    ("krippendorff2011_canonical", "bp_quadratic", 0.902, 6e-4),
    ("cohen1960_p37", "gwet_ac2_quadratic", 0.1831, 6e-5),
]


@pytest.mark.parametrize(("name", "coefficient", "value", "tolerance"), EXTRA)
def test_further_values_of_a_table(name: str, coefficient: str, value: float, tolerance: float) -> None:
    record = next(one for one in records("reference.json") if one["name"] == name)
    listed = record["extra"].get("weighted_irrCAC_tests", {"gwet_ac2_quadratic": record["extra"].get("ac2_quadratic")})
    assert listed[coefficient] == value
    assert KNOWN[coefficient](table(record["data"])).value == pytest.approx(value, abs=tolerance)


def test_cohen1960_p37_expected_agreement() -> None:
    record = next(one for one in records("reference.json") if one["name"] == "cohen1960_p37")
    assert cohen_kappa(table(record["data"])).expected == pytest.approx(
        record["extra"]["expected_agreement_kappa"], abs=5e-3
    )


def test_fleiss1971_psychiatric_by_category() -> None:
    """R's irr prints Fleiss' kappa of each category against the rest; ours is alpha of the same, a small step apart."""
    record = next(one for one in records("reference.json") if one["name"] == "fleiss1971_psychiatric")
    assert fleiss_kappa(table(record["data"])).expected == pytest.approx(record["extra"]["P_e"], abs=2e-4)
    findings = category_findings(fold(table(record["data"])), [1, 2, 3, 4, 5])
    for one in findings:
        has = Ratings.from_wide([[cell == one.category for cell in row] for row in record["data"]])
        printed = record["extra"]["per_category_fleiss_irr"][str(one.category)]
        assert fleiss_kappa(has).value == pytest.approx(printed, abs=6e-4)
        assert one.one_vs_rest == pytest.approx(krippendorff_alpha(has).value, abs=1e-12)


def test_mieskes_2009_agreements_and_categories() -> None:
    record = next(one for one in records("tables.json") if one["id"] == "mieskes-2009")
    found = fleiss_kappa(table(record["data"]))
    assert (found.observed, found.expected) == pytest.approx((record["known"]["Ao"], record["known"]["Ae"]), abs=6e-3)
    by_category = {
        name: fleiss_kappa(Ratings.from_wide([[cell == name for cell in row] for row in record["data"]])).value
        for name in record["known"]["per_category"]
    }
    assert by_category == pytest.approx(record["known"]["per_category"], abs=6e-3)


def _printed_precision(value: float) -> float:
    """Half a unit of the last printed digit, and a little: some sources cut instead of rounding."""
    return float(0.6 * 10 ** -len(str(value).partition(".")[2]))


TRANSCRIBED = [
    pytest.param(record["data"], IN_TABLES.get(name, name), value, id=f"{record['id']}-{name}")
    for record in records("tables.json")
    for name, value in record["known"].items()
    if IN_TABLES.get(name, name) in KNOWN
]


@pytest.mark.parametrize(("data", "name", "expected"), TRANSCRIBED)
def test_transcribed(data: list[list[Any]], name: str, expected: float | None) -> None:
    found = KNOWN[name](table(data))
    if expected is None:
        assert (found.value, found.reason) == (None, "no_variation")
    else:
        assert found.value == pytest.approx(expected, abs=max(_printed_precision(expected), 6e-5), rel=0)


def test_krippendorff_1980_disagreements() -> None:
    record = next(one for one in records("tables.json") if one["id"] == "kripp-1980-dichotomy")
    found = krippendorff_alpha(table(record["data"]))
    assert found.observed == pytest.approx(record["known"]["Do"], abs=5e-4)
    assert found.expected == pytest.approx(record["known"]["De"], abs=5e-4)


def test_fleiss_1971_agreements_and_categories() -> None:
    record = next(one for one in records("tables.json") if one["id"] == "fleiss-1971")
    ratings = table(record["data"])
    found = fleiss_kappa(ratings)
    assert found.observed == pytest.approx(record["known"]["Ao"], abs=5e-5)
    # the paper works with shares rounded to three places
    assert found.expected == pytest.approx(record["known"]["Ae"], abs=2e-4)
    assert found.reason is None
    # Fleiss printed each category's kappa from rounded shares; one category against the rest by alpha stays close to it
    findings = {str(int(one.category)): one.one_vs_rest for one in category_findings(fold(ratings), [1, 2, 3, 4, 5])}
    assert findings == pytest.approx(record["known"]["per_category"], abs=0.01)


def _canonical() -> Ratings:
    return table(next(one for one in records("reference.json") if one["name"] == "krippendorff2011_canonical")["data"])


def test_canonical_jackknife_error_is_the_published_one() -> None:
    error = jackknife_error(alpha_statistic(prepare(_canonical(), Level.NOMINAL, "nominal"), "nominal"))
    assert error == pytest.approx(0.1463, abs=5e-5)


@pytest.mark.parametrize("level", LEVELS)
def test_raters_by_units_is_another_table(level: str) -> None:
    """The wrong orientation gives another value: keyed long input cannot be turned."""
    ratings = _canonical()
    turned = Ratings.from_long(ratings.raters, ratings.units, ratings.values)
    again = Ratings.from_long(ratings.units, ratings.raters, [ratings.codebook.categories[v] for v in ratings.values])
    assert krippendorff_alpha(again, level).value == pytest.approx(krippendorff_alpha(ratings, level).value, abs=1e-12)
    assert krippendorff_alpha(turned, level).value != pytest.approx(krippendorff_alpha(ratings, level).value, abs=0.1)


@pytest.mark.parametrize(("level", "expected"), [("nominal", 0.435492), ("ordinal", 0.657875), ("interval", 0.731755)])
def test_convabuse_real_ragged_ratings(level: str, expected: float) -> None:
    ratings = convabuse()
    assert (len(ratings.unit_ids), ratings.n_raters) == (4050, 8)
    assert krippendorff_alpha(ratings, level).value == pytest.approx(expected, abs=5e-7)
