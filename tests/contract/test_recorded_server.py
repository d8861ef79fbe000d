"""The recorded server answers the recorded conversation in the form in which the real one did."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.conversation import conversation, exchange
from tests.contract.recorded_label_studio import RECORDED, RecordedLabelStudio


@pytest.fixture(scope="module")
def answers() -> dict[str, dict[str, Any]]:
    with RecordedLabelStudio() as server:
        call, collected = exchange(server.url, server.legacy_token)
        conversation(call, rater=2)
    return collected


def shape(value: Any) -> Any:
    """Names and types, without content; null stands for anything."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return None if value is None else "number" if isinstance(value, int | float) else type(value).__name__


def assert_alike(found: Any, real: Any, where: str) -> None:
    if isinstance(found, dict) and isinstance(real, dict):
        assert set(found) == set(real), where
        for key in found:
            assert_alike(found[key], real[key], f"{where}.{key}")
    elif isinstance(found, list) and isinstance(real, list):
        assert len(found) == len(real), where
        for number, (one, other) in enumerate(zip(found, real, strict=True)):
            assert_alike(one, other, f"{where}[{number}]")
    elif found is not None and real is not None:
        assert found == real, where


# Contents that depend on what else the real server had, or on its counting of labels: only the status is compared.
LOOSE = {"summary", "task", "patch task", "project", "describe", "make project"}


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_answers_as_recorded(answers: dict[str, dict[str, Any]], name: str) -> None:
    found, real = answers[name], RECORDED[name]
    assert (found["status"], found["type"]) == (real["status"], real["type"])
    if name in LOOSE:
        assert set(real["answer"]) <= set(found["answer"])
    else:
        assert_alike(shape(found["answer"]), shape(real["answer"]), name)


def test_the_conversation_is_whole(answers: dict[str, dict[str, Any]]) -> None:
    assert set(answers) == set(RECORDED)
