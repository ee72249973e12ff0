# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hpu_facts import Hlml, gather
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.pcie import read_links
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.witnesses import Disagreement
from ansible_collections.gaudi3.scale.plugins.module_utils._node.check import advice, failed
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.clock import Clock
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.slurm_memory import SlurmMemory
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.verdict import (
    Limits,
    Measurement,
    TorchReport,
    is_virgin,
    limits_of,
    outlook,
    summary,
    verdict,
)
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, SPI, HlSmi, write_kernel

RELEASE = find_release("1.24.1")
LIMITS = Limits(cards=8, device="hpu", temperature_c=None, idle_memory_mib=1024, firmware=None, external_links=True)
ABSURD = "the value from hl-smi is impossible, so the firmware reports nothing usable"
TORCH = TorchReport("2.11.0a0+git1", 8)


@pytest.fixture
def measured(tmp_path):
    """A measured node; options of write_kernel, and an hl-smi with faults."""

    def measurement(hl_smi=None, torch=TORCH, hugepages_configured=17601, host=None, **kernel):
        write_kernel(tmp_path, **kernel)
        facts = gather(hl_smi or HlSmi(), str(tmp_path))
        links = read_links(str(tmp_path), [card.pci_address for card in facts.cards])
        return Measurement(facts, torch, hugepages_configured, links, **(host or {}))

    return measurement


def problems(measurement, limits=LIMITS, release=RELEASE):
    return {check.name: check for check in failed(verdict(measurement, release, limits))}


def test_a_healthy_node_passes_every_check(measured):
    checks = verdict(measured(), RELEASE, LIMITS)
    assert [check.name for check in checks if not check.ok] == []
    assert [check.name for check in checks] == [
        "cards",
        "kernel modules",
        "driver release",
        "card status",
        "SPI firmware",
        "temperature",
        "idle memory",
        "uncorrected ECC errors",
        "row replacement",
        "internal links",
        "external links",
        "verbs devices",
        "PCIe link",
        "huge pages",
        "torch",
        "iommu=pt",
        "restart",
    ]


@pytest.mark.parametrize(
    ("cells", "name", "found"),
    [
        ({"temperature.aip": "0 C"}, "temperature", "0 C at 0000:4c:00.0"),
        ({"temperature.aip": "83 C"}, "temperature", "83 C at 0000:4c:00.0"),
        ({"temperature.aip": "N/A"}, "temperature", "unknown at 0000:4c:00.0"),
        ({"memory.used": "1025 MiB"}, "idle memory", "1025 MiB at 0000:4c:00.0"),
        ({"ecc.errors.uncorrected.volatile.total": "2"}, "uncorrected ECC errors", "2 at 0000:4c:00.0"),
    ],
)
def test_one_bad_card_fails_its_check_alone_and_is_named(measured, cells, name, found):
    bad = problems(measured(HlSmi(cells={"0000:4c:00.0": cells})))
    assert list(bad) == [name]
    assert bad[name].found == found


@pytest.mark.parametrize(
    ("said", "found", "remedy"),
    [
        ("N/A", "unknown at 0000:4c:00.0", "hl-smi reports no value: run hl-smi as root and check its error"),
        (
            "505712272 C",
            "unknown (hl-smi says 505712272 C) at 0000:4c:00.0",
            f"{ABSURD}: run hl-smi as root and check its error, then update it",
        ),
    ],
)
def test_what_nobody_could_tell_is_neither_cold_nor_hot(measured, said, found, remedy):
    bad = problems(measured(HlSmi(cells={"0000:4c:00.0": {"temperature.aip": said}})))
    assert list(bad) == ["temperature"]
    assert (bad["temperature"].found, bad["temperature"].remedy, bad["temperature"].unknown) == (found, remedy, True)


