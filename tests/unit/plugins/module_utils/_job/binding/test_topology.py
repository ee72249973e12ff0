# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.binding.node import read_bindings, service_cpus
from ansible_collections.gaudi3.scale.plugins.module_utils._job.binding.topology import (
    Core,
    read_card_nodes,
    read_cores,
)
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import write_kernel


def write_cpus(root: Path, nodes: dict[int, str], siblings: dict[int, str], online: str | None) -> Path:
    """A kernel's processors; ``nodes`` and ``siblings`` are lists of processors by NUMA node and by processor."""
    files = {
        **{f"node/node{node}/cpulist": text for node, text in nodes.items()},
        **{f"cpu/cpu{cpu}/topology/thread_siblings_list": text for cpu, text in siblings.items()},
        **({} if online is None else {"cpu/online": online}),
    }
    for name, text in files.items():
        place = root / "sys/devices/system" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{text}\n", encoding="utf-8")
    return root


@pytest.fixture
def server(tmp_path):
    """Two sockets of two cores with SMT."""
    siblings = {cpu: f"{cpu % 4},{cpu % 4 + 4}" for cpu in range(8)}
    return str(write_cpus(tmp_path, {0: "0-1,4-5", 1: "2-3,6-7"}, siblings, "0-7"))


def test_cores_with_their_siblings_and_nodes(server):
    expected = (Core((0, 4), 0), Core((1, 5), 0), Core((2, 6), 1), Core((3, 7), 1))
    assert read_cores(range(8), server) == expected


def test_of_a_cpuset_only_what_may_be_used(server):
    assert read_cores({1, 2, 6}, server) == (Core((1,), 0), Core((2, 6), 1))


def test_a_processor_that_is_off_is_left_out(tmp_path):
    root = write_cpus(tmp_path, {0: "0-1"}, {}, "0")
    assert read_cores(range(2), str(root)) == (Core((0,), 0),)


def test_without_sysfs_each_processor_is_a_core(tmp_path):
    assert read_cores({3, 1}, str(tmp_path)) == (Core((1,), None), Core((3,), None))


def test_cores_are_in_the_order_of_their_nodes(tmp_path):
    # Some servers number their processors across the sockets in turn.
    root = write_cpus(tmp_path, {0: "0,2", 1: "1,3"}, {}, "0-3")
    assert [core.cpus for core in read_cores(range(4), str(root))] == [(0,), (2,), (1,), (3,)]


@pytest.mark.parametrize(
    ("modules", "ranks", "nodes"),
    [
        (None, 8, (0, 0, 0, 0, 1, 1, 1, 1)),
        (None, 2, (0, 0)),
        ("4,5, 0", 3, (1, 1, 0)),
        # What names no module that is there, and too few.
        ("4,nine", 2, (1, None)),
        ("4,9", 2, (1, None)),
        ("4", 2, (1, None)),
    ],
)
def test_a_rank_has_the_card_of_its_module_id(tmp_path, modules, ranks, nodes):
    root = str(write_kernel(tmp_path))
    environment = {} if modules is None else {"HABANA_VISIBLE_MODULES": modules}
    assert read_card_nodes("hpu", ranks, environment, root) == nodes


def test_module_ids_count_and_not_the_order_on_the_bus(tmp_path):
    root = write_kernel(tmp_path)
    places = sorted((root / "sys/bus/pci/devices").glob("*/module_id"))
    for place, module_id in zip(places, (7, 6, 5, 4, 3, 2, 1, 0)):
        place.write_text(f"{module_id}\n")
    assert read_card_nodes("hpu", 8, {}, str(root)) == (1, 1, 1, 1, 0, 0, 0, 0)


def test_without_a_driver_or_a_node_in_sysfs_nothing_is_known(tmp_path):
    assert read_card_nodes("hpu", 2, {}, str(write_kernel(tmp_path / "virgin", driver=False))) == (None, None)
    root = write_kernel(tmp_path / "single")
    for place in root.glob("sys/bus/pci/devices/*/numa_node"):
        place.write_text("-1\n")
    assert read_card_nodes("hpu", 2, {}, str(root)) == (None, None)


def test_gpus_are_numbered_by_their_addresses(tmp_path):
    for address, node in (("0000:9b:00.0", "1"), ("0000:1b:00.0", "0"), ("0000:bb:00.0", "-1")):
        place = tmp_path / "sys/bus/pci/devices" / address
        place.mkdir(parents=True)
        for name, value in {"vendor": "0x10de", "class": "0x030200", "numa_node": node}.items():
            (place / name).write_text(f"{value}\n")
    assert read_card_nodes("cuda", 3, {}, str(tmp_path)) == (0, 1, None)
    assert read_card_nodes("cuda", 2, {"CUDA_VISIBLE_DEVICES": "1,0"}, str(tmp_path)) == (1, 0)
    assert read_card_nodes("cuda", 1, {"CUDA_VISIBLE_DEVICES": "GPU-5d5"}, str(tmp_path)) == (None,)


def test_the_shares_of_a_node_are_read_from_one_tree(server):
    write_kernel(Path(server))
    bindings = read_bindings("numa", "hpu", 2, {"HABANA_VISIBLE_MODULES": "7,0"}, "n1", range(8), server)
    assert [binding.cpus for binding in bindings] == [(2, 3, 6, 7), (0, 1, 4, 5)]
    bindings = read_bindings("numa", "cpu", 2, {}, "n1", range(8), server)
    assert [binding.cpus for binding in bindings] == [(0, 1, 4, 5), (2, 3, 6, 7)]


def test_a_service_has_what_systemd_and_its_slice_leave_it(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1: {0, 1, 2, 3}}[pid])
    assert service_cpus(str(tmp_path)) == {0, 1, 2, 3}
    (tmp_path / "system.slice").mkdir()
    (tmp_path / "system.slice/cpuset.cpus.effective").write_text("2-7\n")
    assert service_cpus(str(tmp_path)) == {2, 3}
