# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Cards as the kernel shows them: PCI devices before the driver is loaded, accel devices after.

Cards are known by PCI address. The accel index is no identity: it can change at every boot and driver reload
(sysfs.c of the driver; names of the attributes are from there).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .hardware import ACCELERATOR_CLASS, HABANA_VENDOR, generation_of

# What the driver says of a card that works.
HEALTHY_STATUS = "Operational"


@dataclass(frozen=True)
class PciCard:
    """A card on the PCI bus. ``numa_node`` is None where the firmware of the server does not tell."""

    pci_address: str
    pci_id: str
    numa_node: int | None


@dataclass(frozen=True)
class AccelDevice:
    """A card that the driver has taken. None where an attribute is missing or cannot be read."""

    index: int
    pci_address: str
    status: str | None
    module_id: int | None
    driver_version: str | None
    preboot_version: str | None
    power_limit_mw: int | None = None


def pci_cards(kernel_root: str = "/") -> tuple[PciCard, ...]:
    """The Gaudi cards on the PCI bus, by address."""
    paths = Path(kernel_root, "sys/bus/pci/devices").glob("*")
    return tuple(sorted(filter(None, map(_pci_card, paths)), key=lambda card: card.pci_address))


def _pci_card(path: Path) -> PciCard | None:
    if attribute(path, "vendor") != HABANA_VENDOR:
        return None
    pci_id = attribute(path, "device") or ""
    is_accelerator = (attribute(path, "class") or "").startswith(ACCELERATOR_CLASS)
    if not is_accelerator and generation_of(pci_id) is None:
        return None
    node = _integer(attribute(path, "numa_node"))
    return PciCard(path.name.lower(), pci_id, None if node is None or node < 0 else node)


def told_model(card: PciCard, kernel_root: str = "/") -> str:
    """What the card's driver calls its model (``HL225``), by its hwmon device; empty before the driver is loaded."""
    device = Path(kernel_root, "sys/bus/pci/devices", card.pci_address)
    return next(filter(None, (attribute(path, "name") for path in sorted(device.glob("hwmon/hwmon*")))), "")


def accel_devices(kernel_root: str = "/") -> tuple[AccelDevice, ...]:
    """The devices of the accel class that are Gaudi cards, by PCI address; other makers' devices are left out."""
    known = {card.pci_address for card in pci_cards(kernel_root)}
    devices = map(_accel_device, Path(kernel_root, "sys/class/accel").glob("accel[0-9]*"))
    return tuple(
        sorted((device for device in devices if device.pci_address in known), key=lambda device: device.pci_address)
    )


def _accel_device(path: Path) -> AccelDevice:
    device = path / "device"
    address = attribute(device, "pci_addr") or device.resolve().name
    return AccelDevice(
        index=int(path.name[len("accel") :]),
        pci_address=address.lower(),
        status=attribute(device, "status"),
        module_id=_integer(attribute(device, "module_id")),
        driver_version=attribute(device, "driver_ver"),
        preboot_version=attribute(device, "preboot_btl_ver"),
        power_limit_mw=_integer(attribute(device, "max_power")),
    )


def cards_with_ports(kernel_root: str = "/") -> frozenset[str]:
    """The PCI addresses of the cards of which the driver shows an external port, as a network interface."""
    devices = (path / "device" for path in Path(kernel_root, "sys/class/net").glob("*"))
    return frozenset(
        device.resolve().name.lower() for device in devices if attribute(device, "vendor") == HABANA_VENDOR
    )


def loaded_modules(kernel_root: str = "/") -> tuple[str, ...]:
    """Names of the loaded kernel modules of the vendor, sorted."""
    lines = (attribute(Path(kernel_root, "proc"), "modules") or "").splitlines()
    return tuple(sorted(line.split()[0] for line in lines if line.startswith("habanalabs")))


def timeout_locked(kernel_root: str = "/") -> int | None:
    """Seconds that the loaded driver gives a job, 0 for no limit; None where no driver tells (habanalabs_drv.c)."""
    return _integer(attribute(Path(kernel_root, "sys/module/habanalabs/parameters"), "timeout_locked"))


def attribute(directory: Path, name: str) -> str | None:
    """One sysfs or procfs value without its line end; None where it is missing, empty or refuses to be read."""
    try:
        return (directory / name).read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        # Attributes of a card in reset answer with an I/O error instead of a value.
        return None


def _integer(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None
