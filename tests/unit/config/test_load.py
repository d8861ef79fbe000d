"""The configuration file: what it may hold, and what is said when it is wrong."""

import copy
import json
import pickle
import traceback
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from connector.config import FileSource, Settings, ToolSource, load, parse
from connector.errors import FixConfiguration

TOKEN = "t0ken-that-must-not-show"
ENVIRON = {"LABEL_STUDIO_URL": "http://host:8080/ls/", "LABEL_STUDIO_API_KEY": TOKEN, "EMPTY": "", "PROJECT": "12"}
LEAST = "tool: label_studio\nurl: ${LABEL_STUDIO_URL}\napi_key: ${LABEL_STUDIO_API_KEY}\nproject: 1\n"


def settings(text: str) -> Settings:
    return parse(text, ENVIRON)


def only(read: Settings) -> ToolSource | FileSource:
    (source,) = read.named_sources.values()
    return source


def fault(text: str) -> str:
    with pytest.raises(FixConfiguration) as caught:
        parse(text, ENVIRON)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert TOKEN not in shown
    return str(caught.value)


def test_four_lines_are_enough_and_the_rest_are_the_documented_defaults() -> None:
    read = settings(LEAST)
    assert only(read) == ToolSource.model_validate(
        {"tool": "label_studio", "url": "http://host:8080/ls", "api_key": TOKEN, "project": "1"}
    )
    rest = read.model_dump(exclude={"tool", "url", "api_key", "project"})
    assert rest == {
        "sources": (),
        "unit_key": None,
        "raters": {"map": {}, "reviewers": (), "exclude": (), "expected": None},
        "ground_truth": "include",
        "questions": {},
        "conflict": {"share_below": 0.6},
        "push": {"prefix": "iaa_", "scores": True, "majority": "complete", "view": True, "summary": True},
        "review": None,
        "gate": {
            "coefficient": "krippendorff_alpha",
            "threshold": 0.70,
            "rule": "point",
            "size": 500,
            "coverage": 0.95,
            "min_ratings": 2,
        },
        "store": Path("connector.db"),
    }
    assert rest == Settings().model_dump(exclude={"tool", "url", "api_key", "project"})


def test_everything_wrong_is_told_at_once_with_its_place() -> None:
    told = fault(
        LEAST
        + """
gate: {treshold: 0.7, rule: points, size: many, coverage: 2}
questions: {sentiment: {levle: ordinal}}
raters: {reviewers: alice}
"""
    )
    for line in (
        "gate.treshold: unknown key; did you mean threshold?",
        "gate.rule: should be point or confident, not 'points'; did you mean point?",
        "gate.size: should be a whole number, not 'many'",
        "gate.coverage: should be at most 1, not '2'",
        "questions.sentiment.levle: unknown key; did you mean level?",
        "raters.reviewers: should be a list, as in [a, b], not 'alice'",
    ):
        assert f"  {line}" in told.splitlines()
    assert told.startswith("the configuration has 6 faults:")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("api-key: x", "api_key"),
        ("Tool: x", "tool"),
        ("threshold: 0.7", "gate.threshold"),
        ("reviewers: [1]", "raters.reviewers"),
        ("gate: {share_below: 0.5}", "conflict.share_below"),
        ("sources: [{flie: a.json}]", "file"),
    ],
)
def test_an_unknown_key_names_the_one_that_was_meant(line: str, meant: str) -> None:
    base = "" if line.startswith(("sources", "Tool")) else LEAST
    assert f"unknown key; did you mean {meant}?" in fault(base + line)


def test_ids_stay_what_was_written_whatever_yaml_would_make_of_them() -> None:
    raters = settings(
        LEAST + "raters: {reviewers: [1, '1', 010, 1_000, no, on, 2026-01-04, 1e3, 0x1F, 12:30:00, true, .inf, '~']}"
    ).raters
    assert raters.reviewers == (
        "1", "010", "1_000", "no", "on", "2026-01-04", "1e3", "0x1F", "12:30:00", "true", ".inf", "~",
    )  # fmt: skip


def test_question_names_labels_and_map_keys_stay_text() -> None:
    read = settings(LEAST + "questions: {1: {relabel: {no: 0, 1.0: yes}}}\nraters: {map: {7: 08}}")
    assert read.questions["1"].relabel == {"no": "0", "1.0": "yes"}
    assert read.raters.map == {"7": "08"}


