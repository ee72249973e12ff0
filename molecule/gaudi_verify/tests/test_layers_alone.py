# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each part of the whole alone, after it: what it needs of the layers before it, it has from the node."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.long_rows import named_rows
from tests.sandbox_nodes import hosts, run

FLAGS = "/etc/gaudi3_scale/environment"
LAYERS = ("host", "driver", "containers", "fabric", "storage", "venv", "flags", "verify")
TASKS = (
    "Run the preflight checks",
    "Configure the operating system",
    "Install the driver of the release",
    "Install the container runtime",
    "Register the runtime",
    "Bring up the ports and report the network",
    "Install the operating system packages",
    "Create the training environment",
    "Set the environment flags of the Gaudi software",
    "Measure the node",
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Node -> its flags, after one run of everything."""
    played = run(tmp_path_factory.mktemp("whole"), "site")
    assert played.status == "successful", played.stdout.read()[-4000:]
    return flags()


def flags() -> dict[str, str]:
    return {name: host.check_output(f"cat {FLAGS}") for name, host in hosts().items()}


PARTS = {
    **{f"{layer} alone": (layer, "") for layer in LAYERS},
    **{f"tag {layer}": ("site", f"--tags {layer}") for layer in LAYERS},
    **{f"from {task}": ("site", f"--start-at-task '*{task}'") for task in TASKS},
}
# Whose options come from another layer, and what begins in the middle of it all.
SHORT = ("flags alone", "from Create the training environment")


@pytest.mark.in_turn("after one run of everything")
@pytest.mark.parametrize(("playbook", "arguments"), named_rows(PARTS, SHORT))
def test_a_part_alone_changes_nothing(whole: dict[str, str], tmp_path: Path, playbook: str, arguments: str) -> None:
    played = run(tmp_path, playbook, arguments=arguments)
    assert played.status == "successful", played.stdout.read()[-4000:]
    # ansible-runner counts only hosts that have something to count.
    assert played.stats["changed"] == {}
    assert flags() == whole
    assert all("HCCL_SOCKET_IFNAME=" in text for text in whole.values())
