"""Which tools there are: the built-in ones and those that other packages offer in the entry-point group
`connector.tools`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, cast

from connector.errors import FixConfiguration
from connector.tools.base import Tool

if TYPE_CHECKING:
    from pydantic import SecretStr

    ToolClass = Callable[[str, SecretStr, str, str], Tool]
    """Called with the url, the API key, the project and the prefix of our fields."""

GROUP = "connector.tools"
BUILT_IN = {
    "label_studio": "connector.tools.label_studio.tool:LabelStudio",
    "argilla": "connector.tools.argilla.tool:Argilla",
}


def tool_class(name: str) -> ToolClass:
    """The class of the tool called `name`, imported now.

    Raises
    ------
    FixConfiguration : no such tool; the message lists those there are.
    """
    others = {point.name: point.load for point in entry_points(group=GROUP)}
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return cast("ToolClass", getattr(import_module(module), attribute))
    if name in others:
        load: Callable[[], object] = others[name]
        return cast("ToolClass", load())
    known = ", ".join(sorted({*BUILT_IN, *others}))
    raise FixConfiguration(f"There is no tool '{name}'.", f"`tool:` is one of: {known}.")
