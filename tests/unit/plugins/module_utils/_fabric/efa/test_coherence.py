# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the parts of EFA belong together: a node on which they do, and one row for each way in which they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.coherence import (
    Stack,
    judge,
    reboot_reasons,
)

LIBRARY = "/opt/amazon/efa/lib/libfabric.so.1.18.0"
OTHER = "/usr/lib/x86_64-linux-gnu/libfabric.so.1.17.0"
WHOLE = Stack(
    devices=("rdmap0s6",),
    loaded="2.1.1g",
    module_file="2.1.1g",
    libfabric_file=LIBRARY,
    libfabric="1.18.0amzn1.0",
    libraries=(LIBRARY, LIBRARY),
    # Newer installers bring it; beside HCCL's own wrapper it takes nothing away.
    nccl_plugins=("/opt/amazon/ofi-nccl/lib/libnccl-net.so",),
    wrapper="/usr/lib/habanalabs/libhccl_ofi_wrapper.so",
    answers=True,
    environment={"RDMAV_FORK_SAFE": "1", "FI_EFA_USE_DEVICE_RDMA": "1"},
    environment_file="/etc/gaudi3_scale/environment",
)


def found(stack: Stack, minimal: bool = False) -> dict[str, str]:
    return {check.name: check.sentence for check in judge(stack, minimal) if not check.ok}


def test_parts_that_belong_together() -> None:
    assert found(WHOLE) == {}
    assert [check.name for check in judge(WHOLE)] == [
        "device", "kernel module", "libfabric", "loader's path", "plug-in", "flags",
    ]  # fmt: skip
    assert reboot_reasons(WHOLE) == []


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        ({"devices": (), "answers": None}, "device", ("no Elastic Fabric Adapter", "interfaces of the type efa")),
        ({"answers": False}, "device", ("rdmap0s6", "`fi_info -p efa` lists none", "security group")),
        ({"loaded": None}, "kernel module", ("efa is not loaded", "modprobe efa", "gaudi_fabric_efa_version")),
        ({"loaded": "2.1.0g"}, "kernel module", ("efa 2.1.0g is loaded", "2.1.1g is installed", "restart the node")),
        ({"libfabric": None}, "libfabric", (LIBRARY, "fi_info does not run")),
        ({"libfabric": "1.15.2amzn1.0"}, "libfabric", ("1.15.2amzn1.0", "older than 1.16.0")),
        ({"libraries": (LIBRARY, OTHER)}, "loader's path", (f"{LIBRARY} is loaded first", f"{OTHER} too", "remove")),
        ({"libraries": (OTHER, LIBRARY)}, "loader's path", (f"{OTHER} is loaded first", f"{LIBRARY} too")),
        ({"libraries": (OTHER,)}, "loader's path", (OTHER, f"in place of {LIBRARY}", "ldconfig")),
        ({"libraries": ()}, "loader's path", ("none is on the loader's path", "ldconfig")),
        ({"wrapper": None}, "plug-in", ("libnccl-net.so is NCCL's plug-in", "libhccl_ofi_wrapper.so is not on")),
        ({"wrapper": None, "nccl_plugins": ()}, "plug-in", ("libhccl_ofi_wrapper.so is not on", "/usr/lib/habanalabs")),
        ({"wrapper": "/opt/x/libnccl-net.so"}, "plug-in", ("leads to /opt/x/libnccl-net.so", "NCCL's plug-in")),
        ({"wrapper_libfabric": ""}, "plug-in", ("loads no libfabric.so.1 at all", "gaudi_fabric_ofi_wrapper_archive")),
        ({"wrapper_libfabric": "not"}, "plug-in", ("finds no libfabric.so.1", "gaudi_fabric_ofi_wrapper_archive")),
        ({"wrapper_libfabric": OTHER}, "plug-in", (f"loads {OTHER}", "gaudi_fabric_ofi_wrapper_archive")),
        ({"environment": {"FI_PROVIDER": "tcp"}}, "flags", ("FI_PROVIDER=tcp", "/etc/gaudi3_scale/environment")),
        ({"environment": {"FI_PROVIDER": "^efa,tcp"}}, "flags", ("FI_PROVIDER=^efa,tcp",)),
        ({"environment": {"HCCL_OVER_OFI": "0"}}, "flags", ("HCCL_OVER_OFI=0 keeps HCCL from the host's cards",)),
        ({"environment": {"NCCL_NET_PLUGIN": "ofi"}}, "flags", ("NCCL_NET_PLUGIN=ofi", "HCCL does not read")),
        ({"unreadable": "/etc/x, line 3, is read differently"}, "flags", ("line 3",)),
    ],
)
def test_each_that_does_not_is_one_sentence(change: dict[str, Any], name: str, words: tuple[str, ...]) -> None:
    sentences = found(replace(WHOLE, **change))
    assert list(sentences) == [name]
    assert [word for word in words if word not in sentences[name]] == [], sentences[name]
    assert sentences[name].startswith(f"EFA {name}: ") and sentences[name].endswith(".") and "\n" not in sentences[name]


@pytest.mark.parametrize("provider", ["efa", "EFA", "tcp,efa", "efa;ofi_rxr", "^tcp", "^tcp,verbs"])
def test_selections_that_leave_efa_in(provider: str) -> None:
    assert found(replace(WHOLE, environment={"FI_PROVIDER": provider})) == {}


def test_a_node_with_nothing_is_told_where_all_of_it_comes_from() -> None:
    assert list(found(Stack())) == ["device", "kernel module", "libfabric", "loader's path", "plug-in"]
    assert "set gaudi_fabric_efa_version to have it installed" in found(Stack())["libfabric"]


@pytest.mark.parametrize("loads", [LIBRARY, None])
def test_a_wrapper_that_loads_amazon_s_libfabric_or_does_not_say_is_fine(loads: str | None) -> None:
    assert found(replace(WHOLE, wrapper_libfabric=loads)) == {}


def test_a_second_libfabric_that_the_wrapper_loads_like_all_is_told_once() -> None:
    assert list(found(replace(WHOLE, libraries=(OTHER, LIBRARY), wrapper_libfabric=OTHER))) == ["loader's path"]


def test_a_site_with_its_own_libfabric_has_one_on_the_path() -> None:
    own = replace(WHOLE, libfabric_file=None, libfabric=None, libraries=("/opt/site/lib/libfabric.so.1",))
    assert found(own, minimal=True) == {}
    assert "libfabric" in found(own)


@pytest.mark.parametrize(("loaded", "file"), [(None, "2"), ("", "2"), ("2", None), ("2", "2")])
def test_a_restart_is_asked_for_only_where_both_versions_are_known(loaded: str | None, file: str | None) -> None:
    assert reboot_reasons(replace(WHOLE, loaded=loaded, module_file=file)) == []


def test_a_restart_that_is_needed() -> None:
    assert reboot_reasons(replace(WHOLE, loaded="1.0")) == [
        "the kernel module efa 1.0 is loaded, and 2.1.1g is installed"
    ]
