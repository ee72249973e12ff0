# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What stands against scale-out over a host's cards: the sentence for each fault, and the files it is read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.verbs import node as verbs_node
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.verbs.checks import uses_gaudi_direct, verbs_checks
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.verbs.node import VerbsNode, VerbsPort, read_node
from ansible_collections.gaudi3.scale.plugins.module_utils._node.check import advice, failed
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

INFINIBAND = VerbsPort("mlx5_0", "1", "ACTIVE", "LinkUp", mtus={"ibp90s0": 2044})
ROCE = VerbsPort("mlx5_0", "1", "ACTIVE", "LinkUp", roce_v2=True, mtus={"ens5np0": 9000})
GOOD = VerbsNode(
    kernel="6.8.0-45-generic",
    ports=(ROCE,),
    dmabuf=True,
    redirecting=(),
    uverbs=True,
    memlock="infinity",
    environment={"HCCL_OVER_OFI": "1", "HCCL_GAUDI_DIRECT": "1", "FI_PROVIDER": "verbs;ofi_rxm"},
)


@pytest.mark.parametrize("kind", ["roce", "infiniband"])
@pytest.mark.parametrize("direct", [True, False])
def test_nothing_stands_against_a_good_node(kind: str, direct: bool) -> None:
    node = replace(GOOD, ports=(ROCE if kind == "roce" else INFINIBAND,))
    assert [check.sentence for check in verbs_checks(node, kind, direct) if not check.ok] == []


def test_what_is_not_known_stands_against_nothing() -> None:
    unknown = VerbsNode(kernel="", uverbs=True)
    checks = verbs_checks(unknown, "roce", True)
    assert [check.sentence for check in checks if not check.ok] == []
    assert {check.name: check.found for check in checks if check.found == "unknown"}.keys() == {
        "kernel for Gaudi Direct", "dma-buf in the kernel's verbs", "PCIe ACS", "locked memory of services",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"environment": {"FI_PROVIDER": "efa"}},
            "FI_PROVIDER: found efa, expected a provider with verbs or tcp in its name; take FI_",
        ),
        ({"environment": {"FI_PROVIDER": "efa,psm3"}}, "FI_PROVIDER: found efa,psm3"),
        (
            {"environment": {"HCCL_GAUDI_DIRECT": "1"}},
            "HCCL_OVER_OFI: found not set, expected HCCL_OVER_OFI=1 beside HCCL_GAUDI_DIRECT=1; set ",
        ),
        (
            {"environment": {"HCCL_PEER_DIRECT": "true", "HCCL_OVER_OFI": "0"}},
            "HCCL_OVER_OFI: found 0, expected HCCL_OVER_OFI=1 beside HCCL_PEER",
        ),
        ({"kernel": "5.10.0-39-amd64"}, "kernel for Gaudi Direct: found 5.10.0-39-amd64, expected 5.12 or newer; boot"),
        ({"dmabuf": False}, "dma-buf in the kernel's verbs: found not there"),
        ({"redirecting": ("0000:59:00.0",)}, "PCIe ACS: found on at 0000:59:00.0, expected off on every bridge above"),
    ],
)
def test_what_ends_gaudi_direct_or_the_job_is_refused(change: Mapping[str, Any], sentence: str) -> None:
    (failure,) = failed(verbs_checks(replace(GOOD, **change), "roce", True))
    assert failure.sentence.startswith(sentence)


@pytest.mark.parametrize(
    "change", [{"kernel": "5.10.0-39-amd64"}, {"dmabuf": False}, {"redirecting": ("0000:59:00.0",)}]
)
def test_without_gaudi_direct_it_is_advice(change: Mapping[str, Any]) -> None:
    checks = verbs_checks(replace(GOOD, environment={}, **change), "roce", False)
    assert failed(checks) == []
    assert len(advice(checks)) == 1


@pytest.mark.parametrize("provider", ["", "tcp", "verbs;ofi_rxm", "^efa", "^udp,sockets", "efa,verbs"])
def test_providers_that_leave_one_to_hcl(provider: str) -> None:
    assert failed(verbs_checks(replace(GOOD, environment={"FI_PROVIDER": provider}), "roce", True)) == []


