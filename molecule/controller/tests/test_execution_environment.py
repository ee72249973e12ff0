# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The recipe for Debian, built, and a play from inside of it: with ansible-runner's own isolation, as AWX runs jobs.

Its base is the sandbox's image, and its wheels come from a directory, as at a site without internet.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ansible_runner
import pytest

from sandbox.paths import cluster_state
from sandbox.podman import limits, podman
from tests.sandbox_nodes import ROOT, SANDBOX, hostvars

DEFINITION = ROOT / "extensions" / "execution_environment"
IMAGE = f"{SANDBOX}-execution-environment"
# Of what ansible-runner starts itself; the sandbox says why.
CONTAINERS_CONF = """[engine]
runtime = "runc"
[containers]
netns = "host"
default_ulimits = [{ulimits}]
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place = tmp_path_factory.mktemp("ee")
    shutil.copytree(DEFINITION, place, dirs_exist_ok=True)
    build = ["ansible-galaxy", "collection", "build", "--output-path", str(place)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(place / "wheels")]
    needed = [
        "ansible-core>=2.17,<2.22",
        "ansible-runner>=2.4",
        "--requirement",
        str(ROOT / "meta/ee-requirements.txt"),
    ]
    subprocess.run([*fetch, *needed], check=True, capture_output=True)
    base = podman("inspect", "--format", "{{.ImageName}}", f"{SANDBOX}-repository").strip()
    podman(
        "build",
        *limits(),
        "--network=host",
        f"--file={place / 'Containerfile.debian'}",
        f"--build-arg=BASE={base}",
        "--build-arg=PIP_OPTIONS=--no-index --find-links /tmp/build/wheels",
        f"--tag={IMAGE}",
        str(place),
    )
    yield IMAGE
    podman("rmi", "--force", IMAGE)


@pytest.mark.long
def test_any_user_finds_the_collection_in_it(image: str) -> None:
    command = ["ansible-galaxy", "collection", "list", "gaudi3.scale"]
    said = podman("run", "--rm", *limits(), "--user=123456:0", image, *command)
    assert "gaudi3.scale" in said
    # Without a name of its own, ssh would not start for it.
    assert podman("run", "--rm", *limits(), "--user=123456:0", "--passwd=false", image, "id", "-un").strip() == "runner"
    tasks = podman(
        "run", "--rm", *limits(), image, "ansible-playbook", "gaudi3.scale.site", "-i", "n1,", "--list-tasks"
    )
    assert "gaudi_driver" in tasks


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ulimits = ", ".join(json.dumps(one.removeprefix("--ulimit=")) for one in limits())
    (tmp_path / "containers.conf").write_text(CONTAINERS_CONF.format(ulimits=ulimits))
    monkeypatch.setenv("CONTAINERS_CONF", str(tmp_path / "containers.conf"))


def inventory() -> dict[str, Any]:
    """The nodes with all of their variables; the key is given apart, as a controller does."""
    given = {"ansible_ssh_common_args": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"}
    keyless = {
        node: {name: value for name, value in said.items() if name != "ansible_ssh_private_key_file"} | given
        for node, said in hostvars().items()
    }
    return {"gaudi": {"hosts": keyless}}


@pytest.mark.long
@pytest.mark.usefixtures("nodes", "settings")
def test_a_play_from_inside_of_it_reaches_the_nodes(image: str, tmp_path: Path) -> None:
    private = tmp_path / "private"
    for folder in ("env", "project", "inventory"):
        (private / folder).mkdir(parents=True)
    key = cluster_state(SANDBOX) / "id_ed25519"
    (private / "env" / "ssh_key").write_text(key.read_text())
    (private / "inventory" / "nodes.json").write_text(json.dumps(inventory()))
    done = ansible_runner.run(
        private_data_dir=str(private),
        playbook="gaudi3.scale.verify",
        extravars={"awx_job_id": 7, "gaudi_verify_all_reduce": False},
        process_isolation=True,
        process_isolation_executable="podman",
        container_image=image,
        container_options=["--user=0"],
        quiet=True,
    )
    said = done.stdout.read()
    assert done.status == "successful", said[-4000:]
    assert len(done.stats["ok"]) == len(inventory()["gaudi"]["hosts"])
