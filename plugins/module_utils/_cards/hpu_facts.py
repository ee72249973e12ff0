# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The cards of a node: sysfs and PCI ids where there is no driver yet, ``hl-smi`` where there is.

HLML adds what the text of ``hl-smi`` does not have, and is asked by who wants that alone.

Everything is keyed by PCI address, so that a card which one source does not see is a gap and never a shift.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from .._node.commands import Run
from .._releases.lookup import release_part
from .accel_sysfs import (
    AccelDevice,
    PciCard,
    accel_devices,
    cards_with_ports,
    loaded_modules,
    pci_cards,
    timeout_locked,
)
from .hardware import board_of, external_ports, generation_of, internal_ports, links_between
from .hl_smi import QUERY_FIELDS, Listing, firmware_version, parse_links, parse_listing, parse_query
from .hlml import HlmlCard, HlmlReading, ask_hlml
from .hlml_fields import named
from .node_system import Kernel, System, read_kernel, read_system
from .readings import absurd, whole
from .verbs_devices import verbs_devices
from .witnesses import OF_HLML, Disagreement, disagreements

# A card in reset can hold hl-smi for as long as the driver's own time-out of 30 s, twice for a listing of several.
_HL_SMI_TIMEOUT_S = 90
# What HLML tells of a card that hl-smi does not, or not in each release.
_OF_HLML = named(
    *("energy", "throttle_reasons", "rows_replaced_single", "rows_replaced_double", "rows_pending"),
    *("power_limit", "power_least_limit", "power_most_limit", "throttled_by_power", "throttled_by_thermal"),
)


@dataclass(frozen=True)
class Links:
    """Links of one kind. ``up`` is None where nothing is known; ``down`` lists ``<PCI address> port <n>``."""

    up: int | None = None
    total: int = 0
    down: tuple[str, ...] = ()


@dataclass(frozen=True)
class CardFirmware:
    """Firmware of one card; ``spi`` and ``fit`` in the short form ``1.22.0-fw-61.3.2-sec-3``."""

    spi: str | None = None
    fit: str | None = None
    cpld: str | None = None


@dataclass(frozen=True)
class Card:
    """One card. Memory in MiB, power in W, temperature in degrees Celsius; None is unknown, never zero.

    ``absurd`` is what hl-smi said of it that no card can have, by its name in the query. ``energy_mj`` counts from when
    the driver was loaded, and ``throttled_by`` is what keeps its clock low. These, the replaced rows and the limits of
    its power are HLML's. ``throttle_counters`` are its counters of the time of that, by reason; their unit is not
    published. ``disagreements`` is where the kernel, hl-smi and HLML differ about the card.
    """

    pci_address: str
    pci_id: str
    generation: str | None
    board: str | None
    numa_node: int | None
    accel_index: int | None = None
    module_id: int | None = None
    status: str | None = None
    name: str | None = None
    serial: str | None = None
    uuid: str | None = None
    temperature_c: int | None = None
    memory_total_mib: int | None = None
    memory_used_mib: int | None = None
    utilization_percent: int | None = None
    power_w: int | None = None
    ecc_uncorrected: int | None = None
    ecc_uncorrected_lifetime: int | None = None
    row_replacement_pending: bool | None = None
    firmware: CardFirmware = field(default_factory=CardFirmware)
    internal_links: Links = field(default_factory=Links)
    external_links: Links = field(default_factory=Links)
    verbs_device: str | None = None
    absurd: Mapping[str, str] = field(default_factory=dict)
    energy_mj: int | None = None
    throttled_by: tuple[str, ...] | None = None
    rows_replaced_single_bit: int | None = None
    rows_replaced_double_bit: int | None = None
    power_limit_w: int | None = None
    power_limit_least_w: int | None = None
    power_limit_most_w: int | None = None
    throttle_counters: Mapping[str, int] = field(default_factory=dict)
    disagreements: tuple[Disagreement, ...] = ()

    @property
    def rows_replaced(self) -> int | None:
        """Rows that were replaced for either reason; None where one of both is not known."""
        single, double = self.rows_replaced_single_bit, self.rows_replaced_double_bit
        return None if single is None or double is None else single + double


