# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The real kubectl reads each manifest and hands it to an API server of the tests' own, which keeps what it gets."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.render import render
from ansible_collections.gaudi3.scale.tests.unit.described_pods import INSTANCE, described_instances, described_pods

# For Python 3.11 and newer, as its package says.
kmock = pytest.importorskip("kmock")

KUBECTL = shutil.which("kubectl", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
# Group, version and plural -> kind: what a cluster with JobSet and Kubeflow Trainer has of what we write.
RESOURCES = {
    ("apps", "v1", "deployments"): "Deployment",
    ("batch", "v1", "jobs"): "Job",
    ("jobset.x-k8s.io", "v1alpha2", "jobsets"): "JobSet",
    ("resource.k8s.io", "v1", "resourceclaimtemplates"): "ResourceClaimTemplate",
    ("trainer.kubeflow.org", "v1alpha1", "trainingruntimes"): "TrainingRuntime",
    ("trainer.kubeflow.org", "v1alpha1", "trainjobs"): "TrainJob",
}
CORE = {"configmaps": "ConfigMap", "services": "Service"}
VERBS = ("create", "get", "list", "patch", "delete")
# Words that YAML readers take for different things.
VARIABLES = {"RATE": "1e-4", "LETTER": "y", "PORT": "0o17", "LATER": "12:30", "TEXT": "a $(B) 'c' \"d\" # e: f"}


def cluster() -> Any:
    """The server. kmock 0.8 calls the core group's version ``/v1``, where kubectl looks for ``v1``."""
    server = kmock.KubernetesEmulator()
    for (group, version, plural), kind in RESOURCES.items():
        info = kmock.ResourceInfo(kind=kind, namespaced=True, verbs=set(VERBS))
        server.resources[kmock.resource(group, version, plural)] = info
    core = [{"name": name, "kind": kind, "namespaced": True, "verbs": VERBS} for name, kind in CORE.items()]
    server["get /api/v1"] << {"kind": "APIResourceList", "groupVersion": "v1", "resources": core}
    return server


async def created(path: Path, *arguments: str) -> tuple[str, list[dict[str, Any]]]:
    """What kubectl says, and the objects that the server has then."""
    async with cluster() as server, kmock.Server(server) as listening:
        command = ["--server", str(listening.url), "--cache-dir", str(path.parent / "cache"), "create", "-o", "name"]
        # The server has no OpenAPI by which kubectl would look at the fields.
        process = await asyncio.create_subprocess_exec(
            str(KUBECTL),
            *command,
            "--validate=false",
            "-f",
            str(path),
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={"HOME": str(path.parent), "PATH": "/usr/bin:/bin"},
        )
        said, _nothing = await asyncio.wait_for(process.communicate(), 60)
        kept = [dict(server.objects[key].raw) for key in server.objects]
    assert process.returncode == 0, said.decode()
    return said.decode(), kept


@pytest.mark.parametrize(
    "options",
    [
        described_pods(job={"environment": VARIABLES}),
        described_pods(job={"environment": VARIABLES}, kind="jobset", cards_from="dra"),
        described_pods(job={"environment": VARIABLES}, kind="trainjob"),
        described_instances(instances=[{**INSTANCE, "environment": VARIABLES}]),
    ],
    ids=lambda options: options["kind"],
)
def test_kubectl_creates_what_was_written(tmp_path, options):
    path = tmp_path / "llama.yml"
    path.write_text(render(options).text, encoding="utf-8")
    written = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    foretold, none = asyncio.run(created(path, "--dry-run=client"))
    said, kept = asyncio.run(created(path))
    assert (foretold, none) == (said, [])
    assert len(said.splitlines()) == len(written)
    # Read by Go's YAML and by Python's alike; kubectl names the namespace.
    for one in written:
        one["metadata"].setdefault("namespace", "default")
    found = sorted(kept, key=lambda one: one["kind"])
    for one in found:
        one["metadata"].setdefault("namespace", "default")
    assert found == sorted(written, key=lambda one: one["kind"])


def test_a_manifest_that_is_no_yaml_would_be_found(tmp_path):
    path = tmp_path / "llama.yml"
    path.write_text(render(described_pods()).text.replace("kind: Job\n", "kind: Jobb\n"), encoding="utf-8")
    with pytest.raises(AssertionError, match="no matches for kind"):
        asyncio.run(created(path))
