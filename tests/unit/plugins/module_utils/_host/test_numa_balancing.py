# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""NUMA balancing: off on the kernels that the vendor names, back to what it was, and with one owner."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._host.numa_balancing import is_off
from ansible_collections.gaudi3.scale.tests.unit.host_machine import Machine

KERNEL = "kernel/proc/sys/kernel/numa_balancing"
DROP_IN = "etc/sysctl.d/91-gaudi3-scale-numa-balancing.conf"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.write(KERNEL, "1\n")
    machine.write("kernel/proc/sys/kernel/osrelease", "5.15.0-91-generic\n")
    return machine


@pytest.mark.parametrize(
    ("request_", "release", "off"),
    [
        ("auto", "5.8.18", False),
        ("auto", "5.9.0-rc1", True),
        ("auto", "5.14.0-427.13.1.el9_4.x86_64", True),
        ("auto", "5.15.0-91-generic", True),
        ("auto", "5.16.20", True),
        ("auto", "5.17.0", False),
        ("auto", "6.8.0-45-generic", False),
        ("auto", "", False),
        ("disabled", "6.8.0-45-generic", True),
        ("unmanaged", "5.15.0-91-generic", False),
    ],
)
def test_which_kernels(request_: str, release: str, off: bool) -> None:
    assert is_off(request_, release) is off


def test_it_is_off_now_and_after_each_boot_and_a_second_run_changes_nothing(machine: Machine) -> None:
    shown = machine.converge(check_mode=True)
    assert machine.read(KERNEL) == "1\n"
    assert machine.converge()["diff"] == shown["diff"]
    assert machine.read(KERNEL) == "0\n"
    assert "\nkernel.numa_balancing = 0\n" in machine.read(DROP_IN)
    assert "vendor" in machine.read(DROP_IN)
    assert not machine.converge()["changed"]


@pytest.mark.parametrize("before", ["0", "1", "2"])
def test_unmanaged_brings_back_what_was_before(machine: Machine, before: str) -> None:
    machine.write(KERNEL, f"{before}\n")
    machine.converge()
    machine.converge(numa_balancing="unmanaged")
    assert machine.read(KERNEL) == f"{before}\n"
    assert not (machine.root / DROP_IN).exists()
    assert not machine.converge(numa_balancing="unmanaged")["changed"]


def test_a_kernel_that_does_not_need_it_is_left_alone(machine: Machine) -> None:
    machine.write("kernel/proc/sys/kernel/osrelease", "6.8.0-45-generic\n")
    machine.converge()
    assert machine.read(KERNEL) == "1\n"
    assert not (machine.root / DROP_IN).exists()


def test_a_kernel_without_it_gets_nothing(machine: Machine) -> None:
    (machine.root / KERNEL).unlink()
    result = machine.converge(numa_balancing="disabled")
    assert not (machine.root / DROP_IN).exists()
    assert result["settings"]["numa_balancing"] == {"disabled": False, "current": None}


def test_a_word_that_is_none_of_the_three_is_refused(machine: Machine) -> None:
    before = machine.files()
    with pytest.raises(GaudiError, match="numa_balancing='off' is not valid; use one of auto, disabled, unmanaged"):
        machine.converge(numa_balancing="off")
    assert machine.files() == before