@dataclass(frozen=True)
class Hlml:
    """``version`` of the library; ``reason`` is why it did not tell all of the cards, empty also where nobody asked."""

    version: str | None = None
    reason: str = ""


@dataclass(frozen=True)
class Driver:
    """``version`` as the machine reports it (``1.24.1-b336d5e``), ``release`` its part before the dash."""

    version: str | None
    release: str | None
    nic_version: str | None
    hl_smi_version: str | None
    modules: tuple[str, ...]


@dataclass(frozen=True)
class Firmware:
    """SPI firmware over all cards: each version once, and whether all cards have the same (None: not known)."""

    spi: tuple[str, ...]
    equal: bool | None


@dataclass(frozen=True)
class AllLinks:
    """Links of all cards together."""

    internal: Links
    external: Links


@dataclass(frozen=True)
class HpuFacts:
    """A node with its cards in the order of module id, then PCI address.

    ``generation`` is None without cards and where generations are mixed; ``generations`` lists what is there.
    ``verbs_devices`` are those of the cards, also one of which the kernel does not tell the card.
    ``timeout_locked``: seconds that the loaded driver gives a job, 0 for no limit.
    """

    generation: str | None
    generations: tuple[str, ...]
    count: int
    cards: tuple[Card, ...]
    driver: Driver
    firmware: Firmware
    links: AllLinks
    kernel: Kernel
    system: System
    verbs_devices: tuple[str, ...] = ()
    timeout_locked: int | None = None
    hlml: Hlml = field(default_factory=Hlml)

    def as_dict(self) -> dict[str, object]:
        """The same as plain dictionaries, for a module's result."""
        return asdict(self)


@dataclass(frozen=True)
class SmiOutput:
    """What ``hl-smi`` said: its listing, a query row per PCI address, and port states per PCI address."""

    listing: Listing = field(default_factory=Listing)
    rows: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    ports: Mapping[str, Mapping[int, bool]] = field(default_factory=dict)


@dataclass(frozen=True)
class Shown:
    """What the kernel shows beside the cards: the cards that have external ports, and their verbs devices."""

    ports: frozenset[str] = frozenset()
    verbs: Mapping[str, str | None] = field(default_factory=dict)


def gather(run: Run, kernel_root: str = "/", hl_smi: bool = True, hlml: bool = False, ports: bool = True) -> HpuFacts:
    """Read this node. ``hl_smi`` False leaves the tool alone; it is also left alone where no driver holds a card.

    ``hlml`` asks the library below it, too, and tells where both and the kernel disagree. Without ``ports`` nothing is
    asked about links, which takes a call for each card.
    """
    cards = pci_cards(kernel_root)
    devices = accel_devices(kernel_root)
    smi = ask_hl_smi(run, cards if ports else ()) if hl_smi and devices else SmiOutput()
    shown = Shown(cards_with_ports(kernel_root), verbs_devices(kernel_root))
    facts = combine(cards, devices, smi, loaded_modules(kernel_root), read_kernel(kernel_root), read_system(), shown)
    facts = replace(facts, timeout_locked=timeout_locked(kernel_root))
    if not hlml or not devices:
        return facts
    told = ask_hlml(run, [device.pci_address for device in devices], tuple(dict.fromkeys((*_OF_HLML, *OF_HLML))))
    return with_witnesses(with_hlml(facts, told), devices, smi, told)


def with_hlml(facts: HpuFacts, told: HlmlReading) -> HpuFacts:
    """The facts with what HLML told (pure)."""
    version = told.versions["hlml_version"].value if told.versions else None
    cards = tuple(_with_hlml(card, told.card(card.pci_address)) for card in facts.cards)
    return replace(facts, cards=cards, hlml=Hlml(None if version is None else str(version), told.reason))


def with_witnesses(facts: HpuFacts, devices: Iterable[AccelDevice], smi: SmiOutput, told: HlmlReading) -> HpuFacts:
    """The facts with what the sources disagree about (pure)."""
    by_address = {device.pci_address: device for device in devices}
    return replace(facts, cards=tuple(_with_witnesses(card, by_address, smi, told) for card in facts.cards))


