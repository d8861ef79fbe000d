"""The configuration file: what may stand in it, and `load`, which reads it or says all that is wrong with it at once.

    config.yaml -> text tree (every scalar a string) -> ${VAR} filled in -> Settings

Scalars stay text until the field they belong to says what they are. YAML's own guesses would turn the rater ids `no`,
`010`, `1_000` and `2026-01-04` into False, 8, 1000 and a date.
"""

from __future__ import annotations

import difflib
import os
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    SecretStr,
    StringConstraints,
    Tag,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from connector.errors import FixConfiguration

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Level = Literal["nominal", "ordinal", "interval", "ratio"]

MAX_BYTES = 256 * 1024
"""A larger file is not a configuration."""

MAX_NODES = 20_000
"""Values in the file once aliases are written out: bounds the aliases of aliases that grow without end."""

NATIVE_NAMES = {
    "label_studio": {"url": "LABEL_STUDIO_URL", "api_key": "LABEL_STUDIO_API_KEY"},
    "argilla": {"url": "ARGILLA_API_URL", "api_key": "ARGILLA_API_KEY"},
}
"""The environment names that the tools' own clients read, by tool and key."""


# What single values must look like.


def checked_url(url: str) -> str:
    """The tool's address without a trailing slash; a sub-path stays. Messages never repeat it: passwords hide there."""
    try:
        parts = urlsplit(url.strip())
        port_and_host = (parts.port, parts.hostname)
    except ValueError:
        raise ValueError("is not an address") from None
    if parts.scheme not in ("http", "https") or "://" not in url:
        raise ValueError("should begin with http:// or https://")
    if not port_and_host[1]:
        raise ValueError("names no host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("should not hold a user name or password; the token goes into api_key")
    if re.search(r"[\s\x00-\x1f\x7f]", url.strip()):
        raise ValueError("should not hold blanks or control characters")
    page = re.search(r"/projects/(\d+)(/|$)", parts.path)
    if page:
        raise ValueError(f"should end before /projects/; the {page.group(1)} after it goes into project")
    if re.search(r"/dataset/[0-9a-f-]{36}(/|$)|/datasets/?$", parts.path):
        raise ValueError("should end before /dataset; the dataset goes into project, as workspace/dataset")
    if parts.query or parts.fragment:
        raise ValueError("should end before the ? or #")
    return url.strip().rstrip("/")


def _checked_key(key: SecretStr) -> SecretStr:
    """A token fit for an HTTP header."""
    text = key.get_secret_value().strip()
    if not text:
        raise ValueError("is empty; write the variable that holds the token, or take the line out")
    if not re.fullmatch(r"[\x21-\x7e]+", text):
        raise ValueError("holds blanks or characters that no token has; was it pasted whole, and alone?")
    return SecretStr(text)


def _checked_tool(name: str) -> str:
    known = _known_tools(name)
    if name not in known:
        raise ValueError(f"is not a tool we know{_nearest(name, known) or f'; there are {_listed(known)}'}")
    return name


def _known_tools(name: str) -> list[str]:
    """The built-in tools and, where `name` is none of them, those of other distributions too."""
    if name in NATIVE_NAMES:
        return list(NATIVE_NAMES)
    from importlib.metadata import entry_points

    return list(dict.fromkeys([*NATIVE_NAMES, *(point.name for point in entry_points(group="connector.tools"))]))


def _checked_coefficient(name: str) -> str:
    from connector.agreement.gate import GATED, REFUSED

    if name in REFUSED:
        raise ValueError(f"{name} cannot gate: {REFUSED[name]}")
    if name not in GATED:
        raise ValueError(
            f"is not a coefficient that can gate{_nearest(name, GATED) or f'; there are {_listed(GATED)}'}"
        )
    return name


def _checked_prefix(prefix: str) -> str:
    # Label Studio: blanks make its listing fail, a double underscore breaks its filters.
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*_?", prefix) or len(prefix) > 40:
        raise ValueError(
            "should be lower-case letters, digits and single underscores, beginning with a letter, as in iaa_"
        )
    return prefix


def _checked_store(path: Path) -> Path:
    if "\0" in str(path) or any(len(part.encode("utf-8", "replace")) > 200 for part in path.parts):
        raise ValueError("is no name that a file can have")
    try:
        return path.expanduser()
    except RuntimeError:
        raise ValueError("begins with the home of a user that there is not") from None


def _off(value: object) -> object:
    return "off" if value in (False, "false", "no") else value


def _distinct(ids: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids))


