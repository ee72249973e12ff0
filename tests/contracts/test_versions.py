# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One version of the collection and one newest release of the vendor, said the same everywhere."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import NEWEST
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_library import build

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
