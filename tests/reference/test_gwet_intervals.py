"""Standard errors and intervals printed by their authors: Gwet's, SAS's, and Shrout and Fleiss' correlations."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from scipy import stats

from connector import Ratings, krippendorff_alpha
from connector.agreement.gwet import brennan_prediger, conger_kappa, fleiss_kappa, gwet_ac1, gwet_ac2
from connector.agreement.icc import intraclass
from connector.agreement.intervals import Coefficient, Interval
from connector.agreement.kappa import cohen_kappa, percent_agreement, scott_pi, weighted_kappa
from connector.agreement.patterns import fold
from connector.agreement.quantiles import f_quantile, student_cdf, student_quantile
from tests.reference.support import records, table

OF: dict[str, Callable[..., Coefficient]] = {
    "alpha_nominal": lambda ratings, confidence: krippendorff_alpha(ratings, "nominal", confidence),
    "fleiss_kappa": fleiss_kappa,
    "conger_kappa": conger_kappa,
    "brennan_prediger": brennan_prediger,
    "gwet_ac1": gwet_ac1,
    "cohen_kappa": cohen_kappa,
    "scott_pi": scott_pi,
    "percent_agreement": lambda ratings, confidence: percent_agreement(fold(ratings), confidence),
    "linear": partial(weighted_kappa, weights="linear"),
}


def record(name: str) -> dict[str, Any]:
    return next(one for one in records("reference.json") if one["name"] == name)


def analytic(name: str, data: list[list[Any]]) -> Interval:
    found = OF[name](table(data), confidence=0.95).analytic
    assert found is not None
    assert found.error is not None
    return found


PUBLISHED = [
    (record_name, name, error)
    for record_name, key in (
        ("krippendorff2011_canonical", "se_gwet"),
        ("gwet_raw5obser", "se"),
        ("gwet_raw_gender", "se"),
        ("gwet_raw_g1g2", "se"),
    )
    for name, error in record(record_name)["extra"][key].items()
]


@pytest.mark.parametrize(("record_name", "name", "error"), PUBLISHED)
def test_gwets_standard_errors(record_name: str, name: str, error: float) -> None:
    """To the three places printed; alpha's differs from the printed one where Gwet's pa keeps its small-sample term."""
    tolerance = 0.0025 if name == "alpha_nominal" else 0.0006
    assert analytic(name, record(record_name)["data"]).error == pytest.approx(error, abs=tolerance)


@pytest.mark.parametrize(("name", "bounds"), list(record("gwet_raw5obser")["extra"]["ci"].items()))
def test_gwets_intervals(name: str, bounds: list[float]) -> None:
    found = analytic(name, record("gwet_raw5obser")["data"])
    assert [found.low, found.high] == pytest.approx(bounds, abs=6e-4)


@pytest.mark.parametrize(("name", "error"), list(record("gwet_cont3x3abstractors")["extra"]["se"].items()))
def test_gwets_standard_errors_of_a_square_table(name: str, error: float) -> None:
    """His formulas for two raters' tables divide by n where those for any number of raters divide by n - 1."""
    data = record("gwet_cont3x3abstractors")["data"]
    found = analytic(name, data).error
    assert found is not None
    by_n = found * math.sqrt((len(data) - 1) / len(data))
    assert by_n == pytest.approx(error, abs=1e-3 if name == "alpha_nominal" else 1e-7)


def test_sas_standard_errors_of_cohen() -> None:
    """Fleiss, Cohen and Everitt's variance as SAS FREQ prints it, also dividing by n."""
    sas = record("statsmodels_sas")
    for name, error in (("cohen_kappa", sas["extra"]["se"]), ("linear", sas["extra"]["se_linear"])):
        found = analytic(name, sas["data"]).error
        assert found is not None
        n = len(sas["data"])
        assert found * math.sqrt((n - 1) / n) == pytest.approx(error, abs=6e-5)


def test_shrout_and_fleiss_intervals() -> None:
    """Six targets, four judges: the intervals that R's psych::ICC prints for their table."""
    found = intraclass(table(record("shrout_fleiss1979")["data"]), 0.95)
    printed = {
        "icc_1": (-0.13, 0.72),
        "icc_2": (0.02, 0.76),
        "icc_3": (0.34, 0.95),
        "icc_1k": (-0.88, 0.91),
        "icc_2k": (0.07, 0.93),
        "icc_3k": (0.68, 0.99),
    }
    for name, bounds in printed.items():
        interval = found[name].interval
        assert interval is not None
        assert interval.method == "f"
        assert (interval.low, interval.high) == pytest.approx(bounds, abs=0.0051), name


def test_gwet_ac2_names_its_weights_by_the_numbers_or_the_declared_order() -> None:
    rows = [["low", "low"], ["low", "mid"], ["high", "high"], ["mid", "high"], ["low", "high"]]
    by_order = Ratings.from_wide(rows, categories=["low", "mid", "high"])
    as_numbers = Ratings.from_wide([[{"low": 1, "mid": 2, "high": 3}[cell] for cell in row] for row in rows])
    assert gwet_ac2(by_order).value == pytest.approx(gwet_ac2(as_numbers).value, abs=1e-12)
    assert gwet_ac2(Ratings.from_wide(rows)).reason == "wrong_level"
    # a declared category that nobody used widens the range and adds to m
    wider = Ratings.from_wide(rows, categories=["low", "mid", "high", "highest"])
    assert gwet_ac2(wider).value != pytest.approx(gwet_ac2(by_order).value, abs=1e-3)


@pytest.mark.parametrize("p", [0.001, 0.025, 0.3, 0.5, 0.9, 0.975, 0.9999])
@pytest.mark.parametrize("df", [1, 2.5, 7, 60, 5000])
def test_quantiles_by_scipy(p: float, df: float) -> None:
    assert student_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-8, abs=1e-9)
    assert student_cdf(student_quantile(p, df), df) == pytest.approx(p, rel=1e-9)
    for below in (1.7, 12, 900):
        assert f_quantile(p, df, below) == pytest.approx(stats.f.ppf(p, df, below), rel=1e-7)


@pytest.mark.parametrize("df", [5_001, 20_000, 1e6, 1e9])
@pytest.mark.parametrize("p", [0.001, 0.025, 0.5, 0.975, 0.999999])
def test_many_degrees_of_freedom_need_no_other_library(p: float, df: float) -> None:
    assert student_quantile(p, df) == pytest.approx(float(stats.t.ppf(p, df)), rel=1e-11, abs=1e-11)