def test_ids_given_from_python_as_numbers_become_text() -> None:
    assert Settings.model_validate({"raters": {"reviewers": [1, "1", 2]}}).raters.reviewers == ("1", "2")


@pytest.mark.parametrize(
    ("value", "read"), [("true", True), ("yes", True), ("on", True), ("false", False), ("no", False), ("off", False)]
)
def test_both_spellings_of_true_and_false(value: str, read: bool) -> None:
    assert settings(LEAST + f"push: {{view: {value}}}").push.view is read


@pytest.mark.parametrize("value", ["off", "no", "false", "'off'"])
def test_majority_can_be_switched_off(value: str) -> None:
    assert settings(LEAST + f"push: {{majority: {value}}}").push.majority == "off"


@pytest.mark.parametrize(
    "value", [".inf", "inf", "-.inf", ".nan", "nan", "1.0001", "-1", "-1.0", "70", "70%", "0,7", "", "~", "[]", "1e400"]
)
def test_a_threshold_outside_what_a_coefficient_can_reach_is_refused(value: str) -> None:
    assert "gate.threshold: " in fault(LEAST + f"gate:\n  threshold: {value}\n")


@pytest.mark.parametrize(("value", "read"), [("1", 1.0), ("-0.999", -0.999), ("0.7", 0.7), ("'0.70'", 0.7), ("0", 0.0)])
def test_a_threshold_that_can_be_reached_is_taken(value: str, read: float) -> None:
    assert settings(LEAST + f"gate: {{threshold: {value}}}").gate.threshold == read


@pytest.mark.parametrize("name", ["percent_agreement", "gwet_ac1", "gwet_ac2", "brennan_prediger"])
def test_coefficients_that_rise_with_one_common_category_cannot_gate(name: str) -> None:
    assert f"gate.coefficient: {name} cannot gate" in fault(LEAST + f"gate: {{coefficient: {name}}}")


def test_a_misspelt_coefficient_names_the_nearest() -> None:
    assert "did you mean cohen_kappa?" in fault(LEAST + "gate: {coefficient: cohens_kappa}")


def test_one_key_twice_is_refused_with_its_line() -> None:
    assert "the key 'project' stands twice (line 5, column 1)" in fault(LEAST + "project: 2\n")


def test_the_same_key_written_as_number_and_text_is_one_key() -> None:
    assert "stands twice" in fault(LEAST + "questions: {1: {}, '1': {}}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tool: [label_studio\nurl: x", "line 2, column 4"),
        ("tool:\n\t- x", "line 2, column 1"),
        ("a: b: c", "line 1, column 5"),
        ("a: b\n--- \nc: d", "line 2, column 1"),
        ("a: b\nc: \x07", "line 2"),
    ],
)
def test_what_is_not_yaml_is_told_with_line_and_column(text: str, told: str) -> None:
    assert told in fault(text)


@pytest.mark.parametrize(
    "text",
    [
        f"api_key: %{TOKEN}",
        f"api_key: *{TOKEN}",
        f"api_key: !{TOKEN} x",
        f"api_key: !{TOKEN}!x y",
        f'api_key: "{TOKEN}',
        f"api_key: [{TOKEN}: {TOKEN}: ",
        f"api_key: {TOKEN}\n  indented: wrong",
        f"api_key: @{TOKEN}",
        f"api_key={TOKEN}",
        f"- {TOKEN}",
        f"{LEAST}apikey: {TOKEN}",
        f"{LEAST}gate: {{rule: '${{LABEL_STUDIO_API_KEY}}'}}",
        "tool: ${LABEL_STUDIO_API_KEY}",
        "tool: label_studio\nproject: ${LABEL_STUDIO_API_KEY}\nurl: ${LABEL_STUDIO_API_KEY}",
        f"tool: label_studio\nproject: 1\nurl: http://me:{TOKEN}@host",
        f"tool: label_studio\nproject: 1\nurl: {TOKEN}",
        f"tool: label_studio\nproject: 1\napi_key: [{TOKEN}]",
        f"tool: label_studio\nproject: 1\napi_key: {{x: {TOKEN}}}",
        f"tool: label_studio\nproject: 1\napi_key: a {TOKEN}",
        f"sources: [{{tool: label_studio, project: x, api_key: {TOKEN}}}]",
        f"sources: [{TOKEN + TOKEN}]",
    ],
)
def test_no_message_holds_the_token_wherever_it_was_put(text: str) -> None:
    fault(text)