def test_a_bad_value_beside_one_that_is_not_known_is_a_fault(measured):
    cells = {ADDRESSES[0]: {"temperature.aip": "N/A"}, ADDRESSES[1]: {"temperature.aip": "90 C"}}
    bad = problems(measured(HlSmi(cells=cells)))["temperature"]
    assert not bad.unknown
    assert bad.found == "unknown at 0000:19:00.0; 90 C at 0000:3b:00.0"


def test_of_an_hl_smi_that_says_nothing_all_is_unknown(measured):
    bad = problems(measured(lambda argv, **_more: CommandResult(0, "", "")))
    assert set(bad) >= {"temperature", "idle memory", "uncorrected ECC errors", "internal links"}
    assert all(check.unknown for check in bad.values())
    assert all("as root" in check.remedy for check in bad.values())


def test_a_fault_of_all_cards_is_told_once(measured):
    assert problems(measured(HlSmi(addresses=())))["temperature"].found == "unknown on all cards"


def test_faults_of_several_cards_are_told_by_value(measured):
    cold, hot = {"temperature.aip": "0 C"}, {"temperature.aip": "90 C"}
    node = measured(HlSmi(cells={ADDRESSES[0]: cold, ADDRESSES[1]: hot, ADDRESSES[2]: cold}))
    assert problems(node)["temperature"].found == "0 C at 0000:19:00.0, 0000:4c:00.0; 90 C at 0000:3b:00.0"


def test_check_mode_looks_ahead_without_failing(measured, tmp_path):
    virgin = measured(driver=False)
    assert "nothing is installed here yet" in outlook(virgin.facts, failed(verdict(virgin, RELEASE, LIMITS)))
    (tmp_path / "proc/modules").write_text("habanalabs 1 0\n", encoding="utf-8")
    half = Measurement(gather(HlSmi(), str(tmp_path)), TORCH)
    assert "not fit for training" in outlook(half.facts, failed(verdict(half, RELEASE, LIMITS)))


def test_old_corrected_damage_is_no_reason(measured):
    assert problems(measured(HlSmi(cells={ADDRESSES[0]: {"ecc.errors.uncorrected.aggregate.total": "4"}}))) == {}


def test_the_temperature_limit_is_the_generation_s_unless_one_is_given(measured):
    node = measured(HlSmi(cells={ADDRESSES[0]: {"temperature.aip": "60 C"}}))
    assert problems(node) == {}
    assert problems(node, replace(LIMITS, temperature_c=60))["temperature"].expected == "above 0 and below 60 C"


def test_seven_of_eight_cards(measured):
    bad = problems(measured(HlSmi(ADDRESSES[:7]), addresses=ADDRESSES[:7], torch=TorchReport("2.11.0", 7)))
    assert list(bad) == ["cards", "torch"]
    assert bad["cards"].found.startswith("7 (0000:19:00.0, ")
    assert bad["torch"].found == "torch 2.11.0 with 7 devices"


def test_a_card_that_is_not_operational_is_named_with_its_state(measured, tmp_path):
    measured()
    (tmp_path / "sys/bus/pci/devices" / ADDRESSES[1] / "status").write_text("In reset\n", encoding="utf-8")
    bad = problems(Measurement(gather(HlSmi(), str(tmp_path)), TORCH))
    assert bad["card status"].found == "In reset at 0000:3b:00.0"


def test_another_release_of_the_driver_is_told_with_its_full_version(measured):
    bad = problems(measured(), release=find_release("1.23.0"))
    assert list(bad) == ["driver release"]
    assert (bad["driver release"].expected, bad["driver release"].found) == ("1.23.0", "1.24.1-b336d5e")


def test_a_module_that_is_not_loaded_is_named(measured, tmp_path):
    measured()
    (tmp_path / "proc/modules").write_text("habanalabs 1 0\nhabanalabs_compat 1 0\n", encoding="utf-8")
    bad = problems(Measurement(gather(HlSmi(), str(tmp_path)), TORCH))
    assert bad["kernel modules"].found == "habanalabs_cn, habanalabs_en, habanalabs_ib not loaded"
    (tmp_path / "proc/modules").write_text("", encoding="utf-8")
    assert problems(Measurement(gather(HlSmi(), str(tmp_path)), TORCH))["kernel modules"].found == "none loaded"


