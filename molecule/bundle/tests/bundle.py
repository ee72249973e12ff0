# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of playbooks about the bundle on node2, and what a site sets to install from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testinfra.host import Host

from tests.sandbox_nodes import run

BUNDLE = "/srv/molecule_bundle"
PORT = 8090


@dataclass(frozen=True)
class Play:
    """How a run ended. ``said`` is what the first failing task said, ``items`` the results of a loop by its item."""

    ok: bool
    said: str
    changed: int
    items: Mapping[str, dict[str, Any]]
    output: str


def play(scratch: Path, *playbooks: str, **variables: object) -> Play:
    """Run playbooks of the collection, one after the other."""
    result = run(
        scratch,
        [{"import_playbook": f"gaudi3.scale.{name}"} for name in playbooks],
        **{"gaudi_bundle_host": "node2", "gaudi_bundle_path": BUNDLE, "gaudi_bundle_port": PORT, **variables},
    )
    failed = [event["event_data"]["res"] for event in result.events if event["event"] == "runner_on_failed"]
    items = [event["event_data"]["res"] for event in result.events if event["event"] == "runner_item_on_ok"]
    return Play(
        result.rc == 0,
        str(failed[0].get("msg", "")) if failed else "",
        sum(result.stats.get("changed", {}).values()),
        {str(item["item"]): item for item in items if isinstance(item.get("item"), str)},
        result.stdout.read()[-6000:],
    )


def fingerprint(host: Host) -> str:
    """The key's that signs the bundle, as a person reads it off there."""
    shown: str = host.check_output(f"gpg --show-keys --with-colons {BUNDLE}/gaudi3_scale/key.asc | grep ^fpr")
    return shown.split(":")[9]


def served_from(connected: Host, address: str) -> dict[str, object]:
    """What a site sets to install from the bundle at that address; the sandbox names an index, a site need not."""
    return {
        "gaudi_packages_url": f"http://{address}:{PORT}",
        "gaudi_plain_http_hosts": [address],
        "gaudi_bundle_fingerprint": fingerprint(connected),
        "gaudi_venv_index_url": "",
    }


def cut_off(host: Host) -> None:
    """From the package repository, from the distribution's mirrors, and from any other place that is not a node."""
    repository = host.check_output("getent hosts packages.sandbox.internal").split()[0]
    host.check_output(f"ip route del default; ip route replace unreachable {repository}")
    assert host.run(f"python3 -c 'import socket; socket.create_connection((\"{repository}\", 80), 3)'").rc != 0
