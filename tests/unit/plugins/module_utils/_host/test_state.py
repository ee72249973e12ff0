# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One node's settings on a file system of its own: first run, second run, check mode, refusals, what is put back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._host.cpu_governor import UNIT
from ansible_collections.gaudi3.scale.plugins.module_utils._host.memory_lock import can_be_raised
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._node.restart_due import due
from ansible_collections.gaudi3.scale.tests.unit.host_machine import ARGUMENTS, BOOTED, Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def headers(result: dict[str, Any]) -> list[str]:
    return [Path(entry["after_header"].split(" (")[0]).name for entry in result["diff"]]


def test_the_first_run_sets_everything_and_asks_for_a_restart(machine: Machine) -> None:
    result = machine.converge()
    assert result["changed"]
    assert result["warnings"] == []
    assert result["reboot_required"]
    assert result["reboot_reasons"] == [
        "the running kernel was started without iommu=pt intel_iommu=on, which GRUB passes from the next start on"
    ]
    assert "vm.nr_hugepages = 441\n" in machine.read("etc/sysctl.d/90-gaudi3-scale.conf")
    assert machine.read("kernel/proc/sys/vm/nr_hugepages") == "441\n"
    assert machine.read(machine.cpufreq(0, "scaling_governor")) == "performance\n"
    assert machine.read(machine.cpufreq(1, "scaling_governor")) == "performance\n"
    assert machine.run.enabled == {UNIT}
    assert ARGUMENTS in machine.read("boot/grub/grub.cfg")
    assert "root hard memlock unlimited\n" in machine.read("etc/security/limits.d/90-gaudi3-scale.conf")
    assert "DefaultLimitMEMLOCK=infinity\n" in machine.read("etc/systemd/system.conf.d/90-gaudi3-scale.conf")
    assert headers(result) == [
        "90-gaudi3-scale.conf",
        "99-gaudi3-scale.cfg",
        "90-gaudi3-scale.conf",
        "90-gaudi3-scale.conf",
        UNIT,
        "nr_hugepages",
        "scaling_governor",
        "grub.cfg",
    ]


def test_the_second_run_changes_nothing_and_still_asks_for_the_restart(machine: Machine) -> None:
    machine.converge()
    files = machine.files()
    machine.run.calls.clear()
    for check_mode in (True, False):
        result = machine.converge(check_mode)
        assert not result["changed"]
        assert result["diff"] == []
        assert result["reboot_required"]
    assert machine.files() == files
    assert set(machine.run.calls) == {f"systemctl is-enabled --quiet {UNIT}"}


def test_check_mode_shows_the_same_steps_and_touches_nothing(machine: Machine) -> None:
    before = machine.files()
    shown = machine.converge(check_mode=True)
    assert machine.files() == before
    assert set(machine.run.calls) == {f"systemctl is-enabled --quiet {UNIT}"}
    done = machine.converge()
    assert shown["diff"] == done["diff"]
    assert shown["reboot_reasons"] == done["reboot_reasons"]


def test_after_the_restart_nothing_is_left_to_do(machine: Machine) -> None:
    machine.converge()
    machine.write("kernel/proc/cmdline", f"BOOT_IMAGE=/vmlinuz ro quiet {ARGUMENTS}\n")
    result = machine.converge()
    assert not result["changed"]
    assert not result["reboot_required"]
    assert result["settings"]["kernel_arguments"]["missing"] == []


def test_a_restart_that_did_not_help_is_not_asked_for_again(machine: Machine) -> None:
    machine.converge()
    machine.write("kernel/proc/stat", "btime 9999999999\n")
    result = machine.converge()
    assert not result["reboot_required"]
    assert len(result["warnings"]) == 1
    assert "something else starts its kernel" in result["warnings"][0]


def test_a_drop_in_that_is_overridden_is_told_and_not_tried_for_ever(machine: Machine) -> None:
    machine.run.programs["update-grub"] = lambda argv: CommandResult(0, "", "")
    result = machine.converge()
    assert not result["reboot_required"]
    assert "a later file beside it overwrites GRUB_CMDLINE_LINUX_DEFAULT" in result["warnings"][0]
    machine.write("boot/grub/grub.cfg", machine.read("boot/grub/grub.cfg"))
    machine.run.calls.clear()
    assert not machine.converge()["changed"]
    assert "update-grub" not in machine.run.calls


def test_an_update_of_grub_that_was_cut_short_is_made_up_for(machine: Machine) -> None:
    machine.converge()
    machine.write("boot/grub/grub.cfg", "\tlinux\t/vmlinuz ro quiet\n", time=BOOTED)
    result = machine.converge()
    assert headers(result) == ["grub.cfg"]
    assert ARGUMENTS in machine.read("boot/grub/grub.cfg")


