# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node that answers each module with options of a role as facts: a program in the place of its Python."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

LOCAL = {"ansible_connection": "local", "ansible_become": False}
# So that what it would have run on the controller could run there.
CONTROLLER = {"localhost": {**LOCAL, "ansible_python_interpreter": sys.executable}}


def hostile_node(directory: Path, taken_over: Path) -> dict[str, Any]:
    """The node's variables; ``taken_over`` is what there is once a command of the node's has run on the controller."""
    facts = {
        "gaudi_quarantine_drain": "commands",
        "gaudi_drain_host": "localhost",
        "gaudi_drain_command": ["touch", str(taken_over)],
        "gaudi_drain_query_command": ["true"],
        "gaudi_drain_resume_command": ["true"],
    }
    mark = {"quarantined": False, "reason": "", "since": "", "until": "", "owner": ""}
    answer = json.dumps({"changed": False, **mark, "ansible_facts": facts, "ansible_stats": {"data": facts}})
    python = directory / "python"
    python.write_text(f"#!/bin/sh\necho '{answer}'\n")
    python.chmod(0o755)
    return {**LOCAL, "ansible_python_interpreter": str(python)}
