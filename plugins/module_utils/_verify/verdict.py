# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Is an installed node fit for training? Pure: measured facts and limits in, checks and a summary out.

The list follows the vendor's checks after an installation (SW_Verification on docs.habana.ai) and its health screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .._cards.accel_sysfs import HEALTHY_STATUS
from .._cards.hardware import generation_named
from .._cards.health import ASK_AS_ROOT, not_told
from .._cards.hlml import NOT_INSTALLED
from .._cards.hlml_interface import MOST_REPLACED_ROWS
from .._cards.hpu_facts import Card, HpuFacts, Links
from .._cards.pcie import PcieLink, access_control_check, link_check
from .._cards.verbs_checks import verbs_checks
from .._fabric.provider import EFA, GAUDI_ETHERNET, VERBS
from .._node.check import Check, failed, refusal
from .._releases.lookup import Release
from .._slurm.memory import left_for_jobs
from .clock import Clock, clock_checks
from .patience import without_the_late
from .slurm_memory import SlurmMemory, slurm_check


@dataclass(frozen=True)
class TorchReport:
    """What the training venv's torch says; ``problem`` is why it says nothing. ``devices`` is None for ``cpu``."""

    version: str | None = None
    devices: int | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Measurement:
    """A node as measured. ``hugepages_configured`` is what the host layer asked the kernel for; None: nothing.

    ``bridges`` are those above the cards with their bits of ACS; ``clock`` and ``slurm`` None: not asked. ``late``:
    programs that had not ended after so many seconds. ``network`` is that between the nodes. ``restart`` are reasons
    why the node has to be started again. ``of_jobs``: module ids of the cards that running jobs have.
    """

    facts: HpuFacts
    torch: TorchReport | None
    hugepages_configured: int | None = None
    links: Mapping[str, PcieLink] = field(default_factory=dict)
    bridges: Mapping[str, int | None] = field(default_factory=dict)
    clock: Clock | None = None
    slurm: SlurmMemory | None = None
    late: Mapping[str, float] = field(default_factory=dict)
    network: str = ""
    restart: tuple[str, ...] = ()
    of_jobs: frozenset[int] = frozenset()

    @property
    def left_mib(self) -> int | None:
        """Memory beside the huge pages."""
        kernel = self.facts.kernel
        return left_for_jobs(kernel.memory_mib, kernel.hugepages, kernel.hugepage_kib)


@dataclass(frozen=True)
class Limits:
    """What is judged. ``temperature_c`` None takes the generation's limit, ``firmware`` None wants equal cards.

    ``pcie_generation`` and ``pcie_lanes`` None are those of the cards. ``gaudi_direct``: cards and network cards talk
    to each other. ``clock_offset_ms`` 0: the clock is not judged. ``replaced_rows``: most of a card's memory rows that
    may have been replaced, 0 for any number; the default is what HLML can list of a card, since no limit is published.
    """

    cards: int
    device: str
    temperature_c: int | None
    idle_memory_mib: int
    firmware: str | None
    external_links: bool
    pcie_generation: int | None = None
    pcie_lanes: int | None = None
    gaudi_direct: bool = False
    clock_offset_ms: int = 0
    replaced_rows: int = MOST_REPLACED_ROWS


def limits_of(options: Mapping[str, Any], network: str) -> Limits:
    """The limits that the options of the module ``hpu_verify`` mean; what they leave open ``network`` decides."""
    links, direct = options["external_links"], options["gaudi_direct"]
    return Limits(
        cards=options["cards"],
        device=options["device"],
        temperature_c=options["temperature_limit_c"],
        idle_memory_mib=options["idle_memory_mib"],
        firmware=options["firmware"],
        external_links=network == GAUDI_ETHERNET and options["node_count"] > 1 if links is None else links,
        pcie_generation=options["pcie_generation"] or None,
        pcie_lanes=options["pcie_lanes"] or None,
        gaudi_direct=network in (*VERBS, EFA) if direct is None else direct,
        clock_offset_ms=options["clock_offset_ms"],
        replaced_rows=options["replaced_rows_limit"],
    )


def is_virgin(facts: HpuFacts) -> bool:
    """Whether no driver is there at all: no module loaded, no card taken."""
    return not facts.driver.modules and facts.driver.version is None


