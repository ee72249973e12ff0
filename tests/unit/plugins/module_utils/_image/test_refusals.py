# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What no image is made of is refused in one sentence that names the option, before anything is started."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._image import state
from ansible_collections.gaudi3.scale.plugins.module_utils._image.options import ImageOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._image.requirements_file import check_requirements

DIGEST = f"sha256:{'4' * 64}"


@pytest.fixture
def options(tmp_path):
    """An image that would be made."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text("print('step')\n")
    (code / "requirements.txt").write_text("transformers==4.55.4\n")
    return ImageOptions(name="llm", code=str(code), release="1.24.1", base_digest=DIGEST, excluded=[".git"])


BAD = {
    "a name with capitals": ({"name": "LLM"}, r"name \(gaudi_image_name\) is 'LLM'; give lower-case"),
    "code by a relative path": ({"code": "code"}, r"code \(gaudi_image_code\) is 'code'; give the whole path"),
    "no such directory": ({"code": "/nowhere/code"}, r"this host has no such directory; check the code out there"),
    "another device": ({"device": "cuda"}, r"device \(gaudi_device\) is 'cuda'; an image is tested on cpu or hpu"),
    "root": (
        {"container_user": "0:0"},
        r"container_user \(gaudi_image_user\) is '0:0'; give numbers that are not root's",
    ),
    "an account by its name": ({"container_user": "gaudi"}, r"give numbers that are not root's"),
    "a secret by its name": (
        {"environment": {"HF_TOKEN": "abc"}},
        r"environment \(.*\) has HF_TOKEN, which looks like",
    ),
    "a password as build argument": (
        {"build_arguments": {"DB_PASSWORD": "abc"}},
        r"build_arguments \(gaudi_image_build_arguments\) has DB_PASSWORD, which looks like a secret",
    ),
    "a secret in a value": (
        {"build_arguments": {"INDEX": "https://me:hunter2@pypi.example.org/simple"}},
        r"has INDEX, which looks like a secret",
    ),
    "a secret in the command": (
        {"command": ["python3", "train.py", "--api-token=abcdef"]},
        r"command \(gaudi_image_command\) has a secret in it",
    ),
    "a variable of the image's own": ({"environment": {"PATH": "/bin"}}, r"has PATH, which the image sets itself"),
    "two lines in a variable": ({"environment": {"A": "1\nUSER 0"}}, r"the value of A has a line break"),
    "a list in a variable": ({"environment": {"A": ["1"]}}, r"the value of A is \['1'\]; give a text or a number"),
    "no variable": ({"environment": {"A B": 1}}, r"has 'A B', which is not the name of a variable"),
    "an option as package": ({"os_packages": ["--reinstall"]}, r"os_packages \(gaudi_image_os_packages\) has '--rein"),
    "an index without TLS": ({"index_url": "http://pypi.example.org/simple"}, r"uses plain http to pypi\.example\.org"),
    "an unknown release": ({"release": "1.24.9"}, r"Release '1.24.9' is not known"),
    "a system without an image": (
        {"system": "debian12"},
        r"system \(.*\) is 'debian12'; release 1\.24\.1 has images for",
    ),
    "no digest": (
        {"base_digest": ""},
        (
            r"pytorch-installer-2\.11\.0:1\.24\.1-482 has no digest, .*set base_digest \(gaudi_image_base_digest\) to "
            r"the Digest that `skopeo inspect docker://vault"
        ),
    ),
    "latest": ({"base_image": "registry.example.org/team/base:latest"}, r"'latest' is another image tomorrow"),
    "a digest that is none": ({"base_digest": "sha256:12"}, r"has the digest 'sha256:12'; write sha256: and 64"),
    "a base of another release": (
        {"base_image": f"registry.example.org/gaudi/1.23.0/pytorch@{DIGEST}"},
        r"is of release 1\.23\.0, and the nodes' driver is of 1\.24\.1-482; take the image of 1\.24\.1",
    ),
    "a base of another build": (
        {"base_image": f"registry.example.org/gaudi/pytorch:1.24.1-481@{DIGEST}"},
        r"is of release 1\.24\.1-481, and the nodes' driver is of 1\.24\.1-482",
    ),
    "a base by a short name": (
        {"base_image": f"pytorch@{DIGEST}"},
        r"write it in full, as registry\.example\.org/team/image",
    ),
    "an archive that is not there": ({"base_image": "oci-archive:/nowhere.tar"}, r"this host has no such file"),
    "a registry by its scheme": (
        {"push": "http://registry.example.org/llm"},
        r"without a scheme\. A registry without TLS",
    ),
    "a push with a tag": ({"push": "registry.example.org/llm:mine"}, r"give the repository without a tag"),
    "a requirements file that is not there": ({"requirements": "all.txt"}, r"is all\.txt, which .* does not have"),
    "a program that is not there": (
        {"command": ["python3", "run.py"]},
        r"starts run\.py, which the code does not have",
    ),
}


@pytest.mark.parametrize(("change", "sentence"), BAD.values(), ids=BAD)
def test_what_cannot_be_meant_is_refused(options, change, sentence):
    with pytest.raises(GaudiError, match=sentence) as refused:
        state.plan(replace(options, **change))
    said = str(refused.value)
    assert said.endswith(".") and "\n" not in said and "hunter2" not in said and "abcdef" not in said


def test_a_user_in_a_repository_is_not_shown(options):
    with pytest.raises(GaudiError, match=r"has an @ that no sha256: follows; log in with `podman login`") as refused:
        state.plan(replace(options, push="me:hunter2@registry.example.org/llm"))
    assert "hunter2" not in str(refused.value)


def test_an_archive_is_held_against_its_checksum(options, tmp_path):
    archive = tmp_path / "base.tar"
    archive.write_bytes(b"layers")
    given = replace(options, base_image=f"oci-archive:{archive}")
    with pytest.raises(GaudiError, match=r"has the checksum sha256:[0-9a-f]{64}, and base_digest .* says sha256:4444"):
        state.plan(given)
    wanted = state.plan(replace(given, base_digest=""))
    assert re.fullmatch(r"localhost/gaudi3_scale/base:[0-9a-f]{12}", wanted.base.image)
    assert wanted.base.registry == ""


LINES = {
    "torch": ("torch==2.13.0", r"has 'torch==2\.13\.0': torch comes with the base image; remove it"),
    "torch by another spelling": ("Torch>2 ; python_version > '3'", r"torch comes with the base image"),
    "torch by a URL": ("torch @ https://example.org/torch-2-py3-none-any.whl", r"torch comes with the base image"),
    "torch as a wheel": (
        "https://example.org/w/torch-2.9.0-cp311-cp311-linux_x86_64.whl",
        r"torch comes with the base",
    ),
    "flash-attn": ("flash_attn", r"flash-attn is compiled for CUDA; use the bridge's own fused attention"),
    "a library of CUDA": ("nvidia-nccl-cu12", r"nvidia-nccl-cu12 is compiled for CUDA"),
    "a part of the bridge": ("habana-torch-plugin==1.23.0.695", r"habana-torch-plugin comes with the base image"),
    "another file": ("-r more.txt", r"is '-r more\.txt'; put all requirements into one file"),
    "an index": ("--index-url https://pypi.example.org/simple", r"set index_url \(gaudi_image_index_url\) instead"),
    "an index by an equals sign": ("--extra-index-url=https://pypi.example.org", r"set index_url"),
    "the project itself": ("-e .", r"code is copied last, so remove the line"),
    "a directory": ("./vendored/thing", r"which names no package of an index"),
    "a password": ("thing @ git+https://me:hunter2@example.org/thing.git", r"line 3 has a secret in it"),
    "an option for pip": ("--target /x", r"has the option --target, which no image is made with"),
}


@pytest.mark.parametrize(("line", "sentence"), LINES.values(), ids=LINES)
def test_a_requirement_that_replaces_the_vendors_is_refused(line, sentence):
    with pytest.raises(GaudiError, match=sentence) as refused:
        check_requirements(f"# ours\nnumpy\n{line}\n", "requirements.txt")
    assert "requirements.txt line 3" in str(refused.value) and "hunter2" not in str(refused.value)


def test_what_else_pip_takes_is_left_to_pip():
    text = """
# torch is the vendor's
transformers[hf]==4.55.4 \\
    --hash=sha256:1111111111111111111111111111111111111111111111111111111111111111 \\
    --hash=sha256:2222222222222222222222222222222222222222222222222222222222222222
optimum-habana==1.21.2  # torch stays
torchmetrics
--no-binary :all:
thing @ https://example.org/thing-1.0-py3-none-any.whl
"""
    assert check_requirements(text, "r.txt") == ["transformers", "optimum-habana", "torchmetrics", "", "thing"]
