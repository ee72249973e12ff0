# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Trees as killed builds and package scripts of dkms 3.0.10 left them, and what becomes of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Sequence

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.dkms_repair import (
    Damage,
    find_damages,
    repair_all,
    working,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

V, K = "1.24.1-482", "6.1.0-56-amd64"


class PlayedNode:
    """A root with a DKMS tree. ``built`` is what dkms counts as built, ``owned`` what packages own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.built: dict[str, list[str]] = {}
        self.owned: set[str] = set()
        self.versions: dict[str, str] = {}
        self.calls: list[list[str]] = []
        (root / "proc").mkdir()

    @property
    def tree(self) -> Path:
        return self.root / "var/lib/dkms/habanalabs"

    def write(self, name: str, text: str = "") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def add(self, version: str = V, source: bool = True, owned: bool = True) -> None:
        (self.tree / version).mkdir(parents=True)
        source_directory = self.root / f"usr/src/habanalabs-{version}"
        if source:
            self.write(f"usr/src/habanalabs-{version}/dkms.conf")
        # dkms links to the absolute path; below a test's root that is another one.
        (self.tree / version / "source").symlink_to(source_directory if source else f"/usr/src/habanalabs-{version}")
        if owned:
            self.owned.add(f"/usr/src/habanalabs-{version}/dkms.conf")
        self.built[version] = []

    def build(self, version: str = V, kernel: str = K, active: bool = True, known: bool = True) -> Path:
        self.write(f"var/lib/dkms/habanalabs/{version}/{kernel}/x86_64/module/habanalabs.ko", version)
        if known:
            self.built[version].append(kernel)
        if active:
            (self.tree / f"kernel-{kernel}-x86_64").symlink_to(f"{version}/{kernel}/x86_64")
            self.write(f"lib/modules/{kernel}/updates/dkms/habanalabs.ko", version)
        return self.tree / version / kernel

    def __call__(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        self.calls.append(list(argv))
        if argv[0] == "dpkg-query":
            owned = argv[-1] in self.owned
            return CommandResult(0, f"habanalabs-dkms: {argv[-1]}\n", "") if owned else CommandResult(1, "", "")
        if argv[:2] == ["dkms", "status"]:
            kernels = self.built[argv[-1]]
            lines = [f"habanalabs/{argv[-1]}, {kernel}, x86_64: installed\n" for kernel in kernels]
            return CommandResult(0, "".join(lines) or f"habanalabs/{argv[-1]}: added\n", "")
        if argv[0] == "modinfo":
            return CommandResult(0, Path(argv[-1]).read_text(), "")
        return CommandResult(0, "", "")

    def find(self) -> list[Damage]:
        return find_damages(self, str(self.root), str(self.root / "proc"), patience_s=0)

    def repair(self) -> list[str]:
        return repair_all(self.find(), self, str(self.root))


@pytest.fixture
def node(tmp_path: Path) -> PlayedNode:
    return PlayedNode(tmp_path)


def kinds(node: PlayedNode) -> list[str]:
    return [damage.kind for damage in node.find()]


def test_a_sound_tree_and_no_tree_have_nothing_wrong(node: PlayedNode) -> None:
    assert node.find() == []
    node.add()
    assert node.find() == []
    node.build()
    assert node.find() == []


def test_a_half_built_kernel_is_taken_out_and_the_other_kept(node: PlayedNode) -> None:
    node.add()
    half = node.build(known=False, active=False)
    whole = node.build(kernel="6.1.0-55-amd64")
    (damage,) = node.find()
    assert (damage.kind, damage.version, damage.kernel) == ("half built", V, K)
    assert "tree already contains" in str(damage)
    node.repair()
    assert not half.exists()
    assert whole.exists()
    assert node.find() == []


def test_a_stale_build_directory_is_removed_and_an_empty_one_is_usual(node: PlayedNode) -> None:
    node.add()
    (node.tree / V / "build").mkdir()
    assert node.find() == []
    node.write(f"var/lib/dkms/habanalabs/{V}/build/make.log")
    assert kinds(node) == ["stale build directory"]
    node.repair()
    assert not (node.tree / V / "build").exists()


def test_files_that_are_gone_or_of_another_version_make_dkms_install_again(node: PlayedNode) -> None:
    node.add()
    node.build()
    installed = node.root / f"lib/modules/{K}/updates/dkms/habanalabs.ko"
    installed.write_text("1.23.0-695")
    (damage,) = node.find()
    assert (damage.kind, "another version of habanalabs" in str(damage)) == ("not in place", True)
    installed.unlink()
    (damage,) = node.find()
    assert (damage.kind, "lacks habanalabs" in str(damage)) == ("not in place", True)
    node.repair()
    assert not (node.tree / f"kernel-{K}-x86_64").is_symlink()
    assert (node.tree / V / K).exists()


def test_somebodys_own_build_of_the_same_version_is_left(node: PlayedNode, monkeypatch: pytest.MonkeyPatch) -> None:
    node.add()
    node.build()
    (node.root / f"lib/modules/{K}/updates/dkms/habanalabs.ko").write_text(f"{V}\n")
    assert node.find() == []


def test_a_link_to_a_build_that_is_gone_is_removed(node: PlayedNode) -> None:
    node.add()
    (node.tree / f"kernel-{K}-x86_64").symlink_to(f"{V}/{K}/x86_64")
    (damage,) = node.find()
    assert (damage.kind, damage.kernel) == ("dangling kernel link", K)
    node.repair()
    assert node.find() == []


def test_a_version_whose_package_is_gone_is_set_aside_with_its_modules(node: PlayedNode) -> None:
    node.add("1.23.0-695", source=False, owned=False)
    node.build("1.23.0-695", known=False)
    assert kinds(node) == ["without package"]
    moved = node.repair()
    assert not (node.tree / "1.23.0-695").exists()
    assert any("dkms_set_aside/1.23.0-695." in path and Path(path).is_dir() for path in moved)
    assert not (node.root / f"lib/modules/{K}/updates/dkms/habanalabs.ko").exists()
    assert ["depmod", K] in node.calls
    assert node.find() == []


def test_a_changed_module_of_such_a_version_stays(node: PlayedNode) -> None:
    node.add("1.23.0-695", source=False, owned=False)
    node.build("1.23.0-695", known=False)
    mine = node.write(f"lib/modules/{K}/updates/dkms/habanalabs.ko", "mine")
    node.repair()
    assert mine.read_text() == "mine"
    assert kinds(node) == ["orphan module"]
    assert node.repair() == []


def test_a_source_that_a_package_owns_comes_back_by_installing_the_package(node: PlayedNode) -> None:
    node.add(source=False)
    node.build(known=False)
    (damage,) = node.find()
    assert (damage.kind, damage.packages, damage.repairable) == ("without source", ("habanalabs-dkms",), False)
    assert node.repair() == []


def test_a_tree_without_a_link_to_its_source_is_removed(node: PlayedNode) -> None:
    node.add()
    (node.tree / V / "source").unlink()
    assert kinds(node) == ["without source"]
    node.repair()
    assert not (node.tree / V).exists()
    assert (node.root / f"usr/src/habanalabs-{V}/dkms.conf").exists()


@pytest.mark.parametrize(("version", "source"), [("1.24.1-482", True), ("1.24.1-mine", True), ("my-branch.1", False)])
def test_what_somebody_put_there_by_hand_is_told_and_left(node: PlayedNode, version: str, source: bool) -> None:
    version = version if version[0].isdigit() else f"9.{version}"
    node.add(version, source=source, owned=False)
    half = node.build(version, known=False, active=False)
    assert kinds(node) == ["by hand"]
    assert node.repair() == []
    assert half.exists()


def test_other_modules_are_not_looked_at(node: PlayedNode) -> None:
    other = node.write("var/lib/dkms/mlnx-ofed-kernel/5.8/6.1.0-56-amd64/x86_64/log/make.log")
    assert node.find() == []
    assert other.exists()


def test_where_dkms_says_nothing_no_build_is_taken_for_half_done(node: PlayedNode) -> None:
    node.add()
    node.build(known=False)
    silent = CommandResult(127, "", "")

    def run(argv: Sequence[str], **more: Any) -> CommandResult:
        return silent if argv[0] == "dkms" else node(argv, **more)

    assert find_damages(run, str(node.root), str(node.root / "proc"), patience_s=0) == []


def test_a_dkms_at_work_is_not_judged(node: PlayedNode) -> None:
    node.write("proc/4711/comm", "dkms\n")
    node.write("proc/4712/comm", "dkmsd\n")
    with pytest.raises(GaudiError, match=r"at work on this node \(process 4711\)"):
        node.find()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_program_of_that_name_of_anybody_stops_nothing(node: PlayedNode) -> None:
    node.write("proc/4711/comm", "dkms\n")
    os.chown(node.root / "proc/4711", 65534, 65534)
    assert working(str(node.root / "proc")) == []
