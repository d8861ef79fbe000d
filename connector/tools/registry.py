"""Which tools there are: the built-in ones and those that other packages offer in the entry-point group `connector.tools`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from connector.errors import FixConfiguration
from connector.tools.base import Tool

GROUP = "connector.tools"
BUILT_IN = {"label_studio": "connector.tools.label_studio.tool:LabelStudio"}


def tool_class(name: str) -> type[Tool]:
    """The class of the tool called `name`, imported now.

    Raises
    ------
    FixConfiguration : no such tool; the message lists those there are.
    """
    others = {point.name: point.load for point in entry_points(group=GROUP)}
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return cast("type[Tool]", getattr(import_module(module), attribute))
    if name in others:
        load: Callable[[], object] = others[name]
        return cast("type[Tool]", load())
    known = ", ".join(sorted({*BUILT_IN, *others}))
    raise FixConfiguration(f"There is no tool '{name}'.", f"`tool:` is one of: {known}.")
