# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node whose IOMMU translates for the cards: the driver is built, and first loaded by the boot with ``iommu=pt``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ansible_runner
import pytest
from testinfra.host import Host

from tests.sandbox_nodes import fault, hosts, run, sandbox

NODE = "node1"
BOOT_LIST = "/etc/modules-load.d/habanalabs.conf"
LOADED = "grep -c ^habanalabs {kernel}/proc/modules"


def play(directory: Path, layer: str, arguments: str = "", **options: object) -> ansible_runner.Runner:
    done = run(directory, layer, arguments=f"--limit {NODE} {arguments}", **options)
    assert done.status == "successful", done.stdout.read()[-4000:]
    return done


def driver(done: ansible_runner.Runner) -> dict[str, Any]:
    """What the module of this layer answered."""
    (answer,) = [
        event["event_data"]["res"]
        for event in done.events
        if event["event"] == "runner_on_ok" and event["event_data"].get("task_action") == "gaudi3.scale.hpu_driver"
    ]
    return dict(answer)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """As after the distribution's own installation: no argument of ours in force, and no module loaded."""
    host = hosts()[NODE]
    with fault(NODE, "iommu_translates"):
        play(tmp_path_factory.mktemp("before"), "host", gaudi_host_kernel_arguments=[])
        host.check_output(f"rm -f {BOOT_LIST}")
        sandbox("reboot", NODE)
        yield host
    for layer in ("host", "driver", "fabric"):
        play(tmp_path_factory.mktemp("after"), layer)


def loaded(node: Host, kernel: str) -> int:
    return int(node.run(LOADED.format(kernel=kernel)).stdout)


@pytest.mark.in_turn("passthrough")
def test_it_is_built_and_not_loaded_and_a_second_run_changes_nothing(node: Host, kernel: str, tmp_path: Path) -> None:
    assert "iommu=pt" not in node.check_output(f"cat {kernel}/proc/cmdline")
    assert loaded(node, kernel) == 0
    promised = driver(play(tmp_path, "driver", "--check --diff"))
    assert loaded(node, kernel) == 0
    first = driver(play(tmp_path, "driver"))
    assert promised["steps"] == first["steps"]
    assert not [step for step in first["steps"] if step.startswith("load")]
    assert first["restart_required"]
    assert "restart needed: the kernel was started without iommu=pt" in " ".join(first["warnings"])
    assert loaded(node, kernel) == 0
    assert node.file(BOOT_LIST).exists
    assert not driver(play(tmp_path, "driver"))["changed"]


@pytest.mark.in_turn("passthrough")
def test_the_host_layers_boot_loads_it(node: Host, kernel: str, tmp_path: Path) -> None:
    play(tmp_path, "host")
    assert "iommu=pt" in node.check_output(f"cat {kernel}/proc/cmdline").split()
    assert loaded(node, kernel) == 5
    after = driver(play(tmp_path, "driver"))
    assert (after["changed"], after["restart_required"]) == (False, False)


@pytest.mark.long
def test_a_driver_that_is_loaded_stays_loaded_and_another_can_be_asked_for(
    node: Host, kernel: str, tmp_path: Path
) -> None:
    play(tmp_path, "host", gaudi_host_kernel_arguments=[])
    sandbox("reboot", NODE)
    assert "iommu=pt" not in node.check_output(f"cat {kernel}/proc/cmdline")
    assert loaded(node, kernel) == 5
    assert not driver(play(tmp_path, "driver"))["changed"]
    node.check_output(f"rm -f {BOOT_LIST}")
    sandbox("reboot", NODE)
    asked_for = driver(play(tmp_path, "driver", gaudi_driver_load_without_passthrough=True))
    assert loaded(node, kernel) == 5
    assert "the driver was loaded anyway" in " ".join(asked_for["warnings"])
