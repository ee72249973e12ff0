# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``build_image.yml`` on node1: a real podman, Debian's registry on the loopback, real apt and pip; torch is simulated.

The base image is the node's own Python under the vendor's name (tests/base_image_on_node.py), with a stand-in for
PyTorch that says the vendor's version (tests/image_base.py).
"""

from __future__ import annotations

import base64
import io
import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from tests.image_base import RELEASE, TORCH, greedy_wheel, rude_wheel, vendors_packages, write_files, write_wheel
from tests.long_rows import named_rows
from tests.node_registry import SERVE
from tests.sandbox_nodes import ROOT, hosts, run

PLACE = "/srv/molecule_image"
CODE, INDEX = f"{PLACE}/code", f"{PLACE}/wheels/simple"
REGISTRY, PACKAGES = "127.0.0.1:5000", "http://127.0.0.1:5001/simple"
VENDORS = "gaudi-docker/1.24.1/ubuntu22.04/habanalabs/pytorch-installer-2.11.0"
REPOSITORY = f"{REGISTRY}/team/molecule-llm"
IMAGES = "/var/lib/gaudi3_scale/images"
TOOLS = "podman buildah runc skopeo docker-registry python3-pip"


@dataclass(frozen=True)
class Built:
    """How a run ended: the role's result, or the sentence of its failure; ``screen`` is what was printed."""

    result: dict[str, Any]
    said: str
    screen: str


@pytest.fixture(scope="module")
def node() -> Host:
    return hosts("node1")["node1"]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runner")


