"""The statistics against krippendorff and nltk on the same data: 5 raters, 40% missing, 5 categories.

    python -m tests.bench.bench_statistics [--units 1000 100000 1000000]

All contenders take turns in one run; a figure is the median of 7 rounds, and the ratios are what counts. krippendorff
is GPL and nltk pure Python: both are only measured here. Each target is printed beside its figure.
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import krippendorff
import numpy as np
from nltk.metrics.agreement import AnnotationTask

from connector import QuestionRatings, Ratings, assess, krippendorff_alpha

ROUNDS = 7
RATERS, CATEGORIES, MISSING = 5, 5, 0.4
DISTINCT = 100_000


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--units", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    given = arguments.parse_args()
    for units in given.units:
        alphas(units)
    replicates()
    many_values()
    whole_report()
    many_raters()


def table_of(units: int, seed: int = 1) -> Any:
    """Units x raters, NaN where missing."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, CATEGORIES, (units, 1))
    other = random.integers(0, CATEGORIES, (units, RATERS))
    table = np.where(random.random((units, RATERS)) < 0.7, truth, other).astype(np.float64)
    table[random.random(table.shape) < MISSING] = np.nan
    return table


def medians(contenders: Sequence[Callable[[], Any]], rounds: int = ROUNDS, repeat: int = 1) -> list[float]:
    """Milliseconds of each contender, all taking turns in every round."""
    for contender in contenders:
        contender()
    times: list[list[float]] = [[] for _ in contenders]
    for _ in range(rounds):
        for own, contender in zip(times, contenders, strict=True):
            gc.collect()
            started = time.perf_counter()
            for _ in range(repeat):
                contender()
            own.append((time.perf_counter() - started) / repeat)
    return [float(np.median(own)) * 1e3 for own in times]


def row(name: str, took: float, ratio: float | None = None, target: str = "") -> None:
    shown = "" if ratio is None else f"{ratio:9.1f} x"
    print(f"  {name:<44} {took:10.3f} ms {shown}   {target}")


def alphas(units: int) -> None:
    table = table_of(units)
    by_rater = table.T
    # columns of their own: np.nonzero gives every other number of one array
    unit, rater = map(np.ascontiguousarray, np.nonzero(~np.isnan(table)))
    value = table[unit, rater].astype(np.int64)
    small = (unit.astype(np.int32), rater.astype(np.int8), value.astype(np.int8))

    def coded(columns: tuple[Any, Any, Any]) -> Any:
        return krippendorff_alpha(Ratings.from_codes(*columns, n_units=units, n_raters=RATERS))

    levels = ("nominal", "ordinal", "interval")
    contenders: list[Callable[[], Any]] = [
        lambda: krippendorff.alpha(by_rater, level_of_measurement="nominal"),
        lambda: krippendorff.alpha(by_rater, level_of_measurement="ordinal"),
        lambda: krippendorff.alpha(by_rater, level_of_measurement="interval"),
        *(lambda level=level: krippendorff_alpha(table, level) for level in levels),
        lambda: coded((unit, rater, value)),
        lambda: coded(small),
        lambda: float(np.fmax.reduce(table, axis=None)),
        lambda: float(np.nansum(table)),
    ]
    k_nominal, k_ordinal, k_interval, nominal, ordinal, interval, long, short, once, total = medians(
        contenders, repeat=20 if units <= 10_000 else 1
    )
    print(f"\n{units:,} units x {RATERS} raters")
    row("krippendorff, nominal", k_nominal)
    if units <= 1_000:
        records = list(zip(*(map(str, column.tolist()) for column in (rater, unit, value)), strict=True))
        row("nltk", medians([lambda: AnnotationTask(records).alpha()], 3)[0])
    least = {"nominal": 4.0, "other": 4.0} if units < 10_000 else {"nominal": 15.0, "other": 12.0}
    row("nominal, from float64", nominal, k_nominal / nominal, f"at least {least['nominal']:.0f}")
    row("ordinal, from float64", ordinal, k_ordinal / ordinal, f"at least {least['other']:.0f}")
    row("interval, from float64", interval, k_interval / interval, f"at least {least['other']:.0f}")
    long_least = "at least 30" if units >= 1_000_000 else ""
    row("nominal, from int64 codes in long form", long, k_nominal / long, long_least)
    row("nominal, from int32 and int8 codes", short, k_nominal / short, long_least)
    row("one pass over the input (np.fmax.reduce)", once)
    print(f"  nominal takes as long as {nominal / once:.1f} such passes, or {nominal / total:.2f} np.nansum")


def replicates() -> None:
    print("\nthe interval, 2,000 replicates")
    added = {}
    for units in (100_000, 1_000_000):
        table = table_of(units)

        def with_interval(table: Any = table) -> Any:
            return krippendorff_alpha(table, "nominal", 0.95)

        def without(table: Any = table) -> Any:
            return krippendorff_alpha(table, "nominal")

        more, less = medians([with_interval, without])
        added[units] = more - less
        row(f"adds at {units:,} units", more - less)
    print(f"  ratio {added[1_000_000] / added[100_000]:.2f}   at most 2")


def many_values() -> None:
    """As many distinct numbers as ratings."""
    random = np.random.default_rng(2)
    truth = random.random((DISTINCT // RATERS, 1)) + 1
    table = truth + random.normal(0, 0.1, (DISTINCT // RATERS, RATERS))
    flat = table.ravel()
    contenders: list[Callable[[], Any]] = [
        lambda: np.argsort(flat, kind="stable"),
        *(lambda level=level: krippendorff_alpha(table, level) for level in ("interval", "ordinal", "ratio")),
    ]
    sort, *ours = medians(contenders)
    print(f"\n{DISTINCT:,} distinct numbers")
    row("np.argsort(kind='stable') of them", sort)
    for level, took, most in zip(("interval", "ordinal", "ratio"), ours, (2, 10, 20), strict=True):
        row(level, took, took / sort, f"at most {most}")


def whole_report() -> None:
    table = table_of(100_000)
    by_rater = table.T

    def report() -> Any:
        return assess(Ratings.from_wide(table)).to_json()

    base, took = medians([lambda: krippendorff.alpha(by_rater, level_of_measurement="nominal"), report])
    print("\nassess with every interval and diagnosis, 100,000 units x 5 raters")
    row("krippendorff, nominal", base)
    row("assess and to_json", took, took / base, "at most 10")
    for units in (100_000, 1_000_000):
        table = table_of(units)
        tracemalloc.start()
        report()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        most = 3 * table.nbytes + 64e6
        print(f"  peak at {units:,} units: {peak / 1e6:.0f} MB   at most {most / 1e6:.0f}")


def many_raters() -> None:
    """The diagnosis of raters, leave-one-rater-out among it, where raters are many."""
    random = np.random.default_rng(3)
    units = np.repeat(np.arange(100_000), 5)
    raters = (random.integers(0, 40, 100_000)[:, None] + 40 * np.arange(5)).ravel()
    truth = random.integers(0, CATEGORIES, 100_000)[units]
    values = np.where(random.random(len(units)) < 0.7, truth, random.integers(0, CATEGORIES, len(units)))
    ratings = Ratings.from_codes(units, raters, values)
    print("\nraters left out one by one, and compared by pairs: 200 raters, 5 on each of 100,000 units")
    for level in ("nominal", "ordinal", "interval"):

        def diagnosis(level: str = level) -> Any:
            question = assess(QuestionRatings("q", "choice", ratings, level), confidence=None).questions["q"]
            assert question.diagnosis is not None
            return question.diagnosis.rater_pairs

        row(level, medians([diagnosis], 3)[0])


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
