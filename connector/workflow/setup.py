"""What `connector init` does: ask, and write a commented configuration that holds every key and no secret."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from connector.config import NATIVE_NAMES, checked_url, parse
from connector.errors import FixConfiguration


@dataclass(frozen=True, slots=True)
class Answers:
    """What the file needs to be told. `url` None leaves it to the tool's environment variable."""

    project: str
    tool: str = "label_studio"
    url: str | None = None
    review: bool = False
    review_project: str | None = None
    expected: int | None = None
    threshold: float = 0.70
    store: str = "connector.db"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question of `connector init`; `name` is the field of `Answers` it fills.

    `read` turns what was typed into the answer and raises ValueError with what is wrong. Without a yes to the
    question that `only_if` names this one is not asked. A `default` of None has to be answered; "" may stay empty.
    """

    name: str
    text: str
    default: str | None
    read: Callable[[str], Any]
    only_if: str | None = None


def which_tool(environ: Mapping[str, str] | None = None) -> Prompt:
    """The first question: whose url the environment holds is the default."""
    from connector.tools.registry import BUILT_IN

    environ = os.environ if environ is None else environ
    tools = tuple(BUILT_IN)
    there = [tool for tool in tools if environ.get(NATIVE_NAMES[tool]["url"])]
    return Prompt("tool", f"Annotation tool ({' or '.join(tools)})", (*there, *tools)[0], _one_of(tools))


def prompts(tool: str, environ: Mapping[str, str] | None = None) -> tuple[Prompt, ...]:
    """The other questions, in the order they are asked."""
    environ = os.environ if environ is None else environ
    variable = NATIVE_NAMES[tool]["url"]
    argilla = tool == "argilla"
    usual = "http://localhost:6900" if argilla else "http://localhost:8080"
    project = (
        Prompt("project", "Dataset (workspace/dataset)", None, _dataset)
        if argilla
        else Prompt("project", "Project (the number in its address, /projects/N)", None, _number)
    )
    review = (
        "Review workspace (empty: one named after the dataset's; an owner's key can make it)"
        if argilla
        else "Review project's id or title (empty: a new one is made)"
    )
    return (
        Prompt("url", "Its address", f"${{{variable}}}" if environ.get(variable) else usual, _address),
        project,
        Prompt("expected", "How many ratings should every unit have (empty: at least two)", "", _count),
        Prompt("threshold", "Agreement that a pilot batch must reach", "0.70", _threshold),
        Prompt("review", "Make review tasks for conflicts (yes or no)", "no", _yes),
        Prompt("review_project", review, "", _or_none, "review"),
        Prompt("store", "Where to keep what was read (a file beside the configuration)", "connector.db", _filled),
    )


def ask(one: Callable[[Prompt], Any], given: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Answers:
    """Answers to all questions: those `given` (by flags; None: not given), and `one(prompt)` for each of the rest."""
    answers: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if "tool" not in answers:
        answers["tool"] = one(which_tool(environ))
    if answers["tool"] not in NATIVE_NAMES:
        known = " or ".join(NATIVE_NAMES)
        raise FixConfiguration(f"There is no tool '{answers['tool']}' that can be asked about.", f"Give {known}.")
    for prompt in prompts(answers["tool"], environ):
        if prompt.name not in answers and (prompt.only_if is None or answers.get(prompt.only_if)):
            answers[prompt.name] = one(prompt)
    fits = {field.name for field in fields(Answers)}
    return Answers(**{name: value for name, value in answers.items() if name in fits})


def write_config(answers: Answers, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write the commented configuration and return its path.

    Raises FixConfiguration where the answers make no valid configuration (nothing is written) and, unless `force`,
    where the file exists already.
    """
    path = Path(path)
    text = render(answers)
    _check(text)
    try:
        if force:
            beside = path.with_name(f".{path.name}.new")
            beside.write_text(text, encoding="utf-8")
            beside.replace(path)
        else:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except FileExistsError:
        raise FixConfiguration(f"{path} exists already; it was left as it is.", "--force writes over it.") from None
    except OSError as error:
        raise FixConfiguration(f"{path} cannot be written: {error.strerror}.") from None
    return path


def render(answers: Answers) -> str:
    """The text of the configuration: every key, its default or the answer, and what it does."""
    native = NATIVE_NAMES.get(answers.tool, {"url": "TOOL_URL", "api_key": "TOOL_API_KEY"})
    place = "workspace" if answers.tool == "argilla" else "project"
    review = _REVIEW_ON.format(place=place, value=_scalar(answers.review_project)) if answers.review else _REVIEW_OFF
    text = _TEMPLATE.format(
        tool=_scalar(answers.tool),
        url=_scalar(answers.url or f"${{{native['url']}}}"),
        api_key=f"${{{native['api_key']}}}",
        where_keys_are=_WHERE_KEYS_ARE.get(answers.tool, "where the tool shows it"),
        project=_scalar(answers.project),
        expected=_scalar(answers.expected),
        review=review,
        threshold=f"{answers.threshold:.2f}" if round(answers.threshold, 2) == answers.threshold else answers.threshold,
        store=_scalar(answers.store),
    )
    return "\n".join(_aligned(line) for line in text.split("\n"))


def _aligned(line: str) -> str:
    """A template's line with its comment, set off there by ##, in one column."""
    value, sign, comment = line.rpartition(" ## ")
    return f"{value:<36} # {comment}" if sign else line


