"""What the shell sees: an exit code that means one thing, a message that says what to do, and never a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from connector import cli
from connector.output import text
from connector.output.view import Context
from tests.unit.cli.exports import export, task
from tests.unit.output.reports import mixed_report

Runner = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def run(tmp_path: Path) -> Runner:
    """`connector ARGUMENTS` as a process of its own in an empty folder."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}

    def one(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "connector", *arguments],
            cwd=tmp_path,
            env={**environment, **more},
            capture_output=True,
            text=True,
            check=False,
        )

    return one


def agreeing(count: int) -> list[dict[str, object]]:
    return [task(number, ["yes", "yes"] if number % 2 else ["no", "no"]) for number in range(1, count + 1)]


def test_go_is_0_no_go_is_1_and_undecided_is_3(run: Runner, tmp_path: Path) -> None:
    export(tmp_path / "good.json", agreeing(10))
    export(tmp_path / "bad.json", [task(n, ["yes", "no"]) for n in range(1, 11)])
    assert run("gate", "good.json", "--size", "10").returncode == 0
    assert run("gate", "bad.json", "--size", "10").returncode == 1
    assert run("gate", "good.json").returncode == 3, "500 units are the default size"
    assert run("gate", "good.json", "--first", "10").returncode == 0, "--first sets the size"
    assert run("gate", "good.json", "--batch", "1-10").returncode == 0
    assert run("gate", "good.json", "--batch", "1-11").returncode == 3, "unit 11 is not there"


def test_ls_10_an_export_that_is_not_the_batch_names_what_is_absent_and_what_is_outside(
    run: Runner, tmp_path: Path
) -> None:
    export(tmp_path / "export.json", [task(n, ["yes", "no"]) for n in (1, 2, 9)])
    done = run("gate", "export.json", "--batch", "1-3")
    assert done.returncode == 3
    assert "1 of the named units is not there: 3." in done.stdout
    assert "Outside the batch and left out: 1 unit (9)." in done.stdout


def test_one_category_is_undecided_never_a_pass(run: Runner, tmp_path: Path) -> None:
    export(tmp_path / "one.json", [task(n, ["yes", "yes"]) for n in range(1, 11)])
    done = run("gate", "one.json", "--first", "10", "--format", "json")
    assert done.returncode == 3
    gate = json.loads(done.stdout)["gate"]
    assert (gate["verdict"], gate["value"]) == ("UNDECIDED", None)
    assert "no_variation" in gate["reasons"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["agreement", "missing.json"], "missing.json"),
        (["agreement"], "agreement needs SOURCE"),
        (["agreement", "text.txt"], "text.txt"),
        (["agreement", "good.json", "--level", "cardinal"], "cardinal"),
        (["agreement", "good.json", "--question", "sentimnt"], "sentiment"),
        (["agreement", "good.json", "--columns", "unit"], "--columns unit="),
        (["gate"], "-c CONFIG"),
        (["gate", "good.json", "-c", "config.yaml"], "SOURCE"),
        (["gate", "good.json", "--coefficient", "gwet_ac1"], "gwet_ac1"),
        (["gate", "good.json", "--first", "2", "--batch", "1"], "exclude each other"),
        (["gate", "good.json", "--threshold", "nan"], "threshold"),
        (["sync", "-c", "nowhere.yaml"], "connector init"),
        (["sync", "-c", "unknown.yaml"], "thresholds"),
        (["sync", "--no-such-flag"], "No such option"),
        (["nonsense"], "No such command"),
        (["report", "-c", "good.yaml"], "no store"),
        (["review", "status", "-c", "good.yaml"], "no review section"),
    ],
)
def test_what_the_person_can_mend_is_2_and_says_what(
    run: Runner, tmp_path: Path, arguments: Sequence[str], says: str
) -> None:
    export(tmp_path / "good.json", agreeing(4))
    (tmp_path / "text.txt").write_text("just some text\n")
    good = "tool: label_studio\nurl: http://127.0.0.1:9\napi_key: secret-token-0123456789\nproject: 1\n"
    (tmp_path / "good.yaml").write_text(good)
    (tmp_path / "unknown.yaml").write_text(f"{good}gate: {{thresholds: 0.7}}\n")
    done = run(*arguments)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert done.stdout == ""
    _no_traceback_no_token(done)


