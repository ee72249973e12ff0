# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A time service: one that runs is used, and where none does the choice is installed and started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._host.time_service import SERVICES
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.host_machine import Machine

OK = CommandResult(0, "", "")


class Clock(Machine):
    """Debian without a time service; ``may_start`` False is a container, where the unit's condition is not met."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.write("var/lib/dpkg/status", "")
        self.installed: set[str] = set()
        self.running: set[str] = set()
        self.may_start = True
        self.apt_knows: set[str] = {"chrony", "systemd-timesyncd"}
        self.updates = True
        self.systemctl = self.run
        self.run = self.answer  # type: ignore[assignment]
        self.calls: list[str] = []

    def answer(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        self.calls.append(" ".join(argv))
        units = [word for word in argv[2:] if word in SERVICES]
        if argv[:2] == ["systemctl", "is-active"] and units:
            states = ["active" if unit in self.running else "inactive" for unit in units]
            return CommandResult(0 if self.running & set(units) else 3, "\n".join(states) + "\n", "")
        if argv[:2] == ["systemctl", "enable"] and units:
            return OK
        if argv[:2] == ["systemctl", "start"] and units:
            self.running |= set(units) if self.may_start else set()
            return OK
        if argv[:2] == ["systemctl", "show"]:
            return CommandResult(0, f"ConditionResult={'yes' if self.may_start else 'no'}\n", "")
        if argv[0] == "dpkg-query":
            lines = [f"{name}\t1\tinstall\tinstalled" for name in argv if name in self.installed]
            return CommandResult(0, "".join(f"{line}\n" for line in lines), "")
        if argv[0] == "apt-get":
            return self.apt_get(argv)
        return self.systemctl(argv, timeout=timeout, env=env)

    def apt_get(self, argv: Sequence[str]) -> CommandResult:
        if "update" in argv:
            self.apt_knows |= {"chrony"} if self.updates else set()
            return OK
        if argv[-1] not in self.apt_knows:
            return CommandResult(100, "", f"E: Unable to locate package {argv[-1]}\n")
        self.installed.add(argv[-1])
        return OK


@pytest.fixture
def machine(tmp_path: Path) -> Clock:
    return Clock(tmp_path)


def settings(result: dict[str, Any]) -> object:
    return result["settings"]["time_sync"]


def test_unmanaged_asks_nothing(machine: Clock) -> None:
    assert settings(machine.converge()) == {"wanted": None, "running": None}
    assert not any("chrony" in call for call in machine.calls)


@pytest.mark.parametrize("service", ["systemd-timesyncd.service", "ntpsec.service", "chrony.service"])
def test_a_service_that_runs_is_used_and_not_replaced(machine: Clock, service: str) -> None:
    machine.running.add(service)
    machine.converge()
    result = machine.converge(time_sync="chrony")
    assert settings(result) == {"wanted": "chrony", "running": service}
    assert not result["changed"]
    assert not any(call.startswith("apt-get") for call in machine.calls)


@pytest.mark.parametrize("choice", ["chrony", "systemd-timesyncd"])
def test_where_none_runs_the_choice_is_installed_and_started(machine: Clock, choice: str) -> None:
    shown = machine.converge(check_mode=True, time_sync=choice)
    assert not any(call.startswith("apt-get") for call in machine.calls)
    result = machine.converge(time_sync=choice)
    assert machine.running == {f"{choice}.service"}
    assert result["diff"] == shown["diff"]
    assert result["changed"]
    assert not machine.converge(time_sync=choice)["changed"]


def test_lists_of_a_node_that_was_never_updated_are_read_again(machine: Clock) -> None:
    machine.apt_knows.clear()
    machine.converge(time_sync="chrony")
    assert machine.running == {"chrony.service"}


def test_a_package_that_there_is_not_is_told_and_no_file_is_written(machine: Clock) -> None:
    machine.apt_knows.clear()
    machine.updates = False
    with pytest.raises(GaudiError, match=r"needs the package chrony .* no repository of this node has chrony"):
        machine.converge(time_sync="chrony")
    assert not (machine.etc / "sysctl.d").exists()


def test_a_container_is_told_to_leave_its_clock_to_its_host(machine: Clock) -> None:
    machine.may_start = False
    with pytest.raises(
        GaudiError, match=r"chrony.service does not run: a condition .* set time_sync to unmanaged there"
    ):
        machine.converge(time_sync="chrony")


def test_rhel_has_chronyd_and_no_timesyncd(machine: Clock) -> None:
    machine.write("etc/os-release", 'ID="rhel"\nVERSION_ID="9.4"\n')
    machine.running.add("chronyd.service")
    assert settings(machine.converge(time_sync="chrony")) == {"wanted": "chrony", "running": "chronyd.service"}
    with pytest.raises(GaudiError, match="systemd-timesyncd is not packaged for RHEL"):
        machine.converge(time_sync="systemd-timesyncd")


def test_a_choice_that_is_none_is_refused(machine: Clock) -> None:
    before = machine.files()
    with pytest.raises(
        GaudiError, match="time_sync='ntp' is not valid; use one of unmanaged, chrony, systemd-timesyncd"
    ):
        machine.converge(time_sync="ntp")
    assert machine.files() == before
    assert machine.calls == []
