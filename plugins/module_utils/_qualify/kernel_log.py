# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the kernel has said of cards, PCIe and memory between two moments. Whoever reads the kernel's log reads it here.

A line is the driver's by its device where journald knows one (systemd.journal-fields(7): ``_KERNEL_DEVICE``,
``_KERNEL_SUBSYSTEM``, ``_UDEV_SYSNAME``), else by what it begins with. The driver's lines begin with its name and an
address or, once a device is there, with the device's class and name alone: ``habanalabs hl2:`` (HabanaAI's
Setup_and_Install#1), and ``accel accel2:`` since it is of the accel class (instructlab's documentation for Gaudi). In
that class are other makers' devices too (ivpu, amdxdna, qaic), whose lines are not told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from .._cards.accel_sysfs import attribute, pci_cards
from .._cards.hardware import HABANA_VENDOR
from .._node.commands import Run
from .._node.screen_text import one_line

_TIMEOUT_S = 30
_MOST_LINES, _LONGEST = 20, 200
_FIELDS = ("MESSAGE", "SYSLOG_IDENTIFIER", "_KERNEL_DEVICE", "_KERNEL_SUBSYSTEM", "_UDEV_SYSNAME")
_KERNEL = "kernel"
# The driver's modules and devices, PCIe's advanced error reporting, machine checks. Without a time, whose form differs.
_ABOUT = re.compile(
    r"\b(habanalabs\w*|(?:accel )?accel\d+|hl ?\d+|(?:hlib|hbl)_\d+|AER|PCIe Bus Error|mce|Machine Check|"
    r"Hardware Error|EDAC)\b",
    re.IGNORECASE,
)
# What other makers' drivers of the accel class call themselves.
_OTHERS = re.compile(r"^(?:\[[^\]]*\] ?)?(?:intel_vpu|ivpu|amdxdna|qaic|rocket|ethosu)\b", re.IGNORECASE)
_ACCEL = re.compile(r"\baccel(\d+)\b")
_PCI_DEVICE = re.compile(r"\+pci:(.+)")


@dataclass(frozen=True)
class Entry:
    """One message. ``device`` as journald writes it (``+pci:0000:19:00.0``, ``+accel:accel2``), empty where it knows
    none; ``name`` is that of the device below ``/sys``."""

    text: str
    device: str = ""
    subsystem: str = ""
    name: str = ""
    identifier: str = _KERNEL


@dataclass(frozen=True)
class Devices:
    """What is told apart by: PCI addresses of the cards, and the names of the accel devices of other makers."""

    cards: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()


def errors_since(seconds: float, run: Run, kernel_root: str = "/") -> list[str]:
    """Lines of an error or graver since that moment (seconds since 1970); none where nobody can tell."""
    command = ("journalctl", "--dmesg", "--priority", "err", "--since", f"@{seconds:.3f}", "--no-pager", "--quiet")
    done = run([*command, "--output", "json", "--output-fields", ",".join(_FIELDS)], timeout=_TIMEOUT_S)
    return told(entries(done.stdout), read_devices(kernel_root)) if done.rc == 0 else []


def found_in(text: str, others: Collection[str] = ()) -> list[str]:
    """The lines that are about the hardware, each once, cut. ``others``: accel devices of other makers."""
    return told((Entry(line) for line in text.splitlines()), Devices(others=frozenset(others)))


def told(found: Iterable[Entry], devices: Devices) -> list[str]:
    """The same of entries; pure."""
    lines = dict.fromkeys(one_line(entry.text, _LONGEST) for entry in found if _is_about(entry, devices))
    return list(lines)[:_MOST_LINES]


def entries(text: str) -> list[Entry]:
    """Each line of journalctl's JSON; one that is none is taken as the message itself."""
    return [entry for line in text.splitlines() if line.strip() and (entry := _entry(line))]


def read_devices(kernel_root: str = "/") -> Devices:
    """The cards of this node, and what else is of the accel class."""
    classes = Path(kernel_root, "sys/class/accel").glob("accel[0-9]*")
    vendors = {path.name: attribute(path / "device", "vendor") for path in classes}
    return Devices(
        frozenset(card.pci_address for card in pci_cards(kernel_root)),
        frozenset(name for name, vendor in vendors.items() if vendor not in (None, HABANA_VENDOR)),
    )


def _is_about(entry: Entry, devices: Devices) -> bool:
    if entry.identifier != _KERNEL:
        # A program that writes to /dev/kmsg.
        return False
    pci = _PCI_DEVICE.fullmatch(entry.device)
    if pci and pci[1].lower() in devices.cards:
        return True
    accels = {f"accel{number}" for number in _ACCEL.findall(f"{entry.name} {entry.device} {entry.text}")}
    if entry.subsystem == "habanalabs" or (entry.subsystem == "accel" and not accels & devices.others):
        return True
    if accels & devices.others or _OTHERS.search(entry.text):
        return False
    return _ABOUT.search(entry.text) is not None


def _entry(line: str) -> Entry | None:
    try:
        fields = json.loads(line) if line.startswith("{") else None
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        return Entry(line)
    text = _text(fields.get("MESSAGE"))
    device, subsystem, name, identifier = (
        _text(fields.get(key)) for key in ("_KERNEL_DEVICE", "_KERNEL_SUBSYSTEM", "_UDEV_SYSNAME", "SYSLOG_IDENTIFIER")
    )
    return Entry(text, device, subsystem, name, identifier or _KERNEL) if text else None


def _text(value: object) -> str:
    """A field of journalctl's JSON: what is not UTF-8 is a list of bytes, and of several values a list has all."""
    if isinstance(value, list) and all(isinstance(one, int) and 0 <= one < 256 for one in value):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, list):
        return _text(value[0]) if value else ""
    return value if isinstance(value, str) else ""