def outlook(facts: HpuFacts, problems: Sequence[Check]) -> str:
    """What check mode says instead of failing: earlier layers have changed nothing yet that could be judged."""
    if is_virgin(facts):
        return (
            "nothing is installed here yet, so there is nothing to measure until the earlier layers have been applied."
        )
    return refusal("in its current state, this node is not fit for training", problems)


def unfit(problems: Sequence[Check]) -> str:
    """What the node fails with; what nobody could tell is no fault of it, and no word that it is fit."""
    is_known = any(not check.unknown for check in problems)
    subject = "This node is not fit for training" if is_known else "It is unknown whether this node is fit"
    return refusal(subject, problems)


def verdict(measured: Measurement, release: Release, limits: Limits) -> list[Check]:
    """Every check of the node, in the order in which a person would look."""
    facts = measured.facts
    checks = [_count(facts, limits), _modules(facts, release), _driver(facts, release)]
    # Without a driver nothing else about the cards can be known, and one reason says it better than nine.
    if not is_virgin(facts):
        checks += _card_checks(facts, limits, measured.of_jobs)
        checks.append(link_check(facts, measured.links, limits.pcie_generation, limits.pcie_lanes))
    if limits.gaudi_direct:
        checks.append(access_control_check(measured.bridges))
    if measured.hugepages_configured is not None:
        checks.append(_hugepages(facts, measured.hugepages_configured))
    if measured.torch is not None:
        checks.append(_torch(measured.torch, limits))
    if measured.clock is not None:
        checks += clock_checks(measured.clock, limits.clock_offset_ms)
    if measured.slurm is not None and measured.left_mib is not None:
        checks.append(slurm_check(measured.slurm, measured.left_mib))
    # The kernel knows a card's status, too.
    ill = any(card.status not in (None, HEALTHY_STATUS) for card in facts.cards)
    known = without_the_late(checks, measured.late, {"card status"} if ill else ())
    return [*known, _iommu(facts), _restart(measured.restart)]


def _card_checks(facts: HpuFacts, limits: Limits, of_jobs: frozenset[int]) -> Iterable[Check]:
    yield _status(facts)
    yield _firmware(facts, limits)
    yield _temperature(facts, limits)
    yield _idle_memory(facts, limits, of_jobs)
    yield _ecc(facts)
    yield _rows(facts)
    yield from _replaced_rows(facts, limits.replaced_rows)
    yield from _throttling(facts)
    yield from _witnesses(facts)
    yield _links(
        "internal links", facts.links.internal, facts, "reload the driver, then have the card or the board inspected"
    )
    if limits.external_links:
        remedy = "check the cable and the switch port, then bring up the port with manage_network_ifs.sh --up"
        yield _links("external links", facts.links.external, facts, remedy)
    yield from verbs_checks(facts)


def summary(measured: Measurement, checks: Sequence[Check], release: Release, limits: Limits) -> dict[str, object]:
    """One flat row for a table of nodes. Unknown values are None."""
    facts, torch = measured.facts, measured.torch or TorchReport()
    clock, kernel = measured.clock or Clock(), measured.facts.kernel
    return {
        "ok": not failed(checks),
        "problems": len(failed(checks)),
        "release": release.version,
        "driver": facts.driver.version,
        "hl_smi": facts.driver.hl_smi_version,
        "generation": facts.generation,
        "cards": facts.count,
        "cards_wanted": limits.cards,
        "cards_operational": sum(card.status == HEALTHY_STATUS for card in facts.cards),
        "firmware": ", ".join(facts.firmware.spi) or None,
        "temperature_max_c": _largest(facts, lambda card: card.temperature_c),
        "memory_used_max_mib": _largest(facts, lambda card: card.memory_used_mib),
        "ecc_uncorrected": _total(facts, lambda card: card.ecc_uncorrected),
        "internal_links_up": facts.links.internal.up,
        "internal_links_total": facts.links.internal.total,
        "external_links_up": facts.links.external.up,
        "external_links_total": facts.links.external.total,
        "pcie": ", ".join(sorted({str(link) for link in measured.links.values() if link.generation})) or None,
        "hugepages": kernel.hugepages,
        "hugepages_mib": (kernel.hugepages or 0) * kernel.hugepage_kib // 1024 if kernel.hugepage_kib else None,
        "slurm_real_memory_mib": measured.left_mib,
        "clock_service": clock.service,
        "clock_synchronized": clock.synchronized,
        "clock_offset_ms": clock.offset_ms,
        "iommu_passthrough": facts.kernel.iommu_passthrough,
        "network": measured.network or None,
        "restart_reasons": list(measured.restart),
        "torch": torch.version,
        "torch_devices": torch.devices,
    }


