"""Random tables against independent implementations: krippendorff, scikit-learn, statsmodels, nltk.

irrCAC 0.4.4 wants scipy 1.12 and crowd-kit 1.4.2 wants transformers, so that neither can be installed beside the rest:
what they gave for some tables stands in `cases/other_packages.json`.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import krippendorff
import numpy as np
import pytest
from nltk.metrics.agreement import AnnotationTask
from nltk.metrics.distance import jaccard_distance, masi_distance
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import cohens_kappa as statsmodels_cohen
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from connector import Ratings, dawid_skene, krippendorff_alpha
from connector.agreement.gwet import brennan_prediger, conger_kappa, fleiss_kappa, gwet_ac1, gwet_ac2
from connector.agreement.intervals import Coefficient
from connector.agreement.kappa import cohen_kappa, percent_agreement, scott_pi, weighted_kappa
from connector.agreement.patterns import fold
from tests.reference.support import CASES, table

SEEDS = range(8)


def _ragged(seed: int, units: int = 60, raters: int = 5, values: int = 4, missing: float = 0.4) -> NDArray[np.float64]:
    random = np.random.default_rng(seed)
    truth = random.integers(1, values + 1, (units, 1))
    noise = random.integers(1, values + 1, (units, raters))
    table = np.where(random.random((units, raters)) < 0.7, truth, noise).astype(np.float64)
    table[random.random((units, raters)) < missing] = np.nan
    return table


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_krippendorff_on_ragged_tables(seed: int, level: str) -> None:
    data = _ragged(seed)
    theirs = krippendorff.alpha(reliability_data=data.T, level_of_measurement=level)
    assert krippendorff_alpha(data, level).value == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_krippendorff_on_many_distinct_numbers(level: str) -> None:
    random = np.random.default_rng(3)
    data = random.gamma(2, 10, (120, 1)) + random.gamma(2, 2, (120, 4))
    data[random.random(data.shape) < 0.3] = np.nan
    theirs = krippendorff.alpha(reliability_data=data.T, level_of_measurement=level)
    assert krippendorff_alpha(data, level).value == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_cohen_by_scikit_learn(seed: int) -> None:
    data = _ragged(seed, raters=2, missing=0.0)
    ratings = Ratings.from_wide(data)
    first, second = data[:, 0].astype(int), data[:, 1].astype(int)
    assert cohen_kappa(ratings).value == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)
    for weights in ("linear", "quadratic"):
        theirs = cohen_kappa_score(first, second, weights=weights)
        assert weighted_kappa(ratings, weights).value == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_fleiss_by_statsmodels(seed: int) -> None:
    data = _ragged(seed, missing=0.0)
    theirs = statsmodels_fleiss(aggregate_raters(data.astype(int))[0])
    assert fleiss_kappa(Ratings.from_wide(data)).value == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_free_marginal_kappa_by_statsmodels(seed: int) -> None:
    data = _ragged(seed, missing=0.0)
    theirs = statsmodels_fleiss(aggregate_raters(data.astype(int))[0], method="randolph")
    assert brennan_prediger(Ratings.from_wide(data)).value == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_complete_data_by_nltk(seed: int) -> None:
    """nltk's pi is Fleiss' kappa, its S Bennett's, its multi_kappa Davies and Fleiss', which is Conger's."""
    data = _ragged(seed, units=40, raters=4, missing=0.0)
    ratings = Ratings.from_wide(data)
    task = AnnotationTask(data=[(r, u, int(v)) for u, row in enumerate(data) for r, v in enumerate(row)])
    assert fleiss_kappa(ratings).value == pytest.approx(task.pi(), abs=1e-12)
    assert brennan_prediger(ratings).value == pytest.approx(task.S(), abs=1e-12)
    assert conger_kappa(ratings).value == pytest.approx(task.multi_kappa(), abs=1e-12)
    assert percent_agreement(fold(ratings)).value == pytest.approx(task.avg_Ao(), abs=1e-12)
    pair = AnnotationTask(data=[(r, u, int(v)) for u, row in enumerate(data[:, :2]) for r, v in enumerate(row)])
    assert scott_pi(Ratings.from_wide(data[:, :2])).value == pytest.approx(pair.pi(), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_standard_error_of_cohen_by_statsmodels(seed: int) -> None:
    """Fleiss, Cohen and Everitt's variance, which divides by n where Gwet's divides by n - 1."""
    data = _ragged(seed, raters=2, missing=0.0)
    counts = np.zeros((4, 4))
    np.add.at(counts, (data[:, 0].astype(int) - 1, data[:, 1].astype(int) - 1), 1)
    for weights, found in (
        (None, cohen_kappa(Ratings.from_wide(data), 0.95)),
        ("linear", weighted_kappa(Ratings.from_wide(data), "linear", 0.95)),
        ("quadratic", weighted_kappa(Ratings.from_wide(data), "quadratic", 0.95)),
    ):
        theirs = statsmodels_cohen(counts, wt=weights)
        assert found.analytic is not None
        assert found.analytic.error is not None
        assert found.value == pytest.approx(theirs.kappa, abs=1e-12)
        assert found.analytic.error * np.sqrt(59 / 60) == pytest.approx(theirs.std_kappa, rel=1e-9)


@pytest.mark.parametrize(("name", "distance"), [("masi", masi_distance), ("jaccard", jaccard_distance)])
@pytest.mark.parametrize("seed", SEEDS)
def test_sets_by_nltk(seed: int, name: str, distance: Any) -> None:
    random = np.random.default_rng(seed)
    rows = [
        (f"r{rater}", f"u{unit}", frozenset(random.choice(list("abcd"), random.integers(1, 4), replace=False).tolist()))
        for unit in range(25)
        for rater in range(4)
        if random.random() > 0.3
    ]
    units = [unit for _, unit, _ in rows]
    paired = [row for row in rows if units.count(row[1]) > 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = AnnotationTask(data=paired, distance=distance).alpha()
    ours = krippendorff_alpha(
        Ratings.from_long(units, [rater for rater, _, _ in rows], [value for _, _, value in rows]), distance=name
    )
    assert ours.value == pytest.approx(theirs, abs=1e-10)


RECORDED = json.loads((CASES / "other_packages.json").read_text(encoding="utf-8"))
OF: dict[str, Callable[..., Coefficient]] = {
    "fleiss_identity": fleiss_kappa,
    "fleiss_quadratic": partial(fleiss_kappa, weights="quadratic"),
    "conger_identity": conger_kappa,
    "conger_quadratic": partial(conger_kappa, weights="quadratic"),
    "bp_identity": brennan_prediger,
    "bp_quadratic": partial(brennan_prediger, weights="quadratic"),
    "gwet_identity": gwet_ac1,
    "gwet_quadratic": gwet_ac2,
    "krippendorff_identity": lambda ratings, confidence: krippendorff_alpha(ratings, "nominal", confidence),
    "krippendorff_quadratic": lambda ratings, confidence: krippendorff_alpha(ratings, "interval", confidence),
}


@pytest.mark.parametrize("name", OF)
@pytest.mark.parametrize("record", RECORDED["irrCAC 0.4.4"])
def test_coefficients_and_standard_errors_by_irrcac(record: dict[str, Any], name: str) -> None:
    theirs, found = record["values"][name], OF[name](table(record["data"]), confidence=0.95)
    assert found.value == pytest.approx(theirs["value"], abs=1e-11)
    assert found.analytic is not None
    # of alpha on ragged data irrCAC keeps a small-sample term in the linearised observed agreement, which ours lacks
    complete = all(cell is not None for row in record["data"] for cell in row)
    known = 1e-11 if complete or not name.startswith("krippendorff") else 2e-4
    assert found.analytic.error == pytest.approx(theirs["se"], abs=known)


@pytest.mark.parametrize("record", RECORDED["crowd-kit 1.4.2"])
def test_dawid_and_skene_by_crowd_kit(record: dict[str, Any]) -> None:
    found = dawid_skene(table(record["data"]), iterations=5_000)
    assert found.converged
    assert found.classes == record["classes"]
    # theirs came to rest under a looser rule
    assert found.shares.tolist() == pytest.approx(record["priors"], abs=2e-6)
    for ours, theirs in zip(found.probabilities.tolist(), record["probabilities"], strict=True):
        if theirs is not None:
            assert ours == pytest.approx(theirs, abs=2e-6)


def test_small_integers_do_not_overflow_where_a_peer_does() -> None:
    """krippendorff 0.9.0 gives +.78 for this int8 table; its value is -.082."""
    data = np.array([[100, 100], [20, 30], [-100, 100]])
    expected = -0.08202914193200206
    for dtype in (np.int8, np.int16, np.int64, np.float32, np.float64):
        assert krippendorff_alpha(data.astype(dtype), "interval").value == pytest.approx(expected, abs=1e-12)
    counts = np.array([[200, 201], [7, 250], [7, 7]], dtype=np.uint8)
    as_float = krippendorff_alpha(counts.astype(float), "interval").value
    assert krippendorff_alpha(counts, "interval").value == pytest.approx(as_float, abs=1e-12)
