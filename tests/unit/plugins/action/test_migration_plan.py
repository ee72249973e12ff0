# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``plan_migration.yml`` as an operator plays it: shown, written once and never over anything, read by Ansible."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from ansible_collections.gaudi3.scale.tests.unit.plugins.plugin_utils._migration.other_tools import (
    OMNIA,
    SECRET,
    written,
)

ROOT = Path(__file__).resolve().parents[4]


def ansible(tool: str, folder: Path, *arguments: str) -> tuple[int, str]:
    environment = {name: value for name, value in os.environ.items() if name != "ANSIBLE_CONFIG"}
    ended = subprocess.run(
        [Path(sys.executable).with_name(tool), *arguments],
        cwd=folder,
        env={**environment, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_what_omnia_has_set_is_shown_and_written_once(tmp_path: Path) -> None:
    written(tmp_path / "omnia", OMNIA)
    playbook = str(ROOT / "playbooks" / "plan_migration.yml")

    def play(*arguments: str, **given: object) -> tuple[int, str]:
        variables = {"gaudi_migration_sources": ["omnia"], **given}
        return ansible(
            "ansible-playbook", tmp_path, playbook, "-i", "localhost,", "-e", json.dumps(variables), *arguments
        )

    status, screen = play()
    assert status == 0 and "changed=0" in screen, screen
    assert "softwares.intelgaudi = 1.19.2-32: as gaudi_release" in screen and SECRET not in screen
    status, screen = play("--check", "--diff", gaudi_migration_directory="mine")
    assert status == 0 and "would be written" in screen and not (tmp_path / "mine").exists(), screen
    status, screen = play(gaudi_migration_directory="mine")
    assert status == 0 and "changed=1" in screen, screen
    assert not (tmp_path / "planted").exists()
    status, shown = ansible("ansible-inventory", tmp_path, "-i", "mine", "--list")
    found = json.loads(shown[shown.index("{") :])
    assert found["gaudi"]["hosts"] == ["gaudi-01", "10.5.0.102", "10.5.0.103"]
    assert found["_meta"]["hostvars"]["gaudi-01"] == {
        "ansible_become": True,
        "ansible_host": "10.5.0.101",
        "ansible_user": "ubuntu",
        "gaudi_host_kernel_arguments": ["iommu=pt", "processor.max_cstate=0", "intel_iommu=on"],
        "gaudi_packages_url": "http://10.5.0.2/habana",
        "gaudi_release": "1.19.2",
    }
    before = (tmp_path / "mine" / "hosts.yml").read_bytes()
    status, screen = play(gaudi_migration_directory="mine")
    assert status == 2 and "has hosts.yml already, which stays as it is; name another directory." in screen
    assert (tmp_path / "mine" / "hosts.yml").read_bytes() == before
