# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node on release 1.23.0 as an inventory, for tests of what is planned for it."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import date
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.plugins.module_utils._upgrade.inventory import NodeInventory
from ansible_collections.gaudi3.scale.plugins.module_utils._upgrade.plan import PlanOptions, Surroundings, upgrade_plan

SPI = "1.22.0-fw-61.3.2-sec-3"
KERNEL = "6.8.0-45-generic"
ADDRESSES = ("0000:19:00.0", "0000:3b:00.0")

NODE = NodeInventory(
    generations=("gaudi3",),
    cards=2,
    boards=("HL-325L",),
    os="ubuntu-24.04",
    architecture="x86_64",
    kernel=KERNEL,
    next_kernel=KERNEL,
    headers=(KERNEL,),
    driver="1.23.0-2eae87a",
    packages={"habanalabs-dkms": "1.23.0-695", "habanalabs-qual": "1.23.0-695"},
    held=("habanalabs-dkms", "habanalabs-qual"),
    built={KERNEL: "1.23.0-695"},
    spi=dict.fromkeys(ADDRESSES, SPI),
    fit=dict.fromkeys(ADDRESSES, SPI),
    cpld=dict.fromkeys(ADDRESSES, "0x10"),
)
VIRGIN = replace(
    NODE,
    headers=(),
    driver=None,
    packages={},
    held=(),
    built={},
    spi=dict.fromkeys(ADDRESSES),
    fit=dict.fromkeys(ADDRESSES),
    cpld=dict.fromkeys(ADDRESSES),
)
FACTS: dict[str, Any] = asdict(NODE)


TODAY = date(2026, 11, 30)


def plan(node: NodeInventory = NODE, release: str = "1.24.1", **options: Any) -> dict[str, Any]:
    """What the module would return for ``node``."""
    chosen = PlanOptions(release=release, **options)
    return upgrade_plan(chosen, node, find_release(release), Surroundings(TODAY))
