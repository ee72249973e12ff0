# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The all-reduce in an image: run by this machine's own PyTorch and by the tests' stand-in for it, and judged."""

from __future__ import annotations

import json
import os
import sys

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._image import proof
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.tests.image_base import TORCH, vendors_packages, write_files


def said(*rows):
    return CommandResult(0, f"a remark\ngaudi3_scale_proof {json.dumps(rows)}\n", "")


@pytest.mark.in_turn
def test_two_ranks_of_a_real_pytorch_add_up():
    torch = pytest.importorskip("torch")
    command = [sys.executable, "-c", proof.program("cpu")]
    done = run_process(command, timeout=120, env={"GLOO_SOCKET_IFNAME": "lo"})
    assert proof.judge("cpu", str(torch.__version__), done) == {
        "device": "cpu",
        "ranks": 2,
        "torch": str(torch.__version__),
    }


def test_the_stand_in_adds_up_too(tmp_path):
    write_files(tmp_path, vendors_packages())
    command = [sys.executable, "-c", proof.program("cpu")]
    done = run_process(command, timeout=60, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert proof.judge("cpu", TORCH, done)["ranks"] == 2


GOOD = ((0, 3072.0, TORCH, ""), (1, 3072.0, TORCH, ""))
BAD = {
    "a wrong sum": (
        said((0, 3072.0, TORCH, ""), (1, 1024.0, TORCH, "")),
        r"adds up to 1024 on rank 1, and 3072 is right",
    ),
    "an error": (
        said((0, 0.0, "", "OSError: no libSynapse.so"), GOOD[1]),
        r"Rank 0 of the .* failed: OSError: no libS",
    ),
    "another torch": (said((0, 3072.0, "2.13.0", ""), GOOD[1]), r"loads PyTorch 2\.13\.0, and its packages name 2\.11"),
    "one rank": (said(GOOD[0]), r"The ranks in the image answered"),
    "no container": (CommandResult(125, "", "Error: no such runtime habana"), r"failed: Error: no such runtime habana"),
    "no end": (CommandResult(124, "", "timed out"), r"did not end within 600 s"),
    "lies": (CommandResult(0, 'gaudi3_scale_proof {"a": 1}\n', ""), r"The ranks in the image answered"),
}


@pytest.mark.parametrize(("result", "sentence"), BAD.values(), ids=BAD)
def test_whatever_goes_wrong_is_one_sentence_and_nothing_is_pushed(result, sentence):
    with pytest.raises(GaudiError, match=sentence) as refused:
        proof.judge("cpu", TORCH, result)
    assert str(refused.value).endswith("was not pushed.")


@pytest.mark.parametrize(
    ("engine", "has_cards", "sentence"),
    [
        ("podman", False, r"the build host has no card to test the image with; set gaudi_device to cpu"),
        ("buildah", True, r"buildah starts no container with the vendor's runtime; install the package podman"),
    ],
)
def test_cards_are_tested_where_there_are_some(engine, has_cards, sentence):
    with pytest.raises(GaudiError, match=sentence):
        proof.refuse_device("hpu", engine, has_cards)
    proof.refuse_device("hpu", "podman", has_cards=True)
    proof.refuse_device("cpu", engine, has_cards=False)


def test_on_the_cpu_a_container_has_neither_network_nor_rights():
    words = proof.words("cpu", "podman")
    assert words[:4] == ["--network", "none", "--cap-drop", "all"]
    assert "--privileged" not in words + proof.words("hpu", "podman")
    assert proof.words("hpu", "podman")[:4] == ["--runtime", "habana", "--network", "host"]
