"""The report as JSON, version 1: exact numbers, sorted keys, no NaN."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from connector.agreement.scales import read

if TYPE_CHECKING:
    from connector.agreement.report import AgreementReport

SURROGATE = re.compile("[\ud800-\udfff]")


def render(report: AgreementReport, scale: str | None = None, sources: Sequence[Mapping[str, Any]] = ()) -> str:
    """The report, its gate decision inside where it has one; without one, what a reading scale calls each value.

    `sources` are those of a table that several make.
    """
    body = report.to_json()
    if sources:
        body["sources"] = [dict(one) for one in sources]
    if scale is not None and report.gate is None:
        for name, question in report.questions.items():
            body["questions"][name]["reading"] = _reading(question.alpha.value, scale)
    return dumps(body)


def _reading(value: float | None, scale: str) -> dict[str, Any] | None:
    return None if value is None else {"scale": scale, **read(value, scale)._asdict()}


def dumps(body: Any) -> str:
    """Plain data as JSON that ends with a newline and fits UTF-8. Raises ValueError for NaN or Infinity."""
    text = json.dumps(body, allow_nan=False, ensure_ascii=False, sort_keys=True, indent=2) + "\n"
    # Half a surrogate pair is legal in JSON only as an escape, and no UTF-8 at all.
    return SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
