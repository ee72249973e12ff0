# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The demo: from nothing to a trained model on two simulated nodes, or its half that needs none, and the way back."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from .commands import say
from .errors import SandboxError
from .paths import CHECKOUT

PLAYBOOK, HERE = "sandbox/demo.yml", "sandbox/demo_here.yml"
REPORTS = CHECKOUT / "gaudi3_scale_reports"


def play(name: str) -> int:
    """Run the demo's playbook on the sandbox ``name``, on this terminal; returns ansible-playbook's status."""
    return _play(PLAYBOOK, "inventories/sandbox", {}, {"GAUDI_SANDBOX": name})


def play_here(lacks: str) -> int:
    """Say what this machine lacks for nodes, and run the half of the demo that needs none; returns its status."""
    say(f"There are no nodes, since this machine lacks what they need:\n{lacks}")
    say("Here is the half that needs none: a batch probe, and a training over two local ranks.")
    _bring_node_library()
    work = REPORTS / "demo"
    shutil.rmtree(work, ignore_errors=True)
    variables = {
        "demo_directory": str(work),
        "demo_venv": sys.prefix,
        "demo_user": pwd.getpwuid(os.geteuid()).pw_name,
        "demo_text": str(CHECKOUT / "docs"),
    }
    return _play(HERE, "localhost,", variables, {})


def _play(playbook: str, inventory: str, variables: Mapping[str, str], environment: Mapping[str, str]) -> int:
    started = time.monotonic()
    around = {**os.environ, **environment, "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg")}
    ansible_playbook = str(Path(sys.executable).with_name("ansible-playbook"))
    given = {"gaudi_report_target": str(REPORTS), **variables}
    extra = [word for name, value in given.items() for word in ("-e", f"{name}={value}")]
    command = [ansible_playbook, "-i", inventory, playbook, *extra]
    status = subprocess.run(command, cwd=CHECKOUT, env=around, check=False).returncode
    print(f"The playbooks {'took' if status == 0 else 'failed after'} {(time.monotonic() - started) / 60:.1f} minutes.")
    return status


def _bring_node_library() -> None:
    """Install the node library with PyTorch beside this Python, where it is not there."""
    if all(importlib.util.find_spec(name) for name in ("torch", "lightning", "gaudi3_scale")):
        return
    say("Installing PyTorch and the node library; minutes, and gigabytes where pip finds no build for CPUs alone.")
    command = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--editable", "."]
    if subprocess.run(command, cwd=CHECKOUT, check=False).returncode != 0:
        raise SandboxError("pip could not install the node library; the lines above say why.")


def remove_what_it_made_here() -> None:
    """Remove the reports, the link to the checkout, and the virtual environment unless the tests use it too."""
    shutil.rmtree(REPORTS / "demo", ignore_errors=True)
    for report in ("site", "demo", "demo-batch-size", "training-demo", "training-demo-continued"):
        for suffix in ("html", "json"):
            (REPORTS / f"{report}.{suffix}").unlink(missing_ok=True)
    if REPORTS.is_dir() and not any(REPORTS.iterdir()):
        REPORTS.rmdir()
    environment = CHECKOUT / ".venv"
    if (environment / ".installed-run").exists() and not (environment / ".installed-test").exists():
        shutil.rmtree(environment)
        shutil.rmtree(CHECKOUT / ".collections", ignore_errors=True)