def _checked_project(project: str, info: ValidationInfo) -> str:
    tool = info.data.get("tool")
    if tool == "label_studio" and not re.fullmatch(r"[1-9][0-9]*", project):
        raise ValueError("should be the number in the project's address, as in /projects/7")
    if tool == "argilla" and not re.fullmatch(r"[^/]+/[^/]+", project):
        raise ValueError("should be workspace/dataset")
    return project


Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Ids = Annotated[tuple[Text, ...], AfterValidator(_distinct)]
Url = Annotated[Text, AfterValidator(checked_url)]
ApiKey = Annotated[SecretStr, AfterValidator(_checked_key)]
ToolName = Annotated[Text, AfterValidator(_checked_tool)]
ProjectName = Annotated[Text, AfterValidator(_checked_project)]


# What may stand in the file.


class _Section(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        coerce_numbers_to_str=True,
        allow_inf_nan=False,
    )


class ToolSource(_Section):
    """A project or dataset in an annotation tool."""

    tool: ToolName
    url: Url
    api_key: ApiKey
    project: ProjectName


class FileSource(_Section):
    """An export or a long table."""

    file: Path


def _source_form(value: object) -> str:
    return "file" if isinstance(value, FileSource) or (isinstance(value, Mapping) and "file" in value) else "tool"


Source = Annotated[
    Annotated[ToolSource, Tag("tool")] | Annotated[FileSource, Tag("file")],
    Discriminator(_source_form),
]


class RaterSettings(_Section):
    """Who counts: `map` joins one person's ids, `reviewers` adjudicate, `expected` is the ratings a unit needs.

    With several sources an id is written with its source, as in label_studio:7/3; the names that `map` gives stand
    alone.
    """

    map: dict[Text, Text] = {}
    reviewers: Ids = ()
    exclude: Ids = ()
    expected: Annotated[int, Field(ge=1)] | None = None

    @field_validator("map", mode="after")
    @classmethod
    def _one_step(cls, names: dict[str, str]) -> dict[str, str]:
        for rater, name in names.items():
            if names.get(name, name) != name:
                raise ValueError(f"calls {_shown(rater)} by an id that has another name; write the last one for both")
        return names


class QuestionSettings(_Section):
    """How one question is measured; None leaves the default of its kind."""

    level: Level | None = None
    distance: Text | None = None
    empty: Literal["missing", "none"] | None = None
    required: bool | None = None
    relabel: dict[str, Text] | None = None
    by: Literal["position", "prefix", "leaf", "top", "untrimmed"] | None = None


class ConflictSettings(_Section):
    """A unit whose top label has a smaller share than this is a conflict."""

    share_below: Annotated[float, Field(gt=0, le=1)] = 0.6


class PushSettings(_Section):
    """What goes back into the tool."""

    prefix: Annotated[str, AfterValidator(_checked_prefix)] = "iaa_"
    scores: bool = True
    majority: Annotated[Literal["complete", "off"], BeforeValidator(_off)] = "complete"
    view: bool = True
    summary: bool = True


class ReviewSettings(_Section):
    """Where conflicts go to be decided: a review project (Label Studio) or workspace (Argilla)."""

    project: Text | None = None
    workspace: Text | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    raters: Literal["pseudonymous", "named"] = "pseudonymous"

    def place(self, tool: str) -> str | None:
        """Where the review tasks of a tool's conflicts go; None: to a place of their own."""
        if self.project and self.workspace:  # of several tools each has its own word
            return self.workspace if tool == "argilla" else self.project
        return self.project or self.workspace


class GateSettings(_Section):
    """The rule a pilot batch has to pass."""

    coefficient: Annotated[Text, AfterValidator(_checked_coefficient)] = "krippendorff_alpha"
    threshold: Annotated[float, Field(gt=-1, le=1)] = 0.70
    rule: Literal["point", "confident"] = "point"
    size: Annotated[int, Field(ge=1)] = 500
    coverage: Annotated[float, Field(gt=0, le=1)] = 0.95
    min_ratings: Annotated[int, Field(ge=2)] = 2


SOURCE_KEYS = ("tool", "url", "api_key", "project")


