# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A kernel that fits: installed once the driver is built for it, chosen, held, and given back."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._driver import dkms_repair
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.kept_kernel import (
    KeptKernel,
    Kernels,
    flavor,
    kernels_to_build,
    wanted_kernel,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._host.kernel import boot_choice
from ansible_collections.gaudi3.scale.plugins.module_utils._host.kernel.boot_kernels import next_kernel, version_order
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.tests.unit.played_node import KERNEL, PlayedNode

RELEASE = find_release("1.24.1")
FITTING = "6.5.0-45-generic"
OTHERS = ("6.5.0-44-generic", "6.5.0-99-lowlatency", "6.11.0-8-generic")
# As if the kernel that runs were too new for the release.
OLDER = {"1.24.1": {"operating_systems": {"ubuntu-24.04": ["6.5"]}}}
SUPPORTED: dict[str, Any] = {"kernel": "supported", "kernels": (), "release_overrides": OLDER}
DISTRIBUTION: dict[str, Any] = {**SUPPORTED, "kernel": "distribution"}
DEFAULTS = "GRUB_DEFAULT=0\n"


class KernelNode(PlayedNode):
    """A played node with GRUB, needrestart and kernels: ``running`` runs, ``listed`` are in a repository.

    ``uncompilable`` is a kernel for which the driver's build fails.
    """

    def __init__(self, root: Path) -> None:
        self.running = KERNEL
        self.listed: tuple[str, ...] = (*OTHERS, FITTING, KERNEL)
        self.uncompilable = ""
        super().__init__(root)
        for directory in ("etc/default/grub.d", "etc/needrestart", "boot/grub"):
            (root / directory).mkdir(parents=True)
        (root / "etc/os-release").write_text('ID=ubuntu\nVERSION_ID="24.04"\n')
        (root / "etc/default/grub").write_text(DEFAULTS)
        (root / f"boot/vmlinuz-{KERNEL}").touch()
        self.packages["linux-image-generic"] = ("6.8.0-45.45", "installed")
        self.update_grub()

    def show_kernel(self) -> None:
        super().show_kernel()
        (self.kernel_root / "proc/sys/kernel/osrelease").write_text(f"{self.running}\n")

    def answer(self, program: str, words: Sequence[str]) -> CommandResult | None:
        if program == "update-grub":
            return None
        if program == "apt-cache":
            return CommandResult(0, "".join(f"linux-image-{name} - Linux kernel\n" for name in self.listed), "")
        return super().answer(program, words)

    def failure(self, argv: Sequence[str]) -> CommandResult | None:
        if argv[:2] == ["dkms", "install"] and self.uncompilable == argv[-1]:
            tree = self.root / "var/lib/dkms/habanalabs/1.24.1-482"
            (tree / "build").mkdir(parents=True)
            (tree / "build/make.log").write_text(
                "cc -c memory.c\nmemory.c:7:1: error: no member 'vm_flags'\nmake: ***\n"
            )
            return CommandResult(10, "", "Error! Bad return status")
        return super().failure(argv)

    def change(self, program: str, words: Sequence[str]) -> CommandResult:
        if program == "update-grub":
            self.update_grub()
            return CommandResult(0, "", "")
        return super().change(program, words)

    def apt(self, words: Sequence[str]) -> CommandResult:
        done = super().apt(words)
        for name in words if "--download-only" not in words else ():
            if name.startswith("linux-headers-"):
                (self.root / "lib/modules" / name.removeprefix("linux-headers-") / "build").mkdir(
                    parents=True, exist_ok=True
                )
            elif name.startswith("linux-image-"):
                (self.root / f"boot/vmlinuz-{name.removeprefix('linux-image-')}").touch()
                self.update_grub()
        return done

    def update_grub(self) -> None:
        """grub-mkconfig: the newest kernel first, then all of them in a submenu."""
        chosen = self.root / boot_choice.DROP_IN
        default = chosen.read_text().split('"')[1] if chosen.exists() else "0"
        names = [path.name.removeprefix("vmlinuz-") for path in (self.root / "boot").glob("vmlinuz-*")]
        names.sort(key=version_order, reverse=True)
        simple, *advanced = [
            f"menuentry '{title}' $menuentry_id_option 'gnulinux-{name}-u' {{\n\tlinux /boot/vmlinuz-{kernel} ro\n}}\n"
            for title, name, kernel in [
                ("Ubuntu", "simple", names[0]),
                *((f"Ubuntu, with Linux {one}", f"{one}-advanced", one) for one in names),
            ]
        ]
        inner = "submenu 'Advanced options' $menuentry_id_option 'gnulinux-advanced-u' {\n" + "".join(advanced) + "}\n"
        (self.root / boot_choice.MENU).write_text(f'set default="{default}"\n{simple}{inner}')

    def following(self) -> str | None:
        """The kernel that boots next."""
        return next_kernel(self, str(self.root))

    def start(self) -> None:
        """Boot it, with the modules of the boot list."""
        self.running = self.following() or ""
        self.loaded = []
        if (self.source(), self.running) in self.built:
            for name in RELEASE.modules:
                self.load(name)
        self.show_kernel()


@pytest.fixture(autouse=True)
def _no_dkms_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that runs the tests may be building modules of its own."""
    monkeypatch.setattr(dkms_repair, "working", lambda *_: [])


@pytest.fixture
def node(tmp_path: Path) -> KernelNode:
    return KernelNode(tmp_path)


def place(node: KernelNode, *words: str) -> int:
    """Which of the commands that changed the node was the first with all of these words."""
    return next(number for number, command in enumerate(node.commands) if set(words) <= set(command))


def test_a_kernel_that_fits_is_built_for_installed_chosen_and_held_in_this_order(node: KernelNode) -> None:
    promised = node.converge(check_mode=True, **SUPPORTED)
    assert node.commands == []
    assert not (node.root / boot_choice.RECORD).exists()
    done = node.converge(**SUPPORTED)
    assert promised["steps"] == done["steps"]
    assert [step for step in done["steps"] if step.split()[0] in ("build", "image", "choose", "load")] == [
        f"build {FITTING}",
        f"image linux-image-{FITTING}",
        f"choose {FITTING}",
    ]
    assert place(node, "dkms", "install", FITTING) < place(node, f"linux-image-{FITTING}") < place(node, "update-grub")
    assert node.following() == FITTING
    assert (node.root / "etc/default/grub").read_text() == DEFAULTS
    assert {f"linux-image-{FITTING}", f"linux-headers-{FITTING}", "linux-image-generic"} <= node.held
    assert "qr(/vmlinuz-6\\.5\\.0-45-generic$)" in (node.root / boot_choice.NEEDRESTART_DROP_IN).read_text()
    # The driver is not even built for the kernel that runs.
    assert {kernel for _version, kernel in node.built} == {FITTING}
    assert (done["restart_required"], done["loaded"]) == (True, [])
    assert any(warning.startswith(f"Restart needed: kernel {FITTING}") for warning in done["warnings"])
    second = node.converge(**SUPPORTED)
    assert (second["changed"], second["diff"], second["restart_reasons"]) == (False, [], done["restart_reasons"])
    assert node.commands == []


def test_its_boot_loads_the_driver_and_ends_the_request(node: KernelNode) -> None:
    node.converge(**SUPPORTED)
    note = node.root / "var/lib/gaudi3_scale/restart_due/driver.json"
    assert FITTING in note.read_text()
    node.start()
    after = node.converge(**SUPPORTED)
    assert (after["changed"], after["restart_required"], after["loaded"]) == (False, False, list(RELEASE.modules))
    assert not note.exists()


def test_a_newer_kernel_of_the_distribution_does_not_take_its_place(node: KernelNode) -> None:
    node.converge(**SUPPORTED)
    node.apt(["install", f"linux-image-{OTHERS[2]}"])
    assert node.following() == FITTING
    assert not node.converge(**SUPPORTED)["changed"]


def test_a_kernel_for_which_it_does_not_build_is_neither_installed_nor_chosen(node: KernelNode) -> None:
    node.uncompilable = FITTING
    with pytest.raises(GaudiError, match=rf"for kernel {FITTING} \(memory\.c:7:1: error: no member 'vm_flags'\)"):
        node.converge(**SUPPORTED)
    assert node.following() == KERNEL
    assert not (node.root / f"boot/vmlinuz-{FITTING}").exists()
    assert not (node.root / boot_choice.DROP_IN).exists()
    assert not (node.root / boot_choice.RECORD).exists()


def test_a_kernel_that_runs_and_fits_is_kept(node: KernelNode) -> None:
    done = node.converge(kernel="supported", kernels=())
    assert [step for step in done["steps"] if step.startswith(("image", "choose"))] == [f"choose {KERNEL}"]
    assert (done["restart_required"], done["loaded"]) == (False, list(RELEASE.modules))
    node.apt(["install", f"linux-image-{OTHERS[2]}"])
    assert node.following() == KERNEL


def test_the_way_back(node: KernelNode) -> None:
    node.converge(**SUPPORTED)
    node.start()
    promised = node.converge(check_mode=True, **DISTRIBUTION)
    done = node.converge(**DISTRIBUTION)
    assert promised["steps"] == done["steps"] == [f"build {KERNEL}", f"give_back {KERNEL}"]
    assert node.following() == KERNEL
    for path in (boot_choice.DROP_IN, boot_choice.NEEDRESTART_DROP_IN, boot_choice.RECORD):
        assert not (node.root / path).exists()
    assert not [name for name in node.held if name.startswith("linux")]
    assert not node.converge(**DISTRIBUTION)["changed"]


def test_the_way_back_does_not_lead_to_a_kernel_without_a_driver(node: KernelNode) -> None:
    node.converge(**SUPPORTED)
    node.start()
    node.uncompilable = KERNEL
    with pytest.raises(GaudiError, match="cannot build"):
        node.converge(**DISTRIBUTION)
    assert node.following() == FITTING
    node.uncompilable = ""
    shutil.rmtree(node.root / "var/lib/dkms")
    # One that came later, and that nothing was built for, would boot without the choice.
    node.apt(["install", f"linux-image-{OTHERS[2]}"])
    with pytest.raises(GaudiError, match=f"would boot {OTHERS[2]}, for which no driver is built; {FITTING} stays"):
        node.converge(kernel="distribution", kernels=(KERNEL, FITTING), release_overrides=OLDER)
    assert node.following() == FITTING


def test_a_menu_that_does_not_follow_leaves_everything_as_it_was(node: KernelNode) -> None:
    node.breaks = {"update-grub": CommandResult(1, "", "no device")}
    with pytest.raises(GaudiError, match="update-grub failed: no device"):
        node.converge(**SUPPORTED)
    assert not (node.root / boot_choice.DROP_IN).exists()
    assert not (node.root / boot_choice.RECORD).exists()
    assert node.following() == KERNEL


def test_a_kernel_in_no_repository_is_refused_after_the_lists_were_read_anew(node: KernelNode) -> None:
    node.listed = OTHERS[2:]
    promised = node.converge(check_mode=True, **SUPPORTED)
    assert any("No repository of this node has a kernel 6.5 (generic)" in said for said in promised["warnings"])
    with pytest.raises(
        GaudiError, match=r"no repository of this node has a kernel 6\.5 \(generic\): add one"
    ) as caught:
        node.converge(**SUPPORTED)
    assert caught.value.facts["state"] == "refused"
    assert [command[:3] for command in node.commands] == [["apt-get", "-q", "update"]]


def test_without_a_menu_there_is_nothing_to_choose_with(node: KernelNode) -> None:
    (node.root / boot_choice.MENU).unlink()
    with pytest.raises(GaudiError, match="neither GRUB's menu nor grubby") as caught:
        node.converge(check_mode=True, **SUPPORTED)
    assert caught.value.facts["state"] == "refused"


def test_a_new_kernel_and_a_new_release_come_one_after_the_other(node: KernelNode) -> None:
    node.converge(release="1.23.0")
    with pytest.raises(GaudiError, match=f"is to get kernel {FITTING} and another release at once"):
        node.converge(release="1.24.1", reload=True, **SUPPORTED)


NODE = Kernels(KERNEL, KERNEL, "", (KERNEL,), (*OTHERS, FITTING))
OF_6_5 = find_release("1.24.1", OLDER)


@pytest.mark.parametrize(
    ("option", "kernels", "wanted"),
    [
        ("supported", NODE, FITTING),
        ("supported", replace(NODE, following=OTHERS[0], installed=(KERNEL, OTHERS[0])), OTHERS[0]),
        ("supported", replace(NODE, following=FITTING, chosen=OTHERS[0], installed=(OTHERS[0], FITTING)), OTHERS[0]),
        # One that was chosen and is gone is not a reason to want it back.
        ("supported", replace(NODE, chosen=OTHERS[0]), FITTING),
        (OTHERS[1], NODE, OTHERS[1]),
        (KERNEL, replace(NODE, installed=()), KERNEL),
    ],
)
def test_which_kernel_is_meant(option: str, kernels: Kernels, wanted: str) -> None:
    assert wanted_kernel(option, OF_6_5, "ubuntu-24.04", kernels).wanted == wanted


def test_what_names_no_kernel_says_why() -> None:
    none = wanted_kernel("supported", RELEASE, "debian-12", NODE)
    assert (none.wanted, none.unlisted) == ("", "")
    assert "the table names no kernel of debian-12 for release 1.24.1" in none.refusal
    assert "no repository of this node has kernel 5.1.0-1-x" in wanted_kernel("5.1.0-1-x", RELEASE, "", NODE).unlisted
    (note,) = wanted_kernel(OTHERS[2], RELEASE, "ubuntu-24.04", NODE).notes
    assert note == f"Release 1.24.1 is validated with kernel 6.8 on ubuntu-24.04, not with {OTHERS[2]}."


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("6.8.0-45-generic", "generic"),
        ("6.1.0-49-cloud-amd64", "cloud-amd64"),
        ("6.12.48+deb13-amd64", "amd64"),
        ("5.14.0-570.el9_6.x86_64", ""),
    ],
)
def test_flavors(kernel: str, kind: str) -> None:
    assert flavor(kernel) == kind


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (KeptKernel(), ["a", "b"]),
        (KeptKernel(wanted="c"), ["a", "c"]),
        (KeptKernel(wanted="c", running_fits=False), ["c"]),
        (KeptKernel(back_to="c"), ["a", "b", "c"]),
    ],
)
def test_the_kernels_to_build_for(kept: KeptKernel, expected: list[str]) -> None:
    assert kernels_to_build((), ("a", "b"), "a", kept) == expected
