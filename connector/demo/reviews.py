"""The demo's texts and what its four raters make of them: made up, the same every time.

Short reviews of goods. The raters differ in care, and all of them confuse "Neutral" with "Mixed": the pair of
categories that a guideline would have to mend.
"""

from __future__ import annotations

import random

CATEGORIES = ("Positive", "Neutral", "Mixed", "Negative")
RATERS = (("ada", 0.93), ("ben", 0.89), ("cleo", 0.86), ("dan", 0.80))
"""Who rates, and how often each gives the category that the text was written for."""

THINGS = ("kettle", "bicycle lamp", "rain jacket", "desk chair", "radio", "tent", "coffee mill", "backpack")
"""What is reviewed."""

GUIDELINE = "Pick the reviewer's overall feeling."

_SHARES = (0.36, 0.20, 0.14, 0.30)
_CONFUSED = {"Neutral": "Mixed", "Mixed": "Neutral"}
_OPENINGS = ("The {thing} arrived on Monday.", "Bought the {thing} for my sister.", "My second {thing} from this shop.")
_VERDICTS = {
    "Positive": ("Works better than I hoped.", "I would buy it again.", "A joy to use every day."),
    "Neutral": ("It does what the box says.", "Nothing special about it.", "Used it twice so far."),
    "Mixed": ("Good build, but far too loud.", "Nice idea, poor manual.", "Lovely colour; the lid never closes."),
    "Negative": ("It broke within a week.", "I want my money back.", "The worst purchase of the year."),
}


def write(rng: random.Random) -> tuple[str, str]:
    """The category that a review is written for, and its two sentences."""
    meant = rng.choices(CATEGORIES, _SHARES)[0]
    return meant, f"{rng.choice(_OPENINGS).format(thing=rng.choice(THINGS))} {rng.choice(_VERDICTS[meant])}"


def vote(rng: random.Random, meant: str, care: float) -> str:
    """What a rater picks for a text that was written as `meant`: four times as many slips in the confused pair."""
    confused = _CONFUSED.get(meant)
    slip = (1 - care) * (2.0 if confused else 0.5)
    if rng.random() >= slip:
        return meant
    if confused and rng.random() < 0.85:
        return confused
    return rng.choice([category for category in CATEGORIES if category != meant])
