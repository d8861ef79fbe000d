"""Krippendorff's first alpha for unitizing (1995; 2004, Content Analysis, 2nd ed., 11.6), which older programs give.

For each label c, with unit lengths l, m raters, a continuum of length L and N_c units,

    D_o = sum over ordered pairs of raters of d2 / (m (m - 1) L^2),
    D_e = 2/L sum over units of [(N_c - 1)/3 (2 l^3 - 3 l^2 + l) + l^2 sum over gaps of at least l of (gap - l + 1)]
          / (m L (m L - 1) - sum over units of l (l - 1)),

and d2 the squared differences of the edges of two overlapping units, the squared length of a unit that lies in a gap of
the other rater. alpha = 1 - sum D_o / sum D_e. It is defined for a fixed number of raters and positions that are
counted; with more than two raters its authors found it to behave otherwise than expected and replaced it (`unitizing`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from connector.agreement.continua import Documents, spread
from connector.agreement.intervals import Coefficient
from connector.agreement.patterns import tally
from connector.agreement.ratings import Floats, Ints


class Unitized(NamedTuple):
    """alpha : over all labels. by_label : label -> its own; value None where nobody marked it."""

    alpha: Coefficient
    by_label: dict[str, Coefficient]


def alpha_u_2004(documents: Documents) -> Unitized | None:
    """The coefficient of documents that all have the same number of raters, else (or on a time line) None.

    Several documents are one continuum with cuts between them.
    """
    patterns, marks = documents.patterns, documents.marks
    if not marks.whole or len(np.unique(patterns.size)) != 1 or not len(marks.rows.of):
        return None
    m = int(patterns.size[0])
    length = float(patterns.weights @ documents.length)
    observed = _observed(documents) / (m * (m - 1) * length * length)
    expected = _expected(documents, m, length)
    by_label = {
        label: _coefficient(d_o, d_e)
        for label, d_o, d_e in zip(marks.labels, observed.tolist(), expected.tolist(), strict=True)
    }
    return Unitized(_coefficient(float(observed.sum()), float(expected.sum())), by_label)


def _coefficient(observed: float, expected: float) -> Coefficient:
    if expected <= 0:
        return Coefficient(None, "no_variation")
    return Coefficient(1 - observed / expected, None, observed, expected)


def _observed(documents: Documents) -> Floats:
    """(L,) the sum of d2 over ordered pairs of raters, by label."""
    patterns, marks = documents.patterns, documents.marks
    first, second = patterns.entry_pairs
    a, b = patterns.col[first], patterns.col[second]
    weight = patterns.weights[patterns.row[first]] * patterns.n[first] * patterns.n[second]
    cover, n_labels = marks.cover, len(marks.labels)
    d2 = np.zeros(n_labels)
    for part in marks.parts(a, b):
        for one, other in ((a[part], b[part]), (b[part], a[part])):
            found, times = marks.overlaps(cover, cover, n_labels, one, other), weight[part]
            alone = found.met == 0
            row, theirs, mine = found.row[alone], found.theirs, found.row[found.mine]
            # a unit in a gap stands for two ordered pairs, the unit's and the gap's
            d2 += tally(cover.code[row], 2 * cover.length[row] ** 2 * times[found.k[alone]], n_labels)
            apart = (cover.start[mine] - cover.start[theirs]) ** 2 + (cover.end[mine] - cover.end[theirs]) ** 2
            d2 += tally(cover.code[mine], apart * times[found.k[found.mine]], n_labels)
    return d2


def _expected(documents: Documents, m: int, length: float) -> Floats:
    """(L,) D_e."""
    units, times = documents.cover
    weights = times * documents.patterns.weights[units.of]
    expected = np.zeros(len(documents.marks.labels))
    for code in range(len(expected)):
        own = units.code == code
        size, n = units.length[own], weights[own]
        gaps, n_gaps = _gaps(documents, code)
        order = np.argsort(gaps)
        gaps, n_gaps = gaps[order], n_gaps[order]
        # sums over the gaps that are at least so long
        longer = np.append(np.cumsum((n_gaps * (gaps + 1))[::-1])[::-1], 0.0)
        many = np.append(np.cumsum(n_gaps[::-1])[::-1], 0)
        place = np.searchsorted(gaps, size)
        room = longer[place] - size * many[place]
        above = n @ ((n.sum() - 1) / 3 * (2 * size**3 - 3 * size**2 + size) + size**2 * room)
        expected[code] = 2 / length * above / (m * length * (m * length - 1) - n @ (size * (size - 1)))
    return expected


def _gaps(documents: Documents, code: int) -> tuple[Floats, Ints]:
    """Lengths of the gaps that raters left between units of one label, and how many raters left each."""
    patterns, cover = documents.patterns, documents.marks.cover
    own = cover.take(cover.code == code)
    bounds = np.searchsorted(own.of, np.arange(len(documents.marks.length) + 1))
    times = (bounds[1:] - bounds[:-1])[patterns.col]
    units = own.take(spread(bounds[:-1][patterns.col], times))
    entry = np.repeat(np.arange(len(times)), times)
    before = np.concatenate([[0.0], units.end[:-1]])
    before[np.flatnonzero(np.diff(entry, prepend=-1))] = 0.0
    last = np.zeros(len(times))
    last[entry] = units.end
    gaps = np.concatenate([units.start - before, documents.length[patterns.row] - last])
    raters = (patterns.n * patterns.weights[patterns.row])[np.concatenate([entry, np.arange(len(times))])]
    return gaps[gaps > 0], raters[gaps > 0]
