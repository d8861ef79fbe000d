"""How many units to plan for before there are ratings, as text and as JSON."""

from __future__ import annotations

from connector.agreement.power import SIGNIFICANCE
from connector.output import shown
from connector.output.json import dumps
from connector.output.text import WIDTH, wrap


def render_text(units: int, smallest_alpha: float, rarest_share: float) -> str:
    """One sentence that ends with a newline, and what it rests on."""
    plan = (
        f"Plan for {shown.count(units)} units, each rated by two raters or more: so many recognise an alpha under "
        f"{shown.threshold(smallest_alpha)} as such in {100 * (1 - SIGNIFICANCE):g}% of batches where the rarest "
        f"category has {shown.percent(rarest_share)} of the ratings."
    )
    source = (
        "Bloch and Kraemer (1989), for planning alone. Once there are ratings, the report counts the units from them, "
        "and the gate says how many more."
    )
    return "\n".join([*wrap(plan, WIDTH), *wrap(source, WIDTH)]) + "\n"


def render_json(units: int, smallest_alpha: float, rarest_share: float) -> str:
    """The same as JSON, version 1."""
    plan = {
        "units": units,
        "smallest_alpha": smallest_alpha,
        "rarest_share": rarest_share,
        "significance": SIGNIFICANCE,
    }
    return dumps({"version": 1, "plan": plan})
