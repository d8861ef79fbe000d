"""The command line: one thin function per verb.

The rest of the package is imported when a verb runs, so that `--help` is quick.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from connector.errors import ConnectorError, FixConfiguration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.agreement.report import AgreementReport
    from connector.annotations.collect import Table
    from connector.config import QuestionSettings, Settings
    from connector.output.view import Context
    from connector.tools.base import Finding, Tool
    from connector.workflow.batch import Batch
    from connector.workflow.measure import Measured
    from connector.workflow.removal import Removal
    from connector.workflow.setup import Prompt
    from connector.workflow.sync import Synced, Watch

app = typer.Typer(
    name="connector",
    help="Agreement between raters for Label Studio: pull, measure, push back, gate.",
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
Sources = Annotated[
    list[Path],
    typer.Argument(metavar="SOURCE", help="Label Studio JSON exports, or long tables (csv, jsonl, parquet)."),
]
OptionalSources = Annotated[list[Path] | None, typer.Argument(metavar="SOURCE", help="As for agreement.")]
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
ScaleName = Annotated[
    str | None,
    typer.Option("--scale", help="Name each value by landis_koch, fleiss, daily or krippendorff (not in json, csv)."),
]
FormatName = Annotated[Format, typer.Option("--format", help="How to write the report.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write here instead of standard output.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the plan; write nothing, neither into the tool nor into the store.")
]


@app.command(epilog="Example: connector demo -o demo   or   connector demo --live label-studio")
def demo(
    live: Annotated[
        Literal["label-studio"] | None, typer.Option("--live", help="Start a real server, fill it, sync it.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where the page and the table go.")
    ] = Path("connector-demo"),
) -> None:
    """Measure real data that ship with the package; no server needed."""
    if live is not None:
        from connector.demo.live import run_live

        run_live(_demo_sync)
        return
    _demo_offline(output)


@app.command(epilog="Example: connector init --project 1 --url http://localhost:8080")
def init(
    config: Config = Path("config.yaml"),
    tool: Annotated[str | None, typer.Option(help="label_studio.")] = None,
    url: Annotated[str | None, typer.Option(help="Where the tool's start page opens.")] = None,
    project: Annotated[str | None, typer.Option(help="The project's number.")] = None,
    expected: Annotated[int | None, typer.Option(help="Ratings every unit should have.")] = None,
    threshold: Annotated[float | None, typer.Option(help="What a pilot batch must reach.")] = None,
    review: Annotated[
        bool | None, typer.Option("--review/--no-review", help="Make review tasks for conflicts.")
    ] = None,
    review_project: Annotated[str | None, typer.Option(help="The review project's id or title.")] = None,
    store: Annotated[str | None, typer.Option(help="The store's file, beside the configuration.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a commented configuration, after asking or from flags. No token is written into it."""
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
    unset = [name for name in ("LABEL_STUDIO_URL", "LABEL_STUDIO_API_KEY") if f"${{{name}}}" in path.read_text("utf-8")]
    unset = [name for name in unset if not os.environ.get(name)]
    first = f"set {' and '.join(unset)}, then: " if unset else ""
    _print(f"Written: {path}\nNext: {first}connector check -c {path}")


@app.command(epilog="Example: connector check -c config.yaml")
def check(config: Config = Path("config.yaml")) -> None:
    """Say what a sync would find and what is wrong, before it runs. Writes nothing."""
    from connector.workflow.check import check as run

    settings = _load(config)
    with _watch("Reading", "") as watch, _connected(settings) as tool:
        checked = run(tool, settings, watch.pulling)
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
        _connected(settings) as tool,
        Store(settings.store_path, keep=not dry_run) as store,
    ):
        done = run(tool, store, settings, dry_run=dry_run, full=full, watch=watch)
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
        _connected(settings) as tool,
        Store(settings.store_path, keep=not dry_run) as store,
    ):
        removed = run(
            tool,
            store,
            settings.push.prefix,
            review=review,
            dry_run=dry_run,
            reading=watch.pulling,
            writing=watch.writing,
        )
    for line in _removed_lines(removed, dry_run=dry_run):
        _print(line)


