"""The command line: one thin function per verb.

The rest of the package is imported when a verb runs, so that `--help` is quick.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from connector.errors import ConnectorError, FixConfiguration, SkippedTask, WritesFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from connector.agreement.gate import Obstacle
    from connector.agreement.report import AgreementReport
    from connector.annotations.collect import Table
    from connector.annotations.model import Unit
    from connector.config import QuestionSettings, Settings
    from connector.output.view import Context
    from connector.store import Store
    from connector.tools.base import Finding
    from connector.workflow.batch import Batch
    from connector.workflow.joining import Joined
    from connector.workflow.measure import Measured
    from connector.workflow.removal import Removal
    from connector.workflow.setup import Prompt
    from connector.workflow.sources import FileSource, Source
    from connector.workflow.sync import Synced, Watch

app = typer.Typer(
    name="connector",
    help="Agreement between raters for Label Studio and Argilla: pull, measure, push back, gate.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=lambda asked: _show_version(asked=asked), is_eager=True)
    ] = False,
) -> None: ...


def _show_version(*, asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        _print(f"agreement-connector {version('agreement-connector')}")
        raise typer.Exit


Format = Literal["text", "json", "csv", "html", "markdown"]

Config = Annotated[Path, typer.Option("-c", "--config", help="The configuration file.")]
OptionalConfig = Annotated[
    Path | None,
    typer.Option(
        "-c", "--config", help="The configuration file, in place of SOURCE; config.yaml where neither is given."
    ),
]
OptionalSources = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="SOURCE",
        help="Label Studio JSON exports, Argilla exports (json, jsonl), or long tables (csv, jsonl, parquet).",
    ),
]
LabelConfig = Annotated[
    Path | None, typer.Option("--label-config", help="The label config (XML) of the export's project.")
]
QuestionNames = Annotated[list[str] | None, typer.Option("--question", help="Only this question; may be repeated.")]
LevelName = Annotated[str | None, typer.Option("--level", help="nominal, ordinal, interval or ratio.")]
DistanceName = Annotated[str | None, typer.Option("--distance", help="For sets of labels: masi or jaccard.")]
Columns = Annotated[
    str | None, typer.Option("--columns", help="Columns of a long table: unit=A,rater=B,value=C[,question=D].")
]
MissingValues = Annotated[
    list[str] | None, typer.Option("--missing", help="A value of a long table that means missing; may be repeated.")
]
AssumeSubmitted = Annotated[
    bool,
    typer.Option("--assume-submitted", help="Of an Argilla export without statuses: every answer was submitted."),
]
ScaleName = Annotated[
    str | None,
    typer.Option("--scale", help="Name each value by landis_koch, fleiss, daily or krippendorff (not in csv)."),
]
FormatName = Annotated[Format, typer.Option("--format", help="How to write the report.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write here instead of standard output.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the plan; write nothing, neither into the tool nor into the store.")
]


@app.command(epilog="Example: connector demo -o demo   or   connector demo --live label-studio")
def demo(
    live: Annotated[
        Literal["label-studio", "argilla"] | None,
        typer.Option("--live", help="Start a real server, fill it, sync it."),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where the page and the table go.")
    ] = Path("connector-demo"),
) -> None:
    """Measure real data that ship with the package; no server needed."""
    if live is not None:
        _demo_live(live)
        return
    _demo_offline(output)


@app.command(epilog="Example: connector init --project 1 --url http://localhost:8080")
def init(
    config: Config = Path("config.yaml"),
    tool: Annotated[str | None, typer.Option(help="label_studio or argilla.")] = None,
    url: Annotated[str | None, typer.Option(help="Where the tool's start page opens.")] = None,
    project: Annotated[str | None, typer.Option(help="The project's number; Argilla: workspace/dataset.")] = None,
    expected: Annotated[int | None, typer.Option(help="Ratings every unit should have.")] = None,
    threshold: Annotated[float | None, typer.Option(help="What a pilot batch must reach.")] = None,
    review: Annotated[
        bool | None, typer.Option("--review/--no-review", help="Make review tasks for conflicts.")
    ] = None,
    review_project: Annotated[
        str | None, typer.Option(help="The review project's id or title; Argilla: workspace.")
    ] = None,
    store: Annotated[str | None, typer.Option(help="The store's file, beside the configuration.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a commented configuration, after asking or from flags. No token is written into it."""
    from connector.config import NATIVE_NAMES
    from connector.workflow.setup import ask, write_config

    if config.exists() and not force:
        raise FixConfiguration(f"{config} exists already; it was left as it is.", "--force writes over it.")
    given = {
        "tool": tool,
        "url": url,
        "project": project,
        "expected": expected,
        "threshold": threshold,
        "review": review,
        "review_project": review_project,
        "store": store,
    }
    path = write_config(ask(_prompt(alone=project is not None), given), config, force=force)
    text = path.read_text("utf-8")
    variables = [name for names in NATIVE_NAMES.values() for name in names.values()]
    unset = [name for name in variables if f"${{{name}}}" in text and not os.environ.get(name)]
    first = f"set {' and '.join(unset)}, then: " if unset else ""
    _print(f"Written: {path}\nNext: {first}connector check -c {path}")