@pytest.mark.parametrize(
    ("kind", "change", "sentence"),
    [
        ("infiniband", {"state": "INIT"}, "mlx5_0 port 1: found INIT (LinkUp), expected ACTIVE; start a subnet"),
        ("infiniband", {"state": "ARMED"}, "mlx5_0 port 1: found ARMED (LinkUp), expected ACTIVE; wait for"),
        (
            "infiniband",
            {"state": "DOWN", "physical": "Polling"},
            "mlx5_0 port 1: found DOWN (Polling), expected ACTIVE; look at cable",
        ),
        (
            "roce",
            {"state": "DOWN", "physical": "Disabled"},
            "mlx5_0 port 1: found DOWN (Disabled), expected ACTIVE; look at cable",
        ),
        # Nothing manages the subnet of Ethernet.
        ("roce", {"state": "INIT"}, "mlx5_0 port 1: found INIT (LinkUp), expected ACTIVE; look at cable"),
        ("roce", {"roce_v2": False}, "GID table of mlx5_0 port 1: found none of RoCE v2, expected an entry"),
        (
            "roce",
            {"mtus": {"ens5np0": 1500}},
            "MTU of ens5np0: found 1500, expected at least 4200 (gaudi_fabric_ofed_roce_mtu); set a",
        ),
    ],
)
def test_a_port_that_carries_nothing_yet_is_advice(kind: str, change: Mapping[str, Any], sentence: str) -> None:
    checks = verbs_checks(replace(GOOD, ports=(replace(ROCE, **change),)), kind, True)
    assert failed(checks) == []
    (said,) = advice(checks)
    assert said.startswith(sentence)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"uverbs": False}, "ib_uverbs: found not loaded, expected loaded; `modprobe ib_uverbs`"),
        ({"without_node": ("mlx5_0",)}, "verbs device nodes: found none for mlx5_0"),
        ({"memlock": "8388608"}, "locked memory of services: found 8388608, expected infinity; set gaudi_host_memlock"),
    ],
)
def test_the_node_around_the_ports(change: Mapping[str, Any], sentence: str) -> None:
    (said,) = advice(verbs_checks(replace(GOOD, **change), "roce", True))
    assert said.startswith(sentence)


def test_the_threshold_is_the_sites() -> None:
    checks = verbs_checks(replace(GOOD, ports=(replace(ROCE, mtus={"ens5np0": 4200}),)), "roce", True, roce_mtu=9000)
    assert "expected at least 9000" in advice(checks)[0]


@pytest.mark.parametrize(
    ("environment", "built", "used"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"HCCL_GAUDI_DIRECT": "0"}, True, False),
        ({"HCCL_PEER_DIRECT": "1"}, False, True),
    ],
)
def test_whether_gaudi_direct_is_used(environment: dict[str, str], built: bool, used: bool) -> None:
    assert uses_gaudi_direct(environment, built) is used


