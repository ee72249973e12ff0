# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""An execution environment for AWX: what ansible-builder makes of our definition and reads of the collection."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from .test_collection import ROOT, galaxy

DEFINITION = ROOT / "extensions" / "execution_environment"
BUILDER = Path(sys.executable).with_name("ansible-builder")


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The definition with the tarball, as an operator has them."""
    target = tmp_path_factory.mktemp("ee") / "definition"
    shutil.copytree(DEFINITION, target)
    galaxy("build", "--output-path", str(target))
    (tarball,) = target.glob("gaudi3-scale-*.tar.gz")
    tarball.rename(target / "gaudi3-scale.tar.gz")
    return target


def test_the_definition_is_rendered(beside: Path) -> None:
    command = [BUILDER, "create", "--file", "execution-environment.yml", "--context", "context"]
    subprocess.run(command, cwd=beside, check=True, capture_output=True)
    rendered = (beside / "context" / "Containerfile").read_text()
    assert 'ARG EE_BASE_IMAGE="registry.example.org/ansible/ee-minimal:latest"' in rendered
    assert 'ARG ANSIBLE_INSTALL_REFS="ansible-core>=2.17 ansible-runner>=2.4"' in rendered
    galaxy_stage = rendered.split("AS galaxy")[1].split("AS builder")[0]
    assert galaxy_stage.index("COPY _build /build") < galaxy_stage.index("ansible-galaxy collection install")
    wanted = yaml.safe_load((beside / "context" / "_build" / "requirements.yml").read_text())
    (collection,) = wanted["collections"]
    # From where it is copied to before it is installed.
    inside = beside / "context" / "_build" / Path(collection["name"]).relative_to("/build")
    assert inside.stat().st_size == (beside / "gaudi3-scale.tar.gz").stat().st_size


def test_what_the_collection_needs_is_read_from_it(beside: Path, tmp_path: Path) -> None:
    galaxy("install", "--offline", "--collections-path", str(tmp_path), str(beside / "gaudi3-scale.tar.gz"))
    command = [BUILDER, "introspect", "--sanitize", tmp_path]
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    needed = yaml.safe_load(said)
    assert [line.split()[0] for line in needed["python"]] == ["boto3>=1.34"]
    assert {line.split()[0] for line in needed["system"]} == {"openssh-clients", "openssh-client"}


def test_an_environment_has_what_the_collection_needs_by_both_ways() -> None:
    """ansible-builder reads it; on Debian the recipe does."""
    assert "meta/ee-requirements.txt" in (DEFINITION / "Containerfile.debian").read_text()
