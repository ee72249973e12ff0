# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The firmware of a node's cards as ``hl-smi``, ``hl-fw-loader`` and an image tell it. Nothing here changes anything.

With the driver loaded ``hl-smi -L`` is asked; without it ``hl-fw-loader -s``, as in docs.habana.ai Firmware_Upgrade.
Of the latter's output only one line is published, ``Current SPI version: Preboot version hl-gaudi3-... (date)``: it is
asked card by card, so that a line cannot be taken for another card's. UNVERIFIED: what else it prints.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from .._cards.accel_sysfs import AccelDevice, PciCard, accel_devices, attribute, pci_cards
from .._cards.hardware import board_of, generation_of
from .._cards.hl_smi import parse_listing
from .._cards.readings import whole
from .._errors import GaudiError
from .._fabric.ports import UNIT as PORTS_UNIT
from .._node import driver_marker
from .._node.commands import Run
from .._node.kernel_modules import DRIVER_MODULE, find_holders, loaded_modules, loaded_version
from .._node.programs import Installed, is_installed
from .._node.regular_file import read_bounded
from .._node.systemd_units import is_active, is_enabled
from .._releases.lookup import Release, find_release, release_part
from .plan import (
    FLASHED,
    PROTECTED,
    UNKNOWN,
    WRITABLE,
    FirmwareNode,
    FirmwareOptions,
    generation_of_node,
    target_of,
    to_write,
)
from .record import Record
from .spi import FlashCard, Spi

TOOL = "hl-fw-loader"
FLASH_UNIT = "gaudi3-scale-firmware.service"
IMAGE = "lib/firmware/habanalabs/{0}/{0}-agent-fw_loader-fit.itb"
# Reading a card is no writing: it may be given up. The driver's own time-out for a card is 30 s.
READ_TIMEOUT_S = 180
# Bytes; the vendor's have some ten million.
LARGEST_IMAGE = 1 << 28
_SPI_LINE = re.compile(r"^.*\bSPI version\s*:\s*(.+?)\s*$", re.MULTILINE)
_IMAGE_VERSION = re.compile(rb"hl-gaudi\d?-\d+\.\d+\.\d+-fw-\d+\.\d+\.\d+(?:-sec-\d+)?(?![\d.])")


def read_cards(run: Run, kernel_root: str = "/", tool: bool = True) -> tuple[FlashCard, ...]:
    """The cards by module id, as whatever can be asked now shows them."""
    devices = {device.pci_address: device for device in accel_devices(kernel_root)}
    listing = parse_listing(run(["hl-smi", "-L"], timeout=READ_TIMEOUT_S).stdout).cards if devices else {}
    driven = bool(loaded_modules((DRIVER_MODULE,), kernel_root))
    cards = []
    for pci in pci_cards(kernel_root):
        listed = dict(listing.get(pci.pci_address, {}))
        if tool and not driven:
            listed["Firmware [SPI] Version"] = spi_of_tool(pci.pci_address, run) or ""
        cards.append(_card(pci, devices.get(pci.pci_address), listed))
    return tuple(sorted(cards, key=lambda card: (card.module_id is None, card.module_id or 0, card.pci_address)))


def _card(pci: PciCard, device: AccelDevice | None, listed: dict[str, str]) -> FlashCard:
    generation, board = generation_of(pci.pci_id), board_of(pci.pci_id)
    module_id = device.module_id if device else None
    return FlashCard(
        pci_address=pci.pci_address,
        pci_id=pci.pci_id,
        generation=generation.name if generation else None,
        board=board.label if board else None,
        module_id=whole("module_id", listed.get("Module ID")) if module_id is None else module_id,
        serial=listed.get("Serial Number") or None,
        spi=listed.get("Firmware [SPI] Version") or (device.preboot_version if device else None),
        fit=listed.get("Firmware [FIT] Version") or None,
    )


def spi_of_tool(address: str, run: Run) -> str | None:
    """What ``hl-fw-loader -s`` says of one card; None where it says nothing, or two different things."""
    lines = set(_SPI_LINE.findall(run([TOOL, "-s", "-d", address], timeout=READ_TIMEOUT_S).stdout))
    return lines.pop() if len(lines) == 1 else None


def image_versions(path: str) -> tuple[str, ...] | None:
    """The version strings in an image, each once; None where there is no such file. UNVERIFIED: that it has any."""
    try:
        content = read_bounded(path, LARGEST_IMAGE, follow=True)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise GaudiError(f"{path} cannot be read: {error.strerror}; check its permissions.", file=path) from error
    return tuple(sorted({match.decode() for match in _IMAGE_VERSION.findall(content)}))


def write_protection(command: tuple[str, ...], run: Run) -> str | None:
    """What the site's command says: exit 0 writable, 1 protected, anything else unknown; None without a command."""
    if not command:
        return None
    return {0: WRITABLE, 1: PROTECTED}.get(run(list(command), timeout=READ_TIMEOUT_S).rc, UNKNOWN)


def read_node(
    options: FirmwareOptions,
    release: Release,
    targets: dict[str, Spi],
    record: Record,
    run: Run,
    root: str = "/",
    installed: Installed = is_installed,
) -> FirmwareNode:
    """See the node. The BMC, the image and the processes are looked at only where a card would be written."""
    kernel_root = options.kernel_root
    order = _driver_release(options, release)
    loaded = loaded_modules(order.modules, kernel_root)
    writing = is_active(run, FLASH_UNIT)
    tool = installed(TOOL)
    node = FirmwareNode(
        # A card that is being written is left in peace.
        cards=read_cards(run, kernel_root, tool and not writing),
        record=record,
        boot_id=attribute(Path(kernel_root, "proc/sys/kernel/random"), "boot_id") or "",
        loaded=loaded,
        reload=_to_load(loaded, record, order.modules),
        driver=order,
        tool=tool,
        writing=writing,
        ports=is_enabled(run, PORTS_UNIT),
    )
    target = target_of(node, targets)
    if options.state != FLASHED or writing or not to_write(options, node, target):
        return node
    image = options.image or str(Path(root, IMAGE.format(generation_of_node(node))))
    return replace(
        node,
        holders=tuple(find_holders(kernel_root)),
        image=image,
        found=image_versions(image),
        protection=write_protection(tuple(options.write_protection_command), run),
        half_changed=_half_changed(root),
    )


def _half_changed(root: str) -> bool:
    marker = driver_marker.read(root)
    return marker is not None and (marker.interrupted or marker.state == driver_marker.FAILED)


def _to_load(loaded: tuple[str, ...], record: Record, order: tuple[str, ...]) -> tuple[str, ...]:
    """What has to be loaded at the end: what is loaded now, and what a run that was cut off has unloaded."""
    names = dict.fromkeys((*order, *record.modules))
    return tuple(name for name in names if name in loaded or name in record.modules)


def _driver_release(options: FirmwareOptions, release: Release) -> Release:
    """The release whose driver is loaded: it sets the order of its modules. The wanted one where that is not known."""
    version = loaded_version(options.kernel_root)
    try:
        return find_release(release_part(version), options.release_overrides) if version else release
    except GaudiError:
        return release