class Tree:
    """A kernel's files with two devices: RoCE at mlx5_0, InfiniBand at mlx5_1."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("proc/sys/kernel/osrelease", "6.8.0-45-generic")
        self.write("proc/kallsyms", "0 T ib_umem_get [ib_uverbs]\n0 T ib_umem_dmabuf_get [ib_uverbs]")
        self.device("mlx5_0", "0000:5a:00.0", "Ethernet", "4: ACTIVE", "5: LinkUp")
        self.device("mlx5_1", "0000:5b:00.0", "InfiniBand", "2: INIT", "5: LinkUp")
        self.write("sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0", "IB/RoCE v1")
        self.write("sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/1", "RoCE v2")
        self.write("sys/bus/pci/devices/0000:5a:00.0/net/ens5np0/ifindex", "9")
        self.write("sys/class/net/ens5np0/mtu", "9000")
        self.environment = root / "environment"

    def write(self, path: str, text: str | bytes) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(text if isinstance(text, bytes) else f"{text}\n".encode())

    def device(self, name: str, address: str, layer: str, state: str, physical: str) -> None:
        self.write(f"sys/bus/pci/devices/{address}/uevent", f"DRIVER=mlx5_core\nPCI_SLOT_NAME={address}")
        port = f"sys/class/infiniband/{name}/ports/1"
        for attribute, value in (("link_layer", layer), ("state", state), ("phys_state", physical)):
            self.write(f"{port}/{attribute}", value)
        (self.root / f"sys/class/infiniband/{name}/device").symlink_to(self.root / "sys/bus/pci/devices" / address)
        self.write(f"sys/class/infiniband_verbs/uverbs{name[-1]}/ibdev", name)

    def read(self, kind: str = "roce", memlock: str = "infinity") -> VerbsNode:
        def run(argv: Sequence[str], **_: Any) -> CommandResult:
            assert argv[:2] == ["systemctl", "show"]
            return CommandResult(0, f"{memlock}\n", "")

        return read_node(kind, str(self.environment), run, str(self.root))


def test_what_the_kernels_files_show(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.environment.write_text("# Written by gaudi3.scale.\nHCCL_OVER_OFI=1\n", encoding="utf-8")
    node = tree.read()
    assert node.ports == (VerbsPort("mlx5_0", "1", "ACTIVE", "LinkUp", True, {"ens5np0": 9000}),)
    assert (node.kernel, node.dmabuf, node.uverbs) == ("6.8.0-45-generic", True, True)
    assert (node.memlock, node.environment) == ("infinity", {"HCCL_OVER_OFI": "1"})
    # There is no device node, and making one takes root.
    assert node.without_node == ("mlx5_0",)
    (other,) = tree.read("infiniband", memlock="").ports
    assert other == VerbsPort("mlx5_1", "1", "INIT", "LinkUp")
    assert tree.read(memlock="").memlock is None


def test_a_device_node_belongs_to_its_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree(tmp_path)
    monkeypatch.setattr(verbs_node.Path, "is_char_device", lambda path: path.name == "uverbs0")
    assert tree.read("roce").without_node == ()
    assert tree.read("infiniband").without_node == ("mlx5_1",)


@pytest.mark.parametrize(("symbols", "dmabuf"), [("0 T ib_umem_get", False), (b"", None), (None, None)])
def test_dmabuf(tmp_path: Path, symbols: str | bytes | None, dmabuf: bool | None) -> None:
    tree = Tree(tmp_path)
    (tmp_path / "proc/kallsyms").unlink()
    if symbols is not None:
        tree.write("proc/kallsyms", symbols)
    assert tree.read().dmabuf is dmabuf


@pytest.mark.parametrize(("acs", "found"), [(0x1D, ("0000:59:00.0",)), (0, ()), (None, None)])
def test_acs_above_the_device(tmp_path: Path, acs: int | None, found: tuple[str, ...] | None) -> None:
    tree = Tree(tmp_path)
    config = bytearray(4096 if acs is not None else 64)
    config[0x0E], config[0x19], config[0x1A] = 1, 0x5A, 0x5A
    if acs is not None:
        config[0x100:0x108] = bytes((0x0D, 0, 1, 0, 0, 0, acs, 0))
    tree.write("sys/bus/pci/devices/0000:59:00.0/class", "0x060400")
    tree.write("sys/bus/pci/devices/0000:59:00.0/config", bytes(config))
    assert tree.read().redirecting == found


def test_without_a_driver_nothing_is_there(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for name in ("infiniband", "infiniband_verbs"):
        (tmp_path / "sys/class" / name).rename(tmp_path / f"no-{name}")
    node = tree.read()
    assert (node.ports, node.uverbs, node.dmabuf, node.redirecting) == ((), False, None, None)


def test_an_environment_file_that_is_none_is_named(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.environment.write_text("export A=1\n", encoding="utf-8")
    with pytest.raises(GaudiError, match="environment, line 1, is read differently"):
        tree.read()