class Settings(_Section):
    """Everything a configuration file says. `Settings()` holds the defaults and no source.

    `named_sources` are those to read, whichever way the file names them. Tokens are `SecretStr`: no repr, dump or
    message shows them.
    """

    tool: ToolName | None = None
    url: Url | None = None
    api_key: ApiKey | None = None
    project: ProjectName | None = None
    sources: tuple[Source, ...] = ()
    unit_key: Text | None = None
    raters: RaterSettings = RaterSettings()
    ground_truth: Literal["include", "exclude"] = "include"
    questions: dict[str, QuestionSettings] = {}
    conflict: ConflictSettings = ConflictSettings()
    push: PushSettings = PushSettings()
    review: ReviewSettings | None = None
    gate: GateSettings = GateSettings()
    store: Annotated[Path, AfterValidator(_checked_store)] = Path("connector.db")

    _path: Path | None = PrivateAttr(default=None)

    @property
    def path(self) -> Path | None:
        """The file that was read (None: built in Python)."""
        return self._path

    @property
    def store_path(self) -> Path:
        """Where the store is: beside the configuration file, unless `store` is absolute."""
        return self.beside(self.store)

    def beside(self, path: Path) -> Path:
        """`path` as seen from the configuration file's folder."""
        path = path.expanduser()
        return path if self._path is None else self._path.parent / path

    @property
    def named_sources(self) -> dict[str, ToolSource | FileSource]:
        """Every source by the name it has in ids, in the file's order, files as seen from the configuration.

        A project is called label_studio:7 or argilla:workspace/dataset, a file by its name. Where two would have one
        name each is told apart by its server's address, as in label_studio:7@host/path, or by its folder.

        Raises FixConfiguration where none is named.
        """
        listed = self.sources
        if not listed:
            if self.tool is None or self.url is None or self.api_key is None or self.project is None:
                raise FixConfiguration(
                    f"{_file(self._path)} names no source.", "It needs tool, url, api_key and project."
                )
            listed = (ToolSource(tool=self.tool, url=self.url, api_key=self.api_key, project=self.project),)
        found = (FileSource(file=self.beside(one.file)) if isinstance(one, FileSource) else one for one in listed)
        return dict(zip(_names(listed), found, strict=True))

    @model_validator(mode="before")
    @classmethod
    def _empty_sections_are_defaults(cls, data: Any) -> Any:
        """`push:` with every line under it commented out is null in YAML; it means the defaults, not a fault."""
        if not isinstance(data, Mapping):
            return data
        # Not the source's own keys: an api_key written as nothing is a fault.
        sections = {"sources", "raters", "questions", "conflict", "push", "gate"}
        return {key: value for key, value in data.items() if not (key in sections and value is None)}

    @field_validator("sources", mode="after")
    @classmethod
    def _one_form_of_source(cls, sources: tuple[Source, ...], info: ValidationInfo) -> tuple[Source, ...]:
        flat = [key for key in SOURCE_KEYS if info.data.get(key) is not None]
        if sources and flat:
            raise ValueError(f"excludes {_listed(flat)} at the top; move the source there into this list")
        names = _names(sources)
        for place, name in enumerate(names):
            if name in names[:place]:
                raise ValueError(f"names one source twice, as entry {names.index(name) + 1} and {place + 1}")
        return sources

    @field_validator("raters", mode="after")
    @classmethod
    def _raters_of_sources(cls, raters: RaterSettings, info: ValidationInfo) -> RaterSettings:
        """Of several sources each rater's id says which one's it is: a bare one would be somebody in each of them."""
        names = _names(info.data.get("sources", ()))
        if len(names) < 2:
            return raters
        people = set(raters.map.values())
        for section, entries in (("map", raters.map), ("reviewers", raters.reviewers), ("exclude", raters.exclude)):
            for place, entry in enumerate(entries, start=1):
                named = any(entry.startswith(f"{name}/") for name in names)
                if not named and (section == "map" or entry not in people):
                    raise ValueError(
                        f"{section}: entry {place} does not begin with a source's name; write it as in"
                        f" {names[0]}/3 (the sources are {_listed(names)})"
                    )
        return raters

    @field_validator("review", mode="after")
    @classmethod
    def _review_fits_tool(cls, review: ReviewSettings | None, info: ValidationInfo) -> ReviewSettings | None:
        tool = info.data.get("tool")
        if review and review.project and review.workspace and len(info.data.get("sources", ())) < 2:
            raise ValueError("project and workspace exclude each other")
        if review and review.workspace and tool == "label_studio":
            raise ValueError("workspace is Argilla's; with label_studio write project")
        if review and review.project and tool == "argilla":
            raise ValueError("project is Label Studio's; with argilla write workspace")
        return review


