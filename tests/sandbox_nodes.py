# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What tests on nodes of a sandbox share: the nodes over SSH, their faults, and runs of playbooks as AWX makes them.

The sandbox is the one that GAUDI_SANDBOX names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ansible_runner
import testinfra
from testinfra.host import Host

ROOT = Path(__file__).resolve().parents[1]
INVENTORY = ROOT / "inventories" / "sandbox"
SANDBOX = os.environ["GAUDI_SANDBOX"]


def hosts(pattern: str = "gaudi") -> dict[str, Host]:
    """The nodes of the inventory by name; every command runs as root."""
    found = testinfra.get_hosts(
        [f"ansible://{pattern}"],
        ansible_inventory=str(INVENTORY),
        ssh_config=str(ROOT / ".config" / "molecule" / "ssh_config"),
        sudo=True,
    )
    return {host.backend.hostname: host for host in found}


def hostvars() -> dict[str, dict[str, Any]]:
    """Node -> all of its variables, for an inventory that is a plain file, as programs take it that copy theirs."""
    command = ["ansible-inventory", "-i", str(INVENTORY), "--list"]
    known = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)
    return {node: known["_meta"]["hostvars"][node] for node in known["gaudi"]["hosts"]}


def bytes_sent(host: Host) -> dict[str, int]:
    """Interface -> what it has sent since it is there."""
    links = json.loads(host.check_output("ip -json -stats link"))
    return {link["ifname"]: int(link["stats64"]["tx"]["bytes"]) for link in links}


def sandbox(*arguments: str) -> None:
    """``python3 -m sandbox``, about these nodes."""
    command = [sys.executable, "-m", "sandbox", *arguments, "--name", SANDBOX]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


@contextmanager
def fault(node: str, *faults: str) -> Iterator[None]:
    """The node with these faults, if any, and healthy again afterwards."""
    if not faults:
        yield
        return
    sandbox("fault", node, *faults)
    try:
        yield
    finally:
        sandbox("fault", node, "clear")


def ready_for_jobs(directory: Path) -> dict[str, Host]:
    """The nodes by name, with what a job needs: the golden image may be gone, or older than this checkout's library.

    The driver layer brings the vendor's packages, and flags their environment to the ranks.
    """
    for layer in ("driver", "venv", "flags"):
        played = run(directory, layer)
        assert played.status == "successful", played.stdout.read()[-4000:]
    return hosts()


def run(
    directory: Path,
    playbook: str | list[dict[str, Any]],
    *,
    inventory: Sequence[str] = (),
    arguments: str = "",
    **variables: object,
) -> ansible_runner.Runner:
    """Run a playbook of the collection by its name, or plays, with what ansible-runner keeps below ``directory``."""
    return ansible_runner.run(
        # One of its own for each run: where a run before has left variables, ansible-runner takes those.
        private_data_dir=tempfile.mkdtemp(dir=directory),
        playbook=f"gaudi3.scale.{playbook}" if isinstance(playbook, str) else playbook,
        inventory=[str(INVENTORY), *inventory],
        cmdline=arguments or None,
        extravars=dict(variables),
        envvars={
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "GAUDI_SANDBOX": SANDBOX,
            "PATH": os.environ["PATH"],
        },
        quiet=True,
    )


@dataclass(frozen=True)
class Played:
    """One run of a playbook: its status, how many results changed something, what was on the screen, and failures."""

    status: str
    changed: int
    screen: str
    messages: tuple[str, ...]


def played(done: ansible_runner.Runner) -> Played:
    failed = [event["event_data"]["res"] for event in done.events if event["event"] == "runner_on_failed"]
    changed = sum(done.stats["changed"].values())
    return Played(done.status, changed, done.stdout.read(), tuple(str(res.get("msg", "")) for res in failed))
