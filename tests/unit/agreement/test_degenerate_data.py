"""Undefined is a reason or a clear error, never NaN, a warning or a number (warnings are errors in this suite)."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from connector import (
    GateRule,
    InvalidRatings,
    QuestionRatings,
    Ratings,
    assess,
    brennan_prediger,
    cohen_kappa,
    conger_kappa,
    dawid_skene,
    decide,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    intraclass,
    krippendorff_alpha,
    paired_difference,
    scott_pi,
    units_for_half_width,
    weighted_kappa,
)
from connector.agreement import alpha
from connector.agreement.influence import Influence, _Path
from connector.agreement.ratings import Level
from connector.output import text

CASES: list[tuple[str, list[list[Any]], str]] = [
    ("nothing", [], "no_pairable_units"),
    ("no raters", [[], []], "no_pairable_units"),
    ("all missing", [[None, None], [None, None]], "no_pairable_units"),
    ("one rater", [[1], [2], [1]], "no_pairable_units"),
    ("no unit with two", [[1, None], [None, 2]], "no_pairable_units"),
    ("one category", [[1, 1], [1, 1]], "no_variation"),
    ("one pair that agrees", [[1, 1]], "no_variation"),
    ("second category in a single", [[1, 1], [1, 1], [2, None]], "no_variation"),
    ("only zeros", [[0, 0], [0, 0]], "no_variation"),
]
LEVELS = [level.value for level in Level]
VARYING: list[tuple[str, list[list[Any]], str]] = [
    ("means no further apart than error", [[3, 1, 5], [4, 5, 1], [4, 2, 3]], "icc_2k"),
    ("equal means", [[1, 2], [2, 1], [1, 2], [2, 1]], "icc_3k"),
    ("a single unit", [[1, 2]], "icc_1"),
]
MASKED: Any = np.ma.masked_array


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("data", "reason"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_alpha_is_none_with_a_reason(data: list[list[Any]], reason: str, level: str) -> None:
    found = krippendorff_alpha(data, level, 0.95)
    assert (found.value, found.low, found.high, found.reason) == (None, None, None, reason)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("data", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_the_whole_report_and_the_gate_live_with_it(data: list[list[Any]], level: str) -> None:
    report = assess([QuestionRatings("q", "any", Ratings.from_wide(data), level)])
    for rule in ("point", "confident"):
        decision = decide(report, GateRule(size=1, coverage=0, rule=rule))
        assert decision.verdict == "UNDECIDED"
        json.dumps(report.with_gate(decision).to_json(), allow_nan=False)


@pytest.mark.parametrize("data", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_sets_live_with_it(data: list[list[Any]]) -> None:
    as_sets = [[None if cell is None else (str(cell),) for cell in row] for row in data]
    report = assess([QuestionRatings("q", "choices", Ratings.from_wide(as_sets), distance="masi")])
    assert report.questions["q"].alpha.value is None
    json.dumps(report.to_json(), allow_nan=False)


def test_one_pair_that_disagrees_is_zero_without_an_interval() -> None:
    found = krippendorff_alpha([["A", "B"]], confidence=0.95)
    assert (found.value, found.interval) == (0.0, None)


@pytest.mark.parametrize("level", ["ordinal", "interval", "ratio"])
def test_text_at_a_level_it_does_not_fit(level: str) -> None:
    question = QuestionRatings("q", "choice", Ratings.from_wide([["a", "b"], ["a", "a"], ["n/a", "b"]]), level)
    report = assess([question]).questions["q"]
    assert (report.alpha.value, report.alpha.reason) == (None, "wrong_level")
    assert report.coefficients["weighted_kappa"].reason == "wrong_level"
    assert report.coefficients["percent_agreement"].value == pytest.approx(1 / 3)


@pytest.mark.parametrize("text", ["inf", "-Infinity", "nan", "1_000", "0x10", "1e999"])
def test_text_that_only_python_takes_for_a_number(text: str) -> None:
    assert krippendorff_alpha([[text, "1"], ["2", "3"]], "interval").reason == "wrong_level"


def test_negative_numbers_have_no_ratio_level() -> None:
    assert krippendorff_alpha([[-1, 1], [2, 2]], "ratio").reason == "wrong_level"
    assert krippendorff_alpha([[0, 1], [2, 2]], "ratio").value is not None


def test_plain_labels_have_no_set_distance() -> None:
    assert krippendorff_alpha([["a", "b"], ["a", "a"]], distance="masi").reason == "wrong_level"


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200, 1e300])
@pytest.mark.parametrize("level", ["interval", "ratio"])
def test_huge_and_tiny_numbers(level: str, scale: float) -> None:
    data = np.array([[1.0, 2.0], [3.0, 3.0], [5.0, 4.0]])
    assert krippendorff_alpha(data * scale, level).value == pytest.approx(krippendorff_alpha(data, level).value)


def test_far_apart_numbers_of_both_signs() -> None:
    found = krippendorff_alpha([[1.7e308, -1.7e308], [1.7e308, 1.7e308], [-1.7e308, -1.7e308]], "interval", 0.95)
    assert found.value == pytest.approx(krippendorff_alpha([[1, -1], [1, 1], [-1, -1]], "interval").value)


@pytest.mark.parametrize(
    ("level", "distance", "said"),
    [
        ("nomnal", None, "unknown level"),
        ("nominal", "levenshtein", "unknown distance"),
        ("ordinal", "masi", "have no ordinal level"),
        ("nominal", "interval", "does not belong"),
    ],
)
def test_unknown_levels_and_distances_are_refused(level: str, distance: str | None, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        krippendorff_alpha([[1, 2]], level, distance=distance)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, -0.5])
def test_a_confidence_outside_zero_to_one_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        krippendorff_alpha([[1, 2], [1, 1], [2, 2]], confidence=confidence)


def test_infinite_numbers_are_refused() -> None:
    with pytest.raises(InvalidRatings, match="infinite"):
        krippendorff_alpha([[float("inf"), 1.0]], "interval")


def test_a_million_distinct_categories() -> None:
    n = 1_000_000
    units, raters = np.repeat(np.arange(n // 2), 2), np.tile([0, 1], n // 2)
    values = np.arange(n)
    values[:10] = 0
    found = krippendorff_alpha(Ratings.from_codes(units, raters, values, categories=range(n)))
    assert found.value == pytest.approx(1 - (n - 1) * (n - 10) / (n * n - 100 - (n - 10)), abs=1e-12)


def test_many_distinct_sets_are_estimated_with_their_error() -> None:
    random = np.random.default_rng(5)
    labels = [f"l{i}" for i in range(40)]
    rows = []
    for _ in range(1100):
        own = set(random.choice(labels, 6, replace=False).tolist())
        rows.append([tuple(sorted(own)), tuple(sorted(own ^ {labels[random.integers(40)]}))])
    ratings = Ratings.from_wide(rows)
    assert len(ratings.codebook) > 2000
    found = krippendorff_alpha(ratings, distance="jaccard", confidence=0.95)
    pool = [frozenset(cell) for row in rows for cell in row]
    n = len(pool)
    expected = sum(1 - len(a & b) / len(a | b) for a in pool for b in pool) / (n * (n - 1))
    assert found.expected_error is not None
    assert 0 < found.expected_error < 1e-3
    assert found.expected == pytest.approx(expected, abs=5e-4)
    assert found.value == pytest.approx(1 - (found.observed or 0) / expected, abs=5 * found.expected_error)
    assert found.interval is not None
    assert found.interval.high - found.interval.low < 0.05


def test_ratio_of_many_distinct_numbers_by_the_fourier_sum() -> None:
    random = np.random.default_rng(6)
    data = random.gamma(0.7, 100, (700, 1)) * random.lognormal(0, 0.5, (700, 4))
    data[random.random(data.shape) < 0.02] = 0.0
    x = data[~np.isnan(data)]
    total = x[:, None] + x[None, :]
    d2 = np.divide(x[:, None] - x[None, :], total, out=np.zeros_like(total), where=total > 0) ** 2
    found = krippendorff_alpha(data, "ratio")
    assert found.expected == pytest.approx(d2.sum() / (len(x) * (len(x) - 1)), rel=1e-12)


def test_the_way_to_a_threshold_on_a_continuum_sums_only_what_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some forty evaluations, each of every rating, took most of a report's time."""
    rows = np.exp(np.random.default_rng(3).normal(size=(3_000, 2)))
    ratings = Ratings.from_wide(rows)
    summed: list[int] = []
    turns = alpha._RatioFourier.turns

    def counted(self: Any, logs: Any) -> Any:
        summed.append(len(logs))
        return turns(self, logs)

    monkeypatch.setattr(alpha._RatioFourier, "turns", counted)
    question = assess(QuestionRatings("q", "number", ratings, level="ratio"), confidence=None).questions["q"]
    diagnosis = question.diagnosis
    assert diagnosis is not None
    assert sum(summed) < 15 * ratings.n_ratings
    way = diagnosis.way_to_threshold
    assert way is not None
    monkeypatch.undo()
    path = Influence.of(alpha.alpha_statistic(question.prepared, "ratio"))
    assert path is not None
    for resolved, value in way.curve:
        fresh = _Path(path, ordered=True).alpha(resolved)
        assert value == pytest.approx(fresh, abs=1e-12)


