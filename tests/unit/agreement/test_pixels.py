"""Masks by their runs of pixels against masks pixel by pixel, and outlines on a grid against their exact areas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from connector.agreement import pixels
from connector.agreement.pixels import Runs, laid_on_grids
from connector.agreement.shapes import figures_of

WIDTH, HEIGHT = 11, 7
BAND = math.sqrt(2)
"""Area of the band in which pixels can be on the wrong side, by perimeter."""


def masks() -> st.SearchStrategy[Any]:
    return st.lists(st.booleans(), min_size=WIDTH * HEIGHT, max_size=WIDTH * HEIGHT).map(
        lambda found: np.array(found).reshape(HEIGHT, WIDTH)
    )


def geometry(mask: Any) -> tuple[int, ...]:
    """Lengths of runs, counted pixel by pixel."""
    lengths, inside = [0], False
    for one in mask.ravel().tolist():
        if one != inside:
            lengths.append(0)
            inside = one
        lengths[-1] += 1
    return mask.shape[1], mask.shape[0], *lengths


def painted(runs: Runs, place: int, width: int, height: int) -> Any:
    found = np.zeros(width * height, dtype=np.bool_)
    for first, behind in zip(runs.first[runs.of == place], runs.behind[runs.of == place], strict=True):
        assert not found[first:behind].any()
        found[first:behind] = True
    return found.reshape(height, width)


@given(st.lists(masks(), min_size=1, max_size=4))
def test_runs_hold_the_pixels_of_their_masks(given_masks: list[Any]) -> None:
    runs = Runs.of_masks([geometry(one) for one in given_masks])
    assert runs.area.tolist() == [one.sum() for one in given_masks]
    edges = np.array(runs.bounds(np.full(len(given_masks), WIDTH)))
    for place, one in enumerate(given_masks):
        assert np.array_equal(painted(runs, place, WIDTH, HEIGHT), one)
        if one.any():
            rows, columns = np.nonzero(one)
            left, top, right, bottom = edges[:, place].tolist()
            assert (top, bottom) == (rows.min(), rows.max() + 1)
            # a run over the end of a row is taken to reach both sides
            assert left <= columns.min()
            assert right > columns.max()
        else:
            assert not edges[:, place].any()


@given(st.lists(masks(), min_size=2, max_size=4), st.data())
def test_what_masks_have_in_common_is_counted_by_pixel(given_masks: list[Any], data: Any) -> None:
    runs = Runs.of_masks([geometry(one) for one in given_masks])
    place = st.integers(0, len(given_masks) - 1)
    pairs = data.draw(st.lists(st.tuples(place, place), min_size=1, max_size=6))
    i, j = np.array(pairs).T
    expected = [(given_masks[a] & given_masks[b]).sum() for a, b in pairs]
    assert runs.common(i, runs, j).tolist() == expected


def test_many_masks_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    found = [random.random((HEIGHT, WIDTH)) < share for share in (0, 0.1, 0.5, 0.9, 1)]
    runs = Runs.of_masks([geometry(one) for one in found])
    i, j = np.triu_indices(len(found))
    whole = runs.common(i, runs, j).tolist()
    monkeypatch.setattr(pixels, "ROWS", 7)
    assert runs.common(i, runs, j).tolist() == whole == [(found[a] & found[b]).sum() for a, b in zip(i, j, strict=True)]


def points() -> st.SearchStrategy[list[tuple[float, float]]]:
    across, down = st.floats(-4, WIDTH + 4, width=32), st.floats(-4, HEIGHT + 4, width=32)
    # regions without extent are left out before
    return st.lists(st.tuples(across, down), min_size=3, max_size=7).filter(
        lambda corners: shapely.area(polygon(corners)[0]) > 1e-6
    )


def polygon(corners: list[tuple[float, float]]) -> Any:
    return figures_of(["polygon"], [[part for point in corners for part in point]])


def in_middles(figure: Any) -> Any:
    """Of each pixel whether its middle lies within, and whether it lies so near an edge that rounding decides."""
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH] + 0.5
    middles = shapely.points(columns, rows)
    # without the lines that are left over where an outline goes back on itself
    parts = shapely.get_parts(shapely.get_parts(figure))
    figure = shapely.multipolygons(parts[shapely.get_type_id(parts) == shapely.GeometryType.POLYGON])
    return shapely.contains(figure, middles), shapely.distance(shapely.boundary(figure), middles) < 1e-6


@given(points())
def test_pixels_whose_middle_an_outline_holds_are_its_own(corners: list[tuple[float, float]]) -> None:
    figures = polygon(corners)
    runs = laid_on_grids(figures, np.array([WIDTH]), np.array([HEIGHT]))
    held, doubtful = in_middles(figures[0])
    assert not ((painted(runs, 0, WIDTH, HEIGHT) != held) & ~doubtful).any()


@given(points(), masks())
def test_by_pixel_and_by_area_differ_by_less_than_a_band_about_the_edge(
    corners: list[tuple[float, float]], mask: Any
) -> None:
    figures = polygon(corners)
    runs = laid_on_grids(figures, np.array([WIDTH]), np.array([HEIGHT]))
    own = Runs.of_masks([geometry(mask)])
    rows, columns = np.nonzero(mask)
    squares = shapely.union_all(shapely.box(columns, rows, columns + 1, rows + 1))
    image = shapely.box(0, 0, WIDTH, HEIGHT)
    zero = np.array([0])
    band = BAND * shapely.length(figures[0]) + math.pi / 2 * shapely.get_num_geometries(figures[0])
    assert abs(runs.area[0] - shapely.area(shapely.intersection(figures[0], image))) <= band
    common = float(runs.common(zero, own, zero)[0])
    exactly = float(shapely.area(shapely.intersection(figures[0], squares)))
    assert abs(common - exactly) <= band


@pytest.mark.parametrize(("radius", "most"), [(5, 0.05), (50, 0.005), (400, 0.0005)])
def test_the_larger_an_outline_the_less_its_pixels_differ_from_its_area(radius: float, most: float) -> None:
    figure = figures_of(["ellipse"], [(500.3, 500.4, radius, radius / 2, 30.0)])
    runs = laid_on_grids(figure, np.array([1000]), np.array([1000]))
    assert float(runs.area[0]) == pytest.approx(math.pi * radius * radius / 2, rel=most)


def test_holes_and_parts_of_outlines_that_cross_themselves() -> None:
    # a square drawn twice round itself with a smaller one inside, and a bow tie of two triangles
    ring = figures_of(["polygon"], [(0, 0, 8, 0, 8, 6, 0, 6, 0, 0, 2, 2, 2, 4, 6, 4, 6, 2, 2, 2)])
    assert painted(laid_on_grids(ring, np.array([8]), np.array([6])), 0, 8, 6).sum() == 48 - 8
    # two triangles that meet in the middle; no middle of a pixel lies on their edges
    bow = figures_of(["polygon"], [(0, 0, 8, 7, 8, 0, 0, 7)])
    found = painted(laid_on_grids(bow, np.array([8]), np.array([7])), 0, 8, 7)
    rows, columns = np.mgrid[0:7, 0:8] + 0.5
    assert np.array_equal(found, abs(columns - 4) * 7 > abs(rows - 3.5) * 8)


def test_several_outlines_each_on_its_own_grid() -> None:
    figures = figures_of(
        ["polygon"] * 3, [(0, 0, 4, 0, 4, 4, 0, 4), (2, 1, 30, 1, 30, 3, 2, 3), (50, 50, 60, 50, 60, 60)]
    )
    runs = laid_on_grids(figures, np.array([4, 6, 8]), np.array([2, 9, 8]))
    assert runs.area.tolist() == [8, 8, 0]
    assert (runs.first[runs.of == 1].tolist(), runs.behind[runs.of == 1].tolist()) == ([8, 14], [12, 18])


def test_nothing_is_laid_on_a_grid_by_an_outline_between_the_middles() -> None:
    runs = laid_on_grids(figures_of(["polygon"], [(0.6, 0.6, 1.4, 0.6, 1.4, 1.4)]), np.array([4]), np.array([4]))
    assert runs.area.tolist() == [0]
    assert runs.common(np.array([0]), Runs.of_masks([(4, 4, 0, 16)]), np.array([0])).tolist() == [0]