def test_unequal_firmware_is_told_by_card(measured):
    old = SPI.replace("61.3.2", "61.0.2")
    bad = problems(measured(HlSmi(spi={"0000:3b:00.0": old})))
    assert list(bad) == ["SPI firmware"]
    assert "1.22.0-fw-61.0.2-sec-3 at 0000:3b:00.0" in bad["SPI firmware"].found


@pytest.mark.parametrize(
    ("firmware", "ok"),
    [("1.22.0-fw-61.3.2-sec-3", True), (" 1.22.0-fw-61.3.2-sec-3 ", True), ("1.24.0-fw-62.6.2-sec-3", False)],
)
def test_a_firmware_that_is_asked_for_has_to_be_there(measured, firmware, ok):
    assert ("SPI firmware" not in problems(measured(), replace(LIMITS, firmware=firmware))) is ok


def test_firmware_that_one_card_does_not_tell_is_not_equal(measured):
    assert "SPI firmware" in problems(measured(HlSmi(spi={ADDRESSES[0]: "N/A"})))


def test_links_that_are_down_are_named_and_external_ones_only_judged_where_they_are_used(measured):
    node = measured(HlSmi(down={ADDRESSES[0]: [0, 17]}))
    bad = problems(node)
    assert bad["internal links"].found == "167 of 168 (0000:19:00.0 port 0 down)"
    assert bad["external links"].found == "23 of 24 (0000:19:00.0 port 17 down)"
    assert list(problems(node, replace(LIMITS, external_links=False))) == ["internal links"]


def test_links_of_which_nothing_is_known_are_not_up(measured):
    node = measured()
    cards = tuple(replace(card, internal_links=replace(card.internal_links, up=None)) for card in node.facts.cards)
    assert "internal links" in problems(replace(node, facts=replace(node.facts, cards=cards)))


def test_a_pending_row_replacement_is_told(measured):
    node = measured()
    cards = (replace(node.facts.cards[0], row_replacement_pending=True), *node.facts.cards[1:])
    bad = problems(replace(node, facts=replace(node.facts, cards=cards)))
    assert bad["row replacement"].found == "pending at 0000:19:00.0"


@pytest.mark.parametrize(("configured", "ok"), [(None, True), (17601, True), (17000, True), (17602, False)])
def test_huge_pages_are_what_the_host_layer_asked_for(measured, configured, ok):
    assert ("huge pages" not in problems(measured(hugepages_configured=configured))) is ok


@pytest.mark.parametrize(
    ("torch", "device", "ok"),
    [
        (None, "hpu", True),
        (TorchReport("2.11.0", 8), "hpu", True),
        (TorchReport("2.11.0", 4), "hpu", False),
        (TorchReport("2.11.0", 0), "cuda", False),
        (TorchReport("2.13.0+cpu", None), "cpu", True),
        (TorchReport(problem="No module named 'torch'"), "cpu", False),
        (TorchReport(problem="No module named 'habana_frameworks'"), "hpu", False),
    ],
)
def test_torch_has_to_see_every_device(measured, torch, device, ok):
    bad = problems(measured(torch=torch), replace(LIMITS, device=device))
    assert ("torch" not in bad) is ok
    if torch and torch.problem:
        assert bad["torch"].found == torch.problem


def test_missing_pass_through_is_advice_to_reboot(measured):
    checks = verdict(measured(command_line="quiet"), RELEASE, LIMITS)
    assert failed(checks) == []
    assert advice(checks)[0].startswith("iommu=pt: found none")
    assert "reboot" in advice(checks)[0]


