"""The report as JSON, version 1: exact numbers, sorted keys, no NaN."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from connector.agreement.report import AgreementReport

SURROGATE = re.compile("[\ud800-\udfff]")


def render(report: AgreementReport) -> str:
    """The report, its gate decision inside where it has one."""
    return dumps(report.to_json())


def dumps(body: Any) -> str:
    """Plain data as JSON that ends with a newline and fits UTF-8. Raises ValueError for NaN or Infinity."""
    text = json.dumps(body, allow_nan=False, ensure_ascii=False, sort_keys=True, indent=2) + "\n"
    # Half a surrogate pair is legal in JSON only as an escape, and no UTF-8 at all.
    return SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
