# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""After the training stack: what the venv's own Python can do, and what pip may not do to it."""

from __future__ import annotations

import json

from testinfra.host import Host

from sandbox.vault.wheels import project_version_tag

PYTHON = "/opt/gaudi3_scale/venv/bin/python"


def in_venv(host: Host, code: str) -> str:
    return host.check_output(f"{PYTHON} -c '{code}'")


def test_torch_computes(host: Host) -> None:
    assert in_venv(host, "import torch; print(torch.ones(3).sum().item())") == "3.0"


def test_the_trainer_and_the_core_can_be_imported(host: Host) -> None:
    code = "import gaudi3_scale.train, gaudi3_scale.core.releases.lookup as releases; print(releases.NEWEST)"
    assert in_venv(host, code) == "1.24.1"


def test_the_node_library_is_the_vaults_build_of_this_checkout(host: Host) -> None:
    version = in_venv(host, 'from importlib.metadata import version; print(version("gaudi3-scale"))')
    assert version.endswith(project_version_tag())


def test_pip_finds_the_venv_consistent(host: Host) -> None:
    assert host.run(f"{PYTHON} -m pip check").rc == 0


def test_an_upgrade_of_torch_keeps_the_releases_build(host: Host) -> None:
    version = in_venv(host, "import torch; print(torch.__version__)")
    upgrade = host.run(f"{PYTHON} -m pip install --dry-run --quiet --upgrade --report - torch")
    if upgrade.rc == 0:
        replaced = [item["metadata"] for item in json.loads(upgrade.stdout)["install"]]
        assert [item for item in replaced if item["name"] == "torch" and item["version"] != version] == []
    else:
        assert "torch" in upgrade.stderr


def test_another_torch_is_refused(host: Host) -> None:
    assert host.run(f"{PYTHON} -m pip install --dry-run torch==2.0.0").rc != 0


def test_the_systems_python_is_left_alone(host: Host) -> None:
    assert host.run("/usr/bin/python3 -c 'import torch'").rc != 0
