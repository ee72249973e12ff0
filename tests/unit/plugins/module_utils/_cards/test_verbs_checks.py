# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each card has its verbs device, or the node is not fit; who cannot have one is not condemned."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.health import unfit_reason
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hpu_facts import gather
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.verbs_checks import verbs_checks
from ansible_collections.gaudi3.scale.plugins.module_utils._node.check import Check, advice, failed
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.preflight import Wanted, preflight_checks
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.verdict import Limits, Measurement, verdict
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, HlSmi, write_kernel

LIMITS = Limits(cards=1, device="hpu", temperature_c=None, idle_memory_mib=1024, firmware=None, external_links=True)
HL_225, HL_288E, HL_325L, HL_338 = "0x1020", "0x1021", "0x1060", "0x1063"


def forget(root: Path, *names: str) -> None:
    """Take devices of the class infiniband away; all of the cards without names."""
    for path in (root / "sys/class/infiniband").glob("h*"):
        if not names or path.name in names:
            shutil.rmtree(path)


def put(root: Path, name: str, address: str = "", vendor: str = "") -> None:
    device = root / "sys/class/infiniband" / name
    device.mkdir(parents=True)
    if address:
        (device / "device").symlink_to(root / "sys/bus/pci/devices" / address)
    elif vendor:
        (device / "device").mkdir()
        (device / "device/vendor").write_text(f"{vendor}\n", encoding="utf-8")


def checks(root: Path, addresses: tuple[str, ...] = ADDRESSES) -> list[Check]:
    return verbs_checks(gather(HlSmi(addresses), str(root)))


def problem(root: Path) -> Check:
    (check,) = checks(root)
    assert not check.ok
    return check


@pytest.mark.parametrize("pci_id", [HL_225, HL_325L])
def test_network_cards_alone_are_no_verbs_devices_of_the_cards(tmp_path: Path, pci_id: str) -> None:
    """Eight HL-225 with the driver and habanalabs_ib loaded; ``rdma dev`` has two mlx5 and nothing else."""
    write_kernel(tmp_path, pci_id=pci_id)
    forget(tmp_path)
    for number in (0, 1):
        put(tmp_path, f"mlx5_{number}", "0000:22:00.0")
    assert problem(tmp_path).found == "none of the cards'"
    facts = gather(HlSmi(), str(tmp_path))
    bad = failed(verdict(Measurement(facts, None), find_release("1.24.1"), LIMITS))
    assert "verbs devices" in [check.name for check in bad]
    # What the driver layer mends does not keep a node from it.
    asked = preflight_checks(facts, [], Wanted("1.24.1", 8))
    assert any(sentence.startswith("verbs devices: found none") for sentence in advice(asked))
    assert "verbs devices" not in [check.name for check in failed(asked)]


@pytest.mark.parametrize("name", ["hlib_{}", "hbl_{}"])
def test_names_of_both_times_are_known(tmp_path: Path, name: str) -> None:
    write_kernel(tmp_path, pci_id=HL_225)
    forget(tmp_path)
    for number, address in enumerate(reversed(ADDRESSES)):
        put(tmp_path, name.format(number), address)
    (check,) = checks(tmp_path)
    assert check.ok
    facts = gather(HlSmi(), str(tmp_path))
    assert [card.verbs_device for card in facts.cards] == [name.format(number) for number in range(7, -1, -1)]


def test_the_card_without_one_is_named(tmp_path: Path) -> None:
    write_kernel(tmp_path)
    forget(tmp_path, "hbl_6")
    assert problem(tmp_path).found.startswith(f"none of {ADDRESSES[6]} (of others hbl_0, ")


def test_no_class_at_all_is_none(tmp_path: Path) -> None:
    """ib_uverbs is not there, and habanalabs_ib all the same."""
    write_kernel(tmp_path)
    shutil.rmtree(tmp_path / "sys/class/infiniband")
    assert problem(tmp_path).found == "none of the cards'"