def _count(facts: HpuFacts, limits: Limits) -> Check:
    found = f"{facts.count} ({', '.join(card.pci_address for card in facts.cards)})" if facts.cards else "none"
    remedy = "find the missing card in the server's event log and with `lspci -d 1da3:`"
    return Check("cards", facts.count >= limits.cards, f"at least {limits.cards}", found, remedy)


def _modules(facts: HpuFacts, release: Release) -> Check:
    missing = [module for module in release.modules if module not in facts.driver.modules]
    return Check(
        "kernel modules",
        not missing,
        f"{', '.join(release.modules)} loaded",
        _not_loaded(missing, release),
        _WAITS
        if is_virgin(facts) and facts.kernel.iommu_in_the_way
        else "run the driver layer (playbook driver.yml) and see `dkms status` and `dmesg`",
    )


# Where the driver layer has built it: it leaves the first load to that boot.
_WAITS = (
    "restart needed: the kernel was started without iommu=pt, and the driver waits for a boot with it (playbook "
    "host.yml puts it on the command line); then run the driver layer (playbook driver.yml) where none is installed"
)


def _not_loaded(missing: Sequence[str], release: Release) -> str:
    if len(missing) == len(release.modules):
        return "none loaded"
    return f"{', '.join(missing)} not loaded" if missing else "all loaded"


def _driver(facts: HpuFacts, release: Release) -> Check:
    return Check(
        "driver release",
        facts.driver.release == release.version,
        release.version,
        facts.driver.version or ("a driver that holds no card" if facts.driver.modules else "no driver"),
        "run the driver layer (playbook driver.yml); a module of another release stays loaded until it is reloaded",
    )


def _status(facts: HpuFacts) -> Check:
    remedy = "reset the card with `hl-smi -r -i <address>`; if that does not help, it needs service"
    return _every_card(
        "card status", facts, HEALTHY_STATUS, lambda card: card.status, lambda status: status == HEALTHY_STATUS, remedy
    )


def _firmware(facts: HpuFacts, limits: Limits) -> Check:
    versions = facts.firmware.spi
    wanted = (limits.firmware or "").strip()
    # Where those that are known are as wanted, the others may be, too.
    fits = len(versions) <= 1 and (not wanted or not versions or versions == (wanted,))
    unknown = fits and facts.firmware.equal is None and bool(facts.cards)
    return Check(
        "SPI firmware",
        facts.firmware.equal is True and (not wanted or versions == (wanted,)),
        wanted or "the same version on all cards",
        _spi(facts),
        f"hl-smi -L does not report it: {ASK_AS_ROOT}"
        if unknown
        else "flash the cards that differ with hl-fw-loader while the driver is unloaded",
        unknown=unknown,
    )


def _spi(facts: HpuFacts) -> str:
    words = {card.pci_address: card.firmware.spi or "not known" for card in facts.cards}
    return _by_value(words, len(words)) if words else "no cards"


def _temperature(facts: HpuFacts, limits: Limits) -> Check:
    limit = limits.temperature_c
    if limit is None:
        generation = generation_named(facts.generation or "")
        limit = generation.temperature_limit_c if generation else 0
    # 0 degrees is what hl-smi shows for a card that did not initialize.
    return _every_card(
        "temperature",
        facts,
        f"above 0 and below {limit} C",
        lambda card: card.temperature_c,
        lambda celsius: 0 < celsius < limit,
        "0 C means that the card did not initialize: reboot; for a hot card, check the air flow",
        "temperature.aip",
        unit=" C",
    )