@app.command(epilog="Example: connector check -c config.yaml")
def check(config: Config = Path("config.yaml")) -> None:
    """Say what a sync would find and what is wrong, before it runs. Writes nothing."""
    from connector.workflow.check import check as run

    settings = _load(config)
    with _watch("Reading", "") as watch, _connected(settings) as sources:
        checked = run(sources, settings, watch.pulling)
    for finding in checked.findings:
        _print_finding(finding)
    if checked.errors:
        raise FixConfiguration(f"{len(checked.errors)} of these must be mended first.", None)
    _print(f"\nNext: connector sync -c {config} --dry-run")


@app.command(epilog="Example: connector sync -c config.yaml --dry-run")
def sync(
    config: Config = Path("config.yaml"),
    dry_run: DryRun = False,
    full: Annotated[bool, typer.Option("--full", help="Read everything again, not just what changed.")] = False,
) -> None:
    """Pull, measure, push back (for the scheduled job)."""
    from connector.store import Store
    from connector.workflow.sync import sync as run

    settings = _load(config)
    with (
        _watch("Pulling", "Writing") as watch,
        _connected(settings, writing=True) as sources,
        Store(settings.store_path, keep=not dry_run) as store,
    ):
        done = run(sources, store, settings, dry_run=dry_run, full=full, watch=watch)
    for line in _synced_lines(done, config):
        _print(line)


