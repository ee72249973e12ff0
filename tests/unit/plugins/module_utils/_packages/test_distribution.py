# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Packages of the distribution: what is missing is installed once, by lists that are read where they have to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.distribution import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.package_system import Package


@dataclass
class System:
    """A package manager; ``offers`` is what its lists have, and ``fresh`` what they have once they were read."""

    root: Path
    there: set[str] = field(default_factory=set)
    offers: set[str] = field(default_factory=set)
    fresh: set[str] = field(default_factory=set)
    was_interrupted: bool = False
    calls: list[str] = field(default_factory=list)
    policies: list[str] = field(default_factory=list)
    name: str = "apt"

    def query(self, names: Sequence[str]) -> dict[str, Package]:
        return {name: Package(name, "1", False, "installed") for name in names if name in self.there}

    def interrupted(self) -> bool:
        return self.was_interrupted

    def repair(self, names: Sequence[str]) -> None:
        self.calls.append("repair")

    def refresh(self, _lock_timeout: float) -> None:
        self.calls.append("refresh")
        self.offers |= self.fresh

    def install(self, requests: Sequence[str], _lock_timeout: float) -> None:
        self.calls.append(f"install {' '.join(requests)}")
        policy = self.root / "usr/sbin/policy-rc.d"
        self.policies.append(policy.read_text() if policy.exists() else "")
        if not {*requests} <= self.offers:
            raise GaudiError("The packages cannot be installed: Unable to locate package.")
        self.there |= {*requests}


@pytest.fixture
def system(tmp_path: Path) -> System:
    (tmp_path / "usr/sbin").mkdir(parents=True)
    return System(tmp_path, there={"openssl"}, offers={"nftables"}, fresh={"exporter"})


def install(system: System, *names: str, **changed: Any) -> dict[str, Any]:
    options = {"refresh": False, "starts": True, "lock_timeout": 1, "check_mode": False, **changed}
    return converge(names, system, root=str(system.root), **options)  # type: ignore[arg-type]


def test_what_is_there_is_not_asked_for(system: System) -> None:
    assert install(system, "openssl") == {"changed": False, "installed": []}
    assert system.calls == []


def test_what_the_lists_have_needs_no_others(system: System) -> None:
    assert install(system, "nftables", "openssl", "nftables") == {"changed": True, "installed": ["nftables"]}
    assert system.calls == ["install nftables"]


def test_lists_that_do_not_do_are_read(system: System) -> None:
    assert install(system, "exporter")["changed"]
    assert system.calls == ["install exporter", "refresh", "install exporter"]


def test_what_nobody_has_is_told_in_the_package_manager_s_words(system: System) -> None:
    with pytest.raises(GaudiError, match="Unable to locate package"):
        install(system, "nothing")


def test_lists_that_are_read_first_are_read_once(system: System) -> None:
    with pytest.raises(GaudiError):
        install(system, "nothing", refresh=True)
    assert system.calls == ["refresh", "install nothing"]


def test_check_mode_tells_what_is_missing(system: System) -> None:
    assert install(system, "exporter", "openssl", check_mode=True) == {"changed": True, "installed": ["exporter"]}
    assert system.calls == []


def test_an_interrupted_installation_is_finished_first(system: System) -> None:
    system.was_interrupted = True
    install(system, "nftables")
    assert system.calls == ["repair", "install nftables"]


def test_services_stay_off_while_it_installs_and_no_longer(system: System) -> None:
    install(system, "nftables", starts=False)
    assert "exit 101" in system.policies[0]
    assert not (system.root / "usr/sbin/policy-rc.d").exists()


def test_a_failure_leaves_no_policy(system: System) -> None:
    with pytest.raises(GaudiError):
        install(system, "nothing", starts=False)
    assert not (system.root / "usr/sbin/policy-rc.d").exists()


def test_the_site_s_own_policy_stands(system: System) -> None:
    policy = system.root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 0\n")
    install(system, "nftables", starts=False)
    assert system.policies == ["#!/bin/sh\nexit 0\n"]
    assert policy.exists()