def _names(sources: Sequence[ToolSource | FileSource]) -> list[str]:
    """What each source is called in ids (`Settings.named_sources`)."""
    short = [one.file.name if isinstance(one, FileSource) else f"{one.tool}:{one.project}" for one in sources]
    return [name if short.count(name) == 1 else _long_name(one) for one, name in zip(sources, short, strict=True)]


def _long_name(source: ToolSource | FileSource) -> str:
    if isinstance(source, FileSource):
        return source.file.as_posix()
    return f"{source.tool}:{source.project}@{source.url.partition('://')[2]}"


# Reading the file.


def load(path: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> Settings:
    """Read a configuration file.

    `environ` stands in for the process's environment. Raises FixConfiguration, whose message names every fault with its
    place in the file and never holds a token.
    """
    path = Path(path)
    settings = parse(_read(path), environ, name=str(path))
    settings._path = path  # noqa: SLF001 - the one place that knows it
    return settings


def with_overrides(settings: Settings, changes: Mapping[str, Mapping[str, Any]]) -> Settings:
    """The settings with keys of sections replaced, as flags do: {"gate": {"size": 100}}. Raises FixConfiguration."""
    sections: dict[str, Any] = {}
    for section, values in changes.items():
        now = getattr(settings, section)
        kept = dict(now) if isinstance(now, dict) else {name: getattr(now, name) for name in type(now).model_fields}
        for name, value in values.items():
            old = kept.get(name)
            kept[name] = (
                {**_fields_of(old), **value} if isinstance(value, Mapping) and isinstance(old, BaseModel) else value
            )
        sections[section] = kept
    try:
        checked = Settings.model_validate(sections)
    except ValidationError as error:
        said = "; ".join(f"{_shown_path(where)}: {what}" for where, what in _faults(error, sections))
        raise FixConfiguration(said) from None
    return settings.model_copy(update={section: getattr(checked, section) for section in changes})


def _fields_of(model: BaseModel) -> dict[str, Any]:
    return {name: getattr(model, name) for name in type(model).model_fields}


def parse(text: str, environ: Mapping[str, str] | None = None, name: str = "the configuration") -> Settings:
    """Settings out of the text of a configuration file; `name` is what messages call it. Raises FixConfiguration."""
    environ = os.environ if environ is None else environ
    tree = _yaml(text, name)
    if not isinstance(tree, dict):
        raise FixConfiguration(
            f"{name} is {'empty' if tree is None else 'not a mapping of keys to values'}.",
            "Write one with: connector init",
        )
    faults: dict[tuple[str, ...], str] = {}
    filled = _expanded(tree, environ, (), faults)
    _fill_from_native_names(filled, environ, faults)
    settings: Settings | None = None
    try:
        settings = Settings.model_validate(filled)
    except ValidationError as error:
        for where, what in _faults(error, tree):
            if not any(where[: len(known)] == known for known in faults):
                faults[where] = what
    if faults or settings is None:
        lines = [f"  {_shown_path(where)}: {what}" if where else f"  {what}" for where, what in faults.items()]
        count = "a fault" if len(lines) == 1 else f"{len(lines)} faults"
        raise FixConfiguration("\n".join([f"{name} has {count}:", *lines]))
    return settings


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise FixConfiguration(f"There is no file {path}.", f"Write one with: connector init -c {path}") from None
    except OSError as error:
        raise FixConfiguration(f"{path} cannot be read: {error.strerror}.") from None
    if len(raw) > MAX_BYTES:
        raise FixConfiguration(f"{path} is larger than {MAX_BYTES // 1024} KB; that is not a configuration.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FixConfiguration(f"{path} is not UTF-8 text (line {line}).") from None


def _yaml(text: str, name: str) -> Any:
    """The file as dicts, lists, strings and None. Messages hold a place, never the line: a token may stand on it."""
    import yaml

    class Loader(yaml.SafeLoader):
        """The safe loader with every scalar left as text, save null."""

        yaml_implicit_resolvers = {  # noqa: RUF012 - the name is PyYAML's
            first: [(tag, pattern) for tag, pattern in resolvers if tag.endswith(":null")]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }
        yaml_constructors = {  # noqa: RUF012 - the name is PyYAML's
            tag: make
            for tag, make in yaml.SafeLoader.yaml_constructors.items()
            if tag and tag.rsplit(":", 1)[-1] in ("null", "str", "seq", "map")
        }

    def place(mark: Any) -> str:
        return f"line {mark.line + 1}, column {mark.column + 1}" if mark else "a place it does not tell"

    def refuse(what: str, mark: Any) -> FixConfiguration:
        return FixConfiguration(f"{name}: {what} ({place(mark)}).")

    def sized(node: Any, sizes: dict[int, int], inside: frozenset[int]) -> int:
        """Nodes below `node` with aliases written out; checks the keys of mappings on the way."""
        if id(node) in inside:
            raise refuse("an alias refers to what contains it", node.start_mark)
        if id(node) in sizes:
            return sizes[id(node)]
        inside |= {id(node)}
        children: list[Any] = []
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode) or key.tag.endswith(":null"):
                    raise refuse("a key is not text", key.start_mark)
                if key.value in seen:
                    raise refuse(f"the key {_shown(key.value)} stands twice", key.start_mark)
                seen.add(key.value)
                children += [key, value]
        elif isinstance(node, yaml.SequenceNode):
            children = node.value
        if node.tag not in Loader.yaml_constructors:
            raise refuse("a tag (!...) is not used here; quote the value if it begins with !", node.start_mark)
        sizes[id(node)] = 1 + sum(sized(child, sizes, inside) for child in children)
        if sizes[id(node)] > MAX_NODES:
            raise refuse("holds too many values once its aliases are written out", node.start_mark)
        return sizes[id(node)]

    try:
        loader = Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            sized(node, {}, frozenset())
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, int(error.position)) + 1
        raise FixConfiguration(f"{name} holds a character that YAML does not allow (line {line}).") from None
    except yaml.MarkedYAMLError as error:
        # A quoted name may be half a token; quoted signs and YAML's own <...> are not.
        problem = re.sub(r"'(?!<)[^']{2,}'", "...", (error.problem or "cannot be read").replace("', ", "' , "))
        raise refuse(f"is not YAML: {problem}", error.problem_mark or error.context_mark) from None
    except RecursionError:
        raise FixConfiguration(f"{name} is nested too deep to be a configuration.") from None