def test_a_device_whose_card_nobody_tells_counts(tmp_path: Path) -> None:
    write_kernel(tmp_path)
    forget(tmp_path, "hbl_6")
    put(tmp_path, "hbl_6", vendor="0x1da3")
    assert checks(tmp_path)[0].ok
    forget(tmp_path, "hbl_5")
    assert not checks(tmp_path)[0].ok


def test_a_device_below_the_cards_own_is_found(tmp_path: Path) -> None:
    write_kernel(tmp_path, ADDRESSES[:1])
    forget(tmp_path)
    below = tmp_path / "sys/bus/pci/devices" / ADDRESSES[0] / "habanalabs_cn.ib.0"
    below.mkdir()
    put(tmp_path, "hbl_0")
    (tmp_path / "sys/class/infiniband/hbl_0/device").symlink_to(below)
    (card,) = gather(HlSmi(ADDRESSES[:1]), str(tmp_path)).cards
    assert card.verbs_device == "hbl_0"


def test_the_cards_own_directory_tells_too(tmp_path: Path) -> None:
    write_kernel(tmp_path, ADDRESSES[:2])
    forget(tmp_path)
    for number, address in enumerate(ADDRESSES[:2]):
        put(tmp_path, f"hbl_{number}", vendor="0x1da3")
        node = tmp_path / "sys/bus/pci/devices" / address / f"infiniband_verbs/uverbs{number}"
        node.mkdir(parents=True)
        (node / "ibdev").write_text(f"hbl_{number}\n", encoding="utf-8")
    assert [card.verbs_device for card in gather(HlSmi(ADDRESSES[:2]), str(tmp_path)).cards] == ["hbl_0", "hbl_1"]


@pytest.mark.parametrize("pci_id", ["0x1000", HL_288E, HL_338])
def test_boards_that_show_no_port_and_the_first_generation_are_not_judged(tmp_path: Path, pci_id: str) -> None:
    write_kernel(tmp_path, pci_id=pci_id)
    forget(tmp_path)
    assert checks(tmp_path) == []


def test_an_hl_338_that_shows_its_ports_is_judged(tmp_path: Path) -> None:
    write_kernel(tmp_path, ADDRESSES[:1], pci_id=HL_338)
    forget(tmp_path)
    port = tmp_path / "sys/class/net/ens1d8"
    port.mkdir(parents=True)
    (port / "device").symlink_to(tmp_path / "sys/bus/pci/devices" / ADDRESSES[0])
    assert not checks(tmp_path, ADDRESSES[:1])[0].ok


def test_a_driver_without_that_module_is_told_by_its_modules(tmp_path: Path) -> None:
    write_kernel(tmp_path)
    forget(tmp_path)
    (tmp_path / "proc/modules").write_text("habanalabs 16384 0 - Live 0x0\n", encoding="utf-8")
    assert checks(tmp_path) == []


def test_a_virgin_node_is_not_judged(tmp_path: Path) -> None:
    write_kernel(tmp_path, driver=False)
    assert checks(tmp_path) == []


def test_a_job_on_several_cards_needs_them_and_one_on_a_card_does_not(tmp_path: Path) -> None:
    write_kernel(tmp_path)
    assert unfit_reason("hpu", 8, HlSmi(), str(tmp_path)) == ""
    forget(tmp_path)
    assert "verbs devices: found none of the cards'" in unfit_reason("hpu", 8, HlSmi(), str(tmp_path))
    assert unfit_reason("hpu", 1, HlSmi(), str(tmp_path)) == ""


def test_the_verbs_device_of_another_job_s_card_stands_for_none_of_this_one_s(tmp_path: Path) -> None:
    write_kernel(tmp_path)
    shutil.rmtree(tmp_path / "sys/class/infiniband/hbl_1")
    assert unfit_reason("hpu", 4, HlSmi(), str(tmp_path), (4, 5, 6, 7)) == ""
    assert "verbs devices: found none of 0000:3b:00.0" in unfit_reason("hpu", 4, HlSmi(), str(tmp_path), (0, 1, 2, 3))
