# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""tuned where it runs: our profile on top of the active one, switched to once and left again; owners in its files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._host import cpu_governor, idle_states
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.host_machine import Machine

PROFILE = "etc/tuned/gaudi3-scale/tuned.conf"
STATE = "kernel/sys/devices/system/cpu/cpu0/cpuidle/state3"
BALANCING = "kernel/proc/sys/kernel/numa_balancing"


class Tuned(Machine):
    """A server whose tuned has throughput-performance, which it sets with what includes it, as tuned does."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.programs.add("tuned-adm")
        self.run.active.add("tuned.service")
        self.run.programs["tuned-adm"] = self.tuned_adm
        self.write("usr/lib/tuned/throughput-performance/tuned.conf", "[cpu]\ngovernor=performance\n")
        self.select("throughput-performance", "manual")
        self.write(BALANCING, "1\n")
        self.write("kernel/proc/sys/kernel/osrelease", "5.15.0\n")
        self.write(f"{STATE}/name", "C6\n")
        self.write(f"{STATE}/desc", "MWAIT 0x20\n")
        self.write(f"{STATE}/disable", "0\n")
        self.fails = False

    def select(self, names: str, mode: str) -> None:
        self.write("etc/tuned/active_profile", f"{names}\n")
        self.write("etc/tuned/profile_mode", f"{mode}\n")

    def tuned_adm(self, argv: Sequence[str]) -> CommandResult:
        if self.fails:
            return CommandResult(1, "", "Requested profile 'gaudi3-scale' doesn't exist.\n")
        if argv[1] == "auto_profile":
            self.select("balanced", "auto")
        else:
            self.select(" ".join(argv[2:]), "manual")
        ours = (self.root / PROFILE).read_text() if "gaudi3-scale" in argv else ""
        for policy in (0, 1):
            self.write(self.cpufreq(policy, "scaling_governor"), "performance\n" if ours else "powersave\n")
        self.write(BALANCING, "0\n" if "numa_balancing=0" in ours else "1\n")
        self.write(f"{STATE}/disable", "1\n" if "state3" in ours else "0\n")
        return CommandResult(0, "", "")

    @property
    def switches(self) -> list[str]:
        return [call for call in self.run.calls if call.startswith("tuned-adm")]


@pytest.fixture
def machine(tmp_path: Path) -> Tuned:
    return Tuned(tmp_path)


def test_a_profile_of_ours_includes_the_active_one_and_nothing_of_ours_is_beside_it(machine: Tuned) -> None:
    result = machine.converge(cstates=("no_c6",))
    assert machine.read(PROFILE) == (
        "# Written by gaudi3.scale.\n[main]\nsummary=What Gaudi training needs, on top of the profile that was active\n"
        "include=throughput-performance\n\n[cpu]\ngovernor=performance\n\n"
        "[sysfs]\n/sys/devices/system/cpu/cpu*/cpuidle/state3/disable=1\n\n[sysctl]\nkernel.numa_balancing=0\n"
    )
    assert machine.read("etc/tuned/active_profile") == "gaudi3-scale\n"
    assert result["settings"]["tuned"] == {"profile": "gaudi3-scale", "includes": ["throughput-performance"]}
    assert result["warnings"] == []
    for unit in (cpu_governor.UNIT, idle_states.UNIT):
        assert not (machine.etc / "systemd/system" / unit).exists()
    assert sorted(path.name for path in (machine.etc / "sysctl.d").iterdir()) == ["90-gaudi3-scale.conf"]


def test_a_second_run_changes_nothing_and_switches_nothing(machine: Tuned) -> None:
    machine.converge()
    files = machine.files()
    machine.run.calls.clear()
    for check_mode in (True, False):
        assert not machine.converge(check_mode)["changed"]
    assert machine.files() == files
    assert machine.switches == []


def test_check_mode_shows_profile_and_switch(machine: Tuned) -> None:
    before = machine.files()
    shown = machine.converge(check_mode=True)
    assert machine.files() == before
    assert machine.switches == []
    assert machine.converge()["diff"] == shown["diff"]
    steps = [(step["before"], step["after"]) for step in shown["diff"]]
    assert ("throughput-performance\n", "gaudi3-scale\n") in steps


@pytest.mark.parametrize(
    ("active", "mode", "back"),
    [
        ("throughput-performance", "manual", "tuned-adm profile throughput-performance"),
        ("balanced site", "manual", "tuned-adm profile balanced site"),
        ("balanced", "auto", "tuned-adm auto_profile"),
        ("", "manual", "tuned-adm off"),
    ],
)
def test_without_settings_of_ours_what_was_active_is_active_again(
    machine: Tuned, active: str, mode: str, back: str
) -> None:
    machine.select(active, mode)
    machine.converge()
    machine.converge()
    machine.run.calls.clear()
    result = machine.converge(cpu_governor="", numa_balancing="unmanaged")
    assert result["changed"]
    assert machine.switches == [back]
    assert not (machine.root / PROFILE).exists()
    machine.run.calls.clear()
    assert not machine.converge(cpu_governor="", numa_balancing="unmanaged")["changed"]
    assert machine.switches == []


def test_another_profile_that_the_operator_chose_is_the_base_of_the_next_run(machine: Tuned) -> None:
    machine.converge()
    machine.select("site", "manual")
    machine.converge()
    assert "include=site\n" in machine.read(PROFILE)
    assert machine.read("etc/tuned/active_profile") == "gaudi3-scale\n"


def test_a_changed_setting_is_read_by_tuned(machine: Tuned) -> None:
    machine.converge()
    machine.run.calls.clear()
    machine.converge(cstates=("no_c6",))
    assert machine.switches == ["tuned-adm profile gaudi3-scale"]
    assert machine.read(f"{STATE}/disable") == "1\n"


def test_units_of_before_tuned_came_go(machine: Tuned) -> None:
    machine.run.active.clear()
    machine.converge(cstates=("no_c6",))
    assert machine.run.enabled == {cpu_governor.UNIT, idle_states.UNIT}
    machine.run.active.add("tuned.service")
    machine.converge(cstates=("no_c6",))
    assert machine.run.enabled == set()
    assert machine.read(f"{STATE}/disable") == "1\n"
    assert not machine.converge(cstates=("no_c6",))["changed"]


def test_tuned_that_does_not_run_is_left_as_it_is(machine: Tuned) -> None:
    machine.run.active.clear()
    machine.converge()
    assert machine.switches == []
    assert not (machine.root / PROFILE).exists()
    assert machine.run.enabled == {cpu_governor.UNIT}


def test_newer_tuned_has_its_profiles_one_level_down(machine: Tuned) -> None:
    machine.write("usr/lib/tuned/profiles/balanced/tuned.conf", "")
    machine.write("etc/tuned/gaudi3-scale/tuned.conf", "")
    machine.converge()
    assert "include=" in machine.read("etc/tuned/profiles/gaudi3-scale/tuned.conf")


def test_a_switch_that_fails_is_one_sentence(machine: Tuned) -> None:
    machine.fails = True
    with pytest.raises(GaudiError, match=r"tuned-adm profile gaudi3-scale failed: Requested profile .* doesn't exist"):
        machine.converge()


def test_what_tuned_did_not_manage_is_told(machine: Tuned) -> None:
    machine.run.programs["tuned-adm"] = lambda argv: CommandResult(0, "", "")
    warnings = " ".join(machine.converge(cstates=("no_c6",))["warnings"])
    assert "cpu_governor: the CPUs run with powersave although tuned's profile has performance" in warnings
    assert "cstates: the CPUs use C6 although" in warnings
    assert "numa_balancing: the kernel still balances" in warnings


@pytest.mark.parametrize(
    "text",
    [
        "[sysctl]\nkernel.numa_balancing = 1\n",
        "[my numbers]\ntype=sysctl\nkernel.numa_balancing=>1 # a comment\n",
        "[main]\ninclude=below\n",
    ],
)
def test_a_profile_with_another_value_is_refused_and_both_are_named(machine: Tuned, text: str) -> None:
    machine.write("etc/tuned/throughput-performance/tuned.conf", text)
    machine.write("usr/lib/tuned/below/tuned.conf", "[main]\ninclude=below\n[sysctl]\nkernel.numa_balancing=1\n")
    before = machine.files()
    theirs = "usr/lib/tuned/below" if "include" in text else "etc/tuned/throughput-performance"
    with pytest.raises(GaudiError) as caught:
        machine.converge()
    assert str(caught.value) == (
        f"numa_balancing: kernel.numa_balancing would have two owners, {machine.root / PROFILE} with 0 and "
        f"{machine.root / theirs}/tuned.conf with 1; take it out of {machine.root / theirs}/tuned.conf, or set "
        "numa_balancing to unmanaged."
    )
    assert machine.files() == before
    machine.converge(numa_balancing="unmanaged")


def test_a_profile_under_ours_is_still_looked_at(machine: Tuned) -> None:
    machine.converge()
    machine.write("etc/tuned/throughput-performance/tuned.conf", "[sysctl]\nvm.nr_hugepages=1\n")
    with pytest.raises(GaudiError, match=r"vm.nr_hugepages would have two owners, .*90-gaudi3-scale.conf with 441 and"):
        machine.converge()


@pytest.mark.parametrize("text", ["[sysctl]\nkernel.numa_balancing=0\n", "[vm]\nkernel.numa_balancing=1\n", "no ini\n"])
def test_what_is_no_second_owner(machine: Tuned, text: str) -> None:
    machine.write("etc/tuned/throughput-performance/tuned.conf", text)
    assert machine.converge()["settings"]["tuned"]["profile"] == "gaudi3-scale"