def test_a_failing_update_grub_leaves_no_drop_in_behind(machine: Machine) -> None:
    machine.update_grub_result = CommandResult(1, "", "Sourcing file\n/usr/sbin/grub-mkconfig: syntax error\n")
    with pytest.raises(GaudiError, match=r"is unchanged: /usr/sbin/grub-mkconfig: syntax error; repair"):
        machine.converge()
    assert not (machine.etc / "default/grub.d/99-gaudi3-scale.cfg").exists()
    machine.update_grub_result = CommandResult(0, "", "")
    assert machine.converge()["reboot_required"]


def test_no_kernel_arguments_take_the_drop_in_away(machine: Machine) -> None:
    machine.converge()
    result = machine.converge(kernel_arguments=())
    assert headers(result) == ["99-gaudi3-scale.cfg"]
    assert not (machine.etc / "default/grub.d/99-gaudi3-scale.cfg").exists()
    assert ARGUMENTS not in machine.read("boot/grub/grub.cfg")
    assert not result["reboot_required"]


def test_an_argument_that_goes_is_said_to_be_in_force_until_the_next_start(machine: Machine) -> None:
    machine.converge(cstates=("no_intel_idle_at_boot",))
    machine.write("kernel/proc/cmdline", f"ro quiet {ARGUMENTS} intel_idle.max_cstate=0\n")
    assert machine.converge(cstates=("no_intel_idle_at_boot",))["warnings"] == []
    (warning,) = machine.converge()["warnings"]
    assert warning == (
        "kernel_arguments: intel_idle.max_cstate=0 was removed, but stays in force until this node is rebooted."
    )
    assert machine.converge()["warnings"] == []


@pytest.mark.parametrize("without", ["menu", "program"])
def test_a_node_without_grub_is_a_warning_only_while_arguments_are_missing(machine: Machine, without: str) -> None:
    if without == "menu":
        (machine.boot / "grub/grub.cfg").unlink()
    else:
        machine.programs.clear()
    result = machine.converge()
    assert not (machine.etc / "default").exists()
    assert not result["reboot_required"]
    (warning,) = result["warnings"]
    assert warning == (
        "kernel_arguments: iommu=pt intel_iommu=on is not in force and this node has no grub.cfg; add it where its "
        "kernel's command line is set (host of the container, PXE, systemd-boot)."
    )
    machine.write("kernel/proc/cmdline", ARGUMENTS)
    assert machine.converge()["warnings"] == []


def test_a_node_with_grubby_is_told_its_command(machine: Machine) -> None:
    machine.programs = {"grubby"}
    assert "`grubby --update-kernel=ALL --args='iommu=pt intel_iommu=on'`" in machine.converge()["warnings"][0]


def test_what_the_huge_pages_take_and_leave_is_a_fact(machine: Machine) -> None:
    pages = machine.converge(hugepages="1000")["settings"]["hugepages"]
    assert (pages["memory_mib"], pages["left_mib"]) == (2000, 65536 - 2000)
    assert machine.converge(hugepages="unmanaged")["settings"]["hugepages"]["left_mib"] is None


def test_a_larger_reservation_of_a_running_node_stays(machine: Machine) -> None:
    machine.write("kernel/proc/sys/vm/nr_hugepages", "5000\n")
    machine.converge()
    assert machine.read("kernel/proc/sys/vm/nr_hugepages") == "5000\n"
    machine.converge(hugepages="600")
    assert machine.read("kernel/proc/sys/vm/nr_hugepages") == "600\n"


def test_unmanaged_huge_pages_take_only_our_file_away(machine: Machine) -> None:
    machine.converge()
    result = machine.converge(hugepages="unmanaged")
    assert headers(result) == ["90-gaudi3-scale.conf"]
    assert machine.read("kernel/proc/sys/vm/nr_hugepages") == "441\n"


def test_pages_that_do_not_fit_are_refused_before_anything_is_touched(machine: Machine) -> None:
    before = machine.files()
    with pytest.raises(GaudiError, match=r"100000 pages .* set hugepages to a smaller number") as caught:
        machine.converge(hugepages="100000")
    assert caught.value.facts == {"pages": 100000, "memory_mib": 200000}
    assert machine.files() == before


def test_pages_that_do_not_fit_can_be_a_warning(machine: Machine) -> None:
    result = machine.converge(hugepages="100000", hugepages_shortage="warn")
    assert "100000 pages" in result["warnings"][0]
    assert machine.read("kernel/proc/sys/vm/nr_hugepages") == "0\n"
    assert not (machine.etc / "sysctl.d").exists()
    assert result["reboot_required"]


def test_fragmented_memory_is_a_warning_and_no_change_the_second_time(machine: Machine, monkeypatch: Any) -> None:
    from ansible_collections.gaudi3.scale.plugins.module_utils._host import state as host_settings

    pages = machine.kernel / "proc/sys/vm/nr_hugepages"
    monkeypatch.setattr(host_settings, "write_value", lambda path, value: pages.write_text("300\n", encoding="utf-8"))
    assert "300 of 441 pages could be reserved" in machine.converge()["warnings"][0]
    second = machine.converge()
    assert "300 of 441 pages could be reserved" in second["warnings"][0]
    assert not second["changed"]


