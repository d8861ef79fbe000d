"""The contract between the workflow and an annotation tool: what is pulled, what is written, what comes back.

A new tool is one class that satisfies `Tool` and one entry point in the group `connector.tools`;
`connector.testing.ToolContract` is the suite its author subclasses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from connector.annotations.model import Schema, Unit
from connector.errors import SkippedTask


@dataclass(frozen=True, slots=True)
class Project:
    """What the tool says of the project or dataset before anything is pulled.

    `source` is its stable identity, free of secrets, e.g. "label_studio:https://host/ls:7"; where `is_named`, it is a
    name that people may change, and `link` is what stays the project's own. `title` is the owner's;
    untrusted. `link` is where people open it. `n_units` is how many units the tool counts, `required_ratings` how many
    ratings per unit it collects (None: not said). `settings` is the tool's own text of what is asked (a label config),
    kept so that a report can be made again without the network. `warnings` are sentences for people. `conflicts` is
    where those conflicts that still collect ratings are listed, of a tool that needs no tab for it. `is_new` says that
    this is another project than the one that was opened before: made again under its name; `former_stays`, that the
    one before is there still, under another name.
    """

    source: str
    title: str
    link: str
    schema: Schema
    n_units: int | None = None
    required_ratings: int | None = None
    settings: str = ""
    warnings: tuple[str, ...] = ()
    conflicts: str | None = None
    is_new: bool = False
    is_named: bool = False
    former_stays: bool = False


class Cursor(NamedTuple):
    """How far the last pull came: the newest `updated_at` seen and the largest id, both the tool's own text."""

    newest_update: str | None = None
    last_id: str | None = None


class Page(NamedTuple):
    """One answer of a pull: whole units, and the malformed tasks that were left out.

    `cursor` covers everything up to and including this page. `total` is how many units the pull expects (None:
    unknown).
    """

    units: list[Unit]
    skipped: list[SkippedTask]
    cursor: Cursor
    total: int | None = None


# What is written. Every operation may be applied twice and writes once.


@dataclass(frozen=True, slots=True)
class SetField:
    """Give `field` the same `value` on every unit of `units` (grouped, because tools write equal values in one
    call)."""

    field: str
    value: str | float
    units: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClearFields:
    """Take these fields away from these units; other content stays as it is."""

    fields: tuple[str, ...]
    units: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PutFields:
    """Give each unit these fields, None takes one away; everything else of the unit stays.

    For tools that write all fields of a unit in one call (`Capabilities.per_unit`). A column that is missing is made.
    `bare` are those that had nothing at all, not even an empty place, for fields before (`Receipt.bare`): so they are
    left where nothing else stands there by then.
    """

    units: Mapping[str, Mapping[str, str | float | None]]
    bare: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class PutView:
    """A tab that shows the units whose `status_field` equals `status_value`, lowest `order_field` first."""

    title: str
    status_field: str
    status_value: str
    order_field: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PutSummary:
    """One line in the project's description, between fixed markers; the owner's words stay."""

    text: str


class ReviewItem(NamedTuple):
    """A conflict for a reviewer: the source unit and the votes, rater label -> answer as text, in display order.

    `raters` maps a rater's label to the ids of theirs in the project, for a tool that draws what they marked; `version`
    changes with what there is to draw.
    """

    unit: str
    votes: Mapping[str, str]
    raters: Mapping[str, tuple[str, ...]] = {}
    version: str = ""


@dataclass(frozen=True, slots=True)
class PutReviewTasks:
    """Review tasks for these conflicts; a unit that already has one keeps it untouched.

    `project` is the configured review project (id or title) or None: found by its marker, else made.
    """

    items: tuple[ReviewItem, ...]
    project: str | None = None


@dataclass(frozen=True, slots=True)
class DrawMarks:
    """Show on the review tasks of these units what each rater marked, and the votes as they are now.

    Marks are drawn in the tool's own way and select nothing for the reviewer; where the tool cannot do so in a project,
    the votes in words are all there is. A task that somebody has worked on stays as it is. `project` as for
    `PutReviewTasks`. The units that are settled, whether anything was to be drawn or not, are those written.
    """

    items: tuple[ReviewItem, ...]
    project: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveView:
    """Take our tab away, and the "default_view" (its id, from PutView's receipt) that had to be made beside it."""

    default_view: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveSummary:
    """Take our line out of the description."""


@dataclass(frozen=True, slots=True)
class RemoveReview:
    """Delete the review project or dataset that we made; of one that the owner made, or that holds tasks of others,
    only our tasks that nobody has worked on."""

    remote: str


@dataclass(frozen=True, slots=True)
class ResetColumns:
    """Let the tool forget our columns of fields that are gone; a column that still holds a value stays."""