def test_a_token_in_a_traceback_of_pydantic_is_hidden_too() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"tool": "label_studio", "api_key": f"a {TOKEN}", "gate": {"rule": TOKEN}})
    assert TOKEN not in str(caught.value)


def test_the_token_is_in_no_repr_and_no_dump() -> None:
    read = settings(LEAST)
    shown = [repr(read), str(read), read.model_dump_json(), str(read.model_dump()), repr(only(read)), repr(vars(read))]
    shown.append(json.dumps(read.model_dump(mode="json")))
    assert not any(TOKEN in text for text in shown)
    assert read.api_key is not None
    assert read.api_key.get_secret_value() == TOKEN


def test_aliases_serve_but_cannot_grow_without_end() -> None:
    read = settings(LEAST + "questions: {a: &same {level: ordinal}, b: *same}")
    assert read.questions["a"] == read.questions["b"]
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
    for name, before in zip("bcdefghi", "abcdefgh", strict=True):
        bomb += f"{name}: &{name} [" + ",".join([f"*{before}"] * 10) + "]\n"
    assert "too many values" in fault(bomb)
    assert "refers to what contains it" in fault("a: &a [*a]")


@pytest.mark.parametrize("text", ["[" * 5000, "{a: " * 5000])
def test_nesting_without_end_is_refused(text: str) -> None:
    fault(text)


@pytest.mark.parametrize(
    "text", ["a: !!python/object/apply:os.system [true]", "a: !!binary aGk=", "a: !x y", "a: !!int 5"]
)
def test_tags_are_refused(text: str) -> None:
    assert "a tag" in fault(text)


def test_a_key_that_is_not_text_is_refused() -> None:
    assert "a key is not text (line 1" in fault("? [a, b]\n: c")
    assert "a key is not text (line 1" in fault("~: c")


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n", "just words\n", "~"])
def test_what_is_not_a_mapping_is_refused(text: str) -> None:
    assert "connector init" in fault(text)


def test_variables_are_filled_in_and_may_have_a_default() -> None:
    read = settings(
        "tool: label_studio\nproject: ${PROJECT}\nstore: ${NOT_SET:-a/b.db}\nunit_key: x${EMPTY:-y}z\n"
        "gate: {threshold: '${NOT_SET:-0.8}'}"
    )
    assert (read.project, str(read.store), read.unit_key, read.gate.threshold) == ("12", "a/b.db", "xyz", 0.8)


def test_a_variable_holds_a_value_and_never_yaml() -> None:
    assert parse(LEAST + "unit_key: ${X}", {**ENVIRON, "X": "a}\nreview: {}\n# é"}).unit_key == "a}\nreview: {}\n# é"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("unit_key: ${NOT_SET}", "unit_key: the environment variable NOT_SET is not set"),
        ("unit_key: ${EMPTY}", "unit_key: the environment variable EMPTY is empty"),
        ("unit_key: ${NOT_SET", "unit_key: holds a ${"),
        ("unit_key: ${1X}", "unit_key: holds a ${"),
        ("raters: {reviewers: [a, '${NOT_SET}']}", "raters.reviewers.1: the environment variable NOT_SET is not set"),
        ("gate: {size: '${NOT_SET}'}", "gate.size: the environment variable NOT_SET is not set"),
    ],
)
def test_a_variable_that_is_not_there_is_named(line: str, told: str) -> None:
    assert fault(LEAST + line).splitlines()[1:] == [f"  {line_}" for line_ in [told]] or told in fault(LEAST + line)


def test_the_tools_own_variables_fill_what_is_absent() -> None:
    read = settings("tool: label_studio\nproject: 1\n")
    assert read.url == "http://host:8080/ls"
    assert read.api_key is not None
    argilla = {"ARGILLA_API_URL": "http://a", "ARGILLA_API_KEY": "k"}
    assert parse("tool: argilla\nproject: w/d\n", argilla).url == "http://a"
    assert only(settings("sources: [{tool: label_studio, project: 3}]")) == only(settings(LEAST)).model_copy(
        update={"project": "3"}
    )