def test_the_public_face_loads_without_numpy_and_the_statistics_without_anything_else() -> None:
    script = (
        "import sys, connector\n"
        "assert 'numpy' not in sys.modules\n"
        "connector.krippendorff_alpha, connector.assess, connector.decide\n"
        "heavy = {'requests', 'pydantic', 'scipy', 'label_studio_sdk', 'argilla', 'yaml'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "rooms = {m for m in sys.modules if m.startswith('connector.') and not m.startswith('connector.agreement')}\n"
        "assert rooms <= {'connector.errors'}, rooms\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_the_largest_numbers_give_numbers_or_reasons_in_every_part_of_the_report(level: str) -> None:
    rows = [[1e308, -1e308], [1.0, 2.0], [5.0, 5.0]]
    found = assess(QuestionRatings("q", "number", Ratings.from_wide(rows), level=level)).to_json()
    assert "NaN" not in json.dumps(found)
    assert "Infinity" not in json.dumps(found)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "not NoneType"),
        (3, "not int"),
        ("ab", "not str"),
        ([1, 2], "row 0 is not a row of cells"),
        (np.array([1, 2]), "two dimensions"),
        (MASKED([1, 2]), "two dimensions"),
        ([[1, 2], [1]], "row 1 has 1 cells"),
        ([[1j, 1]], "not complex"),
        ([[b"a", b"b"]], "not bytes"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "not date"),
        ([[10**400, 1]], "infinite"),
        (np.array([[np.inf, 1.0], [1.0, 1.0]]), "infinite"),
    ],
)
def test_what_is_no_table_is_refused_in_words(data: Any, said: str) -> None:
    with pytest.raises(InvalidRatings, match=said):
        krippendorff_alpha(data)
    with pytest.raises(InvalidRatings, match=said):
        Ratings.from_wide(data)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, object])
