"""`connector init`: the questions, and the file it writes."""

import re
from pathlib import Path
from typing import Any

import pytest

from connector.config import Settings, load
from connector.errors import FixConfiguration
from connector.workflow.setup import Answers, Prompt, ask, prompts, render, which_tool, write_config

ENVIRON = {"LABEL_STUDIO_URL": "http://host:8080", "LABEL_STUDIO_API_KEY": "a-token-of-the-environment"}
EXAMPLE = Path(__file__).parents[3] / "config.example.yaml"


def keys_of(text: str) -> set[str]:
    """Every key that stands in a configuration's text, commented out or not."""
    return set(re.findall(r"^#? *([a-z_]+):(?= |$)", text, flags=re.MULTILINE))


def keys_of_model() -> set[str]:
    def below(schema: dict[str, Any]) -> set[str]:
        return set(schema.get("properties", {}))

    schema = Settings.model_json_schema()
    return below(schema).union(*(below(part) for part in schema["$defs"].values()))


def test_the_example_loads_and_holds_the_defaults() -> None:
    read = load(EXAMPLE, ENVIRON)
    given = {"tool", "url", "api_key", "project"}
    assert read.model_dump(exclude=given) == Settings().model_dump(exclude=given)
    (source,) = read.named_sources.values()
    assert source.model_dump(exclude={"api_key"}) == {
        "tool": "label_studio",
        "url": "http://host:8080",
        "project": "1",
    }


def test_the_example_names_every_key_with_a_comment() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    keys = keys_of(text)
    assert keys_of_model() - keys <= {"file", "workspace"}  # these two stand in comments of the others
    assert "{file: PATH}" in text
    assert "workspace" in text
    without = [
        line for line in text.splitlines() if re.match(r"^#? *[a-z_]+: \S", line) and "#" not in line.lstrip("# ")
    ]
    assert without == []


def test_the_example_is_what_init_writes() -> None:
    assert EXAMPLE.read_text(encoding="utf-8") == render(Answers(project="1"))


def test_what_was_answered_is_what_loads(tmp_path: Path) -> None:
    answers = Answers(
        project="7",
        url="https://label.example.org/tools/ls",
        review=True,
        review_project='Conflicts: "hard" # ones, é 漢 {x}',
        expected=3,
        threshold=0.715,
        store="data dir/it's.db",
    )
    read = load(write_config(answers, tmp_path / "config.yaml"), ENVIRON)
    assert read.url == "https://label.example.org/tools/ls"
    assert read.project == "7"
    assert read.review is not None
    assert read.review.project == answers.review_project
    assert (read.raters.expected, read.gate.threshold) == (3, 0.715)
    assert read.store_path == tmp_path / "data dir" / "it's.db"


@pytest.mark.parametrize(
    "title", ["null", "~", "no", "1_000", "- a", "a: b", "#x", "'", '"', "x\ny", "a\u2028b", " x", "!x", "*x", "a ## b"]
)
def test_a_title_is_kept_whatever_yaml_would_make_of_it(tmp_path: Path, title: str) -> None:
    answers = Answers(project="7", review=True, review_project=title)
    review = load(write_config(answers, tmp_path / "c.yaml"), ENVIRON).review
    assert review is not None
    assert review.project == title.strip() or review.project is None


def test_no_token_is_written_even_where_one_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    text = write_config(Answers(project="7"), tmp_path / "config.yaml").read_text()
    assert ENVIRON["LABEL_STUDIO_API_KEY"] not in text
    assert re.search(r"^api_key: \$\{LABEL_STUDIO_API_KEY\} ", text, flags=re.MULTILINE)


def test_a_file_that_is_there_is_left_alone_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("mine")
    with pytest.raises(FixConfiguration, match="--force"):
        write_config(Answers(project="7"), path)
    assert path.read_text() == "mine"
    write_config(Answers(project="7"), path, force=True)
    assert load(path, ENVIRON).project == "7"
    assert [file.name for file in tmp_path.iterdir()] == ["config.yaml"]


