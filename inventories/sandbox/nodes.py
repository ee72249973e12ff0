#!/usr/bin/env python3
# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Inventory of a sandbox: the nodes that ``python3 -m sandbox up`` made.

GAUDI_SANDBOX names the sandbox (default: gaudi3). For real servers no script is needed; see inventories/bare_metal.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Print the inventory as Ansible's script plugin wants it."""
    name = os.environ.get("GAUDI_SANDBOX", "gaudi3")
    state = CHECKOUT / ".sandbox" / name
    try:
        cluster = json.loads((state / "cluster.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        sys.stderr.write(f"There is no sandbox {name}; make it with `python3 -m sandbox up --name {name}`.\n")
        return 1
    json.dump(inventory(cluster, state), sys.stdout, indent=2)
    return 0


def inventory(cluster: dict[str, object], state: Path) -> dict[str, object]:
    """The group ``gaudi`` with the sandbox's nodes, reached over SSH with its own key and known_hosts."""
    nodes = {node["name"]: {"ansible_host": node["address"]} for node in cluster["nodes"]}  # type: ignore[attr-defined]
    # Every sandbox has a node1. Omit on servers, whose names tell them apart: one record for all is in the home.
    record = {"gaudi_quarantine_marks": str(state / "quarantine.json")}
    connection = {
        "ansible_user": "operator",
        "ansible_become": True,
        "ansible_python_interpreter": "/usr/bin/python3",
        "ansible_ssh_private_key_file": str(state / "id_ed25519"),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={state / 'known_hosts'} -o StrictHostKeyChecking=yes"
        " -o IdentitiesOnly=yes",
    }
    of_all = {**connection, **record}
    return {"_meta": {"hostvars": nodes}, "gaudi": {"hosts": sorted(nodes, key=_number), "vars": of_all}}


def _number(node: str) -> int:
    return int(node.removeprefix("node"))


if __name__ == "__main__":
    sys.exit(main())