WriteOp = (
    SetField
    | ClearFields
    | PutFields
    | PutView
    | PutSummary
    | PutReviewTasks
    | DrawMarks
    | RemoveView
    | RemoveSummary
    | RemoveReview
    | ResetColumns
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an operation did, checked against what the tool answered.

    `written` are the units it is confirmed for (for view, summary and reset: empty). `missing` are units that no longer
    exist in the tool: not a failure. `remote` maps what was made ("view", "view_link", "default_view",
    "review_project", "review_title" where it had to differ from the one asked for, or a unit's id for review tasks) to
    the tool's id. Of a review project that stays after RemoveReview it names the id ("kept_project") and counts our
    tasks with work in them ("kept") and the tasks of others ("kept_others"); of columns that stay after ResetColumns
    the names ("kept_columns"). `failed` is why the rest did not arrive,
    None when all did. `bare` are those of `written` that had no place for fields before (metadata that are null, where
    empty ones are something else).
    """

    written: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    remote: Mapping[str, str] = field(default_factory=dict)
    failed: str | None = None
    bare: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a tool can hold; the plan leaves out the rest.

    `per_unit` : fields are written unit by unit (`PutFields`), not value by value (`SetField`, `ClearFields`).
    `longest_text` : the most characters that a field's text may have; longer text is cut (None: no limit).
    `outlive_users` : the ratings of a user who is deleted stay in the tool: one that is gone was deleted itself.
    `noun` : what people call one unit of the tool.
    `draws` : kinds of which it can draw each rater's answer on a review task (`DrawMarks`).
    """

    fields: bool = True
    per_unit: bool = False
    longest_text: int | None = None
    view: bool = True
    summary: bool = True
    review: bool = True
    outlive_users: bool = True
    noun: str = "task"
    draws: frozenset[str] = frozenset()


class Finding(NamedTuple):
    """One line of `connector check`: how serious, what is so, and what to do about it."""

    severity: Literal["ok", "note", "warning", "error"]
    text: str
    hint: str | None = None


class Tool(Protocol):
    """One project or dataset of one annotation tool. Every method may raise `ToolTrouble`; none shows a token."""

    name: str
    capabilities: Capabilities

    @property
    def source(self) -> str:
        """The project's stable identity (as `Project.source`), known without the network."""

    @staticmethod
    def read_schema(settings: str) -> Schema:
        """What `Project.settings` asks of the raters, without the network."""

    def open(self, known: str = "") -> Project:
        """Reach the project and read its settings.

        `known` is what `Project.settings` said when it was last opened: of a tool whose settings take several requests
        it saves all but those that show whether anything changed.
        """

    def pull(self) -> Iterator[Page]:
        """Every unit with every annotation. A short read raises; a page is asked again after a fault."""

    def pull_changed(self, cursor: Cursor, known: Mapping[str, str | None]) -> Iterator[Page]:
        """The units that are new or changed since `cursor`, whole.

        `known` maps unit id to the `updated_at` stored for it; a unit whose time is the same is not given again.
        With nothing changed this and the `open` before it cost two requests together.
        """

    def unit_ids(self) -> Mapping[str, str | None]:
        """Every unit's id and `created_at`, nothing else: what was deleted shows here."""

    def verify(self, op: WriteOp) -> None:
        """Writes nothing. Raises FixConfiguration, or NotThere, where something that a person made or configured stands
        in the way of `op`: a column of that name with other values, a review project that cannot be used."""

    def apply(self, op: WriteOp) -> Receipt:
        """Carry out one operation and check that it arrived."""

    def find_ours(self) -> Mapping[str, str]:
        """What of ours stands in the tool apart from fields, found by its markers, for a lost store: "view" and
        "review_project" to their ids, "summary" to its text, "columns" to the names of those we made, joined by commas,
        "earlier_reviews" to the ids of the review projects of projects that had this one's name and are gone. What is
        not there is absent, but for "columns" of a tool that marks them before their first value: empty, they say that
        no value is ours."""

    def review_tasks(self, remote: str) -> Mapping[str, str]:
        """The units that have a review task in the review project `remote`, with the task's id.

        Raises NotThere where it is gone, or another project's.
        """

    def undecided(self, remote: str) -> Collection[str]:
        """Those units of `review_tasks` that no reviewer has decided: without an answer that was submitted."""

    def review_link(self, remote: str) -> str:
        """Where people open the review project `remote`."""

    def rater_names(self) -> Mapping[str, str]:
        """What people call the raters: id -> name, or e-mail where there is no name; untrusted. Nobody else sees them
        unless the settings ask for it."""

    def inspect(self, review: str | None = None) -> list[Finding]:
        """What only this tool can tell before a run (rights, collection settings), for `connector check`.

        `review` is the configured review project or workspace, "" where the tool names it, None without reviews.
        """

    def close(self) -> None:
        """Give connections back."""