def test_a_masked_cell_is_missing(dtype: Any, level: str) -> None:
    cells = np.array([[1, 2, 2], [2, 2, 9], [3, 3, 3], [9, 1, 1]], dtype=dtype)
    mask = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool)
    missing = [[1, 2, None], [2, 2, None], [3, 3, 3], [None, 1, 1]]
    found = krippendorff_alpha(MASKED(cells, mask), level)
    assert found.value == pytest.approx(krippendorff_alpha(missing, level).value, abs=1e-12)


def test_pandas_tables_and_what_they_call_missing() -> None:
    pandas = pytest.importorskip("pandas")
    text = pandas.DataFrame({"ann": ["x", "y", pandas.NA, "x"], "bob": ["x", "y", "x", "y"]}, dtype="string")
    expected = krippendorff_alpha([["x", "x"], ["y", "y"], [None, "x"], ["x", "y"]]).value
    assert krippendorff_alpha(text).value == pytest.approx(expected)
    numbers = pandas.DataFrame({"ann": pandas.array([1, 2, None, 1], dtype="Int64"), "bob": [1, 2, 1, 2]})
    assert krippendorff_alpha(numbers).value == pytest.approx(expected)
    long = Ratings.from_long([1, 1, 2], ["a", "b", "a"], [pandas.NA, pandas.NaT, "x"])
    assert (long.n_missing, long.n_ratings) == (2, 1)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (([0, 0], [0, 1], [-1, 0]), "values holds a negative"),
        (([0.0, 0.0], [0, 1], [0, 0]), "units must hold integer codes"),
        (([0, 0], [0, 1], [True, False]), "values must hold integer codes"),
        (([[0, 0]], [0, 1], [0, 0]), "one dimension"),
        (([0], [0, 1], [0, 0]), "differ in length"),
        (([2**40, 2**40], [0, 1], [0, 1]), "units has code 1099511627776"),
        (([0, 0], [0, 2**40], [0, 1]), "raters has code"),
        (([0, 0], [0, 1], [2**40, 1]), "values has code"),
        ((np.array([2**64 - 1], dtype=np.uint64), [0], [0]), "negative or vast"),
    ],
)
def test_codes_that_are_none_are_refused_before_memory_is_asked_for(columns: Any, said: str) -> None:
    with pytest.raises(InvalidRatings, match=said):
        Ratings.from_codes(*columns)