def test_a_driver_without_cards_fails_every_check_of_cards(measured):
    bad = problems(measured(addresses=()))
    assert {"cards", "driver release", "card status", "temperature", "internal links", "SPI firmware"} <= set(bad)
    assert bad["card status"].found == "no cards"
    assert bad["driver release"].found == "a driver that holds no card"


def test_without_a_driver_only_that_is_told_of_the_cards(measured):
    bad = problems(measured(driver=False))
    assert list(bad) == ["kernel modules", "driver release"]
    assert bad["driver release"].found == "no driver"


def test_a_node_is_virgin_until_a_module_is_loaded(measured, tmp_path):
    assert is_virgin(measured(driver=False).facts)
    (tmp_path / "proc/modules").write_text("habanalabs 1 0\n", encoding="utf-8")
    assert not is_virgin(gather(HlSmi(), str(tmp_path)))


def test_the_summary_is_one_flat_row(measured):
    node = measured(HlSmi(cells={ADDRESSES[3]: {"temperature.aip": "61 C", "memory.used": "700 MiB"}}))
    row = summary(node, verdict(node, RELEASE, LIMITS), RELEASE, LIMITS)
    assert row == {
        "ok": True,
        "problems": 0,
        "release": "1.24.1",
        "driver": "1.24.1-b336d5e",
        "hl_smi": "hl-1.24.0-fw-62.6.2.0",
        "generation": "gaudi3",
        "cards": 8,
        "cards_wanted": 8,
        "cards_operational": 8,
        "firmware": "1.22.0-fw-61.3.2-sec-3",
        "temperature_max_c": 61,
        "memory_used_max_mib": 700,
        "ecc_uncorrected": 0,
        "internal_links_up": 168,
        "internal_links_total": 168,
        "external_links_up": 24,
        "external_links_total": 24,
        "pcie": "Gen5 x16",
        "hugepages": 17601,
        "hugepages_mib": 35202,
        "slurm_real_memory_mib": 1031698 - 35202,
        "clock_service": None,
        "clock_synchronized": None,
        "clock_offset_ms": None,
        "iommu_passthrough": True,
        "network": None,
        "restart_reasons": [],
        "torch": "2.11.0a0+git1",
        "torch_devices": 8,
    }


def test_the_summary_of_a_virgin_node_has_the_same_keys_and_no_invented_numbers(measured):
    virgin = measured(driver=False, torch=TorchReport(problem="not installed"))
    row = summary(virgin, verdict(virgin, RELEASE, LIMITS), RELEASE, LIMITS)
    assert row["ok"] is False
    assert row["problems"] > 0
    assert [row[key] for key in ("driver", "temperature_max_c", "ecc_uncorrected", "internal_links_up")] == [None] * 4


@pytest.mark.parametrize(
    ("host", "limits", "name", "found"),
    [
        (
            {"bridges": {"0000:16:01.0": 0, "0000:16:02.0": 0x1D}},
            {"gaudi_direct": True},
            "PCIe access control",
            "on at 0000:16:02.0 (control 0x001d)",
        ),
        (
            {"clock": Clock("chrony.service", True, 1000.5)},
            {"clock_offset_ms": 1000},
            "clock offset",
            "1000.500 ms (ch",
        ),
        ({}, {"pcie_generation": 6}, "PCIe link", "Gen5 x16 at 0000:19:00.0, "),
        ({}, {"pcie_lanes": 32}, "PCIe link", "Gen5 x16 at 0000:19:00.0, "),
    ],
)
def test_what_is_measured_of_the_host_fails_its_check_alone(measured, host, limits, name, found):
    bad = problems(measured(host=host), replace(LIMITS, **limits))
    assert list(bad) == [name]
    assert bad[name].found.startswith(found)
    assert bad[name].remedy


