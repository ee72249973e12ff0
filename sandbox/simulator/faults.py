# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Faults that can be injected into a simulated node: their names, what they take, and the parsing of KEY=VALUE."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .boards import PORTS
from .node_state import locked, read, write

NODE = "true"
CARD = "MODULE_ID[,MODULE_ID...]"
PORT = "MODULE_ID:PORT[,MODULE_ID:PORT...]"

# Name -> (what its value is, what it does).
FAULTS = {
    "no_cards": (NODE, "the node has no card at all"),
    "missing_card": (CARD, "the card is not on the PCI bus"),
    "first_generation": (NODE, "the cards are first-generation Gaudi"),
    "zero_temperature": (CARD, "the card reports 0 C: it did not initialise"),
    "hot_card": (CARD, "the card is far over its temperature limit"),
    "uncorrectable_ecc": (CARD, "the card counts uncorrectable memory errors"),
    "wrong_firmware": (CARD, "the card's firmware is older than its neighbours'"),
    "not_operational": (CARD, "the driver could not bring the card up"),
    "port_down": (PORT, "the link of one port is down"),
    "busy_device": (CARD, "a process holds the card: the driver cannot be unloaded"),
    "dkms_build_error": (NODE, "the driver's source does not compile"),
}


class FaultError(Exception):
    """A fault that does not exist or a value it cannot take."""


def parse(assignments: Sequence[str]) -> dict[str, object]:
    """Faults from ``KEY=VALUE`` words; raises :class:`FaultError`."""
    return dict(_parse_one(word) for word in assignments)


def _parse_one(word: str) -> tuple[str, object]:
    name, _, value = word.partition("=")
    if name not in FAULTS:
        raise FaultError(f"unknown fault {name!r}; there are {', '.join(FAULTS)}")
    kind = FAULTS[name][0]
    try:
        if kind == NODE:
            if value not in ("", "true"):
                raise ValueError
            return name, True
        if kind == CARD:
            return name, [int(part) for part in value.split(",")]
        return name, [_port(part) for part in value.split(",")]
    except ValueError as error:
        raise FaultError(f"{name}={value}: it takes {kind}") from error


def _port(text: str) -> str:
    module_id, port = (int(part) for part in text.split(":"))
    if not 0 <= port < PORTS:
        raise ValueError
    return f"{module_id}:{port}"


def hits(faults: Mapping[str, object], name: str, module_id: int) -> bool:
    """Whether the fault ``name`` is injected for this card."""
    listed = faults.get(name)
    return isinstance(listed, list) and module_id in listed


def port_is_down(faults: Mapping[str, object], module_id: int, port: int) -> bool:
    """Whether the link of this port is made to fail."""
    listed = faults.get("port_down")
    return isinstance(listed, list) and f"{module_id}:{port}" in listed


def main(arguments: list[str]) -> int:
    """``faults`` lists them, ``faults clear`` removes all, ``faults KEY=VALUE ...`` adds some."""
    from .kernel_tree import refresh  # the tree reads this module

    try:
        added = {} if arguments in ([], ["clear"]) else parse(arguments)
    except FaultError as error:
        print(f"faults: {error}", file=sys.stderr)
        return 2
    with locked():
        node = read()
        if arguments:
            node = replace(node, faults={} if arguments == ["clear"] else {**node.faults, **added})
            write(node)
            refresh(node)
    for name, value in node.faults.items():
        print(f"{name}={_as_text(value)}")
    return 0


def _as_text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value).lower()