def test_answers_that_make_no_configuration_write_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("mine")
    for answers in (Answers(project="x"), Answers(project="7", url="host"), Answers(project="7", threshold=7.0)):
        with pytest.raises(FixConfiguration, match="With these answers"):
            write_config(answers, path, force=True)
    assert path.read_text() == "mine"


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FixConfiguration, match="cannot be written"):
        write_config(Answers(project="7"), tmp_path / "none" / "config.yaml")


def test_every_question_is_asked_in_order_and_only_where_it_applies() -> None:
    asked: list[str] = []

    def answer(prompt: Prompt) -> Any:
        asked.append(prompt.name)
        typed = {"project": "7", "review": reviewed}.get(prompt.name, prompt.default)
        assert typed is not None
        return prompt.read(typed)

    reviewed = "no"
    assert ask(answer, {}, {}) == Answers(project="7", url="http://localhost:8080")
    assert asked == ["tool", "url", "project", "expected", "threshold", "review", "store"]
    asked.clear()
    reviewed = "yes"
    assert ask(answer, {"project": "9", "threshold": None}, ENVIRON) == Answers(
        project="9", url="${LABEL_STUDIO_URL}", review=True
    )
    assert asked == ["tool", "url", "expected", "threshold", "review", "review_project", "store"]


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("tool", "excel"), ("url", "host"), ("url", ""), ("project", " "), ("expected", "0"), ("expected", "two"),
        ("threshold", "high"), ("threshold", "70"), ("threshold", "nan"), ("review", "maybe"), ("store", ""),
    ],
)  # fmt: skip
def test_an_answer_that_cannot_be_is_refused_where_it_is_typed(name: str, typed: str) -> None:
    (prompt,) = (prompt for prompt in (which_tool({}), *prompts("label_studio", {})) if prompt.name == name)
    with pytest.raises(ValueError, match=r"\w"):
        prompt.read(typed)


def test_argilla_is_asked_in_its_own_words() -> None:
    """Its usual address, its variable, and a dataset instead of a number."""
    asked: list[tuple[str, str | None]] = []

    def answer(prompt: Prompt) -> Any:
        asked.append((prompt.name, prompt.default))
        typed = {"tool": "argilla", "project": "lab/survey", "review": "yes"}.get(prompt.name, prompt.default)
        assert typed is not None
        return prompt.read(typed)

    assert ask(answer, {}, {}) == Answers(
        project="lab/survey", tool="argilla", url="http://localhost:6900", review=True
    )
    asked.clear()
    environ = {"ARGILLA_API_URL": "https://host/a"}
    assert ask(answer, {}, environ).url == "${ARGILLA_API_URL}"
    assert asked[0] == ("tool", "argilla")


@pytest.mark.parametrize("typed", ["7", "lab", "lab/", "/survey", "a/b/c", ""])
def test_a_dataset_is_named_with_its_workspace(typed: str) -> None:
    (prompt,) = (prompt for prompt in prompts("argilla", {}) if prompt.name == "project")
    with pytest.raises(ValueError, match="workspace/dataset"):
        prompt.read(typed)


def test_a_configuration_for_argilla_loads(tmp_path: Path) -> None:
    answers = Answers(project="my lab/a survey", tool="argilla", review=True, review_project="lab-review")
    path = write_config(answers, tmp_path / "config.yaml")
    assert "My settings, API key" in path.read_text()
    read = load(path, {"ARGILLA_API_URL": "http://host", "ARGILLA_API_KEY": "a-key-of-the-environment"})
    assert (read.tool, read.url, read.project) == ("argilla", "http://host", "my lab/a survey")
    assert read.review is not None
    assert read.review.workspace == "lab-review"


def test_a_tool_that_is_not_known_is_told(tmp_path: Path) -> None:
    with pytest.raises(FixConfiguration, match="label_studio or argilla"):
        ask(lambda prompt: prompt.read(prompt.default or ""), {"tool": "excel", "project": "1"}, {})
