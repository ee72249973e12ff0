# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Faults that can be injected into a simulated node: their names, what they take, and the parsing of KEY=VALUE."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from . import host_nics, wrong_products
from .boards import PORTS

NODE = "true"
CARD = "MODULE_ID[,MODULE_ID...]"
PORT = "MODULE_ID:PORT[,MODULE_ID:PORT...]"
BUILD = "true or RELEASE-BUILD[,RELEASE-BUILD...]"
LOAD = "RELEASE-BUILD[:MODULE_ID]"
CALL = "PROGRAM[:N]"
CALL_OR_NODE = "true or PROGRAM[:N]"
NIC = "infiniband or roce, then :" + ",".join(host_nics.CONDITIONS) + " for what is wrong with it"
# The card that a fault takes where none is named.
ANY_MODULE_ID = 7

# Name -> (what its value is, what it does).
FAULTS = {
    "no_cards": (NODE, "the node has no card at all"),
    "missing_card": (CARD, "the card is not on the PCI bus"),
    "first_generation": (NODE, "the cards are first-generation Gaudi"),
    "zero_temperature": (CARD, "the card reports 0 C: it did not initialize"),
    "hot_card": (CARD, "the card is far over its temperature limit"),
    "absurd_temperature": (CARD, "the card's firmware reports an impossible temperature"),
    "uncorrectable_ecc": (CARD, "the card counts uncorrectable memory errors"),
    "wrong_firmware": (CARD, "the card's firmware is older than its neighbors'"),
    "unreadable_firmware": (CARD, "the card reports an invalid firmware version"),
    "flash_fails": (CARD, "hl-fw-loader cannot write the card"),
    "power_cycle_needed": (CARD, "the card starts from newly written firmware only after a power cycle"),
    "write_protected": (NODE, "the BMC protects the cards' flash"),
    "not_operational": (CARD, "the driver could not bring the card up"),
    "port_down": (PORT, "the link of one port is down"),
    "another_cpu": (NODE, "the CPUs are Intel's of an earlier generation"),
    "power_limit_ignored": (CARD, "the card keeps its power limit, whatever hl-smi -p says"),
    "iommu_translates": (NODE, "the IOMMU translates for the cards, unless the kernel was started with iommu=pt"),
    "no_verbs": (CARD, "habanalabs_ib made no verbs device of the card"),
    "degraded_pcie": (CARD, "the card's PCIe link has half its lanes, at the speed of the generation before"),
    host_nics.FAULT: (NIC, "the host has a network card for scale-out, in sysfs alone"),
    wrong_products.FAULT: (CARD, "a rank on the card gets wrong products, and hl_qual's functional test fails"),
    "hl_qual_hangs": (NODE, "hl_qual never ends"),
    "hl_smi_tells_nothing": (NODE, "hl-smi -Q prints N/A for all but the cards' addresses"),
    "hl_smi_hangs": (NODE, "hl-smi never ends"),
    "hlml_hangs": (CARD, "libhlml.so never answers a question about the card"),
    "hlml_crashes": (CARD, "libhlml.so crashes at a question about the card"),
    "hlml_lost_card": (CARD, "libhlml.so says that the card is lost (15)"),
    "hlml_unknown_error": (CARD, "libhlml.so answers the card's utilization with an unknown error (49)"),
    "hlml_leaks": (NODE, "libhlml.so keeps a megabyte at each question about a temperature"),
    "hlml_older": (NODE, "libhlml.so is of a release before 1.21, with that one's layout"),
    "busy_device": (CARD, "a process holds the card: the driver cannot be unloaded"),
    "dkms_build_error": (BUILD, "the driver's source does not compile: every release's, or that of the named ones"),
    "card_lost_at_load": (LOAD, "the card is gone while the driver of that release is loaded"),
    # These strike once, when PROGRAM is called for the N-th time from now (see losses.py).
    "power_loss": (CALL, "the power is cut: all processes end at once, and the node boots"),
    "ssh_loss": (CALL, "the operator's SSH sessions are cut; what they started continues"),
    "repository_loss": (CALL_OR_NODE, "no route to the package repository, now or from that call on"),
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
        return name, _PARSERS[kind](value)
    except ValueError as error:
        raise FaultError(f"{name}={value}: it takes {kind}") from error


def _node(text: str) -> bool:
    if text not in ("", "true"):
        raise ValueError
    return True


def _port(text: str) -> str:
    module_id, port = (int(part) for part in text.split(":"))
    if not 0 <= port < PORTS:
        raise ValueError
    return f"{module_id}:{port}"


def _package(text: str) -> str:
    if not re.fullmatch(r"\d+(\.\d+)+-\d+", text):
        raise ValueError
    return text


def _load(text: str) -> str:
    package, _, module_id = text.partition(":")
    return f"{_package(package)}:{int(module_id or ANY_MODULE_ID)}"


def _call(text: str) -> str:
    program, _, number = text.partition(":")
    if not re.fullmatch(r"[\w.-]+", program) or program.isdigit() or int(number or 1) < 1:
        raise ValueError
    return f"{program}:{int(number or 1)}"


def _each(parse_part: Callable[[str], object]) -> Callable[[str], object]:
    return lambda text: [parse_part(part) for part in text.split(",")]


def _true_or(parse_rest: Callable[[str], object]) -> Callable[[str], object]:
    return lambda text: True if text in ("", "true") else parse_rest(text)


_PARSERS: Mapping[str, Callable[[str], object]] = {
    NODE: _node,
    CARD: _each(int),
    PORT: _each(_port),
    BUILD: _true_or(_each(_package)),
    LOAD: _load,
    CALL: _call,
    CALL_OR_NODE: _true_or(_call),
    NIC: host_nics.parse,
}


def hits(faults: Mapping[str, object], name: str, module_id: int) -> bool:
    """Whether the fault ``name`` is injected for this card."""
    listed = faults.get(name)
    return isinstance(listed, list) and module_id in listed


def port_is_down(faults: Mapping[str, object], module_id: int, port: int) -> bool:
    """Whether the link of this port is made to fail."""
    listed = faults.get("port_down")
    return isinstance(listed, list) and f"{module_id}:{port}" in listed


def is_lost(faults: Mapping[str, object], driver: str | None, module_id: int) -> bool:
    """Whether this card is gone while ``driver`` is loaded."""
    return faults.get("card_lost_at_load") == f"{driver}:{module_id}"
