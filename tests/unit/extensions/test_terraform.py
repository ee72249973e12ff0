# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The example for AWS: what it makes, by its text; and by Terraform itself where that is here.

``GAUDI_TERRAFORM_PLUGINS`` names a directory with the provider, as ``terraform init -plugin-dir`` takes it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import hcl2
import pytest

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "extensions" / "terraform" / "aws_dl1" / "main.tf"
PLUGINS = os.environ.get("GAUDI_TERRAFORM_PLUGINS", "")


def plain(value: Any) -> Any:
    """Without the quotes that the parser leaves on names and texts."""
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.strip('"') if isinstance(value, str) else value


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    with EXAMPLE.open() as file:
        found: dict[str, Any] = plain(hcl2.load(file))
    return found


def resource(example: dict[str, Any], kind: str) -> dict[str, Any]:
    """The first resource of the kind."""
    return next(iter(next(one[kind] for one in example["resource"] if kind in one).values()))


def variable(example: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one[name] for one in example["variable"] if name in one)


def test_the_provider_has_a_version(example: dict[str, Any]) -> None:
    (providers,) = example["terraform"][0]["required_providers"]
    assert providers["aws"]["version"].startswith("~> ")


def test_nodes_lie_together_and_speak_efa(example: dict[str, Any]) -> None:
    assert resource(example, "aws_placement_group")["strategy"] == "cluster"
    assert resource(example, "aws_network_interface")["interface_type"] == "efa"
    assert "aws_placement_group.nodes" in resource(example, "aws_instance")["placement_group"]


def test_nothing_is_installed_at_boot_and_no_instance_refers_to_itself(example: dict[str, Any]) -> None:
    node = resource(example, "aws_instance")
    assert "user_data" not in node
    assert "aws_instance.node" not in str(node)


def test_only_the_type_with_the_cards_is_taken(example: dict[str, Any]) -> None:
    kind = variable(example, "instance_type")
    assert kind["default"] == "dl1.24xlarge"
    assert "instance_type has to be dl1.24xlarge" in str(kind["validation"])


def test_nobody_but_the_operators_reaches_ssh(example: dict[str, Any]) -> None:
    assert "0.0.0.0/0" in str(variable(example, "operators")["validation"])
    assert resource(example, "aws_instance")["metadata_options"][0]["http_tokens"] == "required"


@pytest.mark.skipif(
    not (PLUGINS and shutil.which("terraform")), reason="no terraform, or no provider in GAUDI_TERRAFORM_PLUGINS"
)
def test_terraform_takes_it(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE, tmp_path)
    given = {**os.environ, "TF_CLI_CONFIG_FILE": os.devnull, "CHECKPOINT_DISABLE": "1"}
    for command in (["init", "-input=false", f"-plugin-dir={PLUGINS}"], ["validate"], ["fmt", "-check"]):
        done = subprocess.run(
            ["terraform", *command], cwd=tmp_path, env=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
