# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a training fits, asked on a node as the job's account would: the command, and the trainer's own refusal."""

from __future__ import annotations

import json

import pytest
from testinfra.host import Host

VENV = "/opt/gaudi3_scale/venv/bin"
# 77 billion weights in six blocks: no host of this test has room for them, and nothing of them is ever made.
HUGE = "--layers 6 --width 32768 --heads 8"


def as_job(node: Host, command: str) -> tuple[int, str, str]:
    ended = node.run(f"cd / && runuser -u gaudi -- env TORCH_DEVICE_BACKEND_AUTOLOAD=0 {VENV}/{command}")
    return ended.rc, ended.stdout, ended.stderr


@pytest.mark.in_turn
def test_what_fits_is_told_by_part_and_what_does_not_is_refused(nodes: dict[str, Host]) -> None:
    node = next(iter(nodes.values()))
    status, said, _errors = as_job(node, "gaudi3_scale estimate --json --batch-size 8 --cards 2")
    found = json.loads(said)
    assert (status, found["fits"], found["refusal"]) == (0, True, "")
    assert found["together"] == sum(found["parts"].values())
    assert found["largest_batch"] > 8
    status, said, errors = as_job(node, f"gaudi3_scale estimate {HUGE} --cards 8 --sharding fsdp2")
    assert status == 1
    assert "Largest batch size: none" in said
    assert "take 16 bytes each, 1,152.4 GiB, 144.1 GiB on each of 8 cards with fsdp2; a card has 128.0 GiB" in errors


@pytest.mark.in_turn
def test_the_trainer_refuses_before_it_makes_anything(nodes: dict[str, Host]) -> None:
    node = next(iter(nodes.values()))
    job = "--device cpu --max-steps 1 --text /usr/share/common-licenses --checkpoint-every 0"
    status, _said, errors = as_job(node, f"python -m gaudi3_scale.train {HUGE} {job}")
    assert status == 1
    assert "take 16 bytes each, 1,152.4 GiB, all of it on each card with ddp" in errors
    assert "Traceback" not in errors
