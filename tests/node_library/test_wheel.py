# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The wheel carries the node library and the very files of the core that Ansible ships, whoever writes it."""

from __future__ import annotations

import email
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_library import build
from packaging.requirements import Requirement

from gaudi3_scale import __version__

pytest.importorskip("setuptools")
ROOT = Path(__file__).parents[2]


def files_of(folder: str) -> list[Path]:
    """Without a link to the core, as a checkout may have one in the node library."""
    return sorted(file for file in (ROOT / folder).rglob("*.py") if "core" not in file.relative_to(ROOT).parts)


def copy_to(target: Path) -> Path:
    """What the wheel is made from, as a collection has it."""
    for file in [*files_of("src/gaudi3_scale"), *files_of("plugins/module_utils"), *(ROOT / "src").glob("*/*.txt")]:
        copy = target / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    return target


@pytest.fixture
def collection(tmp_path):
    """A copy that was installed."""
    (tmp_path / "MANIFEST.json").write_text(json.dumps({"collection_info": {"version": __version__}}))
    return copy_to(tmp_path)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    """Built from a copy, since setuptools writes into the source tree."""
    source = tmp_path_factory.mktemp("source")
    copy_to(source)
    (source / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", source / "out", source]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (built,) = (source / "out").glob("gaudi3_scale-*.whl")
    return zipfile.ZipFile(built)


@pytest.mark.parametrize(
    ("package", "folder"), [("gaudi3_scale", "src/gaudi3_scale"), ("gaudi3_scale/core", "plugins/module_utils")]
)
def test_every_file_is_there_as_it_is_in_the_checkout(wheel, package, folder):
    files = files_of(folder)
    assert files
    for file in files:
        assert wheel.read(f"{package}/{file.relative_to(ROOT / folder).as_posix()}") == file.read_bytes()


def test_nothing_else_is_in_it(wheel):
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert tops == {"gaudi3_scale", next(top for top in tops if top.endswith(".dist-info"))}


def test_it_asks_for_no_other_torch(wheel):
    (metadata,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
    text = wheel.read(metadata).decode()
    assert "Name: gaudi3-scale\n" in text
    (torch,) = (line for line in text.splitlines() if line.startswith("Requires-Dist: torch"))
    assert torch == "Requires-Dist: torch>=2.6"


def test_it_brings_a_command(wheel):
    (entries,) = (name for name in wheel.namelist() if name.endswith("/entry_points.txt"))
    assert wheel.read(entries).decode().split() == [
        "[console_scripts]",
        "gaudi3_scale",
        "=",
        "gaudi3_scale.__main__:main",
    ]


def opened(built) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(built.content))


def described(wheel: zipfile.ZipFile) -> dict:
    """The fields of METADATA that both writers have to agree about; specifiers are compared as such."""
    (name,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
    about = email.message_from_string(wheel.read(name).decode())
    single = ("Metadata-Version", "Name", "Version", "Summary", "Author", "License-Expression", "Requires-Python")
    needs = sorted(str(Requirement(text)) for text in about.get_all("Requires-Dist"))
    return {
        **{field: about[field] for field in single},
        "needs": needs,
        "extras": sorted(about.get_all("Provides-Extra")),
    }


def test_the_controllers_wheel_is_the_one_that_setuptools_builds(wheel, collection):
    ours = opened(build(collection))
    assert described(ours) == described(wheel)

    def contents(archive):
        """All but what names the writer, and which hashes these say."""
        left_out = ("/METADATA", "/WHEEL", "/RECORD", "/top_level.txt")
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith(left_out)}

    def command(archive):
        return {name: text.split() for name, text in contents(archive).items() if name.endswith("/entry_points.txt")}

    assert command(ours) == command(wheel)
    assert {**contents(ours), **command(ours)} == {**contents(wheel), **command(wheel)}


def test_its_record_is_right_and_its_bytes_are_the_same_every_time(collection):
    built = build(collection)
    assert build(collection) == built
    assert built.file == f"gaudi3_scale-{__version__}-py3-none-any.whl"
    wheel = opened(built)
    assert wheel.testzip() is None
    record = wheel.read(f"gaudi3_scale-{__version__}.dist-info/RECORD").decode()
    listed = [line.split(",")[0] for line in record.splitlines()]
    assert listed == wheel.namelist()
    # No other zlib can pack it otherwise, and no clock has its share.
    assert {(entry.compress_type, entry.date_time) for entry in wheel.infolist()} == {(0, (1980, 1, 1, 0, 0, 0))}


def test_what_was_compiled_beside_the_sources_is_not_in_it(collection):
    before = build(collection)
    compiled = collection / "src/gaudi3_scale/__pycache__/train.cpython-311.pyc"
    compiled.parent.mkdir()
    compiled.write_bytes(b"x")
    assert build(collection) == before


def test_a_checkouts_wheel_says_which_one_it_is(collection):
    released = build(collection)
    (collection / "MANIFEST.json").unlink()
    (collection / "galaxy.yml").write_text(f"---\nnamespace: gaudi3\nversion: {__version__}\n")
    first = build(collection)
    base, _plus, digest = first.version.partition("+checkout")
    assert base == released.version == __version__ and len(digest) == 12
    with (collection / "src/gaudi3_scale/train.py").open("a") as file:
        file.write("# changed\n")
    second = build(collection)
    assert second.version != first.version and second.sha256 != first.sha256


def test_two_commits_of_one_version_have_two_digests(collection):
    first = build(collection)
    with (collection / "plugins/module_utils/_errors.py").open("a") as file:
        file.write("# changed\n")
    second = build(collection)
    assert (second.file, second.version) == (first.file, first.version)
    assert second.sha256 != first.sha256


def test_sources_of_another_version_than_the_collection_are_refused(collection):
    init = collection / "src/gaudi3_scale/__init__.py"
    init.write_text(init.read_text().replace(f'__version__ = "{__version__}"', '__version__ = "0.0.9"'))
    said = f"has the version 0.0.9, and the collection {__version__}; install the collection again"
    with pytest.raises(GaudiError, match=re.escape(said)):
        build(collection)
    shutil.rmtree(collection / "src")
    with pytest.raises(GaudiError, match="has no node library in src; install the collection again"):
        build(collection)
