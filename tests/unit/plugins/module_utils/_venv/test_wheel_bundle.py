# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which wheels of a bundle are for a Python, and what of an archive reaches the disk."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.wheel_bundle import (
    choose,
    fits,
    parse_wheel,
    unpack,
    versions,
)

TORCH_310 = "torch-2.11.0a0+git7d1c9c8-cp310-cp310-linux_x86_64.whl"
TORCH_312 = "torch-2.11.0a0+git7d1c9c8-cp312-cp312-linux_x86_64.whl"
PLUGIN = "habana_torch_plugin-1.24.1.482-cp312-cp312-linux_x86_64.whl"


@pytest.mark.parametrize(
    ("file", "name", "version"),
    [
        (TORCH_312, "torch", "2.11.0a0+git7d1c9c8"),
        (PLUGIN, "habana-torch-plugin", "1.24.1.482"),
        ("torch_tb_profiler-0.4.0-py3-none-any.whl", "torch-tb-profiler", "0.4.0"),
        ("a.b-1.0-1build-py3-none-any.whl", "a-b", "1.0"),
    ],
)
def test_a_file_name_tells_name_and_version(file: str, name: str, version: str) -> None:
    wheel = parse_wheel(file)
    assert wheel is not None
    assert (wheel.name, wheel.version) == (name, version)


@pytest.mark.parametrize("file", ["install.sh", "torch-2.11.0.tar.gz", "torch.whl"])
def test_other_files_are_no_wheels(file: str) -> None:
    assert parse_wheel(file) is None


@pytest.mark.parametrize(
    ("tags", "python", "expected"),
    [
        ("cp312-cp312-linux_x86_64", (3, 12), True),
        ("cp312-cp312-linux_x86_64", (3, 11), False),
        ("cp310.cp312-cp310.cp312-linux_x86_64", (3, 12), True),
        ("cp39-abi3-manylinux_2_28_x86_64", (3, 12), True),
        ("cp39-abi3-manylinux_2_28_x86_64", (3, 8), False),
        ("py3-none-any", (3, 12), True),
        ("py2.py3-none-any", (3, 12), True),
        ("py312-none-any", (3, 12), True),
        ("py2-none-any", (3, 12), False),
        ("py3-none-manylinux_2_28_x86_64", (3, 10), True),
    ],
)
def test_tags_decide_what_fits(tags: str, python: tuple[int, int], expected: bool) -> None:
    wheel = parse_wheel(f"x-1.0-{tags}.whl")
    assert wheel is not None
    assert fits(wheel, python) is expected


def test_the_wheels_of_one_python_are_chosen() -> None:
    chosen = choose([TORCH_310, TORCH_312, PLUGIN, "install.sh"], ["*.whl"], (3, 12), "url")
    assert versions(chosen) == {"habana-torch-plugin": "1.24.1.482", "torch": "2.11.0a0+git7d1c9c8"}


def test_a_bundle_for_another_python_is_refused_with_what_it_has() -> None:
    with pytest.raises(GaudiError, match=r"bundle url has torch for cp310, cp312 and not for Python 3\.11; set python"):
        choose([TORCH_310, TORCH_312], ["*.whl"], (3, 11), "url")


def test_a_bundle_without_torch_is_refused() -> None:
    with pytest.raises(GaudiError, match="has no torch"):
        choose([PLUGIN], ["*.whl"], (3, 12), "url")


def test_two_builds_for_one_python_need_a_choice() -> None:
    other = "torch-2.11.0+cpu-cp312-cp312-linux_x86_64.whl"
    with pytest.raises(GaudiError, match=r"has both torch-.* and torch-.* for one Python; give bundle_wheels"):
        choose([TORCH_312, other], ["*.whl"], (3, 12), "url")
    assert choose([TORCH_312, other], ["torch-*git*"], (3, 12), "url")["torch"].file == TORCH_312


def archive(path: Path, *names: str) -> str:
    with tarfile.open(path, "w:gz") as bundle:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 3
            bundle.addfile(info, io.BytesIO(b"abc"))
        link = tarfile.TarInfo("link-1.0-py3-none-any.whl")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        bundle.addfile(link)
    return str(path)


def test_only_wheels_leave_the_archive_and_only_into_the_directory(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    bundle = archive(tmp_path / "b.tgz", f"./{TORCH_312}", f"../../{PLUGIN}", "install.sh", "sub/x-1-py3-none-any.whl")
    assert unpack(bundle, str(target), "url") == [TORCH_312, PLUGIN, "x-1-py3-none-any.whl"]
    assert sorted(path.name for path in tmp_path.rglob("*.whl")) == sorted([TORCH_312, PLUGIN, "x-1-py3-none-any.whl"])
    assert {path.parent for path in tmp_path.rglob("*.whl")} == {target}


@pytest.mark.parametrize("damage", ["no archive", "cut short"])
def test_a_damaged_archive_is_one_sentence(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "b.tgz"
    archive(path, TORCH_312)
    path.write_bytes(b"<html>" if damage == "no archive" else path.read_bytes()[:60])
    with pytest.raises(GaudiError, match=r"url is not a usable archive of wheels .*; have it downloaded again"):
        unpack(str(path), str(tmp_path), "url")