def test_what_the_file_says_wins_over_the_tools_own_variables() -> None:
    assert settings("tool: label_studio\nproject: 1\nurl: https://other\n").url == "https://other"


def test_an_absent_key_names_the_variable_that_would_serve() -> None:
    with pytest.raises(FixConfiguration) as caught:
        parse("tool: label_studio\nproject: 1\n", {})
    assert "url: is missing; write it, or set LABEL_STUDIO_URL" in str(caught.value)
    assert "api_key: is missing; write it, or set LABEL_STUDIO_API_KEY" in str(caught.value)


@pytest.mark.parametrize("value", ["", "''", "~", "'  '", "${EMPTY}", "${EMPTY:-}"])
def test_an_api_key_written_as_nothing_is_a_fault_even_where_a_variable_would_serve(value: str) -> None:
    assert "api_key: " in fault(f"tool: label_studio\nproject: 1\napi_key: {value}\n")


def test_blanks_around_a_token_from_a_file_are_not_part_of_it() -> None:
    read = parse(LEAST, {**ENVIRON, "LABEL_STUDIO_API_KEY": f"{TOKEN}\n"})
    assert read.api_key is not None
    assert read.api_key.get_secret_value() == TOKEN


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("localhost:8080", "should begin with http:// or https://"),
        ("host.example.org/ls", "should begin with http:// or https://"),
        ("ftp://host", "should begin with http:// or https://"),
        ("file:///etc/passwd", "should begin with http:// or https://"),
        ("http:host", "should begin with http:// or https://"),
        ("http://", "names no host"),
        ("http://:80", "names no host"),
        ("http://host:port", "is not an address"),
        ("http://[::1", "is not an address"),
        ("http://host/projects/7/data?tab=3", "the 7 after it goes into project"),
        ("http://host/?x=1", "should end before the ? or #"),
        ("'http://ho st'", "blanks"),
    ],
)
def test_an_address_that_cannot_serve_is_told(url: str, told: str) -> None:
    assert f"url: {told}" in fault(f"tool: label_studio\nproject: 1\nurl: {url}\n") or told in fault(
        f"tool: label_studio\nproject: 1\nurl: {url}\n"
    )


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("http://h:8080/", "http://h:8080"),
        ("https://h/ls//", "https://h/ls"),
        ("http://[::1]:8080/a/b", "http://[::1]:8080/a/b"),
    ],
)
def test_an_address_keeps_its_sub_path_and_loses_its_slash(url: str, read: str) -> None:
    assert settings(f"tool: label_studio\nproject: 1\nurl: '{url}'\n").url == read


@pytest.mark.parametrize("project", ["abc", "0", "007", "1.0", "-1", "http://h/projects/1"])
def test_a_label_studio_project_is_a_number(project: str) -> None:
    assert "project: should be the number" in fault(f"tool: label_studio\nproject: {project}\n")


@pytest.mark.parametrize("project", ["dataset", "/d", "w/", "a/b/c"])
def test_an_argilla_project_is_workspace_and_dataset(project: str) -> None:
    assert "project: should be workspace/dataset" in fault(f"tool: argilla\nproject: {project}\n")


def test_a_misspelt_tool_is_the_one_fault_told() -> None:
    told = fault("tool: labelstudio\nproject: 1\n")
    assert told.splitlines()[1:] == ["  tool: is not a tool we know; did you mean label_studio?"]


