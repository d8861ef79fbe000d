from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import connector
from connector import agreement

MODULES = sorted(module.name for module in pkgutil.iter_modules(agreement.__path__))
WITH_EXAMPLES = {
    *(
        "alpha",
        "comparison",
        "dawid_skene",
        "gate",
        "gwet",
        "icc",
        "kappa",
        "keys",
        "patterns",
        "power",
        "quantiles",
        "raters",
        "ratings",
    ),
    *("report", "scales"),
}


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_the_docstrings(module: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"connector.agreement.{module}"))
    assert failed == 0
    assert (tried > 0) == (module in WITH_EXAMPLES)


def test_examples_of_the_public_face() -> None:
    failed, tried = doctest.testmod(connector)
    assert failed == 0
    assert tried > 0


@pytest.mark.parametrize("name", connector.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    found = getattr(connector, name)
    assert found.__doc__
    assert name in dir(connector)
