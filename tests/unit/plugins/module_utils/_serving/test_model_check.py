# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each bit of a model counts: one that is another is refused, wherever it is."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.node_programs import install, program_path
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.model_check import check_files, main
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.runtime import CHECK

from .conftest import FILES


def test_a_whole_model_passes_and_says_its_version(exported):
    found = check_files(str(exported))
    assert found.weight_bytes == len(FILES["model-00001.safetensors"])
    assert check_files(str(exported), found.version) == found
    assert main([str(exported), ""]) == 0


def test_one_flipped_bit_anywhere_is_refused(exported):
    """100 of 100, over weights, tokenizer and configuration."""
    random_bits = random.Random(46)
    refused = 0
    for number in range(100):
        name = sorted(FILES)[number % len(FILES)]
        content = bytearray(FILES[name])
        bit = random_bits.randrange(len(content) * 8)
        content[bit // 8] ^= 1 << bit % 8
        (exported / name).write_bytes(content)
        with pytest.raises(GaudiError, match=f"is refused: {name} is changed or damaged"):
            check_files(str(exported))
        refused += 1
        (exported / name).write_bytes(FILES[name])
    assert refused == 100


def test_what_is_missing_or_was_added_is_refused(exported):
    (exported / "evil.safetensors").write_bytes(b"x")
    with pytest.raises(GaudiError, match=r"evil\.safetensors is not in its record"):
        check_files(str(exported))
    (exported / "evil.safetensors").unlink()
    (exported / "tokenizer.json").unlink()
    with pytest.raises(GaudiError, match=r"tokenizer\.json is missing"):
        check_files(str(exported))


def test_another_record_than_before_is_refused(exported):
    with pytest.raises(GaudiError, match="is another than when the instance was set up"):
        check_files(str(exported), "0" * 64)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"files": {}}', '{"files": {"a": 1}}', '{"files": {"a": {"bytes": "x", "sha256": "y"}}}']
)
def test_a_record_that_is_none_is_refused(exported, text):
    (exported / "gaudi3_scale_export.json").write_text(text, encoding="utf-8")
    with pytest.raises(GaudiError, match=r"is refused: its gaudi3_scale_export\.json cannot be used"):
        check_files(str(exported))


def test_a_directory_without_a_record_and_none_at_all_are_refused(exported):
    (exported / "gaudi3_scale_export.json").unlink()
    with pytest.raises(GaudiError, match="so nobody says what it is"):
        check_files(str(exported))
    with pytest.raises(GaudiError, match="is a file: neither a checkpoint nor TorchScript"):
        check_files(str(exported / "config.json"))
    shutil.rmtree(exported)
    with pytest.raises(GaudiError, match="there is no directory"):
        check_files(str(exported))


def test_the_program_on_the_node_needs_nothing_but_python(exported, tmp_path):
    programs = str(tmp_path / "programs")
    install(programs, CHECK)
    argv = [sys.executable, "-I", "-S", program_path(programs, CHECK), str(exported), ""]
    assert subprocess.run(argv, check=False).returncode == 0
    Path(exported, "tokenizer.json").write_bytes(b"{}")
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "tokenizer.json is changed or damaged" in done.stderr