def test_sources_take_tools_and_files(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("sources: [{file: exports/a.json}]\n")
    assert only(load(path, {})) == FileSource(file=tmp_path / "exports" / "a.json")
    several = settings("sources:\n- {tool: label_studio, project: 1}\n- {file: a.json}\n")
    assert [type(source) for source in several.sources] == [ToolSource, FileSource]
    assert list(several.named_sources) == ["label_studio:1", "a.json"]


def test_sources_of_one_name_are_told_apart_by_their_server_or_folder() -> None:
    text = """
sources:
- {tool: label_studio, project: 7}
- {tool: label_studio, project: 7, url: "https://other.example.org/ls/"}
- {tool: label_studio, project: 8}
- {tool: argilla, project: w/d, url: http://a, api_key: k}
- {file: one/ratings.csv}
- {file: two/ratings.csv}
- {file: two/gold.csv}
"""
    assert list(settings(text).named_sources) == [
        "label_studio:7@host:8080/ls", "label_studio:7@other.example.org/ls", "label_studio:8", "argilla:w/d",
        "one/ratings.csv", "two/ratings.csv", "gold.csv",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "two", ["{file: a.json}, {file: ./a.json}", ", ".join(["{tool: label_studio, project: 7}"] * 2)]
)
def test_one_source_twice_is_refused(two: str) -> None:
    assert "sources: names one source twice, as entry 1 and 2" in fault(f"sources: [{two}]")


def test_the_readme_s_several_sources_load() -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    (text,) = (one.partition("```")[0] for one in readme.split("```yaml\n") if one.startswith("sources:"))
    read = parse(text, {**ENVIRON, "ARGILLA_API_URL": "http://a", "ARGILLA_API_KEY": "k"})
    assert list(read.named_sources) == ["label_studio:7", "label_studio:8", "argilla:reviews/sentiment", "earlier.csv"]
    assert read.unit_key == "sku"
    assert set(read.raters.map.values()) == {"anna"}


TWO = "sources: [{tool: label_studio, project: 7}, {tool: label_studio, project: 8}]\n"


def test_the_raters_of_several_sources_are_named_with_their_source() -> None:
    raters = settings(
        TWO
        + """
raters:
  map: {label_studio:7/3: anna, label_studio:8/3: anna}
  reviewers: [anna, label_studio:8/9]
  exclude: [label_studio:7/1]
"""
    ).raters
    assert raters.map == {"label_studio:7/3": "anna", "label_studio:8/3": "anna"}
    assert (raters.reviewers, raters.exclude) == (("anna", "label_studio:8/9"), ("label_studio:7/1",))


@pytest.mark.parametrize(
    "raters", ["map: {3: anna}", "map: {label_studio:9/3: anna}", "reviewers: [3]", "exclude: [label_studio:7]"]
)
def test_a_rater_of_no_source_is_refused_where_there_are_several(raters: str) -> None:
    told = fault(f"{TWO}raters: {{{raters}}}")
    assert f"raters: {raters.partition(':')[0]}: entry 1 does not begin with a source's name" in told
    assert "label_studio:7/3" in told
    assert settings(f"{LEAST}raters: {{{raters}}}").raters != Settings().raters, "one source may be left unsaid"


def test_a_rater_who_is_called_by_an_id_that_is_called_otherwise_is_refused() -> None:
    assert "raters.map: calls '3' by an id" in fault(LEAST + "raters: {map: {3: 4, 4: anna}}")
    assert settings(LEAST + "raters: {map: {3: 4, 4: 4}}").raters.map == {"3": "4", "4": "4"}


def test_faults_in_sources_are_told_with_their_place() -> None:
    told = fault("sources: [{file: a, project: 3}, {tool: label_studio, project: x}, 5]")
    assert "sources.0.project: unknown key" in told
    assert "sources.1.project: should be the number" in told
    assert "sources.2: should be a section" in told


def test_both_forms_of_source_at_once_are_refused() -> None:
    assert "sources: excludes tool, url, api_key and project at the top" in fault(LEAST + "sources: [{file: a}]")


def test_settings_without_a_source_say_so_when_one_is_needed() -> None:
    with pytest.raises(FixConfiguration, match="names no source"):
        _ = Settings().named_sources


@pytest.mark.parametrize("section", ["sources", "raters", "questions", "conflict", "push", "gate"])
def test_a_section_with_every_line_commented_out_means_the_defaults(section: str) -> None:
    assert settings(f"{LEAST}{section}:\n  # x: 1\n") == settings(LEAST)


def test_no_review_without_a_section_and_defaults_with_an_empty_one() -> None:
    assert settings(LEAST + "review:\n").review is None
    review = settings(LEAST + "review: {}\n").review
    assert review is not None
    assert review.model_dump() == {"project": None, "workspace": None, "limit": None, "raters": "pseudonymous"}


def test_a_review_place_of_the_other_tool_is_told() -> None:
    assert "review: workspace is Argilla's" in fault(LEAST + "review: {workspace: w}")
    assert "review: project is Label Studio's" in fault("tool: argilla\nproject: w/d\nreview: {project: p}")
    assert "exclude each other" in fault(LEAST + "review: {workspace: w, project: p}")
    both = "sources: [{tool: label_studio, project: 7}, {tool: argilla, project: w/d, url: http://a, api_key: k}]\n"
    assert settings(both + "review: {workspace: w, project: p}").review, "each tool has its own place"


@pytest.mark.parametrize("prefix", ["", "IAA_", "iaa__", "a__b", "_a", "1a", "a b", "a-b", "a.b", "ä", "x" * 41])
def test_a_prefix_that_breaks_the_tools_filters_is_refused(prefix: str) -> None:
    assert "push.prefix: " in fault(LEAST + f"push: {{prefix: '{prefix}'}}")


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("raters: {expected: 0}", "raters.expected"),
        ("raters: {expected: 2.5}", "raters.expected"),
        ("gate: {size: 0}", "gate.size"),
        ("gate: {min_ratings: 1}", "gate.min_ratings"),
        ("gate: {coverage: 0}", "gate.coverage"),
        ("conflict: {share_below: 0}", "conflict.share_below"),
        ("conflict: {share_below: 1.1}", "conflict.share_below"),
        ("review: {limit: 0}", "review.limit"),
        ("raters: {reviewers: [a, ~]}", "raters.reviewers.1"),
        ("raters: {reviewers: [a, '']}", "raters.reviewers.1"),
        ("raters: {exclude: {a: b}}", "raters.exclude"),
        ("raters: [a]", "raters"),
        ("questions: [a]", "questions"),
        ("questions: {a: ordinal}", "questions.a"),
        ("questions: {a: {empty: maybe}}", "questions.a.empty"),
        ("ground_truth: yes", "ground_truth"),
        ("store: []", "store"),
        ("unit_key: {}", "unit_key"),
    ],
)
def test_values_out_of_range_or_of_another_form_are_told(line: str, place: str) -> None:
    assert f"  {place}: " in fault(LEAST + line)