def test_ids_that_cannot_be_ids() -> None:
    with pytest.raises(InvalidRatings, match="unit id must be text or a number"):
        Ratings.from_long([["u1"]], ["r1"], ["x"])
    pandas = pytest.importorskip("pandas")
    for missing in (None, float("nan"), "", np.float32("nan"), pandas.NA, pandas.NaT):
        with pytest.raises(InvalidRatings, match="rater id is missing"):
            Ratings.from_long(["u1"], [missing], ["x"])


@pytest.mark.parametrize(
    "answers",
    [
        [["a", None], ["a"]],
        [["a", float("nan")], ["a"]],
        [["a", np.float32("inf")], ["a"]],
        [["a", {"b": 1}], ["a"]],
        [[{"label": "a"}], ["a"]],
        [[b"a"], ["a"]],
        [{"x": None}, {"x": 1}],
        [{"x": {"y": 1}}, {"x": 1}],
        [[["path", None]], ["a"]],
        [[["path", ["deep", None]]], ["a"]],
        [{("x", None): 1}, {"x": 1}],
    ],
)
def test_sets_and_rankings_that_hold_what_is_no_label(answers: list[Any]) -> None:
    with pytest.raises(InvalidRatings, match="a set of labels or a ranking holds"):
        Ratings.from_wide([answers])
    with pytest.raises(InvalidRatings, match="a set of labels or a ranking holds"):
        Ratings.from_long(["u", "u"], ["r", "s"], answers)


def test_sets_of_lists_of_lists_and_of_sets_are_sets() -> None:
    nested = [[["a", ["b", "c"]]], [("a", ("b", "c"))], [frozenset({"a"})], {frozenset({"a"})}]
    assert len(Ratings.from_wide([nested]).codebook) == 2


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("level", LEVELS)
def test_a_matrix_is_a_table(level: str) -> None:
    rows = [[1, 2], [2, 2], [1, 1]]
    assert krippendorff_alpha(np.matrix(rows), level).value == krippendorff_alpha(rows, level).value
    assert Ratings.from_wide(np.matrix(rows), categories=[1, 2, 3]).wide() == rows
    assert Ratings.from_wide(np.matrix([["a", "b"], ["b", "b"]])).wide() == [["a", "b"], ["b", "b"]]


