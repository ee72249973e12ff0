# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What stands against scale-out over a host's InfiniBand or RoCE cards, one sentence each. Pure.

Sources: HabanaAI/hccl_demo README (kernel, dma-buf, ACS for Gaudi Direct), HabanaAI/HCL (providers and flags).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..._flags.catalog.values import is_on
from ..._node.check import Check
from ..._releases.lookup import version_key
from ..provider import ROCE
from .node import VerbsNode, VerbsPort

# The first kernel whose verbs take a dma-buf.
FIRST_KERNEL = "5.12"
# An Ethernet frame with RoCE's largest payload, 4096 bytes, and its headers fits into this.
ROCE_MTU = 4200
_USABLE = ("tcp", "verbs")


def uses_gaudi_direct(environment: Mapping[str, str], built_for_it: bool) -> bool:
    """HCL goes directly where libfabric can (``built_for_it``), unless the job's flag says otherwise."""
    flag = environment.get("HCCL_GAUDI_DIRECT", environment.get("HCCL_PEER_DIRECT"))
    return built_for_it if flag is None else is_on(flag)


def verbs_checks(node: VerbsNode, kind: str, gaudi_direct: bool, roce_mtu: int = ROCE_MTU) -> list[Check]:
    """Every check; what cannot be known stands against nothing and says so.

    What would end a job or its Gaudi Direct is no advice: nothing is installed on such a node.
    """
    checks = [*_flags(node.environment), *_direct(node, gaudi_direct), *_uverbs(node), _memlock(node)]
    for port in node.ports:
        checks.append(_port(port, kind))
        if kind == ROCE and port.state == "ACTIVE":
            checks += [_gid(port), *_mtus(port, roce_mtu)]
    return checks


def _flags(environment: Mapping[str, str]) -> Iterable[Check]:
    provider = environment.get("FI_PROVIDER", "")
    names = [name for name in provider.split(",") if name]
    yield Check(
        "FI_PROVIDER",
        not names or provider.startswith("^") or any(usable in name for name in names for usable in _USABLE),
        "a provider with verbs or tcp in its name",
        provider or "not set",
        "take FI_PROVIDER out of the jobs' environment (gaudi_flags_overrides, gaudi_flags_environment): HCL leaves "
        "out every other provider",
    )
    direct = next((name for name in ("HCCL_GAUDI_DIRECT", "HCCL_PEER_DIRECT") if is_on(environment.get(name, ""))), "")
    yield Check(
        "HCCL_OVER_OFI",
        not direct or is_on(environment.get("HCCL_OVER_OFI", "")),
        f"HCCL_OVER_OFI=1 beside {direct}=1" if direct else "no HCCL_GAUDI_DIRECT without it",
        environment.get("HCCL_OVER_OFI") or "not set",
        f"set HCCL_OVER_OFI to 1 in gaudi_flags_overrides, or leave {direct} out: without it the job ends",
    )


def _direct(node: VerbsNode, wanted: bool) -> Iterable[Check]:
    without = "or do without Gaudi Direct with gaudi_fabric_libfabric_gaudi_direct: false"
    yield Check(
        "kernel for Gaudi Direct",
        not node.kernel or version_key(node.kernel) >= version_key(FIRST_KERNEL),
        f"{FIRST_KERNEL} or newer",
        node.kernel or "unknown",
        f"boot a newer kernel that the release supports, {without}",
        advice=not wanted,
    )
    yield Check(
        "dma-buf in the kernel's verbs",
        node.dmabuf is not False,
        "ib_umem_dmabuf_get in /proc/kallsyms",
        {True: "there", False: "not there", None: "unknown"}[node.dmabuf],
        f"boot a kernel with CONFIG_DMA_SHARED_BUFFER, or take a driver stack that has it, {without}",
        advice=not wanted,
    )
    bridges = node.redirecting
    yield Check(
        "PCIe ACS",
        not bridges,
        "off on every bridge above the cards and the host's network cards",
        "unknown" if bridges is None else f"on at {', '.join(bridges)}" if bridges else "off",
        f"switch ACS off in the server's BIOS, or at every boot with `setpci -s ADDRESS ECAP_ACS+6.w=0`, {without}",
        advice=not wanted,
    )


def _uverbs(node: VerbsNode) -> Iterable[Check]:
    yield Check(
        "ib_uverbs",
        node.uverbs,
        "loaded",
        "loaded" if node.uverbs else "not loaded",
        "`modprobe ib_uverbs`; rdma-core loads it at boot",
        advice=True,
    )
    if node.uverbs:
        yield Check(
            "verbs device nodes",
            not node.without_node,
            "one in /dev/infiniband for each device",
            f"none for {', '.join(node.without_node)}" if node.without_node else "one for each device",
            "reload the card's driver, and look for it in `dmesg` and `rdma link`",
            advice=True,
        )


def _memlock(node: VerbsNode) -> Check:
    return Check(
        "locked memory of services",
        node.memlock in (None, "infinity"),
        "infinity",
        node.memlock or "unknown",
        "set gaudi_host_memlock to true and run the host layer (playbook host.yml): verbs lock each buffer in memory",
        advice=True,
    )


_NO_LINK = "look at cable and switch port, and whether `rdma link` shows the port as disabled"
_STATES = {
    "INIT": "start a subnet manager (opensm, or the switch's): the link is up, and the port is not configured",
    "ARMED": "wait for the subnet manager, and check its log if the port stays so",
}


def _port(port: VerbsPort, kind: str) -> Check:
    remedy = _NO_LINK if kind == ROCE else _STATES.get(port.state, _NO_LINK)
    found = port.state if port.physical == "unknown" else f"{port.state} ({port.physical})"
    return Check(port.name, port.state == "ACTIVE", "ACTIVE", found, remedy, advice=True)


def _gid(port: VerbsPort) -> Check:
    return Check(
        f"GID table of {port.name}",
        port.roce_v2,
        "an entry of RoCE v2",
        "one of RoCE v2" if port.roce_v2 else "none of RoCE v2",
        "bring its network interface up with an address, and switch RoCE v2 on in the card (`cma_roce_mode`, "
        "`mlxconfig`)",
        advice=True,
    )


def _mtus(port: VerbsPort, least: int) -> Iterable[Check]:
    for interface, mtu in port.mtus.items():
        yield Check(
            f"MTU of {interface}",
            mtu >= least,
            f"at least {least} (gaudi_fabric_ofed_roce_mtu)",
            str(mtu) if mtu else "unknown",
            f"set a jumbo MTU on {interface} and on its switch port, where it is kept over boots",
            advice=True,
        )