def test_what_a_terminal_would_act_on_is_escaped() -> None:
    told = fault(LEAST + '"ev\\e[31mil\\nx": 1\n"\\u202etfel": 2')
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert len(told.splitlines()) == 3


def test_the_store_is_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(LEAST)
    assert load(path, ENVIRON).store_path == tmp_path / "connector.db"
    path.write_text(LEAST + "store: /elsewhere/x.db\n")
    assert load(path, ENVIRON).store_path == Path("/elsewhere/x.db")
    monkeypatch.setenv("HOME", str(tmp_path))
    path.write_text(LEAST + "store: ~/x.db\n")
    assert load(path, ENVIRON).store_path == tmp_path / "x.db"


def test_the_process_environment_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "config.yaml"
    path.write_text(LEAST)
    assert only(load(str(path))).model_dump()["project"] == "1"


def test_a_missing_file_says_what_writes_one(tmp_path: Path) -> None:
    with pytest.raises(FixConfiguration, match="connector init"):
        load(tmp_path / "config.yaml", {})


def test_a_file_that_cannot_be_one_is_told(tmp_path: Path) -> None:
    with pytest.raises(FixConfiguration, match="cannot be read"):
        load(tmp_path, {})
    path = tmp_path / "config.yaml"
    path.write_bytes(b"tool: label_studio\nproject: \xff\n")
    with pytest.raises(FixConfiguration, match=r"not UTF-8 text \(line 2\)"):
        load(path, {})
    path.write_text("# " + "x" * 300_000)
    with pytest.raises(FixConfiguration, match="larger than 256 KB"):
        load(path, {})


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + LEAST.replace("\n", "\r\n").encode())
    assert load(path, ENVIRON).project == "1"


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        settings(LEAST).gate.threshold = 0.1


def test_settings_survive_copying() -> None:
    read = settings(LEAST)
    assert copy.deepcopy(read) == read
    assert pickle.loads(pickle.dumps(read)) == read


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        parse(text, ENVIRON)
    except FixConfiguration as error:
        told = error.message
    else:
        told = ""
    assert told.isprintable() or "\n" in told


@given(
    st.lists(
        st.text(st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=8), max_size=5
    )
)
def test_ids_come_through_as_written_in_quotes(ids: list[str]) -> None:
    from yaml import safe_dump

    from connector.config import VARIABLE

    ids = [name for name in dict.fromkeys(ids) if not VARIABLE.search(name) and name.strip() == name]
    text = safe_dump({"raters": {"reviewers": ids}}, default_style='"', allow_unicode=True)
    assert settings(LEAST + text).raters.reviewers == tuple(ids)
