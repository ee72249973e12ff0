# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The demo: from nothing to a trained model on two simulated nodes, and the way back."""

from __future__ import annotations

import os
import subprocess
import time

from .paths import CHECKOUT

PLAYBOOK = "sandbox/demo.yml"


def play_demo(name: str) -> int:
    """Run the demo's playbook on the sandbox ``name``, on this terminal; returns ansible-playbook's status."""
    started = time.monotonic()
    environment = {**os.environ, "GAUDI_SANDBOX": name, "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg")}
    command = ["ansible-playbook", "-i", "inventories/sandbox", PLAYBOOK]
    status = subprocess.run(command, cwd=CHECKOUT, env=environment, check=False).returncode
    print(f"The demo {'took' if status == 0 else 'failed after'} {(time.monotonic() - started) / 60:.1f} minutes.")
    return status
