# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""An image from its inputs to its signature, by a stand-in for podman; GnuPG, the all-reduce's ranks and files are "
"real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._image import state
from ansible_collections.gaudi3.scale.plugins.module_utils._image.options import ImageOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.tests.image_base import RELEASE, TORCH, vendors_packages, write_files
from ansible_collections.gaudi3.scale.tests.unit import podman_stand_in

DIGEST = f"sha256:{'4' * 64}"
BASE = f"registry.example.org/pytorch-installer-2.11.0@{DIGEST}"
REPOSITORY = "registry.example.org/team/llm"


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A build host whose podman has the base image; the options of an image."""
    store, programs, code = tmp_path / "store", tmp_path / "bin", tmp_path / "code"
    for directory in (store / "images", programs, code):
        directory.mkdir(parents=True)
    (programs / "podman").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{podman_stand_in.__file__}" "$@"\n')
    (programs / "podman").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("PODMAN_STAND_IN", str(store))
    monkeypatch.setattr(podman_stand_in, "STORE", store)
    root = tmp_path / "root"
    write_files(root / podman_stand_in.SITE, vendors_packages())
    write_files(root, {"etc/os-release": "ID=ubuntu\nVERSION_CODENAME=jammy\n"})
    podman_stand_in.keep(root, BASE, {}, ["base"])
    (code / "train.py").write_text("print('step')\n")
    (code / "requirements.txt").write_text("idna==3.10\n")
    return ImageOptions(
        name="llm",
        code=str(code),
        release="1.24.1",
        base_image=BASE,
        push=REPOSITORY,
        device="cpu",
        signing_key=str(tmp_path / "key.asc"),
        directory=str(tmp_path / "images"),
    )


def calls(tmp_path):
    return [line.split()[0] for line in (tmp_path / "store/calls").read_text().splitlines()]


def make(options, check_mode=False):
    return state.converge(options, run_process, check_mode)


def test_it_is_built_tested_pushed_and_signed_once(host, tmp_path):
    foreseen = make(host, check_mode=True)
    assert (foreseen["changed"], foreseen["steps"]) == (True, ["build", "test", "push", "sign"])
    assert not (tmp_path / "images/llm.json").exists() and "build" not in calls(tmp_path)
    done = make(host)
    assert done["steps"] == foreseen["steps"] and done["image"] == foreseen["image"]
    assert done["torch"] == TORCH and done["release"] == RELEASE
    assert done["proof"] == {"device": "cpu", "ranks": 2, "torch": TORCH}
    assert (done["own_layers"], done["instructions"], done["cached_instructions"]) == (2, 4, 1)
    assert done["pushed"] == f"{REPOSITORY}@{done['digest']}"
    (tmp_path / "store/calls").unlink()
    again = make(host)
    assert (again["changed"], again["steps"]) == (False, [])
    assert again["msg"] == f"Nothing to build: {done['image']} was made from the same inputs."
    # The cache of one build says nothing about another run.
    kept = set(done) - {"changed", "steps", "msg", "instructions", "cached_instructions"}
    assert {name: again[name] for name in kept} == {name: done[name] for name in kept}
    assert set(calls(tmp_path)) == {"--version", "image"}


def test_two_builds_of_the_same_inputs_are_one_image(host):
    first, second = make(host), make(replace(host, rebuild=True))
    assert second["changed"]
    for name in ("image", "image_id", "digest", "inputs", "pushed"):
        assert first[name] == second[name], name


def test_the_image_says_what_it_is(host):
    done = make(host)
    labels = json.loads(run_process(["podman", "image", "inspect", str(done["image"])]).stdout)[0]["Labels"]
    assert labels == {
        "org.opencontainers.image.base.digest": DIGEST,
        "org.opencontainers.image.base.name": "registry.example.org/pytorch-installer-2.11.0",
        "org.opencontainers.image.created": "2026-01-02T03:04:05Z",
        "org.opencontainers.image.title": "llm",
        "org.opencontainers.image.version": str(done["inputs"])[7:19],
        "scale.gaudi3.inputs": done["inputs"],
        "scale.gaudi3.release": RELEASE,
        "scale.gaudi3.torch": TORCH,
    }


def test_a_change_of_each_input_is_another_image(host):
    images = {make(host, check_mode=True)["image"]}
    for change in (
        {"environment": {"PT_HPU_LAZY_MODE": "1"}},
        {"os_packages": ["libaio1"]},
        {"build_arguments": {"MAX_JOBS": "2"}},
        {"container_user": "2000:2000"},
        {"command": ["python3", "train.py"]},
        {"base_image": BASE.replace("4444", "4445"), "base_digest": ""},
    ):
        images.add(make(replace(host, **change), check_mode=True)["image"])
    Path(host.code, "train.py").write_text("print('another')\n")
    images.add(make(host, check_mode=True)["image"])
    Path(host.code, "requirements.txt").write_text("idna==3.11\n")
    images.add(make(host, check_mode=True)["image"])
    assert len(images) == 9


def test_where_packages_come_from_is_no_input_and_does_not_stay(host, tmp_path):
    first = make(host)
    second = make(replace(host, index_url="https://me:hunter2@pypi.example.org/simple", rebuild=True))
    assert first["image_id"] == second["image_id"]
    left = [path for path in tmp_path.rglob("*") if path.is_file() and "hunter2" in path.read_text(errors="replace")]
    assert left == []


@pytest.mark.parametrize(
    ("requirement", "sentence"),
    [
        ("rude==1.0", rf"replaced the vendor's PyTorch: torch was {TORCH.replace('+', '.')} and is .*9\.9\.0"),
        ("greedy==1.0", r"Greedy 1\.0 wants torch ==9\.9\.0, and the vendor's image has 2\.11\.0a0\+gitdeadbee"),
    ],
)
def test_a_build_that_would_change_torch_fails_with_both_versions_and_leaves_no_image(
    host, tmp_path, requirement, sentence
):
    Path(host.code, "requirements.txt").write_text(f"{requirement}\n")
    with pytest.raises(GaudiError, match=sentence):
        make(host)
    image = str(make(host, check_mode=True)["image"])
    assert run_process(["podman", "image", "inspect", image]).rc != 0
    assert not {"run", "push"} & set(calls(tmp_path))
    assert not (tmp_path / "images/llm.json").exists()


def test_a_registry_without_tls_is_refused_and_the_next_run_goes_on_there(host, tmp_path):
    with pytest.raises(
        GaudiError, match=r"refused\.example\.org has no TLS .* name refused\.example\.org in plain_http"
    ):
        make(replace(host, push="refused.example.org/llm"))
    (tmp_path / "store/calls").unlink()
    assert make(host)["steps"] == ["push", "sign"]
    assert not {"build", "run"} & set(calls(tmp_path))


def test_plain_http_is_for_hosts_that_the_operator_named(host, tmp_path):
    make(replace(host, push="registry.example.org:5000/llm", plain_http_hosts=["registry.example.org"]))
    pushes = [line for line in (tmp_path / "store/calls").read_text().splitlines() if line.startswith("push")]
    assert ["--tls-verify=false" in line for line in pushes] == [True]


def test_the_signature_is_one_that_gpg_accepts_of_this_digest(host, tmp_path):
    done = make(host)
    assert str(done["signature"]).endswith(
        f"/signatures/team/llm@sha256={str(done['digest']).partition(':')[2]}/signature-1"
    )
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet"]
    subprocess.run([*gpg, "--import", str(tmp_path / "images/signing-key.asc")], check=True)
    said = subprocess.run([*gpg, "--decrypt", str(done["signature"])], check=True, capture_output=True, text=True)
    claim = json.loads(said.stdout)
    assert claim["critical"] == {
        "identity": {"docker-reference": f"{REPOSITORY}@{done['digest']}"},
        "image": {"docker-manifest-digest": done["digest"]},
        "type": "atomic container signature",
    }
    assert str(done["fingerprint"]) in said.stderr.replace(" ", "")
    assert (tmp_path / "key.asc").stat().st_mode & 0o777 == 0o600


def test_without_a_repository_and_a_key_nothing_leaves_the_host(host, tmp_path):
    done = make(replace(host, push="", signing_key=""))
    assert done["steps"] == ["build", "test"]
    assert (done["pushed"], done["signed"], done["signature"], done["fingerprint"]) == ("", "", "", "")
    assert "push" not in calls(tmp_path) and not (tmp_path / "key.asc").exists()


def test_a_host_without_cards_does_not_build_what_it_cannot_test(host, tmp_path):
    with pytest.raises(GaudiError, match=r"device \(gaudi_device\) is hpu, and the build host has no card"):
        make(replace(host, device="hpu"))
    assert "build" not in calls(tmp_path)
