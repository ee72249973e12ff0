# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The first load of a driver waits for the boot that brings ``iommu=pt`` into force."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._driver import dkms_repair
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.tests.unit.played_node import KERNEL, PlayedNode

HASWELL = "BOOT_IMAGE=/vmlinuz-6.8.0-110-generic root=/dev/sda2 ro quiet"
PASSTHROUGH = f"{HASWELL} iommu=pt intel_iommu=on"
MODULES = list(find_release("1.24.1").modules)


@pytest.fixture(autouse=True)
def _no_dkms_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that runs the tests may be building modules of its own."""
    monkeypatch.setattr(dkms_repair, "working", lambda *_: [])


@pytest.fixture
def node(tmp_path: Path) -> PlayedNode:
    """A virgin node whose kernel was started without iommu=pt."""
    played = PlayedNode(tmp_path)
    boot(played, HASWELL)
    return played


def boot(node: PlayedNode, command_line: str) -> None:
    """Another command line, and the modules of the boot list."""
    node.command_line = command_line
    boot_list = node.root / "etc/modules-load.d/habanalabs.conf"
    node.loaded = boot_list.read_text().splitlines()[1:] if boot_list.exists() else []
    node.driver = "1.24.1" if node.loaded else ""
    node.show_kernel()


def actions(result: dict[str, Any]) -> list[str]:
    return [step.split()[0] for step in result["steps"]]


def test_it_is_installed_and_built_and_not_loaded(node: PlayedNode) -> None:
    promised = node.converge(check_mode=True)
    done = node.converge()
    assert promised["steps"] == done["steps"]
    assert actions(done) == ["fetch", "install", "list", "build", "hold"]
    assert (done["state"], done["loaded"], node.loaded) == ("installed", [], [])
    assert ("1.24.1-482", KERNEL) in node.built
    second = node.converge()
    assert not second["changed"]
    for result in (promised, done, second):
        assert result["restart_required"] is True
        (warning,) = result["warnings"]
        assert "restart needed: the kernel was started without iommu=pt" in warning
        assert "set load_without_passthrough: true" in warning


def test_the_boot_that_brings_it_into_force_loads_it(node: PlayedNode) -> None:
    node.converge()
    boot(node, PASSTHROUGH)
    result = node.converge()
    assert (result["changed"], result["restart_required"], result["warnings"]) == (False, False, [])
    assert result["loaded"] == MODULES


def test_a_boot_that_loaded_nothing_is_made_good(node: PlayedNode) -> None:
    node.converge()
    boot(node, PASSTHROUGH)
    node.loaded, node.driver = [], ""
    node.show_kernel()
    assert actions(node.converge()) == ["load"]


def test_it_is_loaded_all_the_same_where_that_is_asked_for(node: PlayedNode) -> None:
    result = node.converge(load_without_passthrough=True)
    assert (result["loaded"], result["restart_required"]) == (MODULES, False)
    assert "the driver was loaded anyway" in result["warnings"][0]
    second = node.converge(load_without_passthrough=True)
    assert (second["changed"], second["warnings"]) == (False, [])


def test_a_driver_that_is_loaded_stays_loaded_and_can_be_changed(node: PlayedNode) -> None:
    node.converge(release="1.23.0", load_without_passthrough=True)
    boot_list = (node.root / "etc/modules-load.d/habanalabs.conf").read_text()
    unchanged = node.converge(release="1.23.0")
    assert (unchanged["changed"], unchanged["restart_required"], unchanged["warnings"]) == (False, False, [])
    assert boot_list == (node.root / "etc/modules-load.d/habanalabs.conf").read_text()
    assert node.converge(release="1.24.1", reload=True)["loaded"] == MODULES


def test_a_change_that_fails_leads_back_to_a_loaded_driver(node: PlayedNode) -> None:
    node.converge(release="1.23.0", load_without_passthrough=True)
    node.breaks_once["dkms install"] = CommandResult(10, "", "Error! Bad return status")
    with pytest.raises(GaudiError, match=r"the node is back on 1\.23\.0, verified"):
        node.converge(release="1.24.1", reload=True)
    assert "habanalabs" in node.loaded


@pytest.mark.parametrize(
    ("kind", "loads"),
    [("identity", True), ("DMA", False), ("DMA-FQ", False)],
)
def test_what_the_kernel_shows_of_the_cards_counts(node: PlayedNode, kind: str, loads: bool) -> None:
    for card in (node.kernel_root / "sys/bus/pci/devices").glob("*"):
        if (card / "vendor").read_text().strip() == "0x1da3":
            (card / "iommu_group").mkdir()
            (card / "iommu_group/type").write_text(f"{kind}\n")
    assert ("load" in actions(node.converge(check_mode=True))) is loads


def test_a_host_without_an_iommu_does_not_wait(node: PlayedNode) -> None:
    (node.kernel_root / "sys/kernel/iommu_groups").mkdir(parents=True)
    assert actions(node.converge(check_mode=True))[-1] == "load"


def test_an_image_without_cards_does_not_wait(node: PlayedNode) -> None:
    for card in list((node.kernel_root / "sys/bus/pci/devices").glob("*")):
        (card / "vendor").write_text("0x8086\n")
    result = node.converge(check_mode=True)
    assert (actions(result)[-1], result["restart_required"]) == ("load", False)
