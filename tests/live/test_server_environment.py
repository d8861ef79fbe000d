"""The servers' environments: built once, healed when broken; with a build that takes a second instead of a minute."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from connector.demo import environment
from connector.demo.argilla_server import ARGILLA
from connector.demo.environment import Package, server_environment
from connector.demo.label_studio_server import LABEL_STUDIO
from connector.demo.process import Progress
from connector.errors import FixConfiguration, RetryLater

SITE = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
SERVERS = pytest.mark.parametrize("package", [LABEL_STUDIO, ARGILLA], ids=lambda package: package.file)


@pytest.fixture
def cheap_build(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Builds a bare environment that claims to hold the server; the list tells how often."""
    builds: list[Path] = []

    def build(folder: Path, python: str, package: Package, progress: Progress) -> None:
        builds.append(folder)
        subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True)
        info = folder / SITE / f"{package.distribution.replace('-', '_')}-{package.version}.dist-info"
        info.mkdir()
        claim = f"Metadata-Version: 2.1\nName: {package.distribution}\nVersion: {package.version}\n"
        (info / "METADATA").write_text(claim)
        for module in package.modules:
            (folder / SITE / f"{module}.py").touch()
        for program in package.programs:
            file = folder / program.replace("python*", Path(SITE).parts[1])
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        environment._mark_complete(folder, package)

    monkeypatch.setattr(environment, "_build", build)
    return builds


@SERVERS
def test_an_environment_is_built_once(tmp_path: Path, cheap_build: list[Path], package: Package) -> None:
    assert server_environment(package, cache=tmp_path) == server_environment(package, cache=tmp_path)
    assert len(cheap_build) == 1


def test_each_server_has_an_environment_of_its_own(tmp_path: Path, cheap_build: list[Path]) -> None:
    assert server_environment(LABEL_STUDIO, cache=tmp_path) != server_environment(ARGILLA, cache=tmp_path)
    assert len(cheap_build) == 2


@pytest.mark.parametrize(
    ("package", "harm"),
    [
        pytest.param(LABEL_STUDIO, lambda folder: (folder / "complete.json").unlink(), id="killed before the end"),
        pytest.param(
            LABEL_STUDIO, lambda folder: (folder / "complete.json").write_text('{"version":'), id="marker cut short"
        ),
        pytest.param(
            LABEL_STUDIO, lambda folder: (folder / "complete.json").write_text("{}"), id="made from other packages"
        ),
        pytest.param(LABEL_STUDIO, lambda folder: (folder / "bin" / "python").unlink(), id="interpreter gone"),
        pytest.param(LABEL_STUDIO, lambda folder: next(folder.rglob("django.py")).unlink(), id="packages gone"),
        pytest.param(ARGILLA, lambda folder: next(folder.rglob("starlette.py")).unlink(), id="argilla: packages gone"),
        pytest.param(ARGILLA, lambda folder: next(folder.rglob("redis-server")).unlink(), id="argilla: Redis gone"),
        pytest.param(ARGILLA, lambda folder: next(folder.rglob("osmem-server")).unlink(), id="argilla: index gone"),
    ],
)
def test_a_broken_environment_is_built_anew(
    tmp_path: Path, cheap_build: list[Path], package: Package, harm: Callable[[Path], object]
) -> None:
    folder = server_environment(package, cache=tmp_path)
    (folder / "left over").touch()
    harm(folder)
    assert server_environment(package, cache=tmp_path) == folder
    assert len(cheap_build) == 2
    assert not (folder / "left over").exists()


def test_an_install_that_fails_says_why_and_does_not_count(tmp_path: Path) -> None:
    missing = replace(LABEL_STUDIO, version="0.0.0.dev999")
    with pytest.raises(RetryLater, match=r"(?s)could not be installed.*0\.0\.0\.dev999"):
        server_environment(missing, cache=tmp_path, progress=lambda line: None)
    assert not list(tmp_path.rglob("complete.json"))


@SERVERS
def test_without_a_suitable_python_it_says_which(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: Package
) -> None:
    """A shim named python3.11 that has no interpreter behind it, as version managers leave them, does not count."""
    shim = tmp_path / "python3.11"
    shim.write_text("#!/bin/sh\necho 'command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", (3, 14, 0, "final", 0))
    with pytest.raises(FixConfiguration, match=rf"{package.name} needs Python 3\.11 or 3\.12"):
        server_environment(package, cache=tmp_path)


@SERVERS
def test_every_package_of_an_environment_is_locked(package: Package) -> None:
    assert package.constraints is not None
    locked = [line for line in package.constraints.splitlines() if line and not line.startswith("#")]
    assert all("==" in line for line in locked)
    names = {line.partition("==")[0] for line in locked}
    assert {package.distribution, *package.beside} <= names
