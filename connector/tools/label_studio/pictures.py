"""Masks that Label Studio stores as pictures: PNG images as data URLs, where what is not transparent is marked.

Who drew them is not trusted: a picture's size is read off its header before anything of it is unpacked.
"""

from __future__ import annotations

import base64
import io
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connector.errors import InstallExtra

MOST_PIXELS = 2**26
"""Of a mask: a picture of one takes four bytes for each once it is unpacked."""

_FORM = "data:image/png;base64,"
_HEADER = struct.Struct(">8s4x4sII")
_HEADER_AS_TEXT = 32
"""Signs in base64 that hold a header."""


def size_of(url: Any) -> tuple[int, int] | None:
    """Width and height of a picture as its header tells; None for what is no PNG image, or is too large."""
    if not isinstance(url, str) or url[: len(_FORM)].lower() != _FORM:
        return None
    try:
        start = base64.b64decode(url[len(_FORM) : len(_FORM) + _HEADER_AS_TEXT], validate=True)
        signature, chunk, width, height = _HEADER.unpack(start)
    except (ValueError, struct.error):
        return None
    if signature != b"\x89PNG\r\n\x1a\n" or chunk != b"IHDR" or not 0 < width * height <= MOST_PIXELS:
        return None
    return width, height


def marked(url: Any) -> tuple[NDArray[np.bool_], bool] | None:
    """(height, width) which pixels of a picture are not transparent, and whether it knows transparency at all.

    None for what is no sound PNG image. Raises InstallExtra without the library that reads pictures.
    """
    size = size_of(url)
    if size is None:
        return None
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as absent:
        raise InstallExtra("label-studio", "Reading a mask that is stored as a picture") from absent
    try:
        raw = base64.b64decode(url[len(_FORM) :], validate=True)
        with Image.open(io.BytesIO(raw), formats=("PNG",)) as picture:
            picture.load()
            if picture.size != size:
                return None
            if not picture.has_transparency_data:
                return np.ones(size[::-1], dtype=np.bool_), False
            alpha = picture if "A" in picture.getbands() else picture.convert("RGBA")
            return np.asarray(alpha.getchannel("A")) > 0, True
    # what the library raises for broken chunks, cut or oversized data
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError, struct.error):
        return None