@pytest.mark.parametrize(
    ("host", "limits"),
    [
        ({"bridges": {"0000:16:02.0": 0x1D}}, {}),
        ({"bridges": {"0000:16:02.0": None}}, {"gaudi_direct": True}),
        ({"bridges": {}}, {"gaudi_direct": True}),
        ({"clock": Clock("chrony.service", True, 999.9)}, {"clock_offset_ms": 1000}),
        ({"clock": Clock()}, {"clock_offset_ms": 1000}),
    ],
)
def test_what_is_unknown_or_not_asked_for_is_no_failure(measured, host, limits):
    assert problems(measured(host=host), replace(LIMITS, **limits)) == {}


@pytest.mark.parametrize(
    ("host", "words"),
    [
        (
            {"clock": Clock(None, False)},
            ("clock: found not synchronized (no time service), expected synchronized; set gaudi_host_time_sync",),
        ),
        (
            {"slurm": SlurmMemory("node1", 1031698, 0)},
            (
                (
                    "Slurm memory: found RealMemory=1031698, expected at most 996496 MiB for jobs in addition to the "
                    "huge pages; "
                ),
                "set RealMemory=996496 for NodeName=node1 in slurm.conf, or MemSpecLimit=35202 beside RealMemory=1031",
            ),
        ),
    ],
)
def test_what_is_only_told(measured, host, words):
    node = measured(host=host)
    checks = verdict(node, RELEASE, replace(LIMITS, clock_offset_ms=1000))
    assert failed(checks) == []
    (sentence,) = advice(checks)
    assert [word for word in words if word not in sentence] == []


@pytest.mark.parametrize("slurm", [SlurmMemory("node1", 996496, 0), SlurmMemory("node1", 1031698, 35202)])
def test_a_slurm_that_leaves_the_huge_pages_alone_is_told_nothing(measured, slurm):
    assert advice(verdict(measured(host={"slurm": slurm}), RELEASE, LIMITS)) == []


def test_a_node_that_waits_for_pass_through_is_told_to_restart(measured):
    bad = problems(measured(driver=False, command_line="BOOT_IMAGE=/vmlinuz-6.8.0-110-generic root=/dev/sda2 ro quiet"))
    assert bad["kernel modules"].found == "none loaded"
    assert bad["kernel modules"].remedy.startswith("restart needed: the kernel was started without iommu=pt")
    assert "restart" not in problems(measured(driver=False))["kernel modules"].remedy


def test_pass_through_is_no_advice_where_nothing_is_translated(measured, tmp_path):
    quiet = measured(command_line="quiet")
    assert any(sentence.startswith("iommu=pt") for sentence in advice(verdict(quiet, RELEASE, LIMITS)))
    (tmp_path / "sys/kernel/iommu_groups").mkdir(parents=True)
    off = Measurement(gather(HlSmi(), str(tmp_path)), TORCH)
    assert not any(sentence.startswith("iommu=pt") for sentence in advice(verdict(off, RELEASE, LIMITS)))


@pytest.mark.parametrize(
    ("network", "given", "judged"),
    [
        ("gaudi_ethernet", (None, None), (True, False)),
        ("infiniband", (None, None), (False, True)),
        ("roce", (None, None), (False, True)),
        ("efa", (None, None), (False, True)),
        ("ethernet", (None, None), (False, False)),
        ("gaudi_ethernet", (False, True), (False, True)),
        ("infiniband", (True, False), (True, False)),
    ],
)
def test_what_the_network_needs_is_judged_unless_told_otherwise(
    network: str, given: tuple[bool | None, bool | None], judged: tuple[bool, bool]
) -> None:
    options = {
        **dict.fromkeys(("temperature_limit_c", "firmware", "pcie_generation", "pcie_lanes")),
        "cards": 8,
        "device": "hpu",
        "idle_memory_mib": 1024,
        "replaced_rows_limit": 32,
        "clock_offset_ms": 1000,
        **dict(zip(("external_links", "gaudi_direct"), given)),
    }
    limits = limits_of({**options, "node_count": 2}, network)
    assert (limits.external_links, limits.gaudi_direct) == judged
    assert limits_of({**options, "node_count": 1}, network).external_links is bool(given[0])


