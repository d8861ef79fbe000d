from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(("module", "examples"), [("alpha", 1), ("report", 1)])
def test_examples_in_the_docstrings(module: str, examples: int) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"connector.agreement.{module}"))
    assert failed == 0
    assert tried >= examples