@app.command(epilog="Example: connector remove -c config.yaml --dry-run")
def remove(
    config: Config = Path("config.yaml"),
    review: Annotated[
        bool, typer.Option("--review", help="Delete the review project too, with the work in it.")
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Take away what sync put into the project.

    Fields, columns, the tab and the line in the description; with --review the review project too.
    """
    from connector.store import Store
    from connector.workflow.removal import remove as run

    settings = _load(config)
    with (
        _watch("Reading", "Removing") as watch,
        _connected(settings, writing=True) as sources,
        Store(settings.store_path, keep=not dry_run) as store,
    ):
        removed = run(
            sources,
            store,
            settings.push.prefix,
            review=review,
            dry_run=dry_run,
            reading=watch.pulling,
            writing=watch.writing,
        )
    for line in _removed_lines(removed, dry_run=dry_run):
        _print(line)


@app.command(
    epilog="Example: connector agreement export.json --format html -o report.html   or, before there are ratings,   "
    "connector agreement --plan 0.05"
)
def agreement(
    sources: OptionalSources = None,
    label_config: LabelConfig = None,
    question: QuestionNames = None,
    level: LevelName = None,
    distance: DistanceName = None,
    columns: Columns = None,
    missing: MissingValues = None,
    assume_submitted: AssumeSubmitted = False,
    scale: ScaleName = None,
    threshold: Annotated[float | None, typer.Option(help="The line to hold alpha against.  [default: 0.70]")] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(metavar="SOURCE", help="How much higher this one's agreement is, over the same units."),
    ] = None,
    unit_key: Annotated[
        str | None, typer.Option(metavar="FIELD", help="Units are named by this field of their data, not by id.")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="RATER", help="How much higher agreement is without this rater; may be repeated."),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="COEFFICIENT",
            help="How much higher this one is than alpha; with --against or --without: by this one instead of alpha.",
        ),
    ] = None,
    half_width: Annotated[
        float | None,
        typer.Option(help="Say how many units would give an interval this wide to either side.  [default: 0.05]"),
    ] = None,
    plan: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Without SOURCE: units to plan for where the rarest category has this share."
        ),
    ] = None,
    format: FormatName = "text",  # noqa: A002 - the option's name
    output: Output = None,
) -> None:
    """Measure agreement in exports or long tables."""
    from dataclasses import replace

    from connector.workflow.measure import distrust, report_on

    settings = _with_rule(_defaults(), {"threshold": threshold})
    if plan is not None:
        _write(_planned(plan, settings.gate.threshold, format, alone=not sources), output)
        return
    if not sources:
        raise FixConfiguration("agreement needs SOURCE.", "For example: connector agreement export.json")
    scale = _scale(scale)
    settings, default = _question_settings(settings, question, level, distance)
    reading = Reading(label_config, columns, missing or [], assume_submitted=assume_submitted, unit_key=unit_key)
    found, context, _ = _read_sources(sources, settings, default, reading)
    context = replace(context, scale=scale)
    report = report_on(found, settings, questions=question or [], half_width=half_width)
    if against or without or compare is not None:
        other = None
        if against:
            second, _, _ = _read_sources(against, settings, default, reading)
            other = report_on(second, settings, confidence=None, questions=question or [])
        report = _with_differences(report, (sources, against or []), other, without or [], compare)
    _write(_render(format, report, context), output, [*sources, *(against or ())])
    distrust(found, noun=context.noun)


@app.command(epilog="Example: connector table export.json -o table.csv   or   connector table -c config.yaml")
def table(
    sources: OptionalSources = None,
    config: Annotated[
        Path | None,
        typer.Option("-c", "--config", help="The configuration file, in place of SOURCE: what the last sync stored."),
    ] = None,
    label_config: LabelConfig = None,
    question: QuestionNames = None,
    level: LevelName = None,
    distance: DistanceName = None,
    columns: Columns = None,
    missing: MissingValues = None,
    assume_submitted: AssumeSubmitted = False,
    output: Output = None,
) -> None:
    """Write the unit-by-rater table itself, as CSV."""
    from connector.workflow.measure import distrust, report_on
    from connector.workflow.reporting import stored_table

    if bool(sources) == (config is not None):
        raise FixConfiguration("table needs either SOURCE... or -c CONFIG.", "For example: connector table export.json")
    if config is not None:
        _refuse_with_config(
            columns=columns, missing=missing, label_config=label_config, assume_submitted=assume_submitted
        )
        settings, _ = _question_settings(_load(config), question, level, distance, named_only=True)
        with _stored(settings, config) as (configured, store):
            stored, joined = stored_table(configured, store, settings)
        _write(_table(report_on(stored, settings, confidence=None, questions=question or [])), output)
        distrust(stored, joined)
        return
    settings, default = _question_settings(_defaults(), question, level, distance)
    reading = Reading(label_config, columns, missing or [], assume_submitted=assume_submitted)
    found, context, _ = _read_sources(sources or [], settings, default, reading)
    _write(_table(report_on(found, settings, confidence=None, questions=question or [])), output, sources or ())
    distrust(found, noun=context.noun)


@app.command(
    epilog="Example: connector gate export.json --first 500 --threshold 0.70   (exit 0 GO, 1 NO-GO, 3 UNDECIDED)"
)
def gate(
    sources: OptionalSources = None,
    config: OptionalConfig = None,
    threshold: Annotated[float | None, typer.Option(help="What the coefficient must reach.  [default: 0.70]")] = None,
    size: Annotated[int | None, typer.Option(help="The fewest units the batch must hold.  [default: 500]")] = None,
    first: Annotated[int | None, typer.Option(metavar="N", help="The batch: the first N units by id.")] = None,
    batch: Annotated[
        str | None, typer.Option(metavar="IDS", help="The batch: ids (or keys) and ranges, 1-200,305, or @FILE.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="FIELD=VALUE", help="The batch: units with this value in their data.")
    ] = None,
    rule: Annotated[str | None, typer.Option(help="point or confident.  [default: point]")] = None,
    coefficient: Annotated[str | None, typer.Option(help="By name, or auto.  [default: krippendorff_alpha]")] = None,
    label_config: LabelConfig = None,
    question: QuestionNames = None,
    level: LevelName = None,
    distance: DistanceName = None,
    columns: Columns = None,
    missing: MissingValues = None,
    assume_submitted: AssumeSubmitted = False,
    format: FormatName = "text",  # noqa: A002 - the option's name
    output: Output = None,
) -> int:
    """Decide a batch: GO (exit 0), NO-GO (1) or UNDECIDED (3). Pulls and stores, never pushes."""
    from connector.workflow.batch import parse_batch
    from connector.workflow.measure import measure

    chosen = parse_batch(batch, first, where)
    if not sources and config is None and Path("config.yaml").is_file():
        config = Path("config.yaml")
    if bool(sources) == (config is not None):
        raise FixConfiguration(
            "gate needs either SOURCE... or -c CONFIG.", "For example: connector gate -c config.yaml"
        )
    rules = {
        "threshold": threshold,
        "size": chosen.count if size is None else size,
        "rule": rule,
        "coefficient": coefficient,
    }
    if config is not None:
        _refuse_with_config(
            columns=columns, missing=missing, label_config=label_config, assume_submitted=assume_submitted
        )
        settings, _ = _question_settings(_with_rule(_load(config), rules), question, level, distance, named_only=True)
        measured, context = _gate_live(settings, chosen, question or [])
    else:
        settings, default = _question_settings(_with_rule(_defaults(), rules), question, level, distance)
        reading = Reading(label_config, columns, missing or [], assume_submitted=assume_submitted)
        found, context, lacking = _read_sources(sources or [], settings, default, reading, chosen)
        measured = measure(
            found, settings, batch=chosen.named, questions=question or [], obstacles=lacking, noun=context.noun
        )
    _write(_render(format, measured.report, context), output, sources or ())
    return {"GO": 0, "NO-GO": 1}.get(measured.decision.verdict, 3)


@app.command(epilog="Example: connector review create -c config.yaml")
def review(
    action: Annotated[
        Literal["create", "status"],
        typer.Argument(help="create: make review tasks for the conflicts; status: how many there are."),
    ],
    config: Config = Path("config.yaml"),
    dry_run: DryRun = False,
) -> None:
    """Review tasks for conflicts, in a project of their own."""
    from connector.store import Store
    from connector.workflow.sync import review as run

    settings = _load(config)
    if settings.review is None:
        raise FixConfiguration(f"{config} has no review section.", "Write `review: {}` into it.")
    with (
        _watch("Pulling", "Writing") as watch,
        _connected(settings, writing=True) as sources,
        # What a look at the status finds missing the next sync makes again.
        Store(settings.store_path, keep=not dry_run) as store,
    ):
        status = run(sources, store, settings, create=action == "create" and not dry_run, watch=watch)
    for line in status.lines():
        _print(line)


@app.command(epilog="Example: connector report -c config.yaml --format markdown")
def report(
    config: Config = Path("config.yaml"),
    scale: ScaleName = None,
    format: FormatName = "text",  # noqa: A002 - the option's name
    output: Output = None,
) -> None:
    """The report of what the store holds, without the network; with --scale, without the gate's verdict."""
    from connector.workflow.reporting import report as run

    scale = _scale(scale)
    settings = _load(config)
    with _stored(settings, config) as (sources, store):
        measured = run(sources, store, settings)
    found, context = measured.report, _live_context(measured)
    if scale is not None and format != "csv":
        found, context = _read_by(scale, found, context, settings.gate.threshold)
    _write(_render(format, found, context), output)


def main() -> NoReturn:
    """Run the command line and leave with its exit code: 1 and 3 belong to `gate` alone."""
    from connector.output import terminal

    terminal.begin()
    code = run(sys.argv[1:])
    terminal.finish()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run the command line and return the exit code."""
    from connector.output.terminal import ClosedPipe

    try:
        code = app(args=arguments, prog_name="connector", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SystemExit as ended:  # the command-line library's own answer to a closed pipe is the exit code of a NO-GO
        return 141 if ended.code == 1 else int(ended.code or 0)
    except WritesFailed as error:
        return _fail(error.message, error.hint, error.exit_code, error.report)
    except ConnectorError as error:
        return _fail(error.message, error.hint, error.exit_code)
    except KeyboardInterrupt:
        return _fail("Interrupted.", None, 130)
    except ClosedPipe:
        return 141
    except Exception as error:  # noqa: BLE001 - the last line of defence: exit 70, never the 1 of a NO-GO
        return _usage_or_bug(error)


def _usage_or_bug(error: Exception) -> int:
    if isinstance(error, typer.Abort):
        return _fail("Interrupted.", None, 130)
    if isinstance(error, typer.Exit):
        return error.exit_code
    show = getattr(error, "show", None)  # a usage error of the command-line library, wherever it keeps its class
    if callable(show):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # no standard error to show it on
            show()
        return 2
    if os.environ.get("CONNECTOR_DEBUG"):
        import traceback

        traceback.print_exc()
    return _fail(
        f"A bug: {type(error).__name__} at {_place(error)}.",
        "Please report it. CONNECTOR_DEBUG=1 shows where it came from.",
        70,
    )


def _place(error: Exception) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "an unknown place" if trace is None else f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


def _fail(message: str, hint: str | None, code: int, report: Sequence[str] = ()) -> int:
    from connector.output.terminal import say

    for line in report:
        say(line)
    say(f"connector: {message}")
    if hint:
        say(f"  {hint}")
    return code


def _write(text: str, output: Path | None, sources: Sequence[Path] = ()) -> None:
    """To the file or to standard output."""
    from connector.output import terminal

    if output is None:
        terminal.out(text)
    else:
        terminal.to_file(text, output, sources)
        terminal.say(f"Written: {output}")


def _print(line: str) -> None:
    _write(f"{line}\n", None)


# What the verbs share.


def _load(config: Path) -> Settings:
    from connector.config import load

    return load(config)


def _defaults() -> Settings:
    from connector.config import Settings

    return Settings()


def _question_settings(
    settings: Settings,
    questions: list[str] | None,
    level: str | None,
    distance: str | None,
    *,
    named_only: bool = False,
) -> tuple[Settings, QuestionSettings | None]:
    """The flags --level and --distance over the settings: for the questions named, else for every one."""
    from connector.annotations.kinds import LEVELS, known_distances

    given = {
        name: _one_of(f"--{name}", value, known)
        for name, value, known in (("level", level, LEVELS), ("distance", distance, known_distances()))
        if value is not None
    }
    if not given:
        return settings, None
    if named_only and not questions:
        raise FixConfiguration(
            "--level and --distance need --question here.", "Or set them under `questions:` in the configuration."
        )
    from connector.config import with_overrides

    names = questions or []
    merged = with_overrides(settings, {"questions": dict.fromkeys(names, given)})
    default = with_overrides(settings, {"questions": {"": given}}).questions[""]
    return merged, None if names else default


def _scale(name: str | None) -> str | None:
    from connector.agreement.scales import SCALES

    return None if name is None else _one_of("--scale", name, list(SCALES))


def _read_by(
    scale: str, report: AgreementReport, context: Context, threshold: float
) -> tuple[AgreementReport, Context]:
    """The report without its verdict, beside which no scale's advice may stand, and the context with the scale."""
    from dataclasses import replace

    note = "The gate's verdict is left out beside a reading scale; without --scale it is here."
    context = replace(context, scale=scale, threshold=threshold, notes=(*context.notes, note))
    return replace(report, gate=None), context


def _one_of(option: str, value: str, known: Sequence[str]) -> str:
    if value in known:
        return value
    import difflib

    near = difflib.get_close_matches(value, known, 1)
    hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known)}."
    raise FixConfiguration(f"There is no {option} '{value}'.", hint)