def _idle_memory(facts: HpuFacts, limits: Limits, of_jobs: frozenset[int]) -> Check:
    """What a job of ours has on its cards is its load, and no fault of theirs."""
    idle = tuple(card for card in facts.cards if card.module_id not in of_jobs)
    if facts.cards and not idle:
        return Check("idle memory", True, "no card without a job in use", "all cards have jobs", "")
    return _every_card(
        "idle memory",
        replace(facts, cards=idle),
        f"at most {limits.idle_memory_mib} MiB used while no job runs",
        lambda card: card.memory_used_mib,
        lambda used: used <= limits.idle_memory_mib,
        "stop the process that uses the card (`hl-smi` lists it), or verify after the job",
        "memory.used",
        unit=" MiB",
    )


def _ecc(facts: HpuFacts) -> Check:
    remedy = "reset the card; if errors return, it needs service"
    return _every_card(
        "uncorrected ECC errors",
        facts,
        "0 since the driver was loaded",
        lambda card: card.ecc_uncorrected,
        lambda errors: errors == 0,
        remedy,
        "ecc.errors.uncorrected.volatile.total",
    )


def _rows(facts: HpuFacts) -> Check:
    pending = [card.pci_address for card in facts.cards if card.row_replacement_pending]
    found = f"pending at {', '.join(pending)}" if pending else "none pending"
    remedy = "reset the card so that it replaces the faulty memory row with a spare one"
    return Check("row replacement", not pending, "none pending", found, remedy)


def _replaced_rows(facts: HpuFacts, most: int) -> Iterable[Check]:
    """By HLML alone, so that where it did not say there is no check."""
    replaced = {card.pci_address: card.rows_replaced for card in facts.cards}
    known = {address: rows for address, rows in replaced.items() if rows is not None}
    if not known or not most:
        return
    many = {address: str(rows) for address, rows in known.items() if rows > most}
    yield Check(
        "replaced rows",
        not many,
        f"at most {most} on each card",
        _by_value(many, len(known)) if many else _span(list(known.values()), ""),
        "have the card inspected: its memory wears out and spare rows run short; the limit is "
        "gaudi_replaced_rows_limit",
    )


def _throttling(facts: HpuFacts) -> Iterable[Check]:
    """Of an idle card nothing should; it is no reason against the node, since a hot minute can be over."""
    known = {card.pci_address: card for card in facts.cards if card.throttled_by is not None}
    if not known:
        return
    words = {address: _throttled(card) for address, card in known.items() if card.throttled_by}
    yield Check(
        "clock throttling",
        not words,
        "no card's clock reduced",
        _by_value(words, len(known)) if words else "none reduced",
        "for heat, check the air flow; for power, check the limit (cap_power.yml) and the power supply",
        advice=True,
    )


def _throttled(card: Card) -> str:
    reasons = card.throttled_by or ()
    counted = ", ".join(f"{count:,}" for name, count in card.throttle_counters.items() if name in reasons)
    return f"reduced for {' and '.join(reasons)}{f' (time counter {counted})' if counted else ''}"


def _witnesses(facts: HpuFacts) -> Iterable[Check]:
    """Where the sources disagree, and why HLML said nothing where it should have."""
    name = "card readings"
    reason = facts.hlml.reason
    if reason and not reason.startswith(NOT_INSTALLED):
        yield Check(name, False, "answers from HLML", reason, ASK_AS_ROOT, True, _unheard(reason))
    found: dict[str, list[str]] = {}
    for card in facts.cards:
        for one in card.disagreements:
            found.setdefault(str(one), []).append(card.pci_address)
    if facts.hlml.version is None and not found:
        return
    remedy = (
        "the verdict uses the kernel's value, or else the one that hl-smi reports; if no reason is given, install "
        "driver, library and hl-smi of one release (playbook driver.yml)"
    )
    words = "; ".join(f"{word} at {', '.join(addresses)}" for word, addresses in found.items())
    yield Check(
        name,
        not found,
        "the kernel, hl-smi and HLML agree about each card",
        words or "they agree",
        remedy,
        advice=True,
        message=f"card readings differ: {words}; {remedy}." if found else "",
    )


def _unheard(reason: str) -> str:
    return f"card readings: {reason}; replaced rows, throttling and energy are unknown, all else was read without it."


