# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The demo: from nothing to a trained model on two simulated nodes, and the way back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from .paths import CHECKOUT

PLAYBOOK = "sandbox/demo.yml"
REPORTS = CHECKOUT / "gaudi3_scale_reports"


def play(name: str) -> int:
    """Run the demo's playbook on the sandbox ``name``, on this terminal; returns ansible-playbook's status."""
    started = time.monotonic()
    environment = {**os.environ, "GAUDI_SANDBOX": name, "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg")}
    ansible_playbook = str(Path(sys.executable).with_name("ansible-playbook"))
    command = [ansible_playbook, "-i", "inventories/sandbox", PLAYBOOK, "-e", f"gaudi_report_target={REPORTS}"]
    status = subprocess.run(command, cwd=CHECKOUT, env=environment, check=False).returncode
    print(f"The playbooks {'took' if status == 0 else 'failed after'} {(time.monotonic() - started) / 60:.1f} minutes.")
    return status


def remove_what_it_made_here() -> None:
    """Remove the reports, the link to the checkout, and the virtual environment unless the tests use it too."""
    for report in ("site", "demo", "training-demo", "training-demo-continued"):
        for suffix in ("html", "json"):
            (REPORTS / f"{report}.{suffix}").unlink(missing_ok=True)
    if REPORTS.is_dir() and not any(REPORTS.iterdir()):
        REPORTS.rmdir()
    environment = CHECKOUT / ".venv"
    if (environment / ".installed-run").exists() and not (environment / ".installed-test").exists():
        shutil.rmtree(environment)
        shutil.rmtree(CHECKOUT / ".collections", ignore_errors=True)