VARIABLE = re.compile(r"\$\{(?:(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<has>:-(?P<default>[^}]*))?)?(?P<end>\}?)")


def _expanded(tree: Any, environ: Mapping[str, str], where: tuple[str, ...], faults: dict[tuple[str, ...], str]) -> Any:
    """The tree with ${VAR} and ${VAR:-default} filled in; as in a shell, the default serves for an empty one too."""
    if isinstance(tree, dict):
        return {key: _expanded(value, environ, (*where, key), faults) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_expanded(value, environ, (*where, str(place)), faults) for place, value in enumerate(tree)]
    if not isinstance(tree, str):
        return tree

    def value_of(match: re.Match[str]) -> str:
        name = match["name"]
        if not name or not match["end"]:
            faults[where] = "holds a ${ that is not ${NAME} or ${NAME:-default}"
            return ""
        found = environ.get(name)
        if match["has"]:
            return found or match["default"]
        if found is None:
            faults[where] = f"the environment variable {name} is not set"
        elif not found.strip():
            faults[where] = f"the environment variable {name} is empty"
        return found or ""

    return VARIABLE.sub(value_of, tree)


def _fill_from_native_names(
    tree: dict[str, Any], environ: Mapping[str, str], faults: dict[tuple[str, ...], str]
) -> None:
    """Take an absent url or api_key from the names the tool's own client reads, and say what a source still lacks."""
    sources = tree.get("sources")
    places: list[tuple[tuple[str, ...], Any]] = [((), tree)]
    if sources:
        listed = enumerate(sources) if isinstance(sources, list) else ()
        places = [(("sources", str(index)), source) for index, source in listed]
    for where, source in places:
        if not isinstance(source, dict) or (where and "file" in source):
            continue
        tool = source.get("tool")
        if isinstance(tool, str) and tool not in _known_tools(tool):
            continue  # which variables it would read is not known: the tool's name is the fault
        native = NATIVE_NAMES.get(str(tool), {})
        for key, variable in native.items():
            if key not in source and environ.get(variable, "").strip():
                source[key] = environ[variable]
        for key in SOURCE_KEYS:
            if key not in source:
                also = f"; write it, or set {native[key]}" if key in native else ""
                faults[(*where, key)] = f"is missing{also}"
            elif source[key] is None or source[key] == "":
                also = (
                    f"; write ${{{native[key]}}}, or take the line out and set that variable" if key in native else ""
                )
                faults.setdefault((*where, key), f"is empty{also}")


# Saying what is wrong.


