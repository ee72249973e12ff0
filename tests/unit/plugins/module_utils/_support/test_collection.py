# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A bundle of a node into which secrets were planted: it has what helps, none of them, and no more than was allowed."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._support.archive import packed
from ansible_collections.gaudi3.scale.plugins.module_utils._support.collection import (
    INDEX,
    VERSIONS,
    Item,
    Wanted,
    collected,
    texts_of,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._support.size import bytes_of

KEY, TOKEN, RUN = "wandb-0123456789abcdef", "Zq7pLantEd0Token", "5up3rv1s0r-0f-the-run"
OLDER = "0lder-j0b-password"
SECRETS = (KEY, TOKEN, RUN, OLDER)
SAID = {
    "hl-smi": "HL-325L 38C 226W\n",
    "dmesg": f"habanalabs 0000:19:00.0: Device is NOT usable\nusb 1-1: new device\nkexec --password={TOKEN}\n",
    "journalctl": f"kernel: habanalabs 0000:19:00.0: CPU-CP timeout\nsh[1]: {KEY}\nkernel: usb 1-1: new\n",
    "uname": "Linux node1 6.8.0-45-generic\n",
}


def run(argv: Sequence[str], **_more: object) -> CommandResult:
    said = SAID.get(argv[0], "")
    return CommandResult(0 if said else 127, said, "" if said else f"{argv[0]}: not installed")


@pytest.fixture
def node(tmp_path: Path) -> Path:
    files = {
        "etc/gaudi3_scale/environment": f"PT_HPU_LAZY_MODE=0\nHF_TOKEN={TOKEN}\n",
        "etc/gaudi3_scale/quarantine.json": json.dumps({"reason": "ECC", "owner": "us"}),
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz iommu=pt\n",
        "var/log/habana_logs/7/synapse_log.txt": "SYN_API error 26\n",
        "var/lib/gaudi3_scale/qualify/verdict.json": json.dumps({"state": "unhealthy"}),
        "state/control/llama/job.json": json.dumps({"command": ["train.py", "--wandb-key", KEY], "name": "llama"}),
        "state/control/llama/environment": f"WANDB_API_KEY={KEY}\n",
        "state/control/older/job.json": json.dumps({"name": "older"}),
        "state/control/older/environment": f"MLFLOW_PASSWORD={OLDER}\n",
        "var/log/habana_logs/7/printed.log": f"connected with <{OLDER}>\n",
        "state/control/llama/supervision.json": json.dumps({"secret": RUN}),
        "state/jobs/llama/ended.json": json.dumps({"result": "exit-code"}),
        "state/jobs/llama/checkpoint.json": json.dumps({"secret": RUN}),
        "log/jobs/llama/events.jsonl": json.dumps({"kind": "rank_failed", "said": f"bad key {KEY}"}) + "\n",
        "log/jobs/llama/ranks/0/stderr.log": f"RuntimeError: synStatus 26\nmy key is {KEY} they say\n",
        "log/agents/llama/agent.log": "torchrun: rank 3 failed\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def bundle(node: Path, jobs: Sequence[str] = (), most_bytes: int = 1 << 20) -> dict[str, Item]:
    wanted = Wanted(
        jobs=jobs,
        most_bytes=most_bytes,
        state_directory=str(node / "state"),
        log_directory=str(node / "log"),
        root=str(node),
        kernel_root=str(node),
    )
    return {item.name: item for item in collected(wanted, run)}


def test_it_has_what_helps_and_no_planted_secret(node: Path) -> None:
    found = bundle(node)
    assert not [name for name, item in found.items() for secret in SECRETS if secret in item.text + item.why]
    for name, words in {
        "cards/hl-smi.txt": "HL-325L",
        "kernel/dmesg.txt": "Device is NOT usable",
        "kernel/cards.txt": "CPU-CP timeout",
        "kernel/command_line.txt": "iommu=pt",
        "verdicts/qualification.json": "unhealthy",
        "verdicts/quarantine.json": "ECC",
        "flags/environment.txt": "PT_HPU_LAZY_MODE=0",
        "logs/habana/7/synapse_log.txt": "SYN_API error 26",
        "jobs/llama/job.json": "train.py",
        "jobs/llama/state/ended.json": "exit-code",
        "jobs/llama/logs/ranks/0/stderr.log": "synStatus 26",
        "jobs/llama/logs/events.jsonl": "rank_failed",
        "jobs/llama/agent/agent.log": "rank 3 failed",
        VERSIONS: '"cards": 0',
    }.items():
        assert words in found[name].text, name
    # Of the kernel's lines those about the cards; of a job's own files those that are named.
    assert "usb" not in found["kernel/cards.txt"].text
    assert not [
        name for name in found if "supervision" in name or "checkpoint" in name or name.endswith("/environment")
    ]
    assert found["jobs/llama/logs/ranks/0/stderr.log"].hidden == 1
    assert found["kernel/modules.txt"].why == "lsmod: not installed"


def test_jobs_are_those_that_are_named_or_the_newest(node: Path) -> None:
    assert bundle(node, ["llama"])["jobs/llama/job.json"].text
    absent = bundle(node, [" other"])
    assert absent["jobs/other"].why == "this node does not know it"
    assert not [name for name in absent if name.startswith("jobs/llama")]
    with pytest.raises(GaudiError, match="cannot name a job"):
        bundle(node, ["../etc"])


def test_it_is_no_larger_than_allowed_and_says_what_was_left_out(node: Path) -> None:
    (node / "var/log/habana_logs/7/synapse_log.txt").write_text("".join(f"line {number}\n" for number in range(9000)))
    most = len(bundle(node)[VERSIONS].text) + 20_000
    found = bundle(node, most_bytes=most)
    assert sum(item.bytes for item in found.values()) <= most
    log = found["logs/habana/7/synapse_log.txt"]
    assert log.cut and log.text.startswith("line ") and log.text.endswith("line 8999\n")
    assert "largest size" in found["jobs/llama/logs/ranks/0/stderr.log"].why
    # What is worth most is whole.
    assert found["cards/hl-smi.txt"].text and not found["kernel/dmesg.txt"].cut
    for wrong in (0, 49):
        with pytest.raises(GaudiError, match=f"max_mib is {wrong}"):
            bytes_of(wrong)
    assert bytes_of(1) == 1 << 20


def test_the_archive_has_the_list_first_and_is_the_same_for_the_same_texts(node: Path) -> None:
    texts = texts_of(list(bundle(node).values()), "Support bundle")
    made = packed(texts, "support", 1_700_000_000)
    assert made == packed(texts, "support", 1_700_000_000)
    with tarfile.open(fileobj=io.BytesIO(made)) as archive:
        names = archive.getnames()
        members = archive.getmembers()
        index = archive.extractfile(members[0]).read().decode()  # type: ignore[union-attr]
    assert names[0] == f"support/{INDEX}" and all(member.isreg() and member.mode == 0o600 for member in members)
    assert "kernel/modules.txt: not here (lsmod: not installed); from lsmod" in index
    assert "jobs/llama/logs/ranks/0/stderr.log" in index and "1 secrets hidden" in index
    assert not [secret for secret in SECRETS if secret.encode() in gzip.decompress(made)]