@app.command(epilog="Example: connector agreement export.json --format html -o report.html")
def agreement(
    sources: Sources,
    label_config: LabelConfig = None,
    question: QuestionNames = None,
    level: LevelName = None,
    distance: DistanceName = None,
    columns: Columns = None,
    missing: MissingValues = None,
    scale: ScaleName = None,
    format: FormatName = "text",  # noqa: A002 - the option's name
    output: Output = None,
) -> None:
    """Measure agreement in exports or long tables."""
    from dataclasses import replace

    from connector.workflow.measure import distrust, report_on

    scale = _scale(scale)
    settings, default = _question_settings(_defaults(), question, level, distance)
    found, context = _read_sources(sources, settings, default, label_config, columns, missing)
    context = replace(context, scale=scale)
    _write(_render(format, report_on(found, settings, questions=question or []), context), output, sources)
    distrust(found)


@app.command(epilog="Example: connector table export.json -o table.csv")
def table(
    sources: Sources,
    label_config: LabelConfig = None,
    question: QuestionNames = None,
    level: LevelName = None,
    distance: DistanceName = None,
    columns: Columns = None,
    missing: MissingValues = None,
    output: Output = None,
) -> None:
    """Write the unit-by-rater table itself, as CSV."""
    from connector.workflow.measure import distrust, report_on

    settings, default = _question_settings(_defaults(), question, level, distance)
    found, _ = _read_sources(sources, settings, default, label_config, columns, missing)
    _write(_table(report_on(found, settings, confidence=None, questions=question or [])), output, sources)
    distrust(found)


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
        str | None, typer.Option(metavar="IDS", help="The batch: ids and ranges, 1-200,305, or @FILE.")
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
        _refuse_with_config(columns=columns, missing=missing, label_config=label_config)
        settings, _ = _question_settings(_with_rule(_load(config), rules), question, level, distance, named_only=True)
        measured, context = _gate_live(settings, chosen, question or [])
    else:
        settings, default = _question_settings(_with_rule(_defaults(), rules), question, level, distance)
        found, context = _read_sources(sources or [], settings, default, label_config, columns, missing, chosen)
        measured = measure(found, settings, batch=chosen.named, questions=question or [])
    _write(_render(format, measured.report, context, verdict_only=True), output, sources or ())
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
    keep = action == "create" and not dry_run
    with (
        _watch("Pulling", "Writing") as watch,
        _connected(settings) as tool,
        Store(settings.store_path, keep=keep) as store,
    ):
        status = run(tool, store, settings, create=keep, watch=watch)
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
    from connector.store import Store
    from connector.workflow.reporting import report as run

    scale = _scale(scale)
    settings = _load(config)
    if not settings.store_path.exists():
        raise FixConfiguration(f"There is no store at {settings.store_path} yet.", f"Run: connector sync -c {config}")
    with _connected(settings) as tool, Store(settings.store_path, keep=False, alone=False) as store:
        project, measured = run(tool, store, settings)
    found, context = measured.report, _live_context(measured, project.title, project.link)
    if scale is not None and format not in ("json", "csv"):
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


