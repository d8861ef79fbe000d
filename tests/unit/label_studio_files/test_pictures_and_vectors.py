"""Masks stored as pictures, vectors and tracked vectors as Label Studio stores them, and hostile ones."""

from __future__ import annotations

import base64
import io
import itertools
import math
import random
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import shapely
from PIL import Image

from connector.agreement.shapes import figures_of
from connector.annotations.collect import QuestionTable
from connector.errors import InstallExtra
from connector.tools.label_studio import pictures
from connector.tools.label_studio.regions import REGION_TYPES
from connector.tools.label_studio.vectors import Vector
from tests.unit.label_studio_files.tasks import values
from tests.unit.label_studio_files.test_regions import agreement, assessed, draw, packed, read, value

LABELS = '<Label value="Car"/><Label value="Tree" alias="Plant"/>'
IMAGE = '<Image name="image" value="$image"/>'
MASKS = f'<View><BitmaskLabels name="q" toName="image">{LABELS}</BitmaskLabels>{IMAGE}</View>'
VECTORS = f'<View><VectorLabels name="q" toName="image" closable="true">{LABELS}</VectorLabels>{IMAGE}</View>'
WIDTH, HEIGHT = 200, 100


def png(picture: Any, **more: Any) -> str:
    held = io.BytesIO()
    picture.save(held, "PNG", **more)
    return "data:image/png;base64," + base64.b64encode(held.getvalue()).decode()


def drawn(inside: Any) -> str:
    """Black on a transparent ground, as the tool draws."""
    pixels = np.zeros((*inside.shape, 4), dtype=np.uint8)
    pixels[inside, 3] = 255
    return png(Image.fromarray(pixels))


def bitmask(url: Any, kind: str = "bitmasklabels", labels: list[str] | None = None, **more: Any) -> dict[str, Any]:
    return draw(kind, ["Car"] if labels is None else labels, imageDataURL=url) | more


def upper_left(height: int = 40, width: int = 60, *, of: tuple[int, int] = (HEIGHT, WIDTH)) -> Any:
    inside = np.zeros(of, dtype=np.bool_)
    inside[:height, :width] = True
    return inside


def pixels_of(found: QuestionTable) -> Any:
    """The mask of the only region of the only answer."""
    (((shape, (width, height, *runs), _, _),),) = values(found).values()
    assert shape == "brush"
    return np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(height, width)


# Pictures


@pytest.mark.parametrize("config", [MASKS, None])
def test_what_is_not_transparent_is_marked(config: str | None) -> None:
    inside = np.random.default_rng(1).random((HEIGHT, WIDTH)) < 0.3
    found = read(config, [bitmask(drawn(inside), labels=["Plant"])])
    assert np.array_equal(pixels_of(found), inside)
    assert {labels for answer in values(found).values() for _, _, labels, _ in answer} == {
        ("Tree" if config else "Plant",)
    }
    assert found.mended == {}


def test_what_a_brush_paints_over_its_edge_belongs_to_it_as_in_the_tool() -> None:
    pixels = np.zeros((HEIGHT, WIDTH, 4), dtype=np.uint8)
    pixels[10, 10:13, 3] = (1, 128, 255)
    found = pixels_of(read(None, [bitmask(png(Image.fromarray(pixels)))]))
    assert np.argwhere(found).tolist() == [[10, 10], [10, 11], [10, 12]]


def forms() -> dict[str, tuple[Any, bool]]:
    """Pictures of one mask in every form that can tell transparency, and in some that cannot."""
    inside = upper_left()
    alpha = np.where(inside, 255, 0).astype(np.uint8)
    grey = np.zeros_like(alpha)
    palette = Image.fromarray(np.where(inside, 1, 0).astype(np.uint8)).convert("P")
    palette.putpalette([255, 255, 255, 0, 0, 0])
    white_is_clear = Image.fromarray(np.where(inside, 0, 255).astype(np.uint8))
    return {
        "RGBA": (png(Image.fromarray(np.dstack([grey, grey, grey, alpha]))), True),
        "grey and alpha": (png(Image.fromarray(np.dstack([grey, alpha]))), True),
        "palette": (png(palette, transparency=0), True),
        "palette with several alphas": (png(palette, transparency=bytes([0, 128])), True),
        "grey with a clear shade": (png(white_is_clear, transparency=255), True),
        "RGB with a clear colour": (png(white_is_clear.convert("RGB"), transparency=(255, 255, 255)), True),
        "one bit with a clear shade": (png(white_is_clear.convert("1"), transparency=255), True),
        "grey": (png(white_is_clear), False),
        "RGB": (png(white_is_clear.convert("RGB")), False),
        "palette without a clear one": (png(palette), False),
    }


