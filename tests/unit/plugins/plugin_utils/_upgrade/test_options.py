# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._upgrade.options import UpgradeOptions, node_refusal, refusal

GOOD = UpgradeOptions("gaudi", ["n1", "n2"], [1, "10%", "25%"], layers=["flags"])


@pytest.mark.parametrize(
    "options",
    [
        GOOD,
        replace(GOOD, serial="100%"),
        replace(GOOD, serial=3, canary="n2", drain="commands"),
        *(replace(GOOD, max_fail_percentage=most) for most in (0, "0", 2.5, " 100 ", 100)),
    ],
)
def test_what_can_be_meant_passes(options: UpgradeOptions) -> None:
    assert refusal(options) == ""


SERIAL = (
    "gaudi_upgrade_serial has {}, but a batch needs at least 1 node or 1%; leave it out for the default 1, 10%, 25%."
)
MOST = "gaudi_upgrade_max_fail_percentage is {}; give a number from 0 to 100."


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (replace(GOOD, serial=0), SERIAL.format(0)),
        (replace(GOOD, serial=[1, "0%"]), SERIAL.format("0%")),
        (replace(GOOD, serial="all"), SERIAL.format("all")),
        (replace(GOOD, hosts=[]), "No host matches gaudi_hosts (gaudi); correct it, or the inventory."),
        (
            replace(GOOD, canary="n9"),
            "gaudi_upgrade_canary is n9, which is not a host of this run; use one of n1, n2.",
        ),
        (replace(GOOD, max_fail_percentage=101), MOST.format(101)),
        (replace(GOOD, max_fail_percentage="a few"), MOST.format("a few")),
        (replace(GOOD, max_fail_percentage=-1), MOST.format(-1)),
        (replace(GOOD, drain="pbs"), "gaudi_upgrade_drain is pbs; it must be none, slurm or commands."),
        (
            replace(GOOD, layers=["flags", "kernel"]),
            ("gaudi_upgrade_layers has kernel; there are containers, fabric, venv, flags."),
        ),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(options: UpgradeOptions, sentence: str) -> None:
    assert refusal(options) == sentence


@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        ("n1", ""),
        ("", "gaudi_upgrade_node is not set; name one of n1, n2."),
        ("n9", "gaudi_upgrade_node is 'n9', which is not among gaudi_hosts; name one of n1, n2."),
    ],
)
def test_only_a_node_of_the_run_can_be_explained(node: str, sentence: str) -> None:
    assert node_refusal(node, ["n1", "n2"]) == sentence