def test_a_restart_that_is_due_is_advice_with_its_reason(measured):
    reason = "the running kernel was started without cstates, which GRUB passes from the next start on"
    told = replace(measured(), restart=(reason,))
    checks = verdict(told, RELEASE, LIMITS)
    assert failed(checks) == []
    assert [one for one in advice(checks) if reason in one]
    assert summary(told, checks, RELEASE, LIMITS)["restart_reasons"] == [reason]


def with_card(measurement, **values):
    first, *others = measurement.facts.cards
    facts = replace(measurement.facts, cards=(replace(first, **values), *others))
    return replace(measurement, facts=facts)


def told_by_hlml(measurement, reason=""):
    rows = {"rows_replaced_single_bit": 0, "rows_replaced_double_bit": 0, "throttled_by": ()}
    cards = tuple(replace(card, **rows) for card in measurement.facts.cards)
    return replace(measurement, facts=replace(measurement.facts, cards=cards, hlml=Hlml("1.24.1", reason)))


def test_replaced_rows_have_a_limit_and_0_is_none(measured):
    node = told_by_hlml(measured())
    assert not problems(node)
    worn = with_card(node, rows_replaced_single_bit=20, rows_replaced_double_bit=13)
    bad = problems(worn)
    assert list(bad) == ["replaced rows"]
    assert (bad["replaced rows"].found, bad["replaced rows"].expected) == (
        "33 at 0000:19:00.0",
        "at most 32 on each card",
    )
    assert not problems(worn, replace(LIMITS, replaced_rows=40))
    assert not problems(worn, replace(LIMITS, replaced_rows=0))


def test_a_reduced_clock_is_advice_with_its_reason_and_its_counter(measured):
    hot = with_card(
        told_by_hlml(measured()), throttled_by=("thermal",), throttle_counters={"power": 0, "thermal": 1_000_000}
    )
    assert not problems(hot)
    assert advice(verdict(hot, RELEASE, LIMITS)) == [
        (
            "clock throttling: found reduced for thermal (time counter 1,000,000) at 0000:19:00.0, expected no card's "
            "clock reduced; for heat, check the air flow; for power, check the limit (cap_power.yml) and the power "
            "supply."
        )
    ]


def test_where_the_sources_disagree_it_is_advice(measured):
    one = Disagreement("the power limit", {"the kernel": "850,000 mW", "HLML": "850 mW"}, "another unit")
    (said,) = advice(verdict(with_card(told_by_hlml(measured()), disagreements=(one,)), RELEASE, LIMITS))
    assert said.startswith(
        "card readings differ: the power limit is 850,000 mW according to the kernel, but 850 mW according to HLML "
        "(another unit) at 0000:19:00.0; the verdict uses the kernel's value, "
    )


def test_a_library_that_crashes_is_named_and_one_that_is_not_there_is_not(measured):
    node = measured()
    crashed = replace(node, facts=replace(node.facts, hlml=Hlml(None, "HLML crashed in x")))
    assert advice(verdict(crashed, RELEASE, LIMITS)) == [
        (
            "card readings: HLML crashed in x; replaced rows, throttling and energy are unknown, all else was read "
            "without it."
        )
    ]
    absent = replace(crashed, facts=replace(crashed.facts, hlml=Hlml(None, "HLML is not installed: there is no x")))
    assert not advice(verdict(absent, RELEASE, LIMITS))


def test_what_a_job_has_on_its_cards_is_no_fault(measured):
    busy = {address: {"memory.used": "90000 MiB"} for address in ADDRESSES[:4]}
    node = measured(HlSmi(cells=busy))
    assert list(problems(node)) == ["idle memory"]
    assert problems(replace(node, of_jobs=frozenset(range(4)))) == {}
    left = problems(replace(node, of_jobs=frozenset(range(3))))
    assert left["idle memory"].found == "90000 MiB at 0000:5d:00.0"
    assert problems(replace(node, of_jobs=frozenset(range(8)))) == {}
