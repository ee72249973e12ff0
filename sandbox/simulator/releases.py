# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the simulated driver and cards report for each release that the sandbox's package repository has.

Version strings of 1.23.0 and 1.24.1 as real nodes print them (hl-smi listings in public repositories). Firmware of
1.23.0 as Intel's recipe flashes it; of 1.24.1 only the Gaudi 2 string is public, the Gaudi 3 one is the sandbox's own.
The second part of the network driver's version is the sandbox's own too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    """One release. ``firmware`` maps a generation to the SPI image in its package; ``hl_smi`` is the tool's version."""

    package: str
    driver: str
    nic_driver: str
    hl_smi: str
    firmware: Mapping[str, str]


RELEASES = {
    release.package: release
    for release in (
        Release(
            "1.23.0-695",
            "1.23.0-2eae87a",
            "1.23.0-5150000",
            "hl-1.23.0-fw-62.2.1.1",
            {"gaudi2": "1.22.0-fw-61.3.1-sec-11", "gaudi3": "1.22.0-fw-61.3.2-sec-3"},
        ),
        Release(
            "1.24.1-482",
            "1.24.1-b336d5e",
            "1.24.1-5151000",
            "hl-1.24.0-fw-62.6.2.0",
            {"gaudi2": "1.24.0-fw-62.6.2-sec-11", "gaudi3": "1.24.0-fw-62.6.2-sec-3"},
        ),
    )
}