def _links(name: str, links: Links, facts: HpuFacts, remedy: str) -> Check:
    unknown = any(card.internal_links.up is None for card in facts.cards)
    up = "unknown" if links.up is None else str(links.up)
    found = f"{up} of {links.total}" + (f" ({', '.join(links.down)} down)" if links.down else "")
    ok = links.up == links.total and not unknown and bool(facts.cards)
    not_known = unknown and not links.down
    return Check(
        name, ok, f"all {links.total} up", found, not_told(()) if not_known else remedy, unknown=not_known and not ok
    )


def _hugepages(facts: HpuFacts, configured: int) -> Check:
    return Check(
        "huge pages",
        (facts.kernel.hugepages or 0) >= configured,
        f"at least {configured}",
        str(facts.kernel.hugepages),
        "reboot the node: memory is too fragmented to reserve them now",
    )


def _torch(torch: TorchReport, limits: Limits) -> Check:
    enough = limits.device == "cpu" or (torch.devices or 0) >= limits.cards
    counted = "" if torch.devices is None else f" with {torch.devices} devices"
    return Check(
        "torch",
        torch.problem is None and enough,
        "torch on the CPU" if limits.device == "cpu" else f"torch with {limits.cards} {limits.device} devices",
        torch.problem or f"torch {torch.version}{counted}",
        "run the training layer (playbook venv.yml)",
    )


def _iommu(facts: HpuFacts) -> Check:
    return Check(
        "iommu=pt",
        facts.kernel.iommu_passthrough or not facts.kernel.iommu_in_the_way,
        "iommu=pt on the running kernel's command line",
        "none",
        "restart needed: reboot the node after the host layer has set it; without it, results can be silently wrong",
        advice=True,
    )


def _restart(reasons: Sequence[str]) -> Check:
    return Check(
        "restart",
        not reasons,
        "no restart due",
        "; ".join(reasons) or "none due",
        "restart the node before jobs run on it",
        advice=True,
    )


def _every_card(
    name: str,
    facts: HpuFacts,
    expected: str,
    value: Callable[[Card], int | str | None],
    good: Callable[..., bool],
    remedy: str,
    told_as: str = "",
    unit: str = "",
) -> Check:
    """A check that every card has to pass; a card whose value is unknown does not. ``told_as`` is hl-smi's name of it.

    Where no card has a bad value and one has none, nobody could tell.
    """
    read = {card.pci_address: value(card) for card in facts.cards}
    bad = {address: found for address, found in read.items() if found is None or not good(found)}
    without = [card for card in facts.cards if read[card.pci_address] is None]
    if not read:
        found = "no cards"
    elif bad:
        said = {card.pci_address: card.absurd[told_as] for card in without if told_as in card.absurd}
        words = {address: _word(one, unit, said.get(address)) for address, one in bad.items()}
        found = _by_value(words, len(read))
    else:
        found = _span(list(read.values()), unit)
    unknown = bool(told_as) and bool(bad) and len(bad) == len(without)
    do = not_told(without, told_as) if unknown else remedy
    return Check(name, bool(read) and not bad, expected, found, do, unknown=unknown)


def _word(value: int | str | None, unit: str, said: str | None) -> str:
    if value is not None:
        return f"{value}{unit}"
    return "unknown" if said is None else f"unknown (hl-smi says {said})"


def _by_value(words: Mapping[str, str], cards: int) -> str:
    """``0 C at <address>, <address>; 90 C at <address>``, or one word for all ``cards``."""
    addresses: dict[str, list[str]] = {}
    for address, word in words.items():
        addresses.setdefault(word, []).append(address)
    if len(addresses) == 1 and len(words) == cards:
        return f"{next(iter(addresses))} on all cards"
    return "; ".join(f"{word} at {', '.join(those)}" for word, those in addresses.items())


def _span(values: Sequence[int | str | None], unit: str) -> str:
    ordered = sorted(set(map(str, values)), key=lambda text: (len(text), text))
    return f"{ordered[0]}{unit}" if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}{unit}"


def _largest(facts: HpuFacts, value: Callable[[Card], int | None]) -> int | None:
    return max(_known(facts, value), default=None)


def _total(facts: HpuFacts, value: Callable[[Card], int | None]) -> int | None:
    known = list(_known(facts, value))
    return sum(known) if known else None


def _known(facts: HpuFacts, value: Callable[[Card], int | None]) -> Iterable[int]:
    return (found for found in map(value, facts.cards) if found is not None)
