# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the role gives the module: who reads, who is yet to come, and where the node listens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.gaudi3.scale.tests.unit.template_engine import filled_in

ROOT = Path(__file__).parents[5]
ROLE = ROOT / "roles/gaudi_exporter"
IDENTITY = "gaudi_monitoring_identity_result"
MADE = {IDENTITY: {"changed": False, "certificate": "watcher's"}}


def given(option: str, servers: list[str], hostvars: dict[str, Any], **own: Any) -> Any:
    """What the module is given for ``option`` on a node with the variables ``own``."""
    texts = {**yaml.safe_load((ROLE / "defaults/main.yml").read_text())}
    texts |= yaml.safe_load((ROLE / "vars/main.yml").read_text())
    facts = {"gaudi_exporter_servers": servers, "inventory_hostname": "gaudi-01", "hostvars": hostvars, **own}
    tasks = yaml.safe_load((ROLE / "tasks/main.yml").read_text())
    task = next(one["gaudi3.scale.hpu_exporter"] for one in tasks if "gaudi3.scale.hpu_exporter" in one)
    return filled_in(task[option], {**texts, **facts})


@pytest.mark.parametrize(
    ("watcher", "readers", "to_come"),
    [
        (MADE, ["watcher's"], []),
        # Left out by --limit, and not reached.
        ({}, [], ["watcher"]),
        # New, in check mode.
        ({IDENTITY: {"changed": True, "certificate": ""}}, [], ["watcher"]),
        ({IDENTITY: {"failed": True, "msg": "no openssl"}}, [], ["watcher"]),
        # It is to watch nobody.
        ({IDENTITY: {"changed": False, "skipped": True}}, [], []),
    ],
)
def test_a_server_reads_or_is_yet_to_come(watcher: dict[str, Any], readers: list[str], to_come: list[str]) -> None:
    hostvars = {"watcher": watcher, "second": MADE, "gaudi-01": {}}
    assert given("readers", ["watcher", "second"], hostvars) == [*readers, "watcher's"]
    assert given("readers_to_come", ["watcher", "second"], hostvars) == to_come


def test_without_a_server_nobody_is_to_come() -> None:
    assert given("readers_to_come", [], {}) == []
    assert given("address", [], {}, ansible_host="10.0.0.11") == "127.0.0.1"


@pytest.mark.parametrize(("own", "address"), [({"ansible_host": "10.0.0.11"}, "10.0.0.11"), ({}, "gaudi-01")])
def test_a_node_listens_where_its_server_asks(own: dict[str, str], address: str) -> None:
    """A name is refused. At the loopback it would listen, and nobody would hear it."""
    assert given("address", ["watcher"], {"watcher": MADE}, **own) == address


def test_a_run_needs_the_machine_that_watches() -> None:
    """So that a controller asks for no limit, with which the module would refuse."""
    assert yaml.safe_load((ROOT / "playbooks/meta/monitoring.yml").read_text())["together"]


@pytest.mark.parametrize("role", ["gaudi_exporter", "gaudi_monitoring"])
def test_where_the_distribution_s_programs_know_less_than_they_are_given_the_role_is_not_offered(role: str) -> None:
    """Ubuntu 22.04 has a node exporter without --web.config.file, and a Prometheus without min_version."""
    about = yaml.safe_load((ROOT / "roles" / role / "meta/main.yml").read_text())["galaxy_info"]
    assert {"name": "Ubuntu", "versions": ["noble"]} in about["platforms"]
