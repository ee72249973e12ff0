# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hpu_facts import gather
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.node_system import Disk, System
from ansible_collections.gaudi3.scale.plugins.module_utils._host.kernel.secure_boot import SecureBoot
from ansible_collections.gaudi3.scale.plugins.module_utils._node.check import advice, failed
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.preflight import Wanted, preflight_checks
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, HlSmi, write_kernel

UBUNTU = System("ubuntu-24.04", "x86_64", "3.12.3", True)
WANTED = Wanted(release="1.24.1", cards=8)


@pytest.fixture
def node(tmp_path):
    """A node on which nothing is installed, as its own facts; options are those of write_kernel."""

    def facts(system=UBUNTU, **kernel):
        write_kernel(tmp_path, driver=False, **kernel)
        return replace(gather(HlSmi(), str(tmp_path), hl_smi=False), system=system)

    return facts


def reasons(facts, wanted=WANTED, disks=()):
    return [check.sentence for check in failed(preflight_checks(facts, disks, wanted))]


def test_a_node_that_has_everything_is_let_through(node):
    checks = preflight_checks(node(), [Disk("/opt/venv", "/", 1, 20000, 10000)], WANTED)
    assert failed(checks) == []
    assert advice(checks) == []
    assert len(checks) == 12


def test_an_unknown_release_names_the_known_ones_and_hides_no_other_reason(node):
    found = reasons(node(addresses=ADDRESSES[:7]), replace(WANTED, release="1.24.9"))
    assert len(found) == 2
    assert "'1.24.9' is not known" in found[0]
    assert "1.24.1" in found[0]
    assert found[1].startswith("cards: found 7")


def test_a_node_without_cards_is_refused(node):
    (sentence,) = reasons(node(addresses=()))
    assert sentence.startswith("cards: found none, expected at least 8; take the host out of the inventory group")


def test_seven_of_eight_cards_are_refused_by_the_addresses_that_are_there(node):
    (sentence,) = reasons(node(addresses=[one for one in ADDRESSES if one != "0000:4c:00.0"]))
    assert sentence.startswith("cards: found 7 (0000:19:00.0, 0000:3b:00.0, 0000:5d:00.0, ")
    assert "expected at least 8" in sentence
    assert "0000:4c:00.0" not in sentence
    assert "gaudi_cards_per_node to 7" in sentence


def test_as_many_cards_as_the_node_is_said_to_have_are_enough(node):
    assert reasons(node(addresses=ADDRESSES[:4]), replace(WANTED, cards=4)) == []


@pytest.mark.parametrize(("release", "refused"), [("1.21.5", False), ("1.22.0", True), ("1.24.1", True)])
def test_first_generation_cards_are_refused_from_1_22_on(node, release, refused):
    found = reasons(node(pci_id="0x1000"), replace(WANTED, release=release))
    assert bool(found) is refused
    if refused:
        assert len(found) == 1
        assert "Gaudi (first generation)" in found[0]
        assert "PCI id 0x1000 at 0000:19:00.0" in found[0]
        assert "gaudi_release to 1.21.5" in found[0]


def test_generations_that_are_mixed_are_refused(node):
    node(addresses=ADDRESSES[:4])
    (sentence,) = reasons(node(addresses=ADDRESSES[4:], pci_id="0x1020"))
    assert sentence.startswith("one generation: found Gaudi 3 and Gaudi 2, expected cards of one generation;")


def test_a_card_that_the_collection_does_not_know_is_refused(node):
    (sentence,) = reasons(node(pci_id="0x1099"))
    assert "PCI id 0x1099 at 0000:19:00.0" in sentence


@pytest.mark.parametrize(
    ("os", "kernel", "subjects"),
    [
        ("ubuntu-22.04", "5.15.0-100-generic", []),
        ("ubuntu-24.04", "6.8.0-45-generic", []),
        ("rhel-9.6", "5.14.0-570.el9.x86_64", []),
        ("ubuntu-24.04", "6.11.0-9-generic", ["kernel"]),
        ("ubuntu-22.04", "5.4.0-1-generic", ["kernel"]),
        ("debian-12", "6.1.0-18-amd64", ["operating system"]),
        ("ubuntu-20.04", "5.15.0-100-generic", ["operating system"]),
    ],
)
def test_system_and_kernel_have_to_be_in_the_release_s_matrix(node, os, kernel, subjects):
    facts = node(replace(UBUNTU, os=os), kernel=kernel)
    found = reasons(facts)
    assert [sentence.split(":")[0] for sentence in found] == subjects
    assert all("gaudi_allow_unsupported_os: true" in sentence for sentence in found)
    assert reasons(facts, replace(WANTED, allow_unsupported_os=True)) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"architecture": "aarch64"}, ["architecture", "aarch64", "x86_64"]),
        ({"systemd": False}, ["init system", "systemd"]),
        ({"python": "3.8.10"}, ["Python", "3.8.10", "3.9", "ansible_python_interpreter"]),
    ],
)
def test_what_the_node_itself_lacks_is_refused(node, change, words):
    (sentence,) = reasons(node(replace(UBUNTU, **change)))
    assert all(word in sentence for word in words)