def test_a_truncated_file_is_5(run: Runner, tmp_path: Path) -> None:
    whole = export(tmp_path / "whole.json", agreeing(20)).read_text()
    (tmp_path / "cut.json").write_text(whole[: len(whole) * 2 // 3])
    for verb in ("agreement", "gate", "table"):
        done = run(verb, "cut.json")
        assert (done.returncode, done.stdout) == (5, "")
        _no_traceback_no_token(done)


def test_over_one_percent_malformed_prints_and_is_5_and_the_gate_is_3(run: Runner, tmp_path: Path) -> None:
    tasks = agreeing(50)
    tasks[7]["annotations"] = "not a list"
    export(tmp_path / "bad.json", tasks)
    done = run("agreement", "bad.json")
    assert done.returncode == 5
    assert "Krippendorff" in done.stdout
    assert "task 8" in done.stderr
    assert run("gate", "bad.json", "--size", "10").returncode == 3
    export(tmp_path / "fine.json", agreeing(150) + tasks[7:8])
    assert run("agreement", "fine.json").returncode == 0, "one in 151 is under 1%"


def test_ls_01_an_export_that_holds_fewer_annotations_than_it_declares_never_passes(
    run: Runner, tmp_path: Path
) -> None:
    """An export that leaves out the annotations of a role keeps the counters: the rest agrees perfectly, and alone."""
    whole = agreeing(10)
    export(tmp_path / "whole.json", whole)
    assert run("gate", "whole.json", "--first", "10").returncode == 0
    for short in (1, 10):
        tasks = agreeing(10)
        for one in tasks[:short]:
            one["total_annotations"] = 3
        export(tmp_path / "short.json", tasks)
        done = run("gate", "short.json", "--first", "10", "--format", "json")
        assert done.returncode == 3
        gate = json.loads(done.stdout)["gate"]
        assert gate["verdict"] == "UNDECIDED"
        assert "incomplete" in gate["reasons"]
        said = run("gate", "short.json", "--first", "10")
        assert said.returncode == 3
        many = (
            "1 task holds fewer annotations than it declares"
            if short == 1
            else "10 tasks hold fewer annotations than they"
        )
        assert many in " ".join(said.stdout.split())
        _no_traceback_no_token(said)
    assert run("gate", "short.json", "whole.json", "--first", "10").returncode == 3, "the whole one does not mend it"
    assert run("agreement", "short.json").returncode == 0, "a report is no verdict"


def test_ls_01_skipped_annotations_and_drafts_are_no_shortfall(run: Runner, tmp_path: Path) -> None:
    tasks = agreeing(10)
    for one in tasks:
        skipped = {**one["annotations"][0], "id": one["id"] * 100 + 50, "completed_by": 3, "was_cancelled": True}  # type: ignore[index,operator]
        one.update(annotations=[*one["annotations"], skipped], cancelled_annotations=1)  # type: ignore[misc]
    export(tmp_path / "skipped.json", tasks)
    assert run("gate", "skipped.json", "--first", "10").returncode == 0


def test_a_dead_server_is_4_and_says_to_try_again(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "tool: label_studio\nurl: http://127.0.0.1:9\napi_key: ${LABEL_STUDIO_API_KEY}\nproject: 1\n"
    )
    for verb in (["sync"], ["check"], ["gate", "-c", "config.yaml"], ["remove"]):
        done = run(*verb, LABEL_STUDIO_API_KEY="secret-token-0123456789")
        assert done.returncode == 4, done.stderr
        assert "127.0.0.1:9" in done.stderr
        _no_traceback_no_token(done)


def test_a_held_lock_is_7(run: Runner, tmp_path: Path) -> None:
    from connector.store import Store

    (tmp_path / "config.yaml").write_text(
        "tool: label_studio\nurl: http://127.0.0.1:9\napi_key: secret-token-0123456789\nproject: 1\n"
    )
    with Store(tmp_path / "connector.db"):
        done = run("sync")
    assert done.returncode == 7
    _no_traceback_no_token(done)


def test_an_interrupt_is_130_and_a_closed_pipe_141(tmp_path: Path) -> None:
    export(tmp_path / "many.json", agreeing(20_000))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "connector", "table", str(tmp_path / "many.json")]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as piped:
        assert piped.stdout is not None
        piped.stdout.close()
        assert piped.wait() == 141
        assert piped.stderr is not None
        assert b"Traceback" not in piped.stderr.read()
    fifo = tmp_path / "never.json"
    os.mkfifo(fifo)
    with (
        subprocess.Popen(
            [*command[:-1], str(fifo)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as stuck,
        fifo.open("wb"),  # which waits until it is opened for reading
    ):
        stuck.send_signal(signal.SIGINT)
        assert stuck.wait(timeout=20) == 130
        assert stuck.stderr is not None
        assert b"Traceback" not in stuck.stderr.read()


def test_a_bug_is_70_never_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret-token-0123456789")

    monkeypatch.setattr(cli, "_load", broken)
    assert cli.run(["sync"]) == 70
    said = capsys.readouterr().err
    assert "ZeroDivisionError" in said
    assert "secret-token" not in said
    assert "Traceback" not in said


def test_json_has_standard_output_to_itself(run: Runner, tmp_path: Path) -> None:
    export(tmp_path / "good.json", agreeing(4))
    for verb in ("agreement", "gate"):
        assert json.loads(run(verb, "good.json", "--format", "json").stdout)["version"] == 1


def test_an_output_file_is_written_whole_or_not_at_all(run: Runner, tmp_path: Path) -> None:
    export(tmp_path / "good.json", agreeing(4))
    done = run("agreement", "good.json", "--format", "html", "-o", "report.html")
    assert done.returncode == 0
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run("agreement", "good.json", "-o", "no/such/folder.txt").returncode == 2
    assert sorted(file.name for file in tmp_path.iterdir()) == ["good.json", "report.html"]


def test_a_reading_scale_is_asked_for_by_name_and_a_gate_has_none(run: Runner, tmp_path: Path) -> None:
    export(tmp_path / "good.json", agreeing(10))
    done = run("agreement", "good.json", "--scale", "landis_koch")
    assert "Read by Landis and Koch: almost perfect" in done.stdout
    assert "Read by" not in run("agreement", "good.json").stdout
    unknown = run("agreement", "good.json", "--scale", "landis")
    assert unknown.returncode == 2
    assert "Did you mean landis_koch?" in unknown.stderr
    assert run("gate", "good.json", "--scale", "landis_koch").returncode == 2


def test_the_stored_report_read_by_a_scale_leaves_its_verdict_out() -> None:
    report, context = cli._read_by("daily", mixed_report(), Context(notes=["mine"]), 0.7)
    seen = text.render(report, context)
    assert "Read by the daily bands: release" in seen
    assert "Gate:" not in seen
    assert "The gate's verdict is left out beside a reading scale" in seen
    assert "mine" in seen


def test_help_comes_fast_and_shows_an_example(run: Runner) -> None:
    for verb in ("agreement", "table", "gate", "sync", "remove", "check", "report", "review", "init", "demo"):
        done = run(verb, "--help")
        assert done.returncode == 0
        assert "Example: connector" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80


def test_neither_help_nor_import_loads_anything_heavy() -> None:
    script = (
        "import sys, connector, connector.cli; connector.cli.run(['--help'])\n"
        "heavy = 'numpy pydantic requests label_studio_sdk argilla jinja2 yaml sqlite3'.split()\n"
        "assert not set(heavy) & set(sys.modules), set(heavy) & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def _no_traceback_no_token(done: subprocess.CompletedProcess[str]) -> None:
    assert "Traceback" not in done.stderr
    assert "secret-token" not in done.stderr + done.stdout