def _with_rule(settings: Settings, rules: dict[str, Any]) -> Settings:
    from connector.config import with_overrides

    return with_overrides(settings, {"gate": {name: value for name, value in rules.items() if value is not None}})


def _refuse_with_config(**given: object) -> None:
    for name, value in given.items():
        if value:
            raise FixConfiguration(f"--{name.replace('_', '-')} belongs to SOURCE, not to -c.")


def _columns(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    roles: dict[str, str] = {}
    for part in text.split(","):
        role, equals, column = part.partition("=")
        if not equals or not column.strip():
            raise FixConfiguration(
                f"--columns {text!r} cannot be read.", "For example: --columns unit=item,rater=coder,value=label"
            )
        roles[role.strip()] = column.strip()
    return roles


@dataclass(frozen=True, slots=True)
class Reading:
    """How SOURCE is to be read, as the command line says."""

    label_config: Path | None = None
    columns: str | None = None
    missing: Sequence[str] = ()
    assume_submitted: bool = False
    unit_key: str | None = None


def _read_sources(
    sources: list[Path],
    settings: Settings,
    default: QuestionSettings | None,
    reading: Reading,
    batch: Batch | None = None,
) -> tuple[Table, Context, list[Obstacle]]:
    """The table of the files, what a report should say of them, and what keeps a gate from deciding on them."""
    from connector.agreement.gate import Obstacle
    from connector.output.view import context_of
    from connector.tools.files import open_files
    from connector.workflow.batch import Restricted
    from connector.workflow.comparing import keyed
    from connector.workflow.measure import collect

    files = open_files(
        sources,
        label_config=None if reading.label_config is None else _read_text(reading.label_config),
        columns=_columns(reading.columns),
        missing=reading.missing,
        assume_submitted=reading.assume_submitted,
    )
    names = [source.name for source in sources]
    units: Iterable[Unit | SkippedTask] = files.units
    if reading.unit_key is not None:
        units = keyed(units, reading.unit_key, names[0])
    chosen = None if batch is None else Restricted(units, batch)
    found = collect(units if chosen is None else chosen, files.schema, settings, default=default)
    title = f"Agreement in {', '.join(names)}"
    lacking = files.incomplete()
    notes = [*files.notes(), *([lacking] if lacking else []), *(_outside_note(chosen.outside) if chosen else [])]
    context = context_of(
        found, title=title, sources=names, threshold=settings.gate.threshold, notes=notes, noun=files.noun
    )
    return found, context, [Obstacle("incomplete", lacking)] if lacking else []


def _with_differences(
    report: AgreementReport,
    sources: tuple[Sequence[Path], Sequence[Path]],
    other: AgreementReport | None,
    raters: list[str],
    coefficient: str | None,
) -> AgreementReport:
    """The report with the difference that was asked for: from `other`, without raters, or between coefficients."""
    from connector.agreement.comparison import ALPHA, COMPARABLE
    from connector.workflow import comparing

    chosen = ALPHA if coefficient is None else _one_of("--compare", coefficient, COMPARABLE)
    if other is not None and raters:
        raise FixConfiguration("--against and --without are two questions.", "Ask one at a time.")
    if other is not None:
        names = (", ".join(one.name for one in sources[0]), ", ".join(one.name for one in sources[1]))
        return comparing.against(report, other, names, chosen)
    if raters:
        return comparing.without(report, raters, chosen)
    if chosen == ALPHA:
        raise FixConfiguration(
            "--compare needs another coefficient than alpha.", f"There are: {', '.join(COMPARABLE)}."
        )
    return comparing.between(report, ALPHA, chosen)


def _planned(rarest: float, alpha: float, form: Format, *, alone: bool) -> str:
    """How many units to plan for, before there are ratings."""
    from connector.agreement.power import bloch_kraemer_units
    from connector.output.plan import render_json, render_text

    if not alone:
        raise FixConfiguration("--plan is for the time before there are ratings.", "Leave SOURCE or --plan out.")
    if form not in ("text", "json"):
        raise FixConfiguration(f"A plan is not written as {form}.", "Use --format text or json.")
    try:
        units = bloch_kraemer_units(alpha, rarest)
    except ValueError as error:
        raise FixConfiguration(f"--plan {rarest:g} with --threshold {alpha:g}: {error}.") from None
    return (render_text if form == "text" else render_json)(units, alpha, rarest)


def _outside_note(units: Sequence[str]) -> list[str]:
    from connector.annotations.display import counted, few

    return [f"Outside the batch and left out: {counted(len(units), 'unit')} ({few(units)})."] if units else []


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FixConfiguration(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise FixConfiguration(f"{path} is not UTF-8 text.") from None


def _gate_live(settings: Settings, batch: Batch, questions: list[str]) -> tuple[Measured, Context]:
    from connector.store import Store
    from connector.workflow.gating import gate as run

    with _watch("Pulling", "") as watch, _connected(settings) as sources, Store(settings.store_path) as store:
        gated = run(sources, store, settings, batch, watch, questions=questions)
    return gated.measured, _live_context(gated.measured, [*gated.notes, *_outside_note(gated.outside)])


@contextlib.contextmanager
def _stored(settings: Settings, config: Path) -> Iterator[tuple[list[Source], Store]]:
    """The configured sources and the store as it is, for what needs no network."""
    from connector.store import Store
    from connector.workflow.sources import live

    with _connected(settings) as sources:
        if live(sources) and not settings.store_path.exists():
            raise FixConfiguration(
                f"There is no store at {settings.store_path} yet.", f"Run: connector sync -c {config}"
            )
        with Store(settings.store_path, keep=False, alone=False) as store:
            yield sources, store


def _render(form: Format, report: AgreementReport, context: Context) -> str:
    from connector.output import csv, html, json, markdown, text

    match form:
        case "text":
            return text.render(report, context, colour=text.wants_colour(sys.stdout))
        case "json":
            return json.render(report, context.scale, context.parts)
        case "csv":
            return csv.render(report)
        case "html":
            return html.render(report, context)
        case "markdown":
            return markdown.render(report, context)


def _table(report: AgreementReport) -> str:
    from io import StringIO

    from connector.output import csv

    rows = StringIO()
    csv.write_table(report, rows)
    return rows.getvalue()


def _live_context(measured: Measured, notes: Sequence[str] = ()) -> Context:
    from connector.output.view import context_of

    joined = measured.joined
    assert joined is not None, "a configuration's numbers come with their sources"
    names = [part.name for part in joined.parts]
    only = joined.parts[0].project if len(names) == 1 else None
    return context_of(
        measured.table,
        title=f"Agreement in {', '.join(names)}" if only is None else only.title or "Agreement",
        link=None if only is None else only.link,
        sources=() if only else names,
        unit_link=lambda unit: _unit_link(joined, unit),
        notes=(*joined.notes(), *notes),
        parts=joined.listed() if joined.renames else (),
        noun=joined.noun,
    )


def _unit_link(joined: Joined, unit: str) -> str | None:
    """The page of the first task behind a unit that has one; of a single record Argilla's page has no address."""
    for place, task in joined.holders(unit):
        project = joined.parts[place].project
        if project is not None and "/projects/" in project.link:
            return f"{project.link}?task={task}"
    return None


@contextlib.contextmanager
def _connected(settings: Settings, *, writing: bool = False) -> Iterator[list[Source]]:
    """The configured sources, their tools closed again; `writing` needs one that is a project."""
    from connector.config import ToolSource
    from connector.tools.registry import tool_class
    from connector.workflow.sources import LiveSource

    named = settings.named_sources
    files = [source.file for source in named.values() if not isinstance(source, ToolSource)]
    if len(files) == len(named) and (writing or len(named) == 1):
        what = "source is a file" if len(files) == 1 else "sources are files"
        raise FixConfiguration(
            f"The configured {what}, and this needs a project.",
            f"Use: connector agreement {files[0]}"
            if len(files) == 1
            else "Use: connector check, gate, report or table",
        )
    with contextlib.ExitStack() as stack:
        found: list[Source] = []
        for name, source in named.items():
            if not isinstance(source, ToolSource):
                found.append(_file_source(name, source.file))
                continue
            tool = tool_class(source.tool)(source.url, source.api_key, source.project, settings.push.prefix)
            stack.callback(tool.close)
            found.append(LiveSource(name, tool))
        yield found


def _file_source(name: str, path: Path) -> FileSource:
    """A file as a source; of a long table the column `unit` is what joins its units with others'."""
    from connector.tools.files import form_of, noun_of, open_files
    from connector.workflow.joining import Reading as Through
    from connector.workflow.sources import FileSource

    def read() -> Through:
        file = open_files([path])
        return Through(file.schema, file.units, file.notes, file.incomplete)

    form = form_of(path)
    return FileSource(name, str(path.absolute()), read, form in ("csv", "jsonl", "parquet"), noun_of(form))


@contextlib.contextmanager
def _watch(pulling: str, writing: str) -> Iterator[Watch]:
    """Progress on standard error: a bar on a terminal, a line every few seconds elsewhere."""
    from connector.output.progress import shown_progress
    from connector.workflow.sync import Watch

    with shown_progress() as update:
        yield Watch(
            lambda done, total: update(pulling, done, total),
            lambda done, total: update(writing, done, total),
            time.time,
        )


def _synced_lines(projects: Sequence[Synced], config: Path) -> Iterator[str]:
    from connector.output import text

    measured = projects[0].measured
    context = _live_context(measured)
    yield from text.render_gate(measured.report, context, colour=text.wants_colour(sys.stdout)).splitlines()
    for done in projects:
        if context.parts:
            yield f"{done.name}:"
        yield from (f"  {line}" if context.parts else line for line in _project_lines(done))
    yield f"The whole report: connector report -c {config}"


def _project_lines(done: Synced) -> Iterator[str]:
    from connector.annotations.display import counted
    from connector.output.harmless import clean

    kind = "everything" if done.pulled.full else "what changed"
    gone = f", {done.pulled.gone:,} gone" if done.pulled.gone else ""
    yield f"Pulled {kind}: {counted(done.pulled.fetched, done.noun)}{gone}."
    yield from (f"  {clean(note)}" for note in (*done.project.warnings, *done.pulled.notes()))
    if done.written is None:
        yield "A dry run; a sync would now:" if done.plan else "A dry run; a sync would write nothing."
        yield from (f"  {line}" for line in done.plan.lines())
    elif done.plan:
        yield from done.written.lines()
        if missing := len(done.written.missing):
            yield f"  {counted(missing, f'{done.noun} was', f'{done.noun}s were')} deleted in the meantime."
    else:
        yield "Nothing to write: the tool shows these numbers already."
        if done.review_link is not None and not done.reviews_seen:
            yield "  (whether all review tasks are there still was not looked at; connector review status does)"
    yield f"Look: {done.view_link or done.project.link}"
    if done.view_link is not None and done.view_link == done.project.conflicts:
        yield "  (the conflicts that wait for ratings; a completed record is shown only to those who answered it)"
    if done.written is not None and "review_title" in done.written.remote:
        yield f"The review project's title was cut to what the tool takes: {clean(done.written.remote['review_title'])}"
    if done.review_link is not None:
        yield f"Review tasks: {clean(done.review_link)}"
    for link in done.earlier_reviews:
        yield (
            f"A review project is left of a project of this name that was deleted: {clean(link)} (connector remove"
            " --review deletes it with the decisions in it)"
        )


def _removed_lines(projects: Sequence[Removal], *, dry_run: bool) -> Iterator[str]:
    for removed in projects:
        if len(projects) > 1:
            yield f"{removed.name}:"
        yield from (f"  {line}" if len(projects) > 1 else line for line in _removal_lines(removed, dry_run=dry_run))


def _removal_lines(removed: Removal, *, dry_run: bool) -> Iterator[str]:
    from connector.annotations.display import counted, few
    from connector.output.harmless import clean

    if removed.lines:
        yield "A dry run; a removal would:" if dry_run else "Done:"
    elif not removed.plan:
        stays = removed.review_project is not None or removed.earlier_reviews
        yield "Nothing of ours is there" + (" but what is said below." if stays else ".")
    yield from (f"  {line}" for line in removed.lines)
    remote = removed.written.remote if removed.written is not None else {}
    yield from map(clean, removed.written.staying() if removed.written is not None else ())
    if n_unread := len(removed.unread):
        cannot = counted(n_unread, f"{removed.noun} is", f"{removed.noun}s are")
        yield (
            f"{cannot} malformed ({clean(few(removed.unread))}): fields of ours that stand there stay until a removal"
            " can read them."
        )
    if "kept_columns" in remote:
        yield f"These stay, since other values stand in them: {clean(remote['kept_columns'])}."
    if removed.review_project is not None:
        yield f"The review project {removed.review_project} stays; with --review it goes too, with the work in it."
    for number in removed.earlier_reviews:
        yield (
            f"The review project {clean(number)} of a project of this name that was deleted stays; with --review it"
            " goes too, with the work in it."
        )


def _print_finding(finding: Finding) -> None:
    from connector.output.harmless import clean

    sign = {"ok": "ok     ", "note": "note   ", "warning": "WARNING", "error": "ERROR  "}[finding.severity]
    _print(f"{sign}  {clean(finding.text)}")
    if finding.hint:
        _print(f"         {clean(finding.hint)}")


def _prompt(*, alone: bool) -> Callable[[Prompt], Any]:
    """How `init` gets an answer: asked on a terminal, the default where flags already name the project."""

    def one(prompt: Prompt) -> Any:
        if alone and prompt.default is not None:
            return prompt.read(prompt.default)

        def read(text: str) -> Any:
            try:
                return prompt.read(text)
            except ValueError as error:
                raise typer.BadParameter(str(error)) from None

        return typer.prompt(
            prompt.text, default=prompt.default, value_proc=read, show_default=bool(prompt.default), err=True
        )

    return one


def _demo_offline(folder: Path) -> None:
    from dataclasses import replace

    from connector.demo import offline
    from connector.workflow.measure import measure

    settings = _with_rule(_defaults(), {"size": offline.SIZE, "threshold": offline.THRESHOLD})
    with offline.export_path() as path:
        found, context, _ = _read_sources([path], settings, None, Reading())
    report = measure(found, settings).report
    context = replace(context, title=offline.TITLE, sources=[offline.CREDIT])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FixConfiguration(
            f"The folder {folder} cannot be made: {error.strerror}.", "Give another one: -o DIR"
        ) from None
    _write(_render("text", report, context), None)
    _write(_render("html", report, context), folder / "report.html")
    _write(_render("json", report, context), folder / "report.json")
    _write(_table(report), folder / "table.csv")


def _demo_live(name: Literal["label-studio", "argilla"]) -> None:
    from connector.demo.live import ArgillaDemo, LabelStudioDemo, run_live

    if name == "argilla":
        run_live(ArgillaDemo(), _demo_sync("argilla"))
    else:
        run_live(LabelStudioDemo(), _demo_sync("label_studio"))


def _demo_sync(tool: str) -> Callable[[str, str, str, Path], None]:
    """What the live demo does once its server stands: write a configuration and sync."""
    from connector.config import NATIVE_NAMES
    from connector.workflow.setup import Answers, write_config

    def write_and_sync(url: str, api_key: str, project: str, workdir: Path) -> None:
        os.environ[NATIVE_NAMES[tool]["api_key"]] = api_key
        answers = Answers(project=project, tool=tool, url=url, review=True)
        config = write_config(answers, workdir / "config.yaml", force=True)
        sync(config)
        _print(f"Configuration: {config}")

    return write_and_sync
