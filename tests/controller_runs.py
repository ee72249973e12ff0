# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of ``configure_controller.yml`` with the real modules of awx.awx, against a controller of the tests' own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.controller_stub import TOKEN, Controller

ROOT = Path(__file__).resolve().parents[1]
COLLECTIONS = ROOT / ".collections"
# Variables and further arguments -> the exit status, and the screen.
Configure = Callable[..., tuple[int, str]]


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Run the playbook: the exit status, and the screen."""
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)

    def run(variables: dict[str, object], *arguments: str) -> tuple[int, str]:
        ansible = Path(sys.executable).with_name("ansible-playbook")
        given = {"gaudi_controller_token": TOKEN, "gaudi_controller_credentials": ["operator"], **variables}
        ended = subprocess.run(
            [
                ansible,
                ROOT / "playbooks" / "configure_controller.yml",
                "-i",
                "localhost,",
                "-e",
                json.dumps(given),
                *list(arguments),
            ],
            cwd=tmp_path,
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_PIPELINING": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, " ".join(ended.stdout.split())

    return run


def with_operator(prefix: str = "/api/") -> Controller:
    controller = Controller(prefix)
    controller.add("credentials", {"name": "operator"})
    return controller


GATEWAY = "/api/controller/"