def _fail(message: str, hint: str | None, code: int) -> int:
    from connector.output.terminal import say

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
    from connector.annotations.kinds import LEVELS, SET_DISTANCES

    given = {
        name: _one_of(f"--{name}", value, known)
        for name, value, known in (("level", level, LEVELS), ("distance", distance, SET_DISTANCES))
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


def _read_sources(
    sources: list[Path],
    settings: Settings,
    default: QuestionSettings | None,
    label_config: Path | None = None,
    columns: str | None = None,
    missing: list[str] | None = None,
    batch: Batch | None = None,
) -> tuple[Table, Context]:
    """The table of the files, and what a report should say of them."""
    from connector.output.view import context_of
    from connector.tools.files import open_files
    from connector.workflow.batch import Restricted
    from connector.workflow.measure import collect

    xml = None if label_config is None else _read_text(label_config)
    files = open_files(sources, label_config=xml, columns=_columns(columns), missing=missing or ())
    chosen = None if batch is None else Restricted(files.units, batch)
    found = collect(files.units if chosen is None else chosen, files.schema, settings, default=default)
    names = [source.name for source in sources]
    title = f"Agreement in {', '.join(names)}"
    notes = [] if chosen is None else _outside_note(chosen.outside)
    return found, context_of(found, title=title, sources=names, threshold=settings.gate.threshold, notes=notes)


def _outside_note(units: Sequence[str]) -> list[str]:
    from connector.annotations.display import few

    return [f"Outside the batch and left out: {len(units):,} units ({few(units)})."] if units else []


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

    with _watch("Pulling", "") as watch, _connected(settings) as tool, Store(settings.store_path) as store:
        gated = run(tool, store, settings, batch, watch, questions=questions)
    notes = _outside_note(gated.outside)
    return gated.measured, _live_context(gated.measured, gated.project.title, gated.project.link, notes)


def _render(form: Format, report: AgreementReport, context: Context, *, verdict_only: bool = False) -> str:
    from connector.output import csv, html, json, markdown, text

    match form:
        case "text" if verdict_only:
            return text.render_gate(report, context, colour=text.wants_colour(sys.stdout))
        case "text":
            return text.render(report, context, colour=text.wants_colour(sys.stdout))
        case "json":
            return json.render(report)
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


def _live_context(measured: Measured, title: str, link: str, notes: Sequence[str] = ()) -> Context:
    from connector.output.view import context_of

    return context_of(
        measured.table,
        title=title or "Agreement",
        link=link,
        unit_link=lambda unit: f"{link}?task={unit}",
        notes=notes,
    )


@contextlib.contextmanager
def _connected(settings: Settings) -> Iterator[Tool]:
    """The configured project's tool, closed again."""
    from connector.config import FileSource
    from connector.tools.registry import tool_class

    source = settings.source
    if isinstance(source, FileSource):
        raise FixConfiguration(
            "The configured source is a file, and this needs a project.", f"Use: connector agreement {source.file}"
        )
    tool = tool_class(source.tool)(source.url, source.api_key, source.project, settings.push.prefix)
    try:
        yield tool
    finally:
        tool.close()


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


def _synced_lines(done: Synced, config: Path) -> Iterator[str]:
    from connector.output import text
    from connector.output.harmless import clean

    context = _live_context(done.measured, done.project.title, done.project.link)
    yield from text.render_gate(done.measured.report, context, colour=text.wants_colour(sys.stdout)).splitlines()
    kind = "everything" if done.pulled.full else "what changed"
    gone = f", {done.pulled.gone:,} gone" if done.pulled.gone else ""
    yield f"Pulled {kind}: {done.pulled.fetched:,} tasks{gone}."
    if done.written is None:
        yield "A dry run; a sync would now:" if done.plan else "A dry run; a sync would write nothing."
        yield from (f"  {line}" for line in done.plan.lines())
    elif done.plan:
        yield "Written:"
        yield from (f"  {line}" for line in done.plan.lines())
        if done.written.missing:
            yield f"  {len(done.written.missing):,} tasks were deleted in the meantime."
    else:
        yield "Nothing to write: the tool shows these numbers already."
    yield f"Look: {done.view_link or done.project.link}"
    if done.written is not None and "review_title" in done.written.remote:
        yield f"The review project's title was cut to what the tool takes: {clean(done.written.remote['review_title'])}"
    if done.review_project is not None:
        yield f"Review tasks: project {clean(done.review_project)}"
    yield f"The whole report: connector report -c {config}"


def _removed_lines(removed: Removal, *, dry_run: bool) -> Iterator[str]:
    if not removed.lines:
        yield "Nothing of ours is there."
        return
    yield "A dry run; a removal would:" if dry_run else "Done:"
    yield from (f"  {line}" for line in removed.lines)
    remote = removed.written.remote if removed.written is not None else {}
    if "kept_project" in remote:
        theirs = (
            f"{remote.get('kept', '0')} review tasks with work in them, {remote.get('kept_others', '0')} other tasks"
        )
        yield f"The review project {remote['kept_project']} stays: it holds {theirs}."
    if removed.review_project is not None:
        yield f"The review project {removed.review_project} stays; with --review it goes too, with the work in it."


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
        found, context = _read_sources([path], settings, None)
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


def _demo_sync(url: str, api_key: str, project: str, workdir: Path) -> None:
    """What the live demo does once its server stands: write a configuration and sync."""
    from connector.workflow.setup import Answers, write_config

    os.environ["LABEL_STUDIO_API_KEY"] = api_key
    config = write_config(Answers(project=project, url=url, review=True), workdir / "config.yaml", force=True)
    sync(config)
    _print(f"Configuration: {config}")