def _check(text: str) -> None:
    """Whether the file will load once its variables are set."""
    set_later = {
        name: "http://localhost" if key == "url" else "x"
        for tool in NATIVE_NAMES.values()
        for key, name in tool.items()
    }
    parse(
        text,
        {**set_later, "TOOL_URL": "http://localhost", "TOOL_API_KEY": "x"},
        name="With these answers the configuration",
    )


def _scalar(value: object) -> str:
    """A value as YAML on one line: plain where nothing in it can be misread, else quoted."""
    import yaml

    if value is None:
        return "null"
    text = str(value)
    if re.fullmatch(r"[A-Za-z0-9_./-]+|\$\{[A-Z_]+\}|https?://[A-Za-z0-9_./:-]+", text) and text.lower() not in (
        "null",
        "-",
    ):
        return text
    return str(yaml.safe_dump(text, default_style='"', allow_unicode=True, width=10**6)).strip()


# What is typed, as answers.


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("please write something")
    return text.strip()


def _number(text: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]*", text.strip()):
        raise ValueError("please write the number in the project's address, as in /projects/7")
    return text.strip()


def _dataset(text: str) -> str:
    if not re.fullmatch(r"[^/]+/[^/]+", text.strip()):
        raise ValueError("please write workspace/dataset, as in research/reviews")
    return text.strip()


def _address(text: str) -> str:
    return _filled(text) if "${" in text else checked_url(_filled(text))


def _or_none(text: str) -> str | None:
    return text.strip() or None


def _one_of(known: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.strip() not in known:
            raise ValueError(f"please write {' or '.join(known)}")
        return text.strip()

    return read


def _yes(text: str) -> bool:
    if text.strip().lower() not in ("y", "yes", "n", "no"):
        raise ValueError("please write yes or no")
    return text.strip().lower() in ("y", "yes")


def _count(text: str) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isdecimal() or int(text) < 1:
        raise ValueError("please write a whole number, or nothing")
    return int(text)


def _threshold(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("please write a number, such as 0.70") from None
    if not -1 < value <= 1:
        raise ValueError("please write a number up to 1")
    return value


_WHERE_KEYS_ARE = {"label_studio": "Account & Settings, Personal Access Token", "argilla": "My settings, API key"}

_REVIEW_OFF = """\
# review: ## without the signs in front: review tasks of the conflicts
#   project: null ## Label Studio: review project's id or title; null: a new one. Argilla: workspace
#   limit: null ## at most so many review tasks in all; null: every conflict
#   raters: pseudonymous ## how the votes are signed: pseudonymous or named"""

_REVIEW_ON = """\
review: ## review tasks of the conflicts; null: none
  {place}: {value} ## Label Studio: review project's id or title; null: a new one. Argilla: workspace
  limit: null ## at most so many review tasks in all; null: every conflict
  raters: pseudonymous ## how the votes are signed: pseudonymous or named"""

_TEMPLATE = """\
# Configuration of `connector`. The first four lines are enough; every other key stands here with what it is.
# ${{NAME}} is read from the environment, ${{NAME:-value}} has a default. Unknown keys are refused.

tool: {tool} ## label_studio or argilla
url: {url} ## the tool's address, with its sub-path if it has one
api_key: {api_key} ## {where_keys_are}; the token itself does not belong here
project: {project} ## the number in the project's address; argilla: workspace/dataset

sources: [] ## in place of the four lines above: several such, and {{file: PATH}}; together one table
unit_key: null ## a field of the tasks' data: those with one value are one unit, in whatever source

raters:
  map: {{}} ## one person's ids under one name: {{label_studio:7/3: anna, argilla:ws/ds/ID: anna}}
  reviewers: [] ## ids that adjudicate; what they made is no rating (several sources: label_studio:7/3)
  exclude: [] ## ids whose annotations are left out and counted
  expected: {expected} ## ratings that every unit needs; null: gate.min_ratings

ground_truth: include ## annotations marked as ground truth: include (as their author's rating) or exclude

# questions: ## without the signs in front: by name, what differs from the defaults of its kind
#   sentiment:
#     level: ordinal ## nominal, ordinal, interval or ratio
#     distance: masi ## sets of labels: masi or jaccard
#     empty: missing ## multi-label, an empty answer: missing, or none (no label applies)
#     required: true ## whether the gate judges it; the bare iaa_status and review tasks go by required questions alone
#     relabel: {{Pos: positive}} ## labels to count as another
#     by: position ## choices that differ by task: position; paths: prefix, leaf, top; spans: untrimmed

conflict:
  share_below: 0.6 ## a unit whose commonest label has a smaller share is a conflict

push:
  prefix: iaa_ ## begins the name of every field we write into the tool
  scores: true ## status, agreement, share of the top label (marks, texts, orders: likeness to the consensus), ratings
  majority: complete ## the commonest label: on units with all their ratings (complete), or off
  view: true ## Label Studio: a tab with the conflicts, worst first (needs scores)
  summary: true ## Label Studio: one line in the project's description

{review}

gate:
  coefficient: krippendorff_alpha ## or cohen_kappa, weighted_kappa, fleiss_kappa, krippendorff_alpha_u, ..., or auto
  threshold: {threshold} ## GO at or above
  rule: point ## point: the value decides; confident: its interval does
  size: 500 ## the fewest units a batch must hold
  coverage: 0.95 ## share of them that must have every expected rating
  min_ratings: 2 ## ratings a unit needs where raters.expected is null

store: {store} ## what was read and written, one file beside this one
"""