def test_memlock_is_left_alone_where_a_login_would_be_refused(machine: Machine) -> None:
    machine.memlock = False
    result = machine.converge()
    assert not (machine.etc / "security").exists()
    assert not (machine.etc / "systemd/system.conf.d").exists()
    assert "this node may not raise the limit" in result["warnings"][0]
    assert machine.converge(memlock=False)["warnings"] == []


def test_this_machine_answers_whether_the_limit_can_be_raised_and_keeps_its_own() -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    assert can_be_raised() in (True, False)
    assert resource.getrlimit(resource.RLIMIT_MEMLOCK) == before


def test_a_machine_without_cpufreq_gets_no_unit(machine: Machine) -> None:
    for path in (machine.kernel / "sys/devices/system/cpu/cpufreq").rglob("scaling_governor"):
        path.unlink()
    result = machine.converge()
    assert result["settings"]["cpu_governor"] == {"wanted": "performance", "current": []}
    assert machine.run.enabled == set()
    assert result["warnings"] == []


def test_a_governor_that_is_not_offered_is_refused(machine: Machine) -> None:
    before = machine.files()
    with pytest.raises(GaudiError, match=r"cpu_governor=ondemand is not offered .* performance, powersave"):
        machine.converge(cpu_governor="ondemand")
    assert machine.files() == before


def test_a_governor_that_does_not_hold_is_told(machine: Machine) -> None:
    machine.run._start = lambda unit: CommandResult(0, "", "")  # type: ignore[method-assign]
    with pytest.raises(GaudiError, match="run with powersave although performance was set"):
        machine.converge()


def test_a_governor_that_someone_changed_is_set_again(machine: Machine) -> None:
    machine.converge()
    machine.write(machine.cpufreq(1, "scaling_governor"), "powersave\n")
    result = machine.converge()
    assert [(entry["before"], entry["after"]) for entry in result["diff"]] == [
        ("performance powersave\n", "performance\n")
    ]
    assert machine.read(machine.cpufreq(1, "scaling_governor")) == "performance\n"


def test_no_governor_takes_the_unit_away(machine: Machine) -> None:
    machine.converge()
    machine.converge(cpu_governor="")
    assert machine.run.enabled == set()
    assert not (machine.etc / "systemd/system" / UNIT).exists()


@pytest.mark.parametrize("value", [None, True, {"a": 1}, ["a"], "a b", "a;id", ""])
def test_a_module_parameter_is_one_plain_value(machine: Machine, value: Any) -> None:
    with pytest.raises(
        GaudiError, match=r"module_parameters: timeout_locked=.* is not a parameter; write a name and one plain value"
    ):
        machine.converge(module_parameters={"timeout_locked": value})


def test_module_parameters_wait_for_the_next_load(machine: Machine) -> None:
    machine.write("kernel/sys/module/habanalabs/parameters/timeout_locked", "30\n")
    result = machine.converge(module_parameters={"timeout_locked": "0"})
    assert "options habanalabs timeout_locked=0\n" in machine.read("etc/modprobe.d/gaudi3-scale.conf")
    assert "timeout_locked takes effect when habanalabs is loaded again" in result["warnings"][0]
    machine.write("kernel/sys/module/habanalabs/parameters/timeout_locked", "0\n")
    assert machine.converge(module_parameters={"timeout_locked": "0"})["warnings"] == []
    machine.converge()
    assert not (machine.etc / "modprobe.d/gaudi3-scale.conf").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hugepages": "many"}, "hugepages='many'"),
        ({"hugepages_memory_share": 1.5}, "hugepages_memory_share=1.5 is not a share"),
        ({"hugepages_memory_share": 0.0}, "hugepages_memory_share=0.0 is not a share"),
        ({"kernel_arguments": ("iommu=pt quiet",)}, "'iommu=pt quiet' is not one argument"),
        ({"cpu_governor": "performance; reboot"}, "is not the name of a governor"),
        ({"module_parameters": {"timeout_locked": "0 x=1"}}, "timeout_locked='0 x=1' is not a parameter"),
    ],
)
def test_bad_options_are_refused_before_anything_is_touched(
    machine: Machine, options: dict[str, Any], message: str
) -> None:
    before = machine.files()
    with pytest.raises(GaudiError, match=message):
        machine.converge(**options)
    assert machine.files() == before
    assert machine.run.calls == []


def test_a_restart_is_due_for_other_layers_until_it_has_happened(machine: Machine) -> None:
    def reasons() -> list[str]:
        return due(str(machine.root / "var/lib/gaudi3_scale"), str(machine.kernel))

    machine.converge(check_mode=True)
    assert reasons() == []
    wanted = machine.converge()["reboot_reasons"]
    assert reasons() == wanted != []
    machine.write("kernel/proc/cmdline", f"BOOT_IMAGE=/vmlinuz ro quiet {ARGUMENTS}\n")
    assert not machine.converge()["reboot_required"]
    assert reasons() == []
