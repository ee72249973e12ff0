# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""PCIe ACS, read from configuration spaces as `lspci -xxxx` shows them."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.pcie import access_control
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.verbs.acs import redirecting


def bridge(secondary: int, subordinate: int, acs: int | None = 0, size: int = 4096) -> bytes:
    """A bridge with a capability before the one of ACS."""
    config = bytearray(size)
    config[0x0E], config[0x19], config[0x1A] = 0x81, secondary, subordinate
    if size > 0x100:
        config[0x100:0x104] = (0x0001 | 1 << 16 | 0x148 << 20).to_bytes(4, "little")  # AER, then what is at 0x148
        if acs is not None:
            config[0x148:0x14C] = (0x000D | 1 << 16).to_bytes(4, "little")
            config[0x14E:0x150] = acs.to_bytes(2, "little")
    return bytes(config)


ENDPOINT = bytearray(4096)
CARD, NIC = "0000:19:00.0", "0000:5a:00.0"


@pytest.mark.parametrize(
    ("config", "bits"),
    [
        (bridge(1, 2, 0x1D), 0x1D),
        (bridge(1, 2, 0), 0),
        (bridge(1, 2, None), 0),
        (bytes(4096), 0),
        (b"\xff" * 4096, 0),
        # An account that is not root reads the first 64 bytes; conventional PCI has 256.
        (bridge(1, 2, size=64), None),
        (bridge(1, 2, size=256), None),
    ],
)
def test_the_control_register(config: bytes, bits: int | None) -> None:
    assert access_control(config) == bits


def test_a_list_of_capabilities_without_an_end_is_read_once() -> None:
    config = bytearray(bridge(1, 2, None))
    config[0x148:0x14C] = (0x0002 | 1 << 16 | 0x100 << 20).to_bytes(4, "little")
    assert access_control(bytes(config)) == 0


@pytest.mark.parametrize(
    ("configs", "found"),
    [
        ({"0000:18:00.0": bridge(0x19, 0x1F, 0x1D)}, ("0000:18:00.0",)),
        # Source validation alone redirects nothing.
        ({"0000:18:00.0": bridge(0x19, 0x1F, 0x01)}, ()),
        (
            {"0000:59:01.0": bridge(0x5A, 0x5A, 0x04), "0000:18:00.0": bridge(0x10, 0x20, 0x08)},
            ("0000:18:00.0", "0000:59:01.0"),
        ),
        # Bridges that lead elsewhere, and one of another domain.
        ({"0000:60:00.0": bridge(0x61, 0x6F, 0x1D), "0001:59:00.0": bridge(0x5A, 0x5A, 0x1D)}, ()),
        ({"0000:60:00.0": bridge(0x61, 0x6F, size=64), "0000:18:00.0": bridge(0x19, 0x19, 0)}, ()),
        ({"0000:59:00.0": bridge(0x5A, 0x5A, size=64)}, None),
        ({"0000:5a:00.0": bytes(ENDPOINT)}, ()),
        ({}, ()),
    ],
)
def test_which_bridges_redirect(configs: dict[str, bytes], found: tuple[str, ...] | None) -> None:
    assert redirecting(configs, [CARD, NIC]) == found
