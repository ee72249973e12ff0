# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The warm-up as its log shows it: one line per bucket, and how long it took. Nothing is compiled."""

from __future__ import annotations

import os
import time
from pathlib import Path

from .faults import Faults
from .log import say

PROMPT_BUCKETS, DECODE_BUCKETS = 24, 48
SECONDS = 1.0


class WarmUpError(Exception):
    """As the vendor's compiler says it."""


def warm_up(faults: Faults, max_num_seqs: int, max_model_len: int) -> None:
    """Take the time, and say how far it is."""
    if os.environ.get("VLLM_SKIP_WARMUP", "").lower() in ("1", "true"):
        _told("Skipping warmup...")
        return
    totals = {"Prompt": _buckets("prompt", PROMPT_BUCKETS), "Decode": _buckets("decode", DECODE_BUCKETS)}
    kinds = [(kind, number, total) for kind, total in totals.items() for number in range(total)]
    begun = time.monotonic()
    wait = faults.seconds("warm_up_seconds", SECONDS) / len(kinds)
    for kind, number, total in kinds:
        size = f"seq_len:{max_model_len}" if kind == "Prompt" else f"num_blocks:{max(1, max_model_len // 128)}"
        _told(f"[Warmup][{kind}][{number + 1}/{total}] batch_size:{max_num_seqs} {size} free_mem:79.16 GiB")
        if faults.current().get("warm_up_fails"):
            raise WarmUpError("synStatus 26 [Generic failure] Graph compile failed.")
        time.sleep(wait)
    took = round(time.monotonic() - begun)
    _told(f"Warmup finished in {took} secs, allocated 0.08 GiB of device memory")


def _buckets(phase: str, default: int) -> int:
    """How many lines of the file of buckets are of this phase: a decode's have a query of one token."""
    file = os.environ.get("VLLM_BUCKETING_FROM_FILE", "")
    if not file:
        return default
    lines = [line.strip() for line in Path(file).read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line.startswith("(")]
    decode = [line for line in lines if line.strip("(),").replace(" ", "").split(",")[1] == "1"]
    return max(1, len(decode) if phase == "decode" else len(lines) - len(decode))


def _told(message: str) -> None:
    say(message, "hpu_model_runner.py:1", process="EngineCore_DP0")
