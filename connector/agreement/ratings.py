"""Ratings: which rater gave which value to which unit, in long form and coded."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


BLOCK = 16_384
"""Rows of a table that are read at a time, so that they stay in the processor's cache."""
CLOSE = 65_536
WHOLE = 2**53
"""From here on float64 does not hold every whole number."""
MOST_GAPS = 10_000_000
"""Codes that nothing bears, up to which codes are taken for codes and not for ids."""


class InvalidRatings(ValueError):
    """The data cannot be read as ratings; the message says where."""


class Level(StrEnum):
    """Level of measurement (Stevens 1946): which differences between two values mean something."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"
    RATIO = "ratio"

    @property
    def ordered(self) -> bool:
        """Whether the values have an order."""
        return self is not Level.NOMINAL


NOTES = {
    "maybe_turned": "The table has far more columns than rows: rows must be units and columns raters, not the reverse.",
    "mixed_types": "Some values are numbers and some are text: 1 and '1' are two categories.",
}
"""What a note on the data means."""


def maybe_turned(n_rows: int, n_columns: int) -> bool:
    """Whether a table of this shape is likelier raters x units than units x raters."""
    return n_columns >= 10 and n_columns >= 3 * n_rows > 0


def as_value(raw: Any) -> Hashable:
    """A raw answer as a hashable value, or None where it is missing (None, NaN, "").

    Numbers become float (whole ones that float64 does not hold stay as they are), a ranking {item: rank} the tuple of
    its (item, rank), sequences and sets a sorted tuple of distinct members (a set; a member that is itself a sequence
    is a path or an item's rank). Raises InvalidRatings for an infinite number, a value that cannot be compared or a set
    that holds one or a missing one.
    """
    if isinstance(raw, np.generic):
        # NumPy's long numbers are no numbers of Python's
        raw = float(raw) if isinstance(raw, np.longdouble) else raw.item()
    if raw is None or (isinstance(raw, str) and not raw):
        return None
    if isinstance(raw, str):
        return raw
    if isinstance(raw, int | float):
        return _finite(raw)
    if isinstance(raw, dict):
        raw = tuple(raw.items())
    if isinstance(raw, list | tuple | set | frozenset | np.ndarray):
        return tuple(sorted({_member(member) for member in raw}, key=_sort_key))
    if _is_pandas_missing(raw):
        return None
    raise InvalidRatings(f"a rating must be text, a number or a set of labels, not {type(raw).__name__}")


def _is_pandas_missing(raw: Any) -> bool:
    """Whether this is pandas' own missing value; this package does not import it."""
    return type(raw).__name__ in ("NAType", "NaTType")


def _member(raw: Any) -> Hashable:
    """A member of a set, or of a path or an item's rank within it, as it is; lists as tuples."""
    if isinstance(raw, np.generic):
        raw = raw.item()
    if isinstance(raw, list):
        return tuple(map(_member, raw))
    if isinstance(raw, tuple | frozenset):
        for part in raw:
            _member(part)
        try:
            hash(raw)
        except TypeError:
            return tuple(map(_member, raw))
        return raw
    if not isinstance(raw, str | int | float) or (isinstance(raw, float) and not math.isfinite(raw)):
        held = raw if raw is None or isinstance(raw, float) else type(raw).__name__
        raise InvalidRatings(f"a set of labels or a ranking holds {held}, which is neither text nor a number")
    return raw


def _finite(raw: float) -> float | None:
    try:
        number = float(raw)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise InvalidRatings("a rating is infinite")
    if isinstance(raw, int) and raw != number:
        return raw
    return None if math.isnan(number) else number


def as_ratings(data: Ratings | Any) -> Ratings:
    """The ratings of a units x raters array or nested sequence (`Ratings.from_wide`); a `Ratings` as it is."""
    return data if isinstance(data, Ratings) else Ratings.from_wide(data)


def _sort_key(value: Any) -> tuple[int, Any]:
    """Orders values of mixed types: numbers, then text, then sets (memberwise)."""
    if isinstance(value, int | float):
        return 0, value
    if isinstance(value, str):
        return 1, value
    return 2, tuple(_sort_key(member) for member in value)


def parse_number(category: Any) -> float | None:
    """The number a category stands for (text is parsed), or None."""
    if isinstance(category, int | float):
        number = float(category)
    elif isinstance(category, str) and "_" not in category:
        try:
            number = float(category)
        except ValueError:
            return None
    else:
        return None
    return number if math.isfinite(number) else None


def parse_exact(category: Any) -> float | None:
    """As `parse_number`, but an int for a whole number that float64 does not hold."""
    number = parse_number(category)
    if number is None or abs(number) < WHOLE:
        return number
    try:
        whole = int(category)
    except ValueError:
        return number
    return number if whole == number else whole


@dataclass(frozen=True, eq=False)
class Codebook:
    """The categories in the order of their codes.

    categories : distinct values; the first `n_declared` are the tool's own, in its order, the rest (or all) are what
        was seen, sorted, so that no result depends on the order of the rows.
    """

    categories: Sequence[Any]
    n_declared: int = 0

    def __len__(self) -> int:
        return len(self.categories)

    @classmethod
    def of(cls, seen: Iterable[Any], declared: Sequence[Any] | None = None) -> Codebook:
        """The codebook of values seen (already normalised) and, where the tool has them, declared categories."""
        head = tuple(dict.fromkeys(value for value in map(as_value, declared or ()) if value is not None))
        rest = set(seen).difference(head)
        try:
            # values of one form compare as they are, in the same order and far faster
            tail = sorted(rest)
        except TypeError:
            tail = sorted(rest, key=_sort_key)
        return cls(head + tuple(tail), len(head))

    @cached_property
    def numbers(self) -> Floats:
        """(V,) the number of each category, NaN where it is not one. Internal: never shown."""
        if set(map(type, self.categories)) == {float}:
            numbers = np.array(self.categories, dtype=np.float64)
            return np.where(np.isfinite(numbers), numbers, math.nan)
        parsed = (parse_number(category) for category in self.categories)
        return np.array([math.nan if number is None else number for number in parsed], dtype=np.float64)

    @cached_property
    def exact(self) -> list[float]:
        """(V,) as `numbers`, but an int for each whole number that float64 does not hold."""
        exact: list[float] = self.numbers.tolist()
        for code in np.flatnonzero(np.abs(self.numbers) >= WHOLE).tolist():
            found = parse_exact(self.categories[code])
            exact[code] = math.nan if found is None else found
        return exact

    @cached_property
    def rounded(self) -> bool:
        """Whether `numbers` are not all as given, because float64 does not hold them."""
        return bool((np.abs(self.numbers) >= WHOLE).any()) and int in map(type, self.exact)

    @cached_property
    def line(self) -> Floats:
        """(V,) the numbers for whatever looks at their differences alone: counted from the smallest where they are
        `rounded`, so that no difference is lost."""
        if not self.rounded:
            return self.numbers
        low = min(one for one in self.exact if isinstance(one, int))
        return np.array([one if math.isnan(one) else float(Fraction(one) - low) for one in self.exact])


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings in long form: rating i says that rater `raters[i]` gave unit `units[i]` the value `values[i]`.

    units, raters, values : (n,) integer codes into `unit_ids`, `rater_ids` and `codebook.categories`, of any integer
        type.
    unit_ids : every unit known, those without a rating included.
    n_repeats : how many ratings were replaced by a later one of the same rater on the same unit.
    n_missing : how many rows or cells held no value (None, NaN, "").
    maybe_turned : the table that these came from has far more columns than rows, as raters x units would.
    """

    units: Codes
    raters: Codes
    values: Codes
    unit_ids: Sequence[Any]
    rater_ids: Sequence[Any]
    codebook: Codebook = field(default_factory=lambda: Codebook(()))
    n_repeats: int = 0
    n_missing: int = 0
    maybe_turned: bool = False

    @classmethod
    def from_long(
        cls,
        units: Iterable[Any],
        raters: Iterable[Any],
        values: Iterable[Any],
        *,
        categories: Sequence[Any] | None = None,
        unit_ids: Iterable[Any] = (),
    ) -> Ratings:
        """Ratings from three columns of equal length.

        A missing value (None, NaN, "") is no rating, but its unit is known. Of several ratings of one rater on one
        unit the last wins; the others are counted in `n_repeats`. `categories` are the declared ones in their order;
        `unit_ids` names units that may have no row. Raises InvalidRatings for columns of unequal length, a missing
        unit or rater id, or an infinite value.

        >>> ratings = Ratings.from_long(["u1", "u1", "u2"], ["ann", "bob", "ann"], ["yes", "no", ""])
        >>> ratings.wide(), ratings.n_missing
        ([['yes', 'no'], [None, None]], 1)
        """
        unit_codes, known_units = _code_ids(units, "unit", unit_ids)
        rater_codes, known_raters = _code_ids(raters, "rater")
        value_codes, seen = _code_raw(values)
        if not len(unit_codes) == len(rater_codes) == len(value_codes):
            raise InvalidRatings(
                f"units, raters and values differ in length: {len(unit_codes)}, {len(rater_codes)}, {len(value_codes)}"
            )
        normal = [as_value(raw) for raw in seen]
        book = Codebook.of((value for value in normal if value is not None), categories)
        code_of = {category: code for code, category in enumerate(book.categories)}
        recode = np.array([-1 if value is None else code_of[value] for value in normal], dtype=np.int64)
        value_codes = recode[value_codes] if len(seen) else value_codes
        kept = np.flatnonzero(value_codes >= 0)
        missing = len(value_codes) - len(kept)
        kept, repeats = _last_of_each(kept, unit_codes, rater_codes, len(known_raters))
        return cls(
            unit_codes[kept],
            rater_codes[kept],
            value_codes[kept],
            known_units,
            known_raters,
            book,
            n_repeats=repeats,
            n_missing=missing,
        )

    @classmethod
    def from_codes(
        cls,
        units: ArrayLike,
        raters: ArrayLike,
        values: ArrayLike,
        *,
        n_units: int | None = None,
        n_raters: int | None = None,
        unit_ids: Sequence[Any] | None = None,
        rater_ids: Sequence[Any] | None = None,
        categories: Sequence[Any] | None = None,
        n_declared: int | None = None,
    ) -> Ratings:
        """Ratings from three coded columns (integers from 0), without a copy.

        `categories[c]` is the value of code c (the codes themselves, as numbers, unless given); `n_declared` says how
        many of them, from the first, the tool declares (all when `categories` is given). Equal categories are one (1
        and 1.0, say), and a rating whose category is None, NaN or "" is missing; both cost a copy. Repeats are the
        caller's matter. Raises InvalidRatings for codes out of range, columns of unequal length or a category that is
        infinite.
        """
        (unit_codes, last_unit), (rater_codes, last_rater), (value_codes, last_value) = (
            _checked_codes(column, name) for column, name in ((units, "units"), (raters, "raters"), (values, "values"))
        )
        if not len(unit_codes) == len(rater_codes) == len(value_codes):
            raise InvalidRatings(
                f"units, raters and values differ in length: {len(unit_codes)}, {len(rater_codes)}, {len(value_codes)}"
            )
        most = max(MOST_GAPS, 100 * len(value_codes))
        known = (n_units or unit_ids, n_raters or rater_ids, categories)
        for name, last, of in zip(
            ("units", "raters", "values"), (last_unit, last_rater, last_value), known, strict=True
        ):
            if last >= most and of is None:
                raise InvalidRatings(f"{name} has code {last} of {len(value_codes)}: codes count from 0; see from_long")
        ids_u = _ids_for(last_unit, unit_ids, n_units, "units")
        ids_r = _ids_for(last_rater, rater_ids, n_raters, "raters")
        if categories is None:
            book = Codebook(tuple(float(code) for code in range(last_value + 1)))
            return cls(unit_codes, rater_codes, value_codes, ids_u, ids_r, book)
        if len(categories) <= last_value:
            raise InvalidRatings(f"values has code {last_value} but {len(categories)} categories")
        book, recode = _distinct_categories(categories, len(categories) if n_declared is None else n_declared)
        if recode is None:
            return cls(unit_codes, rater_codes, value_codes, ids_u, ids_r, book)
        value_codes = recode[value_codes]
        kept = np.flatnonzero(value_codes >= 0)
        missing = len(value_codes) - len(kept)
        return cls(unit_codes[kept], rater_codes[kept], value_codes[kept], ids_u, ids_r, book, n_missing=missing)

    @classmethod
    def from_wide(
        cls,
        table: Any,
        *,
        unit_ids: Sequence[Any] | None = None,
        rater_ids: Sequence[Any] | None = None,
        categories: Sequence[Any] | None = None,
    ) -> Ratings:
        """Ratings from a units x raters array or nested sequence with None, NaN or "" where a rating is missing.

        In an array of text `nan` in any case is missing too: it is what NumPy makes of NaN beside text.
        Raises InvalidRatings for rows of unequal length, ids that do not fit the shape, or an infinite value.
        """
        if hasattr(table, "to_numpy"):
            table = table.to_numpy()
        if isinstance(table, np.ma.MaskedArray):
            _two_dimensions(table)
            table = table.tolist()  # None where masked
        if isinstance(table, str) or not isinstance(table, Iterable):
            raise InvalidRatings(f"a table of ratings is units x raters, not {type(table).__name__}")
        if isinstance(table, np.ndarray):
            _two_dimensions(table)
            table = np.asarray(table)  # a row of a matrix is a matrix
        if isinstance(table, np.ndarray) and table.dtype.kind in "UT":
            table = [[None if _is_nan_text(cell) else cell for cell in row] for row in table.tolist()]
        if isinstance(table, np.ndarray) and table.dtype.kind in "fiub" and categories is None:
            return cls._from_numeric_wide(table, unit_ids, rater_ids)
        rows = [_cells(row, place) for place, row in enumerate(table)]
        width = len(rows[0]) if rows else 0
        for place, row in enumerate(rows):
            if len(row) != width:
                raise InvalidRatings(f"row {place} has {len(row)} cells where the first has {width}")
        ids_u = _ids_of_axis(unit_ids, len(rows), "unit_ids")
        ids_r = _ids_of_axis(rater_ids, width, "rater_ids") if rows else (rater_ids or ())
        cells = [as_value(cell) for row in rows for cell in row]
        book = Codebook.of((value for value in cells if value is not None), categories)
        code_of = {category: code for code, category in enumerate(book.categories)}
        flat = np.array([-1 if value is None else code_of[value] for value in cells], dtype=np.int64)
        return cls._from_code_table(flat.reshape(len(rows), width), ids_u, ids_r, book)

    @classmethod
    def _from_numeric_wide(
        cls, table: NDArray[Any], unit_ids: Sequence[Any] | None, rater_ids: Sequence[Any] | None
    ) -> Ratings:
        ids_u = _ids_of_axis(unit_ids, table.shape[0], "unit_ids")
        ids_r = _ids_of_axis(rater_ids, table.shape[1], "rater_ids")
        values, unit_codes, rater_codes, codes = _coded_cells(table)
        book = Codebook(_as_categories(values))
        return cls(
            unit_codes,
            rater_codes,
            codes,
            ids_u,
            ids_r,
            book,
            n_missing=table.size - len(codes),
            maybe_turned=maybe_turned(*table.shape),
        )

    @classmethod
    def _from_code_table(cls, codes: Ints, ids_u: Sequence[Any], ids_r: Sequence[Any], book: Codebook) -> Ratings:
        unit_codes, rater_codes = np.nonzero(codes >= 0)
        return cls(
            unit_codes,
            rater_codes,
            codes[unit_codes, rater_codes],
            ids_u,
            ids_r,
            book,
            n_missing=codes.size - len(unit_codes),
            maybe_turned=maybe_turned(*codes.shape),
        )

    @property
    def n_ratings(self) -> int:
        """Ratings counted."""
        return len(self.values)

    @cached_property
    def n_raters(self) -> int:
        """Raters with at least one rating."""
        return int(np.count_nonzero(np.bincount(self.raters, minlength=1))) if self.n_ratings else 0

    @cached_property
    def per_unit(self) -> Ints:
        """(N,) ratings of every known unit."""
        return np.bincount(self.units, minlength=len(self.unit_ids))

    @cached_property
    def value_counts(self) -> Ints:
        """(V,) ratings of every category, singletons included."""
        return np.bincount(self.values, minlength=len(self.codebook))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Codes of `NOTES`: what in the data looks like a mistake."""
        found = {"maybe_turned": self.maybe_turned, "mixed_types": self._mixed}
        return tuple(code for code, there in found.items() if there)

    @property
    def _mixed(self) -> bool:
        """Whether both text and numbers were given as values."""
        categories = self.codebook.categories
        # tens of thousands of distinct values are no labels that somebody typed in two ways; and what nobody can have
        # given need not be looked for among the ratings
        if len(categories) > 10_000 or not _both_kinds(categories):
            return False
        return _both_kinds([categories[code] for code in np.flatnonzero(self.value_counts)])

    def wide(self) -> list[list[Any]]:
        """The units x raters table with None where a rating is missing."""
        table: list[list[Any]] = [[None] * len(self.rater_ids) for _ in range(len(self.unit_ids))]
        categories = self.codebook.categories
        for unit, rater, value in zip(self.units.tolist(), self.raters.tolist(), self.values.tolist(), strict=True):
            table[unit][rater] = categories[value]
        return table

    def restrict(self, unit_ids: Iterable[Any]) -> Ratings:
        """The ratings of these units alone, in the order given; ids that are not known are passed over."""
        place = {unit: code for code, unit in enumerate(self.unit_ids)}
        chosen = [unit for unit in dict.fromkeys(unit_ids) if unit in place]
        new_code = np.full(len(self.unit_ids), -1, dtype=np.int64)
        new_code[[place[unit] for unit in chosen]] = np.arange(len(chosen))
        units = new_code[self.units] if self.n_ratings else np.zeros(0, dtype=np.int64)
        kept = units >= 0
        return Ratings(units[kept], self.raters[kept], self.values[kept], chosen, self.rater_ids, self.codebook)

    def without(self, rater_ids: Iterable[Any]) -> Ratings:
        """The ratings of all other raters, about the same units."""
        left_out = set(rater_ids)
        kept = np.array([rater not in left_out for rater in self.rater_ids], dtype=np.bool_)[self.raters]
        return replace(self, units=self.units[kept], raters=self.raters[kept], values=self.values[kept])

    def declare(self, categories: Sequence[Any]) -> Ratings:
        """The same ratings with declared categories first in the codebook, in the order given, used or not."""
        old = self.codebook.categories
        used = np.flatnonzero(self.value_counts)
        book = Codebook.of((old[code] for code in used), categories)
        code_of = {category: code for code, category in enumerate(book.categories)}
        recode = np.zeros(len(old), dtype=np.int64)
        recode[used] = [code_of[old[code]] for code in used]
        return replace(self, values=recode[self.values], codebook=book)

    def as_numbers(self) -> Ratings | None:
        """The same ratings with ascending numbers as categories, equal ones merged; None where a value is none."""
        numbers = self.codebook.numbers
        used = np.flatnonzero(self.value_counts)
        if np.isnan(numbers[used]).any():
            return None
        if self.codebook.rounded:
            return self._by_exact_number(used.tolist())
        distinct, position = np.unique(numbers[used], return_inverse=True)
        if len(used) == len(numbers) == len(distinct) and np.array_equal(distinct, numbers):
            return self
        recode = np.zeros(len(numbers), dtype=np.int64)
        recode[used] = position
        return replace(self, values=recode[self.values], codebook=Codebook(tuple(distinct.tolist())))

    def _by_exact_number(self, used: Sequence[int]) -> Ratings:
        exact = self.codebook.exact
        distinct = sorted({exact[code] for code in used})
        place = {number: code for code, number in enumerate(distinct)}
        recode = np.zeros(len(exact), dtype=np.int64)
        recode[used] = [place[exact[code]] for code in used]
        return replace(self, values=recode[self.values], codebook=Codebook(tuple(distinct)))

    def in_order(self) -> Ratings | None:
        """The same ratings with codes that ascend with the order of the categories, or None where there is no order.

        The declared order where every value seen is declared, else the order of the numbers.
        """
        if self.codebook.n_declared and not self.value_counts[self.codebook.n_declared :].any():
            return self
        return self.as_numbers()


def _both_kinds(values: Iterable[Any]) -> bool:
    return len({isinstance(one, str) for one in values if isinstance(one, str | int | float)}) > 1


def _code_ids(ids: Iterable[Any], what: str, known: Iterable[Any] = ()) -> tuple[Ints, list[Any]]:
    code_of: dict[Any, int] = {one: code for code, one in enumerate(dict.fromkeys(known))}
    if isinstance(ids, np.ndarray):
        ids = ids.tolist()
    try:
        codes = [code_of.setdefault(one, len(code_of)) for one in ids]
    except TypeError as error:
        raise InvalidRatings(f"a {what} id must be text or a number: {error}") from None
    if any(map(_is_missing_id, code_of)):
        raise InvalidRatings(f"a {what} id is missing")
    return np.array(codes, dtype=np.int64), list(code_of)


def _is_missing_id(one: Any) -> bool:
    if isinstance(one, str):
        return not one
    return one is None or _is_pandas_missing(one) or (isinstance(one, float | np.floating) and math.isnan(one))


def _code_raw(values: Iterable[Any]) -> tuple[Ints, list[Any]]:
    """Codes of raw values by equality, and the distinct raw values (1 and 1.0 are one, 1 and "1" are two)."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    code_of: dict[Any, int] = {}
    codes = [code_of.setdefault(_hashable(value), len(code_of)) for value in values]
    return np.array(codes, dtype=np.int64), list(code_of)


def _hashable(value: Any) -> Any:
    return as_value(value) if isinstance(value, list | set | tuple | dict | np.ndarray) else value


def _last_of_each(kept: Ints, units: Ints, raters: Ints, n_raters: int) -> tuple[Ints, int]:
    """The last row of every (unit, rater), in row order, and how many rows that drops."""
    keys = units[kept] * max(n_raters, 1) + raters[kept]
    _, first_from_end = np.unique(keys[::-1], return_index=True)
    if len(first_from_end) == len(kept):
        return kept, 0
    return np.sort(kept[len(kept) - 1 - first_from_end]), len(kept) - len(first_from_end)


def _coded_cells(table: NDArray[Any]) -> tuple[NDArray[Any], Codes, Codes, Codes]:
    """The distinct numbers of an array, ascending, and its cells but NaN in long form: units, raters, codes."""
    blocks = range(0, len(table), BLOCK)
    present = [np.count_nonzero(~np.isnan(table[start : start + BLOCK])) for start in blocks]
    units, raters = (np.empty(sum(present), dtype=np.int32) for _ in range(2))
    numbers = np.empty(sum(present), dtype=np.float64 if table.dtype.kind == "f" else table.dtype)
    last = 0
    for start, n in zip(blocks, present, strict=True):
        block = table[start : start + BLOCK]
        row, rater = np.nonzero(~np.isnan(block))
        cells = slice(last, last + n)
        units[cells], raters[cells], numbers[cells] = row + start, rater, block[row, rater]
        last += n
    if numbers.dtype.kind == "f" and np.isinf(numbers).any():
        raise InvalidRatings("a rating is infinite")
    values, codes = _coded_whole(numbers) or np.unique(numbers, return_inverse=True)
    return values, units, raters, codes.astype(np.int32, copy=False)


def _as_categories(values: NDArray[Any]) -> tuple[Any, ...]:
    """Ascending numbers as categories."""
    if values.dtype.kind in "iu" and len(values) and max(-int(values[0]), int(values[-1])) >= WHOLE:
        return tuple(map(as_value, values.tolist()))
    return tuple(values.astype(np.float64).tolist())


def _coded_whole(numbers: NDArray[Any]) -> tuple[NDArray[Any], Codes] | None:
    """Distinct values and codes of whole numbers that lie close together, without a sort; None for others."""
    if not len(numbers) or numbers.dtype.kind == "b":
        return None
    low, high = float(numbers.min()), float(numbers.max())
    if not max(abs(low), abs(high)) < CLOSE**2 or high - low >= CLOSE:
        return None
    codes = np.empty(len(numbers), dtype=np.int32)
    for start in range(0, len(numbers), BLOCK):
        block = numbers[start : start + BLOCK].astype(np.float64)
        if not np.array_equal(np.rint(block), block):
            return None
        codes[start : start + BLOCK] = block - low
    used = np.flatnonzero(np.bincount(codes))
    place = np.zeros(int(used[-1]) + 1, dtype=np.int32)
    place[used] = np.arange(len(used))
    return used + low, place[codes]


def _is_nan_text(cell: Any) -> bool:
    return isinstance(cell, str) and cell.lower() == "nan"


def _two_dimensions(table: NDArray[Any]) -> None:
    if table.ndim != 2:
        raise InvalidRatings(f"a table of ratings has two dimensions (units x raters), not {table.ndim}")


def _cells(row: Any, place: int) -> list[Any]:
    if isinstance(row, str) or not isinstance(row, Iterable):
        raise InvalidRatings(f"row {place} is not a row of cells, one for each rater")
    return list(row)


def _ids_of_axis(ids: Sequence[Any] | None, length: int, name: str) -> Sequence[Any]:
    if ids is None:
        return range(length)
    if len(ids) != length:
        raise InvalidRatings(f"{len(ids)} {name} do not fit the table's shape ({length})")
    return _distinct(ids, name)


def _distinct(ids: Sequence[Any], name: str) -> Sequence[Any]:
    if len(set(ids)) != len(ids):
        raise InvalidRatings(f"{name} holds an id twice")
    return ids


def _distinct_categories(categories: Sequence[Any], n_declared: int) -> tuple[Codebook, Ints | None]:
    """The codebook of categories by code, and the new code of each (-1: missing) where it differs from the old."""
    values = [as_value(raw) for raw in categories]
    distinct = tuple(value for value in dict.fromkeys(values) if value is not None)
    if len(distinct) == len(values):
        return Codebook(distinct, n_declared), None
    place = {value: code for code, value in enumerate(distinct)}
    recode = np.array([place.get(value, -1) for value in values], dtype=np.int64)
    return Codebook(distinct, len(set(values[:n_declared]) - {None})), recode


def _checked_codes(column: ArrayLike, name: str) -> tuple[Codes, int]:
    """The column as an array, and its largest code (-1 where it is empty)."""
    codes = np.asarray(column)
    if codes.ndim != 1:
        raise InvalidRatings(f"{name} must have one dimension, not {codes.ndim}")
    if codes.size == 0:
        return np.zeros(0, dtype=np.int64), -1
    if codes.dtype.kind not in "iu":
        raise InvalidRatings(f"{name} must hold integer codes, not {codes.dtype}")
    # read as unsigned, a negative code is larger than any other: both limits are checked in one pass
    largest = int(codes.view(codes.dtype.str.replace("i", "u")).max())
    if largest > min(np.iinfo(codes.dtype).max, np.iinfo(np.int64).max):
        raise InvalidRatings(f"{name} holds a negative or vast code; leave missing ratings out")
    # bincount and fancy indexing refuse uint64; all smaller types are used as they come
    return (codes.astype(np.int64) if codes.dtype == np.uint64 else codes), largest


def _ids_for(last: int, ids: Sequence[Any] | None, n: int | None, name: str) -> Sequence[Any]:
    known: Sequence[Any] = range(last + 1 if n is None else n) if ids is None else _distinct(ids, f"{name[:-1]}_ids")
    if len(known) <= last:
        raise InvalidRatings(f"{name} has code {last} but only {len(known)} are known")
    return known
