# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One version of the collection and one newest release of the vendor, said the same everywhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import NEWEST
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_library import build

from scripts.ansible_cores import CORES

from .checkout import MODULES, ROLES, ROOT, is_templated, read_yaml

VERSION = read_yaml(ROOT / "galaxy.yml")["version"]
RELEASE_DEFAULT = re.compile(r"gaudi_release\s*\|\s*default\(\s*['\"]([^'\"]+)['\"]\s*\)")


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_python_distribution_has_the_collections_version() -> None:
    assert re.search(r'^version = "(.+)"$', text_of("pyproject.toml"), re.MULTILINE).group(1) == VERSION


def test_the_python_package_has_the_collections_version() -> None:
    source = text_of("src/gaudi3_scale/__init__.py")
    assert re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE).group(1) == VERSION


def test_who_cites_it_names_the_collections_version() -> None:
    assert read_yaml(ROOT / "CITATION.cff")["version"] == VERSION


def releases() -> dict[str, Any]:
    return read_yaml(ROOT / "changelogs" / "changelog.yaml")["releases"]


def test_the_changelog_ends_with_the_collections_version() -> None:
    newest = max(releases(), key=lambda version: tuple(map(int, version.split("."))))
    assert newest == VERSION
    # The generator escapes every dot.
    assert f"## v{VERSION}" in text_of("CHANGELOG.md").replace("\\", "")


def test_every_module_was_announced() -> None:
    """`make changelog` writes what was added since the release before."""
    announced = {module["name"] for release in releases().values() for module in release.get("modules", [])}
    assert announced == {path.stem for path in MODULES}


def release_defaults() -> list[Any]:
    found = []
    for path in sorted([*(ROOT / "roles").glob("*/defaults/main.yml"), *(ROOT / "playbooks").rglob("*.yml")]):
        for release in RELEASE_DEFAULT.findall(path.read_text(encoding="utf-8")):
            found.append(pytest.param(release, id=path.relative_to(ROOT).as_posix()))
    return found


@pytest.mark.parametrize("release", release_defaults())
def test_the_default_release_is_the_newest_known(release: str) -> None:
    assert release == NEWEST


def test_a_role_that_has_a_release_follows_the_inventorys() -> None:
    for role in ROLES:
        for name, value in (read_yaml(role / "defaults" / "main.yml") or {}).items():
            if name.endswith("_release"):
                assert is_templated(value), name
                assert RELEASE_DEFAULT.search(value), name


def test_the_node_library_that_a_controller_brings_is_this_one() -> None:
    base, _plus, digest = build(ROOT).version.partition("+checkout")
    assert base == VERSION
    assert len(digest) == 12


def test_nobody_is_told_to_ask_an_index_for_the_node_library() -> None:
    """The name is on none. Whoever registered it there would run code as root on each fleet that asks."""
    readers = [*ROOT.glob("docs/*.md"), ROOT / "README.md", *(ROOT / "src").rglob("*.py")]
    shipped = [path for folder in ("roles", "playbooks", "inventories") for path in (ROOT / folder).rglob("*.yml")]
    asks = re.compile(r"""gaudi3[-_]scale(\[\w+\]|\s*==)|pip install ['"]?gaudi3""")
    assert [path.name for path in [*readers, *shipped] if asks.search(path.read_text(encoding="utf-8"))] == []


# Where a sentence, a command or a build names the range, or its beginning.
RANGES = ("README.md", "docs/first_day.md", "docs/bundle.md")
FLOORS = (
    "extensions/execution_environment/execution-environment.yml",
    "extensions/execution_environment/Containerfile.debian",
)
RANGE = re.compile(r"ansible-core (2\.\d+) to (2\.\d+)|ansible-core>=(2\.\d+),<(2\.\d+)")


def minor(version: str) -> int:
    return int(version.split(".")[1])


def oldest_core() -> str:
    """What Ansible itself refuses to be older than: the one place where the floor is decided."""
    return re.fullmatch(r">=(2\.\d+)\.0", read_yaml(ROOT / "meta" / "runtime.yml")["requires_ansible"]).group(1)


def test_the_cores_that_are_played_begin_with_the_one_that_is_required() -> None:
    assert next(iter(CORES)) == oldest_core()
    assert [minor(core) for core in CORES] == [*range(minor(oldest_core()), minor(oldest_core()) + len(CORES))]


@pytest.mark.parametrize("name", RANGES)
def test_the_documentation_names_the_cores_that_are_played(name: str) -> None:
    told = [(of or since, to or f"2.{minor(below) - 1}") for of, to, since, below in RANGE.findall(text_of(name))]
    assert told and {*told} == {(oldest_core(), [*CORES][-1])}


@pytest.mark.parametrize("name", FLOORS)
def test_an_execution_environment_has_none_that_is_refused(name: str) -> None:
    assert {*re.findall(r"ansible-core>=(2\.\d+)", text_of(name))} == {oldest_core()}


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_a_role_asks_for_the_same_ansible(role: Path) -> None:
    assert read_yaml(role / "meta" / "main.yml")["galaxy_info"]["min_ansible_version"] == oldest_core()


def test_a_checkout_of_each_python_gets_a_core_that_is_played() -> None:
    pinned = re.findall(r"^ansible-core>=(2\.\d+)\.0,<(2\.\d+);", text_of("requirements/run.txt"), re.MULTILINE)
    assert pinned and all(since in CORES and minor(below) == minor(since) + 1 for since, below in pinned)
    assert max((since for since, _below in pinned), key=minor) == [*CORES][-1]


WORKFLOW = ROOT / ".github" / "workflows" / "tests.yml"


def test_each_core_is_played_for_each_push() -> None:
    assert read_yaml(WORKFLOW)["jobs"]["cores"]["strategy"]["matrix"]["core"] == [*CORES]


def test_what_runs_there_is_pinned() -> None:
    """A tag of somebody else's action can be moved to other code; the comment says which one it was."""
    used = re.findall(r"uses: (.+)$", WORKFLOW.read_text(encoding="utf-8"), re.MULTILINE)
    assert used and [one for one in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v[\d.]+", one)] == []
