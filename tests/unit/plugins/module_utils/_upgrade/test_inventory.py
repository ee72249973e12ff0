# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from functools import partial

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hlml import ask_hlml
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._upgrade import inventory
from ansible_collections.gaudi3.scale.plugins.module_utils._upgrade.inventory import read
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, HlSmi, write_kernel
from ansible_collections.gaudi3.scale.tests.unit.sandbox.simulated_hlml import build_in

KERNEL, NEXT = "6.8.0-45-generic", "6.8.0-48-generic"
SPI = "1.22.0-fw-61.3.2-sec-3"
DPKG = (
    "habanalabs-dkms\t1.24.1-482\thold\tinstalled\n"
    "habanalabs-graph\t1.24.1-482\tinstall\thalf-configured\n"
    "habanalabs-old\t1.20.0-543\tdeinstall\tconfig-files\n"
    "habanalabs-gone\t\tunknown\tnot-installed\n"
)
DKMS = (
    f"habanalabs/1.24.1-482, {KERNEL}, x86_64: installed\n"
    f"habanalabs/1.23.0-695, {NEXT}, x86_64: built\n"
    "habanalabs/1.23.0-695: added\n"
)


class Programs(HlSmi):
    """A node with everything; counts how often each program is called."""

    def __call__(self, argv, *, timeout=None, env=None):
        if argv[0] == "hl-smi":
            return super().__call__(argv, timeout=timeout, env=env)
        self.calls.append(tuple(argv))
        known = {"dpkg-query": DPKG, "dkms": DKMS, "docker": "Docker version 25.0.1, build 1\n"}
        return CommandResult(0, known[argv[0]], "") if argv[0] in known else CommandResult(127, "", "not installed")


def nothing(argv, *, timeout=None, env=None):
    """A node on which no program is installed."""
    return CommandResult(127, "", f"{argv[0]}: not installed")


@pytest.fixture
def root(tmp_path):
    """The files of a Debian system: a package database, two kernels with the headers of one, a training venv."""
    for directory in (f"lib/modules/{KERNEL}/build", "var/lib/dpkg", "boot"):
        (tmp_path / "node" / directory).mkdir(parents=True)
    (tmp_path / "node/var/lib/dpkg/status").touch()
    for kernel in (KERNEL, NEXT):
        (tmp_path / f"node/boot/vmlinuz-{kernel}").touch()
    site = tmp_path / "node/venv/lib/python3.12/site-packages"
    for name in ("torch-2.11.0", "habana_torch_plugin-1.24.1.482"):
        (site / f"{name}.dist-info").mkdir(parents=True)
    return tmp_path / "node"


def test_a_node_in_use(tmp_path, root):
    run = Programs()
    node = read(run, str(write_kernel(tmp_path / "kernel")), str(root / "venv"), str(root))
    assert (node.generations, node.cards, node.boards) == (("gaudi3",), 8, ("HL-325L",))
    assert (node.kernel, node.next_kernel, node.kernels, node.headers) == (KERNEL, NEXT, (KERNEL, NEXT), (KERNEL,))
    assert node.driver == "1.24.1-b336d5e"
    assert node.packages == {"habanalabs-dkms": "1.24.1-482", "habanalabs-graph": "1.24.1-482"}
    assert (node.half_way, node.held) == (("habanalabs-graph",), ("habanalabs-dkms",))
    assert node.built == {KERNEL: "1.24.1-482"}
    assert node.spi == dict.fromkeys(ADDRESSES, SPI)
    assert node.programs == {"docker": "25.0.1"}
    assert (node.pytorch, node.pytorch_release) == ("2.11.0", "1.24.1")
    assert node.fault == ""
    assert len([call for call in run.calls if call[0] == "hl-smi"]) == 1


def test_one_card_with_other_firmware_is_seen(tmp_path, root):
    run = Programs(spi={ADDRESSES[3]: "Preboot version hl-gaudi3-1.20.0-fw-58.0.0-sec-2"})
    node = read(run, str(write_kernel(tmp_path / "kernel")), "", str(root))
    assert node.spi[ADDRESSES[3]] == "1.20.0-fw-58.0.0-sec-2"
    assert set(node.spi.values()) == {SPI, "1.20.0-fw-58.0.0-sec-2"}


def test_a_virgin_node_tells_its_cards_and_asks_no_tool_of_the_vendor(tmp_path, root):
    called = []

    def run(argv, *, timeout=None, env=None):
        called.append(argv[0])
        return nothing(argv)

    node = read(run, str(write_kernel(tmp_path / "kernel", driver=False)), str(tmp_path / "no venv"), str(root))
    assert (node.cards, node.kernel, node.driver) == (8, KERNEL, None)
    assert node.spi == dict.fromkeys(ADDRESSES)
    assert (node.packages, node.built, node.programs, node.pytorch) == ({}, {}, {}, None)
    assert "hl-smi" not in called


def test_a_system_whose_packages_are_not_known_here_is_told_and_does_not_fail(tmp_path):
    (tmp_path / "other").mkdir()
    node = read(nothing, str(write_kernel(tmp_path / "kernel", driver=False)), "", str(tmp_path / "other"))
    assert node.packages == {}
    assert "package manager" in node.fault


def test_what_keeps_a_clock_low_is_told_by_hlml(tmp_path, root, monkeypatch):
    (tmp_path / "library").mkdir()
    library = build_in(tmp_path / "library")
    addresses = [one.card.pci_address for one in library.show(hot_card=[1], hlml_lost_card=[3])]

    class Node(Programs):
        def __call__(self, argv, *, timeout=None, env=None):
            of_reader = argv[0] == (sys.executable or "python3")
            return (run_process if of_reader else super().__call__)(argv, timeout=timeout, env=env)

    kernel = str(write_kernel(tmp_path / "kernel", addresses))
    monkeypatch.setattr(inventory, "ask_hlml", partial(ask_hlml, libraries=(library.path,), lock=""))
    node = read(Node(addresses=addresses), kernel, "", str(root))
    assert (node.throttled, node.throttled_ever) == (("thermal",), ("thermal",))
    library.show()
    node = read(Node(addresses=addresses), kernel, "", str(root))
    assert (node.throttled, node.throttled_ever) == ((), ())
    monkeypatch.setattr(inventory, "ask_hlml", partial(ask_hlml, libraries=(str(tmp_path / "none"),)))
    node = read(Node(addresses=addresses), kernel, "", str(root))
    assert (node.throttled, node.throttled_ever) == (None, None)
