"""Text in which nothing acts; imports nothing, since error messages need it too."""

from __future__ import annotations

import unicodedata


def clean(text: object) -> str:
    r"""Text in which nothing acts on a terminal, a page or a reader's eye.

    Control characters, line ends, bidirectional overrides, invisible format characters and lone surrogates are written
    as their escapes. The joiners that emoji and several scripts need stay.

    >>> clean("a\x1b[31m\u202eb")
    'a\\x1b[31m\\u202eb'
    """
    return "".join(_harmless(sign) for sign in str(text))


def _harmless(sign: str) -> str:
    if sign in ("\u200c", "\u200d"):
        return sign
    if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return sign.encode("unicode_escape", "backslashreplace").decode("ascii")
    return sign
