# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Two owners of one key of sysctl: which files count, and that both are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.tests.unit.host_machine import Machine

# What auto is on the machine.
OURS = "441"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("path", "text", "theirs"),
    [
        ("etc/sysctl.d/99-site.conf", "vm.nr_hugepages = 400\n", "400"),
        ("etc/sysctl.d/10-site.conf", "vm.nr_hugepages=300\n", "300"),
        ("etc/sysctl.d/50-x.conf", f"vm.nr_hugepages={OURS}\n-vm/nr_hugepages = 5\n", "5"),
        ("etc/sysctl.conf", "# ours\nvm.nr_hugepages = 399\n", "399"),
        ("run/sysctl.d/10-x.conf", "vm.nr_hugepages = 1\n", "1"),
        ("usr/lib/sysctl.d/99-vendor.conf", "vm.nr_hugepages = 1\n", "1"),
    ],
)
def test_another_file_with_another_value_is_refused_and_both_are_named(
    machine: Machine, path: str, text: str, theirs: str
) -> None:
    machine.write(path, text)
    before = machine.files()
    with pytest.raises(GaudiError) as caught:
        machine.converge()
    ours = machine.etc / "sysctl.d/90-gaudi3-scale.conf"
    assert str(caught.value) == (
        f"hugepages: vm.nr_hugepages would have two owners, {ours} with {OURS} and {machine.root / path} with "
        f"{theirs}; take it out of {machine.root / path}, or set hugepages to unmanaged."
    )
    assert machine.files() == before
    machine.converge(hugepages=theirs)
    machine.converge(hugepages="unmanaged")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("etc/sysctl.d/99-site.conf", f"vm.nr_hugepages = {OURS}\n"),
        ("etc/sysctl.d/99-site.conf", "#vm.nr_hugepages = 1\nvm.swappiness = 1\nvm.nr_hugepages_mempolicy = 7\n"),
        ("etc/sysctl.d/99-site.conf.dpkg-old", "vm.nr_hugepages = 1\n"),
        # What a distribution ships and is read first is there to be overridden.
        ("usr/lib/sysctl.d/10-default.conf", "vm.nr_hugepages = 1\n"),
    ],
)
def test_what_is_no_second_owner(machine: Machine, path: str, text: str) -> None:
    machine.write(path, text)
    assert machine.converge()["warnings"] == []


def test_a_file_that_is_hidden_by_its_name_does_not_count(machine: Machine) -> None:
    machine.write("usr/lib/sysctl.d/99-vendor.conf", "vm.nr_hugepages = 1\n")
    machine.write("etc/sysctl.d/99-vendor.conf", "")
    assert machine.converge()["warnings"] == []


def test_debians_link_to_sysctl_conf_is_one_file(machine: Machine) -> None:
    machine.write("etc/sysctl.conf", "vm.nr_hugepages = 8\n")
    (machine.etc / "sysctl.d").mkdir()
    (machine.etc / "sysctl.d/99-sysctl.conf").symlink_to("../sysctl.conf")
    with pytest.raises(GaudiError, match=r"99-sysctl.conf with 8; take it out"):
        machine.converge()