def _with_witnesses(card: Card, devices: Mapping[str, AccelDevice], smi: SmiOutput, told: HlmlReading) -> Card:
    address = card.pci_address
    row, listed = smi.rows.get(address, {}), smi.listing.cards.get(address, {})
    return replace(card, disagreements=disagreements(devices.get(address), row, listed, told.card(address)))


def _with_hlml(card: Card, told: HlmlCard) -> Card:
    pending = told.number("rows_pending")
    return replace(
        card,
        energy_mj=told.number("energy"),
        throttled_by=told.throttled_by,
        rows_replaced_single_bit=told.number("rows_replaced_single"),
        rows_replaced_double_bit=told.number("rows_replaced_double"),
        row_replacement_pending=card.row_replacement_pending if pending is None else pending > 0,
        power_limit_w=_watts(told.number("power_limit")),
        power_limit_least_w=_watts(told.number("power_least_limit")),
        power_limit_most_w=_watts(told.number("power_most_limit")),
        throttle_counters=told.throttle_counters,
    )


def _watts(milliwatts: int | None) -> int | None:
    return None if milliwatts is None else round(milliwatts / 1000)


def ask_hl_smi(run: Run, cards: Iterable[PciCard]) -> SmiOutput:
    """Everything that is wanted of ``hl-smi``: a listing, a query, and the links card by card."""
    listing = parse_listing(_hl_smi(run, "-L"))
    rows = parse_query(_hl_smi(run, "-Q", ",".join(QUERY_FIELDS), "-f", "csv"))
    return SmiOutput(
        listing,
        {str(row["bus_id"]).lower(): row for row in rows if row.get("bus_id")},
        {card.pci_address: _ports(run, card) for card in cards},
    )


def _ports(run: Run, card: PciCard) -> dict[int, bool]:
    board = board_of(card.pci_id)
    if board is None:
        return {}
    # Without -P only internal ports are listed. The vendor's health screen gives it the ports; its manual does not.
    numbers = ",".join(str(port) for port in range(board.ports) if port not in board.unconnected_ports)
    command = ("-n", "link", "-i", card.pci_address, "-P")
    return parse_links(_hl_smi(run, *command, numbers)) or parse_links(_hl_smi(run, *command))


def _hl_smi(run: Run, *arguments: str) -> str:
    return run(("hl-smi", *arguments), timeout=_HL_SMI_TIMEOUT_S).stdout


def combine(
    pci: Iterable[PciCard],
    devices: Iterable[AccelDevice],
    smi: SmiOutput,
    modules: tuple[str, ...],
    kernel: Kernel,
    system: System,
    shown: Shown | None = None,
) -> HpuFacts:
    """The facts out of what each source said (pure)."""
    shown = shown or Shown()
    by_address = {device.pci_address: device for device in devices}
    on_bus = list(pci)
    alike = Counter(card.pci_id for card in on_bus)
    cards = sorted(
        (_card(card, by_address.get(card.pci_address), smi, shown, alike[card.pci_id]) for card in on_bus),
        key=_by_module,
    )
    generations = tuple(dict.fromkeys(card.generation for card in cards if card.generation is not None))
    spi = [card.firmware.spi for card in cards]
    return HpuFacts(
        generation=generations[0] if len(generations) == 1 else None,
        generations=generations,
        count=len(cards),
        cards=tuple(cards),
        driver=_driver(by_address.values(), smi, modules),
        firmware=Firmware(
            tuple(dict.fromkeys(version for version in spi if version is not None)),
            len(set(spi)) == 1 if spi and None not in spi else None,
        ),
        links=AllLinks(_sum(card.internal_links for card in cards), _sum(card.external_links for card in cards)),
        kernel=kernel,
        system=system,
        verbs_devices=tuple(sorted(shown.verbs)),
    )


def _by_module(card: Card) -> tuple[bool, int, str]:
    return card.module_id is None, card.module_id or 0, card.pci_address


