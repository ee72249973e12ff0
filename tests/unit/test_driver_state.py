# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The driver of a played node: its programs keep their state in an object, its files lie below a directory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Sequence

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils.driver_plan import DriverOptions
from ansible_collections.gaudi3.scale.plugins.module_utils.driver_state import converge, explain_failed_install
from ansible_collections.gaudi3.scale.plugins.module_utils.errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils.releases import find_release

KERNEL = "6.8.0-45-generic"
MODULES = find_release("1.24.1").modules
OPTIONS = DriverOptions(release="1.24.1", packages=("habanalabs-dkms", "habanalabs-qual"))


class PlayedNode:
    """A node whose programs keep their state in this object and in files below ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.kernel_root = root / "kernel"
        self.dkms, self.held, self.loaded = "", set[str](), list[str]()
        self.version = "1.24.1-482"
        self.build_fails = False
        self.commands: list[list[str]] = []
        (root / f"lib/modules/{KERNEL}/build").mkdir(parents=True)
        self.write("proc/sys/kernel/osrelease", f"{KERNEL}\n")
        self.write("proc/modules", "")

    def write(self, name: str, text: str) -> None:
        path = self.kernel_root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def __call__(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        program, *words = argv
        if program == "dpkg-query":
            lines = (f"{n}\t{self.version}\t{'hold' if n in self.held else 'install'}\tinstalled" for n in words[3:])
            return CommandResult(0, "".join(f"{line}\n" for line in lines), "")
        if argv[:2] == ["dkms", "status"]:
            return CommandResult(0, self.dkms, "")
        if program == "modinfo":
            return CommandResult(0, "", "")
        self.commands.append(list(argv))
        return self.change(program, words)

    def change(self, program: str, words: Sequence[str]) -> CommandResult:
        if program == "dkms" and self.build_fails:
            log = self.root / f"var/lib/dkms/habanalabs/{self.version}/build/make.log"
            log.parent.mkdir(parents=True)
            log.write_text("x.c:1:1: error: no such thing\nmake: *** [all] Error 2\n")
            return CommandResult(10, "", "")
        if program == "dkms":
            self.dkms = f"habanalabs/{self.version}, {KERNEL}, x86_64: installed\n"
        elif program == "apt-mark":
            self.held = set(words[1:]) if words[0] == "hold" else set()
        elif program == "modprobe":
            self.loaded.append(words[0])
        elif program == "rmmod":
            self.loaded.remove(words[0])
        self.write("proc/modules", "".join(f"{name} 1 0 - Live 0x0\n" for name in self.loaded))
        if "habanalabs" in self.loaded and program == "modprobe":
            self.write("sys/module/habanalabs/version", f"{self.version.split('-')[0]}-abcdef\n")
        return CommandResult(0, "", "")

    def converge(self, check_mode: bool = False, **more: Any) -> dict[str, Any]:
        self.commands.clear()
        options = replace(OPTIONS, kernel_root=str(self.kernel_root), **more)
        return converge(options, self, check_mode, str(self.root))


@pytest.fixture
def node(tmp_path: Path) -> PlayedNode:
    return PlayedNode(tmp_path)


def test_a_first_run_holds_builds_and_loads_in_order_and_a_second_does_nothing(node: PlayedNode) -> None:
    first = node.converge()
    assert first["changed"]
    assert node.commands == [
        ["apt-mark", "hold", "habanalabs-dkms", "habanalabs-qual"],
        ["dkms", "install", "-m", "habanalabs", "-v", "1.24.1-482", "-k", KERNEL],
        *(["modprobe", name] for name in MODULES),
    ]
    assert first["loaded"] == list(MODULES)
    assert first["loaded_version"] == "1.24.1-abcdef"
    assert first["held"] == ["habanalabs-dkms", "habanalabs-qual"]
    lines = (node.root / "etc/modules-load.d/habanalabs.conf").read_text().splitlines()
    assert lines[1:] == list(MODULES)
    second = node.converge()
    assert not second["changed"]
    assert second["diff"] == []
    assert second["steps"] == []
    assert node.commands == []


def test_check_mode_promises_what_the_run_then_does(node: PlayedNode) -> None:
    promised = node.converge(check_mode=True)
    assert node.commands == []
    assert not (node.root / "etc").exists()
    done = node.converge()
    assert promised["steps"] == done["steps"]
    assert {**promised["diff"][-1], "after": ""} == {**done["diff"][-1], "after": ""}
    told = promised["diff"][-1]["after"].splitlines()
    assert told[:-1] == done["diff"][-1]["after"].splitlines()[:-1]
    assert told[-1] == "loaded release: 1.24.1"


def test_check_mode_on_a_node_without_packages_still_shows_the_plan(node: PlayedNode) -> None:
    node.version = ""
    assert node.converge(check_mode=True)["changed"]
    with pytest.raises(GaudiError, match="cannot be set up: the package habanalabs-dkms is"):
        node.converge()
    assert node.commands == []


def test_another_release_is_left_loaded_until_it_may_be_replaced(node: PlayedNode) -> None:
    node.converge()
    node.write("sys/module/habanalabs/version", "1.23.0-2eae87a\n")
    left = node.converge()
    assert left["reload_required"]
    assert not left["changed"]
    assert node.commands == []
    (node.kernel_root / "dev/accel").mkdir(parents=True)
    card = node.kernel_root / "dev/accel/accel0"
    card.touch()
    with card.open():
        busy = node.converge(reload=True)
        assert busy["reload_required"]
        assert [holder["devices"] for holder in busy["holders"]] == [["accel0"]]
        assert node.commands == []
    done = node.converge(reload=True)
    assert not done["reload_required"]
    assert node.commands == [["rmmod", name] for name in MODULES[::-1]] + [["modprobe", name] for name in MODULES]


def test_a_failed_build_leaves_the_modules_alone(node: PlayedNode) -> None:
    node.build_fails = True
    with pytest.raises(GaudiError, match=r"DKMS cannot build .*\(x\.c:1:1: error: no such thing\)"):
        node.converge()
    assert node.loaded == []


APT = "'/usr/bin/apt-get -y install ...' failed: E: Sub-process /usr/bin/dpkg returned an error code (1)\n"


def test_a_failed_transaction_is_explained_by_the_build_log(node: PlayedNode) -> None:
    node.build_fails = True
    node.change("dkms", [])

    def half(argv: Sequence[str], **more: Any) -> CommandResult:
        if argv[0] == "dpkg-query":
            return CommandResult(0, "habanalabs-dkms\t1.24.1-482\tinstall\thalf-configured\n", "")
        return node(argv, **more)

    options = replace(OPTIONS, kernel_root=str(node.kernel_root))
    error = explain_failed_install(options, APT, half, str(node.root))
    assert str(error).startswith(f"DKMS cannot build habanalabs 1.24.1-482 for kernel {KERNEL}")
    assert error.facts["half_configured"] == ["habanalabs-dkms"]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (APT, "Sub-process /usr/bin/dpkg returned an error code"),
        ("No package matching 'linux-headers-6.8.0-45-generic' is available", "No package matching 'linux-headers"),
        ("x\nE: Unable to correct problems, you have held broken packages.\n", "E: Unable to correct problems"),
    ],
)
def test_any_other_failure_is_told_in_the_package_managers_words(node: PlayedNode, said: str, reason: str) -> None:
    error = explain_failed_install(replace(OPTIONS, kernel_root=str(node.kernel_root)), said, node, str(node.root))
    assert str(error).startswith("The packages of release 1.24.1-482 cannot be installed: ")
    assert reason in str(error)


def test_an_unknown_release_is_refused_before_the_node_is_looked_at(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match=r"9\.9\.9"):
        converge(DriverOptions(release="9.9.9"), lambda *_argv, **_more: pytest.fail("ran"), False, str(tmp_path))
