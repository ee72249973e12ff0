# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The command as it is typed: killed, twice at once, on a full disk, in little memory; and shards of FSDP2's ranks."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from forked_ranks import ends_of, said_in, start_ranks
from gaudi3_scale.core._errors import GaudiError
from job_runs import SMALL_MODEL

LICENSE = Path(__file__).parents[3] / "LICENSE"


def start(*words: object) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "gaudi3_scale", "export", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """147 MB of weights, none of them above 4 MB, in a file of torch.save, and config.json beside it."""
    directory = tmp_path_factory.mktemp("large")
    sizes = {"vocab_size": 1000, "hidden_size": 1024, "intermediate_size": 1024, "num_hidden_layers": 6}
    config = LlamaConfig(**sizes, num_attention_heads=8, num_key_value_heads=2, max_position_embeddings=64)
    config.save_pretrained(directory)
    model = AutoModelForCausalLM.from_config(config)
    torch.save(model.state_dict(), directory / "weights.pt")
    return directory


def anonymous_bytes(process: subprocess.Popen) -> int:
    """What it holds of its own, without the files that it has mapped."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


@pytest.mark.long
def test_no_process_holds_the_whole_model(large, tmp_path):
    process = start(large / "weights.pt", tmp_path / "out", "--model", large, "--shard-megabytes", 10)
    assert process.stdout and process.stdout.readline()
    before = peak = anonymous_bytes(process)
    while process.poll() is None:
        try:
            peak = max(peak, anonymous_bytes(process))
            time.sleep(0.005)
        except OSError:
            break
    assert process.wait() == 0, process.stderr and process.stderr.read()
    weights = sum(path.stat().st_size for path in (tmp_path / "out").glob("*.safetensors"))
    assert weights > 120_000_000
    print(f"{weights / 1e6:.0f} MB of weights, {(peak - before) / 1e6:.0f} MB more than before the first")
    assert peak - before < 0.5 * weights


@pytest.mark.in_turn
def test_a_killed_export_resumes(large, tmp_path):
    words = [large / "weights.pt", tmp_path / "out", "--model", large, "--shard-megabytes", 10]
    process = start(*words)
    assert process.stdout
    for line in process.stdout:
        if line.startswith("3 of "):
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    assert [path.name for path in tmp_path.iterdir()] == [".out.export"]
    again = start(*words)
    output, errors = again.communicate(timeout=300)
    assert again.returncode == 0, errors
    kept = [line for line in output.splitlines() if ", kept" in line]
    assert 2 <= len(kept) <= 4 and kept[0].startswith("1 of ")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.in_turn
def test_what_a_killed_export_left_and_somebody_changed_is_made_anew(trained, exported, tmp_path):
    """The same work, with one bit of a kept file flipped."""
    process = start(trained, tmp_path / "out", "--shard-megabytes", 1)
    process.communicate(timeout=300)
    assert process.returncode == 0
    left = tmp_path / ".out.export"
    (tmp_path / "out").rename(left)
    record = json.loads((left / "gaudi3_scale_export.json").read_text())
    (left / ".export.json").write_text(json.dumps({"identity": record["identity"], "files": record["files"]}))
    content = bytearray((left / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (left / "model.safetensors").write_bytes(content)
    told = exported(trained, shard_bytes=1_000_000)
    assert any("1 of 1: model.safetensors" in line and line.endswith("written") for line in told)


@pytest.mark.in_turn
def test_a_full_disk_is_said_and_nothing_is_published(trained, tmp_path):
    """By the largest file that this process may write, which needs no disk of its own."""
    command = f"ulimit -f 100; exec {sys.executable} -m gaudi3_scale export {trained} {tmp_path / 'out'}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert "model.safetensors cannot be written: " in done.stderr
    page = "See docs/export.md in https://github.com/gaudi3-scale/gaudi3.scale\n"
    assert done.stderr.endswith(f"make room there, and run the same again: it resumes.\n{page}")
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == [".out.export"]


def test_two_at_once_do_not_meet(trained, exported, tmp_path):
    (tmp_path / ".out.export").mkdir()
    handle = os.open(tmp_path / ".out.export", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(GaudiError, match="another export to it runs; wait for it to finish"):
            exported(trained)
    finally:
        os.close(handle)
    exported(trained)


def test_shards_of_two_ranks(exported, tmp_path):
    """FSDP2: no rank has had the whole model, and no process has it now."""
    options = ["--device", "cpu", *SMALL_MODEL, "--max-steps", 2, "--sharding", "fsdp2", "--text", LICENSE]
    assert ends_of(start_ranks([tmp_path / "job"], options, 2)) == [0, 0], said_in(tmp_path / "job")
    assert len(list((tmp_path / "job" / "checkpoints" / "step-00000002").glob("*.distcp"))) == 2
    told = exported(tmp_path / "job")
    assert told[-1].endswith("out: complete")


@pytest.mark.in_turn
def test_the_command_says_what_it_did_and_what_is_wrong(trained, tmp_path):
    done = start(trained, tmp_path / "out")
    output, errors = done.communicate(timeout=300)
    assert (done.returncode, errors) == (0, "")
    assert output.splitlines()[0].startswith(f"{trained} as GPT2LMHeadModel: ")
    assert output.splitlines()[-1].startswith(f"{tmp_path / 'out'}: complete")
    wrong = start(tmp_path / "nothing", tmp_path / "other")
    said = "there is no such checkpoint; name a checkpoint, or a directory of some."
    see = "See docs/export.md in https://github.com/gaudi3-scale/gaudi3.scale"
    assert wrong.communicate(timeout=300)[1] == f"gaudi3_scale: {tmp_path / 'nothing'}: {said}\n{see}\n"
    assert wrong.returncode == 1