def test_python_3_10_is_newer_than_3_9(node):
    assert reasons(node(replace(UBUNTU, python="3.10.1"))) == []


def test_needs_on_one_file_system_add_up(node):
    facts = node()
    fits_alone = [Disk("/opt/venv", "/opt", 1, 15000, 10000), Disk("/var/lib/jobs", "/var", 1, 15000, 10000)]
    apart = [fits_alone[0], replace(fits_alone[1], device=2)]
    (sentence,) = reasons(facts, disks=fits_alone)
    assert "found 15000 MiB free at /opt, expected 20000 MiB free for /opt/venv, /var/lib/jobs;" in sentence
    assert reasons(facts, disks=apart) == []


def test_each_full_file_system_is_a_reason_of_its_own(node):
    disks = [Disk("/opt/venv", "/opt", 1, 5, 10), Disk("/var/lib/jobs", "/var", 2, 5, 10)]
    assert len(reasons(node(), disks=disks)) == 2


@pytest.mark.parametrize(
    ("releases", "allowed", "refused"),
    [
        ([], False, False),
        (["1.24.1", "1.24.1"], False, False),
        (["1.24.1", "1.24.1-482"], False, False),
        (["1.24.1", "1.23.0"], False, True),
        (["1.24.1", "1.23.0"], True, False),
    ],
)
def test_two_releases_in_one_play_are_refused_unless_they_are_meant(node, releases, allowed, refused):
    wanted = replace(WANTED, group_releases=releases, allow_mixed_releases=allowed)
    found = reasons(node(), wanted)
    assert bool(found) is refused
    if refused:
        assert "found 1.23.0, 1.24.1, expected one release" in found[0]
        assert "gaudi_preflight_allow_mixed_releases" in found[0]


def test_all_reasons_come_at_once(node):
    facts = node(System("debian-12", "aarch64", "3.8.1", False), addresses=ADDRESSES[:7], pci_id="0x1000")
    wanted = replace(WANTED, group_releases=["1.23.0", "1.24.1"])
    found = [sentence.split(":")[0] for sentence in reasons(facts, wanted, [Disk("/opt", "/", 1, 1, 2)])]
    assert found == [
        "releases of the group",
        "cards",
        "generation",
        "operating system",
        "architecture",
        "init system",
        "Python",
        "disk space",
    ]


def test_missing_pass_through_is_told_and_not_refused(node):
    checks = preflight_checks(node(command_line="quiet"), (), WANTED)
    assert failed(checks) == []
    assert "gaudi_host" in advice(checks)[0]


KEYS = ("/mok.key", "/mok.der")


@pytest.mark.parametrize(
    ("state", "refused", "reported"),
    [
        (SecureBoot(False), False, False),
        (SecureBoot(None), False, False),
        (SecureBoot(True, *KEYS, True, False), False, False),
        (SecureBoot(True), True, False),
        (SecureBoot(True, *KEYS, False, False), True, False),
        (SecureBoot(True, *KEYS, False, True), True, False),
        (SecureBoot(True, *KEYS), False, True),
    ],
)
def test_secure_boot_without_a_trusted_key_is_refused_with_the_steps(node, state, refused, reported):
    checks = preflight_checks(node(), (), WANTED, state)
    assert [check.name for check in failed(checks)] == ["Secure Boot"] * refused
    assert len(advice(checks)) == reported
    if refused:
        assert "Enroll MOK" in failed(checks)[0].sentence


def test_a_key_that_a_later_layer_gets_enrolled_is_only_told(node):
    wanted = replace(WANTED, prepares_enrollment=True)
    checks = preflight_checks(node(), (), wanted, SecureBoot(True, *KEYS, False, False))
    assert failed(checks) == []
    assert "mokutil --import /mok.der" in advice(checks)[0]


def test_what_is_no_longer_supported_is_one_advice_and_fails_no_node(node):
    today = date(2026, 11, 30)
    old = preflight_checks(node(), [], replace(WANTED, release="1.19.2"), today=today)
    (check,) = [check for check in old if check.name == "life cycles"]
    assert check not in failed(old)
    assert "Release 1.19.2 is no longer supported" in check.sentence and "CVE-2025-32434" in check.sentence
    assert "days ago" not in check.sentence
    (late,) = [
        one
        for one in preflight_checks(node(), [], replace(WANTED, release="1.19.2"), today=date(2027, 11, 30))
        if one.name == "life cycles"
    ]
    assert "and may be outdated" in late.sentence
    fine = preflight_checks(node(), [], WANTED, today=today)
    assert [check.ok for check in fine if check.name == "life cycles"] == [True] and advice(fine) == []
