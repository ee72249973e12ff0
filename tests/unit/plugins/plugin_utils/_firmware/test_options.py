# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._firmware.options import FirmwareOptions, refusal

HOSTS = ["n1", "n2"]
ACCEPT = {"gaudi3": "1.22.0-fw-61.3.2-sec-3"}


@pytest.mark.parametrize("options", [FirmwareOptions(HOSTS, {}), FirmwareOptions(HOSTS, ACCEPT, "n2", "slurm")])
def test_what_can_be_meant_passes(options: FirmwareOptions) -> None:
    assert refusal(options) == ""


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            FirmwareOptions(HOSTS, "1.22.0"),
            (
                "gaudi_firmware_accept is 1.22.0; give a version in full for each generation, as "
                "{gaudi3: 1.22.0-fw-61.3.2-sec-3}."
            ),
        ),
        (
            FirmwareOptions(HOSTS, ACCEPT, "n9"),
            "gaudi_firmware_canary is n9, which is not a host of this run; use one of n1, n2.",
        ),
        (
            FirmwareOptions(HOSTS, ACCEPT, drain="pbs"),
            "gaudi_firmware_drain is pbs; it must be none, slurm or commands.",
        ),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(options: FirmwareOptions, sentence: str) -> None:
    assert refusal(options) == sentence