def send(node: Host, directory: Path, target: str) -> None:
    """Copy small files to the node."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        archive.add(directory, ".")
    text = base64.b64encode(packed.getvalue()).decode()
    node.check_output(f"mkdir -p {target} && echo {text} | base64 -d | tar -xJC {target}")


def write(node: Host, path: str, text: str) -> None:
    node.check_output(f"echo {base64.b64encode(text.encode()).decode()} | base64 -d > {path}")


def write_code(node: Host, *requirements: str, text: str = "print('step')") -> None:
    node.check_output(f'mkdir -p {CODE}/.git && echo "{text}" > {CODE}/train.py && echo x > {CODE}/.git/HEAD')
    node.check_output(f"printf '%s\\n' {' '.join(requirements)} > {CODE}/requirements.txt")


@pytest.fixture(scope="module", autouse=True)
def base_digest(node: Host, scratch: Path) -> Iterator[str]:
    """The digest of the base image in the registry of this node; an index with three wheels beside."""
    node.check_output(f"apt-get -q update && apt-get -qy install --no-install-recommends {TOOLS}")
    node.check_output("systemctl stop docker-registry; rm -rf /var/lib/docker-registry/docker")
    node.check_output(SERVE)
    files, wheels = scratch / "files", scratch / "wheels/simple"
    write_files(files, vendors_packages())
    for name, make in {
        "good": lambda place: write_wheel(place, "good", "1.0", {"good.py": "ANSWER = 42\n"}),
        "rude": rude_wheel,
        "greedy": greedy_wheel,
    }.items():
        (wheels / name).mkdir(parents=True)
        make(wheels / name)
    send(node, files, f"{PLACE}/files")
    send(node, scratch / "wheels", f"{PLACE}/wheels")
    write(node, f"{PLACE}/base_image.py", (ROOT / "tests/base_image_on_node.py").read_text())
    node.check_output(
        "systemd-run --unit molecule-index --property=DynamicUser=yes "
        f"/usr/bin/python3 -m http.server 5001 --bind 127.0.0.1 --directory {PLACE}/wheels"
    )
    name = f"{REGISTRY}/{VENDORS}:{RELEASE}"
    node.check_output(f"python3 {PLACE}/base_image.py {PLACE}/files {name} {PLACE}/digest")
    yield node.check_output(f"cat {PLACE}/digest").strip()
    node.run("systemctl stop molecule-index docker-registry")
    node.run(
        f"podman rmi --all --force; rm -rf {PLACE} {IMAGES} /var/lib/docker-registry/docker /var/tmp/buildah-cache-*"
    )


def build(scratch: Path, digest: str, *, arguments: str = "", **variables: object) -> Built:
    """One run of the playbook."""
    given: dict[str, object] = {
        "gaudi_image_host": "node1",
        "gaudi_image_name": "molecule-llm",
        "gaudi_image_code": CODE,
        "gaudi_image_registry": f"{REGISTRY}/gaudi-docker",
        "gaudi_image_base_digest": digest,
        "gaudi_image_index_url": PACKAGES,
        "gaudi_image_push": REPOSITORY,
        "gaudi_image_command": ["python3", "train.py"],
        "gaudi_plain_http_hosts": ["127.0.0.1"],
        "gaudi_device": "cpu",
        # The builder looks for runc by its name alone, which in a node that is a container starts nothing.
        "gaudi_proxy": {"BUILDAH_ISOLATION": "chroot"},
    }
    done = run(scratch, "build_image", arguments=arguments, **{**given, **variables})
    events = [event["event_data"] for event in done.events if event["event"].startswith("runner_on_")]
    results = [data["res"] for data in events if "inputs" in data.get("res", {})]
    failed = [event["event_data"]["res"] for event in done.events if event["event"] == "runner_on_failed"]
    said = str(failed[0].get("msg", "")) if failed else ""
    screen = done.stdout.read()
    assert (done.status == "successful") == (not failed), screen[-4000:]
    return Built(results[-1] if results else {}, said, screen)


@pytest.fixture(scope="module")
def first(node: Host, scratch: Path, base_digest: str) -> Built:
    """The first image; apt and pip have each installed something."""
    write_code(node, "good==1.0")
    built = build(scratch, base_digest, gaudi_image_os_packages=["libaio1"])
    assert not built.said, built.said
    return built


def test_an_image_is_built_tested_pushed_and_signed(first: Built, node: Host) -> None:
    result = first.result
    assert result["steps"] == ["build", "test", "push", "sign"]
    assert result["proof"] == {"device": "cpu", "ranks": 2, "torch": TORCH}
    assert (result["torch"], result["release"]) == (TORCH, RELEASE)
    assert f"jobs start it as {result['pushed']}" in " ".join(first.screen.split())
    inspected = json.loads(node.check_output(f"skopeo inspect --tls-verify=false docker://{result['pushed']}"))
    assert inspected["Digest"] == result["digest"]
    assert inspected["Labels"]["scale.gaudi3.release"] == RELEASE
    assert inspected["Labels"]["scale.gaudi3.inputs"] == result["inputs"]


@pytest.mark.long
def test_what_is_pulled_by_its_digest_runs_the_code_as_nobody_of_the_host(first: Built, node: Host) -> None:
    pushed = first.result["pushed"]
    node.check_output(f"podman pull --quiet --tls-verify=false {pushed}")
    inside = "import os, torch, good; print(os.getuid(), os.getgid(), os.getcwd(), torch.__version__, good.ANSWER)"
    started = f"podman run --rm --network none {pushed}"
    assert node.check_output(f"{started} python3 -c '{inside}'").strip() == f"1000 1000 /workspace {TORCH} 42"
    assert node.check_output(started).strip() == "step"
    assert node.run(f"{started} sh -c 'test -e .git || touch train.py'").rc != 0


def test_a_second_run_builds_nothing(first: Built, scratch: Path, base_digest: str) -> None:
    again = build(scratch, base_digest, gaudi_image_os_packages=["libaio1"])
    assert (again.result["changed"], again.result["steps"]) == (False, [])
    assert again.result["msg"].startswith("Nothing to build: localhost/gaudi3_scale/molecule-llm:")
    assert again.result["digest"] == first.result["digest"]


def test_two_builds_from_the_base_on_give_one_digest(first: Built, scratch: Path, base_digest: str) -> None:
    again = build(scratch, base_digest, gaudi_image_os_packages=["libaio1"], gaudi_image_rebuild=True)
    assert again.result["steps"] == ["build", "test", "push", "sign"]
    assert again.result["cached_instructions"] == 0
    assert (again.result["image_id"], again.result["digest"]) == (first.result["image_id"], first.result["digest"])


@pytest.mark.long
def test_a_change_of_the_code_takes_all_else_from_the_cache(
    first: Built, node: Host, scratch: Path, base_digest: str
) -> None:
    write_code(node, "good==1.0", text="print('another step')")
    changed = build(scratch, base_digest, gaudi_image_os_packages=["libaio1"])
    result = changed.result
    # All but FROM, the code and the labels.
    assert result["cached_instructions"] >= result["instructions"] - 3
    assert result["digest"] != first.result["digest"]
    layers = [
        json.loads(node.check_output(f"skopeo inspect --tls-verify=false docker://{one['pushed']}"))["Layers"]
        for one in (first.result, result)
    ]
    assert len(layers[0]) == len(layers[1]) and layers[0][:-1] == layers[1][:-1]


@pytest.mark.parametrize(
    ("requirement", "sentence"),
    [
        ("rude==1.0", f"torch was {TORCH} and is "),
        pytest.param(
            "greedy==1.0",
            f"Greedy 1.0 wants torch ==9.9.0, and the vendor's image has {TORCH}, which stays",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_build_that_would_change_torch_fails_with_both_versions(
    node: Host, scratch: Path, base_digest: str, requirement: str, sentence: str
) -> None:
    write_code(node, requirement)
    before = node.check_output("podman images --quiet --filter reference='localhost/gaudi3_scale/*'").split()
    built = build(scratch, base_digest)
    assert sentence in built.said and "9.9.0" in built.said
    assert node.check_output("podman images --quiet --filter reference='localhost/gaudi3_scale/*'").split() == before


@contextmanager
def policy(node: Host, key: str) -> Iterator[None]:
    """The node takes images of the registry as that key signed them, and no other."""
    demand = {"type": "signedBy", "keyType": "GPGKeys", "keyPath": key}
    rules = {"default": [{"type": "insecureAcceptAnything"}], "transports": {"docker": {REGISTRY: [demand]}}}
    lookaside = f"docker:\n  {REGISTRY}:\n    lookaside: file://{IMAGES}/signatures\n"
    for path, text in {
        "/etc/containers/policy.json": json.dumps(rules),
        "/etc/containers/registries.d/molecule.yaml": lookaside,
    }.items():
        node.run(f"mkdir -p {Path(path).parent}; cp --archive {path} {path}.kept")
        write(node, path, text)
    try:
        yield
    finally:
        for path in ("/etc/containers/policy.json", "/etc/containers/registries.d/molecule.yaml"):
            node.run(f"rm -f {path}; mv {path}.kept {path}")


@pytest.mark.long
def test_the_signature_is_what_podmans_policy_demands(first: Built, node: Host) -> None:
    pushed = first.result["pushed"]
    node.check_output(f"podman rmi --force {pushed}")
    with policy(node, f"{IMAGES}/signing-key.asc"):
        node.check_output(f"podman pull --quiet --tls-verify=false {pushed}")
        # Not one that this key has not signed.
        unsigned = f"{REGISTRY}/team/unsigned"
        copied = f"docker://{pushed} docker://{unsigned}:1"
        insecure = "--remove-signatures --src-tls-verify=false --dest-tls-verify=false"
        node.check_output(f"skopeo --insecure-policy copy {insecure} {copied}")
        refused = node.run(f"podman pull --quiet --tls-verify=false {unsigned}:1")
    assert refused.rc != 0 and "signature" in refused.stderr


@pytest.mark.long
def test_the_bill_of_materials_lists_what_is_in_the_image(first: Built, node: Host) -> None:
    document = json.loads(node.file(first.result["sbom"]).content_string)
    listed = {(one["name"], one["versionInfo"]) for one in document["packages"] if one.get("externalRefs")}
    started = f"podman run --rm --network none {first.result['image']}"
    debs = [line.split() for line in node.check_output(f"{started} dpkg-query --show").splitlines()]
    assert {(row[0].partition(":")[0], row[1]) for row in debs if len(row) == 2} <= listed
    pip = node.check_output(f"{started} python3 -m pip list --format json")
    theirs = {(one["name"].lower().replace("_", "-"), one["version"]) for one in json.loads(pip.splitlines()[0])}
    assert theirs <= {(name.lower(), version) for name, version in listed}
    assert ("libaio1" in {name for name, _version in listed}) and ("good", "1.0") in listed


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "no digest": ({"gaudi_image_base_digest": ""}, "has no digest, so it could be another one tomorrow"),
    "a digest that the registry does not have": (
        {"gaudi_image_base_digest": f"sha256:{'5' * 64}"},
        "the registry does not have it",
    ),
    "nodes of another release": (
        {"gaudi_release": "1.23.0", "gaudi_image_base": f"{REGISTRY}/{VENDORS}"},
        "is of release 1.24.1",
    ),
    "no TLS": (
        {
            "gaudi_plain_http_hosts": [],
            "gaudi_image_index_url": "",
            "gaudi_image_base": f"{REGISTRY}/team/other@sha256:{'6' * 64}",
        },
        "has no TLS that this host trusts",
    ),
    "a password": (
        {"gaudi_image_build_arguments": {"PIP_PASSWORD": "hunter2"}},
        "has PIP_PASSWORD, which looks like a secret",
    ),
    "torch": ({"requirement": "torch==2.13.0"}, "torch comes with the base image"),
}


@pytest.mark.parametrize(("given", "sentence"), named_rows(REFUSED, ("torch",)))
def test_bad_input_is_one_sentence_and_no_image_is_made(
    node: Host, scratch: Path, base_digest: str, given: dict[str, object], sentence: str
) -> None:
    variables = dict(given)
    write_code(node, str(variables.pop("requirement", "good==1.0")))
    built = build(scratch, base_digest, **variables)
    assert sentence in built.said and built.said.count(". ") == 0, built.said
    assert "hunter2" not in built.screen


@pytest.mark.long
def test_buildah_alone_makes_the_same_image(first: Built, node: Host, scratch: Path, base_digest: str) -> None:
    write_code(node, "good==1.0")
    podman = node.check_output("command -v podman").strip()
    node.check_output(f"mv {podman} {podman}.away")
    try:
        built = build(scratch, base_digest, gaudi_image_os_packages=["libaio1"], gaudi_image_rebuild=True)
    finally:
        node.check_output(f"mv {podman}.away {podman}")
    assert not built.said, built.said
    assert built.result["digest"] == first.result["digest"]