@pytest.mark.parametrize(
    "coefficient",
    [
        cohen_kappa,
        scott_pi,
        weighted_kappa,
        fleiss_kappa,
        brennan_prediger,
        gwet_ac1,
        gwet_ac2,
        conger_kappa,
        intraclass,
        lambda data: paired_difference(data, data),
        lambda data: units_for_half_width(data, 0.2),
        lambda data: dawid_skene(data).labels,
    ],
)
def test_every_coefficient_takes_a_table(coefficient: Any) -> None:
    rows = [[1, 2], [2, 2], [1, 1], [3, 3], [3, 1]] * 3
    expected = coefficient(Ratings.from_wide(rows))
    assert coefficient(rows) == coefficient(np.array(rows)) == expected
    with pytest.raises(InvalidRatings, match="a table of ratings is units x raters, not NoneType"):
        coefficient(None)


@pytest.mark.parametrize("given", [{"q": [[1, 2], [1, 1]]}, QuestionRatings("q", "choice", [[1, 2], [1, 1]])])  # type: ignore[arg-type]
def test_a_report_of_a_question_that_holds_a_table_says_what_it_needs(given: Any) -> None:
    with pytest.raises(TypeError, match=r"not list; of a table: Ratings\.from_wide"):
        assess(given)


@pytest.mark.parametrize("given", ["table.csv", None, [[1, 2], [1, 1]], np.zeros((2, 2))])
def test_a_report_of_something_else_says_what_it_needs(given: Any) -> None:
    with pytest.raises(TypeError, match=r"Ratings\.from_wide"):
        assess(given)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64])
def test_codes_of_any_width_in_any_order_count_alike(dtype: Any) -> None:
    """100 units of 120 raters: sums of codes, ratings and squares are far over what 8 bits hold."""
    random = np.random.default_rng(4)
    units = np.repeat(np.arange(100), 120)
    raters, values = np.tile(np.arange(120), 100), random.integers(0, 100, 12_000)
    order = random.permutation(12_000)
    plain = krippendorff_alpha(Ratings.from_codes(units, raters, values))
    found = krippendorff_alpha(Ratings.from_codes(*(one[order].astype(dtype) for one in (units, raters, values))))
    assert found.value == pytest.approx(plain.value, abs=1e-12)
    for level in ("ordinal", "interval", "ratio"):
        small = Ratings.from_codes(*(one[order].astype(dtype) for one in (units, raters, values)))
        wide_one = krippendorff_alpha(Ratings.from_codes(units, raters, values), level).value
        assert krippendorff_alpha(small, level).value == pytest.approx(wide_one, abs=1e-12)


@pytest.mark.parametrize(("data", "name"), [case[1:] for case in VARYING], ids=[case[0] for case in VARYING])
def test_an_icc_without_a_number_is_not_said_to_lack_variation_among_the_ratings(
    data: list[list[Any]], name: str
) -> None:
    """The ratings vary; the units' means do not, or too little for a ratio."""
    report = assess(QuestionRatings("q", "rating", Ratings.from_wide(data), level="interval"))
    found = report.questions["q"].coefficients
    assert (found[name].value, found[name].reason) == (None, "no_variation")
    assert found["krippendorff_alpha"].value is not None
    seen = " ".join(text.render(report).split())
    assert "ICC (the units vary too little in what it compares)" in seen
    assert "every rating is the same" not in seen


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"threshold": np.nan}, "threshold must lie between -1 and 1"),
        ({"threshold": 7.0}, "threshold must lie between -1 and 1"),
        ({"half_width": np.nan}, "half_width must be a positive number"),
        ({"half_width": np.inf}, "half_width must be a positive number"),
        ({"share_below": np.nan}, "share_below must lie between 0 and 1"),
        ({"confidence": np.nan}, "confidence must lie between 0 and 1"),
        ({"confidence": 95}, "confidence must lie between 0 and 1"),
        ({"confidence": 0}, "confidence must lie between 0 and 1"),
    ],
)
@pytest.mark.parametrize("data", [[["a", "b"], ["b", "b"]], [["a", "a"]], []])
def test_parameters_that_are_no_number_in_range_are_refused(
    data: list[list[Any]], given: dict[str, float], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        assess(Ratings.from_wide(data), **given)  # type: ignore[arg-type]


def test_a_look_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="looks count from 1"):
        decide(assess(Ratings.from_wide([["a", "b"]])), look=np.nan)  # type: ignore[arg-type]
