# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks in more groups of cards than one: what they are told, and which order is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import Job
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.card_groups import group_remarks
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, write_kernel

HL288E, HL338, OAM = "0x1021", "0x1063", "0x1060"


def job(ranks: int = 8, device: str = "hpu", **environment: str) -> Job:
    return Job("demo", ("n1",), "n1", ranks, "n1", 29500, ("t.py",), "/venv", environment=environment, device=device)


def host_nic(root: Path) -> None:
    port = root / "sys/class/infiniband/mlx5_0/ports/1"
    port.mkdir(parents=True)
    for name, text in {"link_layer": "InfiniBand", "state": "4: ACTIVE"}.items():
        (port / name).write_text(f"{text}\n")


def test_eight_ranks_on_two_groups_of_four_are_told_what_they_need(tmp_path: Path) -> None:
    root = write_kernel(tmp_path, pci_id=HL288E)
    (said,) = group_remarks(job(), {}, str(root))
    assert said.startswith("HL-288E cards are joined in groups of 4 by their boards, and 8 ranks are in more than one")
    assert "takes a network card of the host (of which none has a link here)" in said
    assert "keep the ranks in the order of the module ids" in said


def test_a_network_card_of_the_host_with_a_link_is_named(tmp_path: Path) -> None:
    root = write_kernel(tmp_path, pci_id=HL288E)
    host_nic(root)
    assert "(of which mlx5_0 has a link)" in group_remarks(job(5), {}, str(root))[0]


@pytest.mark.parametrize(
    ("pci_id", "cards", "given"),
    [
        (HL288E, 8, {"ranks": 4}),
        (HL288E, 4, {"ranks": 4}),
        (HL288E, 8, {"device": "cpu"}),
        (OAM, 8, {}),
        # They have ports of their own to the other group.
        (HL338, 8, {}),
    ],
)
def test_a_job_that_needs_nothing_is_told_nothing(
    pci_id: str, cards: int, given: dict[str, Any], tmp_path: Path
) -> None:
    root = write_kernel(tmp_path, ADDRESSES[:cards], pci_id=pci_id)
    assert group_remarks(job(**given), {}, str(root)) == []


def test_an_order_with_which_it_would_fail_is_refused(tmp_path: Path) -> None:
    root = write_kernel(tmp_path, pci_id=HL288E)
    assert group_remarks(job(HABANA_VISIBLE_MODULES="0,1,2,3,4,5,6,7"), {}, str(root))
    with pytest.raises(GaudiError, match=r"out of the order of their module ids.*give 0,1,2,3,4,5,6,7, or"):
        group_remarks(job(HABANA_VISIBLE_MODULES="0,4,1,5,2,6,3,7"), {}, str(root))