def _faults(error: ValidationError, tree: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    for detail in error.errors(include_url=False):
        where = tuple(str(step) for step in _without_tags(detail["loc"]))
        yield where, _in_words(detail, where, tree)


def _without_tags(place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """A source's place without pydantic's name for its form."""
    return place[:2] + place[3:] if place[:1] == ("sources",) and len(place) > 2 else place


def _in_words(detail: ErrorDetails, where: tuple[str, ...], tree: Any) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    given = _given(tree, where)
    match kind:
        case "value_error":
            return str(context["error"])
        case "extra_forbidden":
            return f"unknown key{_known_near(where)}"
        case "literal_error":
            allowed = [value.strip("'") for value in re.findall(r"'[^']*'", str(context["expected"]))]
            near = _nearest(str(detail["input"]), allowed) if given else ""
            return f"should be {_listed(allowed, 'or')}{given}{near}"
        case "missing":
            return "is missing"
        case "string_type" | "path_type":
            return "is empty" if detail["input"] is None else f"should be text{given}"
        case "string_too_short":
            return "is empty"
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            words = kind.replace("greater_than", "greater than").replace("less_than", "at most").replace("_equal", "")
            bound = next(iter(context.values()))
            words = {"greater_than": "more than", "greater_than_equal": "at least", "less_than": "less than"}.get(
                kind, words
            )
            return f"should be {words} {bound:g}{given}"
        case _ if kind.startswith(("float", "finite")):
            return f"should be a number{given}"
        case _ if kind.startswith("int"):
            return f"should be a whole number{given}"
        case _ if kind.startswith("bool"):
            return f"should be true or false{given}"
        case _ if kind.startswith(("tuple", "list", "union_tag")):
            return f"should be a list, as in [a, b]{given}"
        case _ if kind.startswith(("dict", "model")):
            return f"should be a section with keys of its own{given}"
        case _:
            return detail["msg"]


def _given(tree: Any, where: tuple[str, ...]) -> str:
    """The words `, not X` with what the file says at a place: never a key, an address or what a variable held."""
    if where and where[-1] in ("api_key", "url"):
        return ""
    for step in where:
        if isinstance(tree, dict) and step in tree:
            tree = tree[step]
        elif isinstance(tree, list) and step.isdigit() and int(step) < len(tree):
            tree = tree[int(step)]
        else:
            return ""
    if tree is None:
        return ", not empty"
    if isinstance(tree, str) and len(tree) <= 40:
        return f", not {_shown(tree)}"
    return ""


def _known_near(where: tuple[str, ...]) -> str:
    """The known name nearest to an unknown key: in its own section, else in another one, else all names here."""
    *section, key = where
    names = _names_in(tuple(section))
    elsewhere = {name: f"{group}.{name}" for group in Settings.model_fields for name in _names_in((group,))}
    elsewhere |= {name: name for name in _names_in(())}
    if _plain(key) in elsewhere and _plain(key) not in names:
        return f"; did you mean {elsewhere[_plain(key)]}?"
    return _nearest(key, names) or (f"; there are {_listed(names)}" if names else "")


def _names_in(section: tuple[str, ...]) -> list[str]:
    """The keys of a section, () being the whole file."""
    model: type[BaseModel] | None = Settings
    remaining = list(section)
    while remaining and model is not None:
        field = model.model_fields.get(remaining.pop(0))
        if field is None:
            return []
        models = list(_models(field.annotation))
        if _is_container(field.annotation) and remaining:
            remaining.pop(0)
        elif _is_container(field.annotation):
            return []
        if len(models) > 1:  # the forms of a source
            return [name for form in models for name in form.model_fields]
        model = models[0] if models else None
    return list(model.model_fields) if model else []


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _is_container(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, types.UnionType):
        return any(_is_container(part) for part in get_args(annotation))
    return get_origin(annotation) in (tuple, dict)


def _nearest(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(_plain(name), list(known), n=1, cutoff=0.6)
    return f"; did you mean {found[0]}?" if found else ""


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_")


def _listed(names: Iterable[str], last: str = "and") -> str:
    names = list(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def _shown(text: str) -> str:
    """A piece of the file quoted on one line: repr escapes what a terminal would act on."""
    return repr(text if len(text) <= 60 else text[:59] + "…")


def _shown_path(where: tuple[str, ...]) -> str:
    steps = (step if re.fullmatch(r"[\w-]+", step) and len(step) <= 60 else _shown(step) for step in where)
    return ".".join(steps)


def _file(path: Path | None) -> str:
    return str(path) if path else "The configuration"