@pytest.mark.parametrize("form", list(forms()))
def test_every_form_of_picture_is_read_as_the_tool_shows_it(form: str) -> None:
    url, transparent = forms()[form]
    found = read(None, [bitmask(url)])
    assert np.array_equal(pixels_of(found), upper_left() if transparent else np.ones((HEIGHT, WIDTH)))
    assert found.mended == ({} if transparent else {"opaque": 1})


@pytest.mark.parametrize("size", [(50, 100), (200, 400), (1, 1), (33, 70)])
def test_a_picture_of_another_size_is_stretched_over_its_image(size: tuple[int, int]) -> None:
    inside = np.random.default_rng(2).random(size) < 0.5
    inside[0, 0] = True
    found = read(None, [bitmask(drawn(inside))])
    expected = [[inside[y * size[0] // HEIGHT, x * size[1] // WIDTH] for x in range(WIDTH)] for y in range(HEIGHT)]
    assert pixels_of(found).tolist() == expected
    assert found.mended == {"scaled": 1}


def test_where_no_region_tells_the_size_of_the_image_its_picture_does() -> None:
    bare = bitmask(drawn(upper_left()))
    del bare["original_width"]
    box = draw("rectanglelabels", ["Car"], x=0, y=0, width=30, height=40, rotation=0)
    del box["original_width"]
    found = read(None, [bare])
    assert (pixels_of(found).shape, found.mended) == ((HEIGHT, WIDTH), {})
    # the box is in percent of the same image, whichever of the raters drew it
    both = _together(bare, box)
    assert ("rectangle", (0.0, 0.0, 60.0, 40.0, 0.0), ("Car",), 0) in values(both)["1", "12"]


def test_a_picture_agrees_with_the_brush_and_the_outline_of_the_same_place() -> None:
    inside = upper_left()
    brush = draw("brushlabels", ["Car"], format="rle", rle=packed(inside))
    wand = draw("magicwand", None, format="rle", rle=packed(inside), names=["Car"])
    box = draw("rectanglelabels", ["Car"], x=0, y=0, width=30, height=40, rotation=0)
    corners = [[0, 0], [30, 0], [30, 40], [0, 40]]
    polygon = draw("polygonlabels", ["Car"], points=corners, closed=True)
    vector = draw("vectorlabels", ["Car"], vertices=[{"x": x, "y": y} for x, y in corners], closed=True)
    for one, other in itertools.combinations([bitmask(drawn(inside)), brush, wand, box, polygon, vector], 2):
        found = assessed(_together(one, other))
        assert (found.units["1"].agreement, found.coefficients["mean_iou"].value) == (1, 1)


def _together(one: dict[str, Any], other: dict[str, Any]) -> QuestionTable:
    """Two shapes under the labels of one image, which `Labels` beside several tools gives them."""
    tools = "".join(f'<{name} name="{name}" toName="image"/>' for name in ("Brush", "Bitmask", "Vector", "Polygon"))
    config = f'<View><Labels name="q" toName="image">{LABELS}</Labels>{tools}{IMAGE}</View>'
    regions = []
    for region in (one, other):
        held = dict(region["value"])
        names = held.pop(region["type"], None) or held.pop("labels")
        regions.append(region | {"type": "labels", "value": {**held, "labels": names}})
    return read(config, *([region] for region in regions))


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def raw_png(width: int, height: int, data: bytes, *, before: bytes = b"") -> str:
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    whole = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(whole).decode()


def jpeg() -> str:
    held = io.BytesIO()
    Image.new("RGB", (WIDTH, HEIGHT)).save(held, "JPEG")
    return base64.b64encode(held.getvalue()).decode()


SOUND = drawn(upper_left())
HOSTILE: dict[str, Any] = {
    "nothing": None,
    "a number": 7,
    "a list": [SOUND],
    "no data": "",
    "an address": "https://host/mask.png",
    "a file": "file:///etc/passwd",
    "no picture": "data:text/html;base64,PGI+",
    "an svg": "data:image/svg+xml;base64,PHN2Zy8+",
    "no base64": "data:image/png;base64,%%%%",
    "blanks in it": SOUND[:60] + "\n" + SOUND[60:],
    "signs beyond ascii": SOUND[:80] + "\u00e9" + SOUND[80:],
    "the header alone": SOUND[:64],
    "cut short": SOUND[: len(SOUND) // 2 // 4 * 4],
    "a jpeg that says it is a png": f"data:image/png;base64,{jpeg()}",
    "a jpeg": f"data:image/jpeg;base64,{jpeg()}",
    "no pixels wide": raw_png(0, 10, zlib.compress(b"")),
    "too large": raw_png(2**16, 2**16, zlib.compress(b"\0" * 100)),
    "as large as can be told": raw_png(2**31 - 1, 2**31 - 1, b""),
    "beyond what can be told": raw_png(2**32 - 1, 2**32 - 1, b""),
    "fewer pixels than it says": raw_png(WIDTH, HEIGHT, zlib.compress(b"\0" * 1000)),
    "no packed data": raw_png(WIDTH, HEIGHT, b"not packed"),
    "text that unpacks without end": raw_png(
        WIDTH, HEIGHT, zlib.compress(b"\0" * 1000), before=chunk(b"zTXt", b"a\0\0" + zlib.compress(b" " * 10**8))
    ),
}


@pytest.mark.parametrize("hostile", list(HOSTILE))
def test_a_picture_that_cannot_be_read_is_left_out_and_counted(hostile: str) -> None:
    found = read(None, [bitmask(HOSTILE[hostile])])
    assert (values(found), found.mended) == ({}, {"invalid": 1})


def test_broken_pictures_never_break_more_than_themselves() -> None:
    rng = random.Random(5)
    whole = base64.b64decode(SOUND.partition(",")[2])
    for _ in range(300):
        broken = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        url = "data:image/png;base64," + base64.b64encode(bytes(broken)).decode()
        found = pictures.marked(url)
        assert found is None or found[0].shape == pictures.size_of(url)[::-1]  # type: ignore[index]


def test_a_huge_picture_is_refused_by_its_header_before_any_of_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    def unpacked(*_: Any, **__: Any) -> None:
        raise AssertionError("unpacked")

    monkeypatch.setattr(Image, "open", unpacked)
    side = math.isqrt(pictures.MOST_PIXELS)
    assert pictures.marked(raw_png(side, side + 1, b"")) is None
    with pytest.raises(AssertionError, match="unpacked"):
        pictures.marked(raw_png(side, side, b""))


def test_a_picture_stretched_beyond_all_bounds_is_left_out() -> None:
    mask = bitmask(SOUND) | {"original_width": 10**9, "original_height": 10**9}
    assert read(None, [mask]).mended == {"invalid": 1}


def test_without_the_library_that_reads_pictures_people_are_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(InstallExtra, match="label-studio"):
        pictures.marked(SOUND)


def test_an_empty_picture_is_left_out() -> None:
    assert read(None, [bitmask(drawn(upper_left(0, 0)))]).mended == {"flat": 1}


# Vectors


def vertices(*points: Any, closed: bool = False, links: Sequence[Any] | None = None) -> list[dict[str, Any]]:
    """Points p0, p1, ... as the tool names them, each going on from the one before or from those of `links`."""
    found = []
    for place, (x, y, *handles) in enumerate(points):
        before = links[place] if links else f"p{place - 1}" if place else f"p{len(points) - 1}" if closed else None
        one = {"id": f"p{place}", "x": x, "y": y, "prevPointId": before, "isBezier": bool(handles)}
        for name, handle in zip(("controlPoint1", "controlPoint2"), handles, strict=False):
            one[name] = None if handle is None else {"x": handle[0], "y": handle[1]}
        found.append(one)
    return found


def vector(given: list[dict[str, Any]], *, closed: bool, kind: str = "vectorlabels") -> dict[str, Any]:
    return draw(kind, ["Car"], vertices=given, closed=closed)


CORNERS = [(10, 10), (40, 10), (40, 60)]


@pytest.mark.parametrize("config", [VECTORS, None])
def test_a_closed_vector_is_the_polygon_of_its_points(config: str | None) -> None:
    polygon = draw("polygonlabels", ["Car"], points=[list(corner) for corner in CORNERS], closed=True)
    assert value(config, vector(vertices(*CORNERS, closed=True), closed=True)) == value(None, polygon)


def test_its_points_follow_their_links_whatever_their_order() -> None:
    polygon = value(None, draw("polygonlabels", ["Car"], points=[[0, 0], [40, 0], [40, 60], [0, 60]], closed=True))
    ring = {"a": (0, 0), "b": (40, 0), "c": (40, 60), "d": (0, 60)}
    for order in itertools.permutations("abcd"):
        given = [
            {"id": name, "x": ring[name][0], "y": ring[name][1], "prevPointId": "dabc"["abcd".index(name)]}
            for name in order
        ]
        assert value(None, vector(given, closed=True)) == polygon


def test_points_without_names_follow_each_other() -> None:
    bare = [{"x": x, "y": y} for x, y in CORNERS]
    assert value(None, vector(bare, closed=True)) == value(None, vector(vertices(*CORNERS, closed=True), closed=True))


def circle(radius: float, x: float = 50, y: float = 50) -> list[dict[str, Any]]:
    """Four points with the handles that come nearest to a circle (in pixels: the image is twice as wide as high)."""
    handle = 0.5522847498 * radius
    points = []
    for across, down in ((0, -1), (1, 0), (0, 1), (-1, 0)):
        at = x + across * radius / 2, y + down * radius
        towards = -down * handle / 2, across * handle
        entering, leaving = ((at[0] - towards[0], at[1] - towards[1]), (at[0] + towards[0], at[1] + towards[1]))
        points.append((*at, entering, leaving))
    return vertices(*points, closed=True)


def test_curves_are_followed() -> None:
    ((shape, geometry, _, _),) = value(None, vector(circle(40), closed=True))
    assert shape == "polygon"
    figure = figures_of([shape], [geometry])[0]
    assert shapely.area(figure) == pytest.approx(math.pi * 40 * 40, rel=5e-4)
    disc = shapely.buffer(shapely.points(100, 50), 40, quad_segs=100)
    assert shapely.area(shapely.intersection(figure, disc)) == pytest.approx(math.pi * 40 * 40, rel=1e-3)
    ellipse = draw("ellipselabels", ["Car"], x=50, y=50, radiusX=20, radiusY=40, rotation=0)
    found = assessed(_together(vector(circle(40), closed=True), ellipse))
    assert found.coefficients["mean_iou"].value == pytest.approx(1, abs=2e-3)


def test_a_half_curved_piece_gets_the_handle_that_the_tool_gives_it() -> None:
    # from (0, 0) leaving towards (0, 50) to (100, 0): the other handle is three tenths of the way back
    half = Vector.of({"vertices": vertices((0, 0, None, (0, 50)), (100, 0)), "closed": False})
    assert half is not None
    t = np.linspace(0, 1, 33)[1:]
    x = 3 * t * t * (1 - t) * 70 + t**3 * 100
    y = 3 * t * (1 - t) ** 2 * 50
    assert np.array(half.pieces())[:, 2:] == pytest.approx(np.stack([x, y], axis=1))
    back = Vector.of({"vertices": vertices((100, 0), (0, 0, (0, 50))), "closed": False})
    assert back is not None
    assert np.array(back.pieces())[::-1, :2] == pytest.approx(np.stack([x, y], axis=1))


def test_an_open_vector_is_a_line() -> None:
    reach = 0.01 * math.hypot(WIDTH, HEIGHT)
    line = vertices((0, 0), (50, 0), (50, 50))
    found = read(VECTORS, [vector(line, closed=False)], [vector(line[::-1], closed=False)])
    assert values(found)["1", "11"] == (("line", (0.0, 0.0, 100.0, 0.0, 100.0, 0.0, 100.0, 50.0, reach), ("Car",), 0),)
    assert found.mended == {"lines": 2}


def test_a_line_drawn_from_its_other_end_is_the_same() -> None:
    one, other = vertices(*CORNERS, (70, 80)), vertices(*[*CORNERS, (70, 80)][::-1])
    assert value(None, vector(one, closed=False)) == value(None, vector(other, closed=False))


def test_a_line_can_branch() -> None:
    # two branches go on from the second point
    branched = vertices((0, 0), (50, 0), (100, 0), (50, 50), links=[None, "p0", "p1", "p1"])
    ((shape, geometry, _, _),) = value(None, vector(branched, closed=False))
    assert (shape, geometry[:-1]) == ("line", (0, 0, 100, 0, 100, 0, 100, 50, 100, 0, 200, 0))
    # nor does it enclose anything where it is said to be closed
    assert value(None, vector(branched, closed=True))[0][0] == "line"


def test_two_rings_are_no_area() -> None:
    rings = vertices(*CORNERS, (50, 50), (60, 50), (60, 60), links=["p2", "p0", "p1", "p5", "p3", "p4"])
    assert value(None, vector(rings, closed=True))[0][0] == "line"


def test_lines_agree_where_they_run_side_by_side() -> None:
    # a hundredth of the diagonal is 2.236 pixels; bands about long lines are half alike at two thirds of that
    def at(y: float) -> list[dict[str, Any]]:
        return [vector(vertices((0, y), (100, y)), closed=False)]

    assert agreement(read(VECTORS, at(50), at(51))) == 1
    assert agreement(read(VECTORS, at(50), at(52))) == 0
    alike = assessed(read(VECTORS, at(50), at(51))).coefficients["mean_iou"].value
    reach = 0.01 * math.hypot(WIDTH, HEIGHT)
    straight = (WIDTH * (2 * reach - 1), WIDTH * (2 * reach + 1))
    cap = math.pi * reach * reach
    assert alike == pytest.approx((straight[0] + cap) / (straight[1] + cap), abs=0.01)


def test_one_point_alone_is_a_key_point() -> None:
    point = draw("keypointlabels", ["Car"], x=50, y=50, width=0.5)
    assert value(None, vector(vertices((50, 50)), closed=False)) == value(None, point)


def test_a_line_is_cut_at_the_edge_of_its_image() -> None:
    found = read(None, [vector(vertices((-10, 50), (50, 50), (50, 130), (60, 140)), closed=False)])
    (((_, geometry, _, _),),) = values(found).values()
    assert geometry[:-1] == pytest.approx((0, 50, 100, 50, 100, 50, 100, 100))
    assert found.mended == {"lines": 1, "clipped": 1}


@pytest.mark.parametrize(
    ("given", "closed", "code"),
    [
        (None, False, "invalid"),
        ([], False, "invalid"),
        ("points", True, "invalid"),
        ([[1, 2], [3, 4]], False, "invalid"),
        ([{"x": 1}], False, "invalid"),
        ([{"x": 1, "y": math.nan}, {"x": 1, "y": 2}], False, "invalid"),
        ([{"x": 1, "y": 10**400}, {"x": 1, "y": 2}], False, "invalid"),
        ([{"x": 1, "y": 2}, {"x": 3, "y": 4, "isBezier": True, "controlPoint1": {"x": "a", "y": 1}}], False, "invalid"),
        # two points neither of which goes on from the other
        (vertices((1, 2), (3, 4), links=["gone", "away"]), False, "invalid"),
        (vertices((1, 2), (3, 4), closed=True), True, "flat"),
        (vertices((1, 2), (1, 2)), False, "flat"),
        (vertices((110, 2), (120, 2)), False, "outside"),
        (vertices((10, 2), (1000, 2)), False, "outside"),
    ],
)
def test_a_vector_that_cannot_be_compared_is_left_out_and_counted(given: Any, closed: bool, code: str) -> None:
    found = read(VECTORS, [vector(given, closed=closed)])
    assert (values(found), found.mended) == ({}, {code: 1})


def test_a_point_that_goes_on_from_itself_is_no_piece() -> None:
    loop = vertices((0, 0), (50, 0), links=["p0", "p0"])
    ((_, geometry, _, _),) = value(None, vector(loop, closed=False))
    assert geometry[:-1] == (0, 0, 100, 0)


# Videos and pages


VIDEO = (
    '<View><Video name="video" value="$video"/>'
    f'<VideoVectorLabels name="q" toName="video" closable="true">{LABELS}</VideoVectorLabels></View>'
)


def tracked(*keys: tuple[int, list[dict[str, Any]]], closed: bool = True, frames: int = 5) -> dict[str, Any]:
    sequence = [{"frame": frame, "enabled": True, "closed": closed, "vertices": given} for frame, given in keys]
    return draw("videovectorlabels", None, sequence=sequence, framesCount=frames, names=["Car"])


def places(found: Any) -> dict[int, Any]:
    return {frame: geometry for _, geometry, _, frame in found}


def test_a_tracked_vector_moves_evenly_point_by_point() -> None:
    start, end = vertices((0, 0), (10, 0), (0, 10), closed=True), vertices((20, 0), (30, 0), (20, 10), closed=True)
    found = value(VIDEO, tracked((1, start), (3, end)) | {"original_width": None})
    assert places(found) == {
        1: (0, 0, 0, 10, 10, 0),
        2: (10, 0, 10, 10, 20, 0),
        **dict.fromkeys((3, 4, 5), (20, 0, 20, 10, 30, 0)),
    }
    assert {labels for _, _, labels, _ in found} == {("Car",)}


def test_points_of_a_track_go_to_those_of_their_name() -> None:
    start = vertices((0, 0), (10, 0), (0, 10), closed=True)
    # the second has gone, and what stands in its place is another point
    end = [one | {"x": one["x"] + 10} for one in start]
    end[1]["id"] = "new"
    found = places(value(VIDEO, tracked((1, start), (3, end), frames=3) | {"original_width": None}))
    # half the way for two of them, and where it was for the third
    assert found[2] == (5, 0, 5, 10, 10, 0)


def test_tracked_lines_are_compared_frame_by_frame() -> None:
    line = vertices((0, 50), (100, 50))
    one, other = tracked((1, line), closed=False, frames=4), tracked((3, line), closed=False, frames=4)
    found = read(VIDEO, [one], [other])
    # the same in two of four frames
    assert agreement(found) == round(2 * 2 / (4 + 2), 2)
    assert found.mended == {"lines": 2}


def test_a_track_that_changes_from_a_box_to_a_vector_stays_where_it_was_in_between() -> None:
    box = {"frame": 1, "enabled": True, "x": 0, "y": 0, "width": 10, "height": 10, "rotation": 0}
    key = {"frame": 3, "enabled": True, "closed": True, "vertices": vertices((0, 0), (10, 0), (0, 10), closed=True)}
    found = value(None, draw("videovector", None, sequence=[box, key], framesCount=3, names=["Car"]))
    assert {frame: shape for shape, _, _, frame in found} == {1: "rectangle", 2: "rectangle", 3: "polygon"}


def test_boxes_of_read_text_lie_on_their_pages() -> None:
    def page(index: int) -> dict[str, Any]:
        sides: dict[str, Any] = {"x": 10, "y": 10, "width": 20, "height": 20, "rotation": 0}
        return draw("ocrlabels", ["Car"], **sides, ocrtext="a", pageIndex=index)

    found = read(None, [page(0), page(1)], [page(1)])
    box = (20.0, 10.0, 40.0, 20.0, 0.0)
    assert values(found)["1", "12"] == (("rectangle", box, ("Car",), 1),)
    assert agreement(found) == round(2 / 3, 2)


def test_every_control_of_the_sdk_that_draws_regions_is_read() -> None:
    from label_studio_sdk.label_interface import control_tags

    tags = {name.removesuffix("Tag").lower() for name in vars(control_tags) if name.endswith("Tag")}
    # what says something of a whole task, marks a text or a time line, or is no control
    others = {
        *("control", "labelstudio", "choices", "number", "datetime", "pairwise", "ranker", "rating", "chatmessage"),
        *("relations", "taxonomy", "textarea", "reactcode", "object"),
        *("labels", "hypertextlabels", "paragraphlabels", "timelinelabels", "timeserieslabels"),
    }
    assert tags - others == set(REGION_TYPES) & tags
    assert not tags - others - REGION_TYPES