def _card(pci: PciCard, device: AccelDevice | None, smi: SmiOutput, shown: Shown, alike: int) -> Card:
    listed = smi.listing.cards.get(pci.pci_address, {})
    row = smi.rows.get(pci.pci_address, {})
    generation = generation_of(pci.pci_id)
    board = board_of(pci.pci_id)
    module_id = device.module_id if device else None
    if module_id is None:
        module_id = whole("module_id", row.get("module_id") or listed.get("Module ID"))
    pending = listed.get("Replaced Rows/Pending")
    return Card(
        pci_address=pci.pci_address,
        pci_id=pci.pci_id,
        generation=generation.name if generation else None,
        board=board.label if board else None,
        numa_node=pci.numa_node,
        accel_index=device.index if device else None,
        module_id=module_id,
        status=(device.status if device else None) or listed.get("Module status"),
        name=row.get("name") or listed.get("Product Name"),
        serial=row.get("serial") or listed.get("Serial Number"),
        uuid=row.get("uuid") or listed.get("AIP UUID"),
        temperature_c=whole("temperature.aip", row.get("temperature.aip")),
        memory_total_mib=whole("memory.total", row.get("memory.total")),
        memory_used_mib=whole("memory.used", row.get("memory.used")),
        utilization_percent=whole("utilization.aip", row.get("utilization.aip")),
        power_w=whole("power.draw", row.get("power.draw")),
        ecc_uncorrected=whole(
            "ecc.errors.uncorrected.volatile.total", row.get("ecc.errors.uncorrected.volatile.total")
        ),
        ecc_uncorrected_lifetime=whole(
            "ecc.errors.uncorrected.aggregate.total", row.get("ecc.errors.uncorrected.aggregate.total")
        ),
        row_replacement_pending=None if pending is None else pending.lower() != "no",
        firmware=CardFirmware(
            spi=firmware_version(listed.get("Firmware [SPI] Version") or (device.preboot_version if device else None)),
            fit=firmware_version(listed.get("Firmware [FIT] Version")),
            cpld=listed.get("CPLD Version"),
        ),
        internal_links=_internal_links(pci, module_id, smi, alike),
        external_links=_external_links(pci, device, module_id, smi, shown),
        verbs_device=next((name for name, address in shown.verbs.items() if address == pci.pci_address), None),
        absurd=absurd(row),
    )


def _internal_links(pci: PciCard, module_id: int | None, smi: SmiOutput, alike: int) -> Links:
    """The links to the ``alike`` cards that this node has. Which ports lead to cards elsewhere nobody tells, so that
    what is up counts, and what is down is named where it is too many."""
    if module_id is None:
        return Links()
    every = _links(pci, internal_ports(pci.pci_id, module_id), smi)
    wanted = links_between(pci.pci_id, alike)
    if wanted == every.total:
        return every
    if every.up is None:
        return Links(None if wanted else 0, wanted)
    return Links(every.up, max(wanted, every.up), every.down if every.up < wanted else ())


def _external_links(
    pci: PciCard, device: AccelDevice | None, module_id: int | None, smi: SmiOutput, shown: Shown
) -> Links:
    if module_id is None:
        return Links()
    board = board_of(pci.pci_id)
    if board is not None and board.optional_ports and device is not None and pci.pci_address not in shown.ports:
        return Links(0, 0)
    return _links(pci, external_ports(pci.pci_id, module_id), smi)


def _links(pci: PciCard, ports: Sequence[int], smi: SmiOutput) -> Links:
    states = smi.ports.get(pci.pci_address)
    if not states:
        return Links(None, len(ports))
    down = tuple(f"{pci.pci_address} port {port}" for port in ports if not states.get(port))
    return Links(len(ports) - len(down), len(ports), down)


def _sum(links: Iterable[Links]) -> Links:
    every = list(links)
    known = [one.up for one in every if one.up is not None]
    down = tuple(port for one in every for port in one.down)
    return Links(sum(known) if known else None, sum(one.total for one in every), down)


def _driver(devices: Iterable[AccelDevice], smi: SmiOutput, modules: tuple[str, ...]) -> Driver:
    rows = list(smi.rows.values())
    version = (
        next((device.driver_version for device in devices if device.driver_version), None)
        or smi.listing.versions.driver
        or next((row["driver_version"] for row in rows if row.get("driver_version")), None)
    )
    return Driver(
        version=version,
        release=release_part(version) if version else None,
        nic_version=smi.listing.versions.nic_driver
        or next((row["nic_driver_version"] for row in rows if row.get("nic_driver_version")), None),
        hl_smi_version=smi.listing.versions.hl_smi,
        modules=modules,
    )
