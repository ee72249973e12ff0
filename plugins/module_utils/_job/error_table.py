# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The errors of the vendor's software that have been seen: what each comes from, and what helps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

# Where a fault lies. What lies in the program, or in what is installed for it, is there again at the next try.
PROGRAM, CARD, NODE, LINK, LIMIT = "program", "card", "node", "link", "limit"


@dataclass(frozen=True)
class Row:
    """``text``: a pattern of what is written; ``lies``: where the fault does."""

    key: str
    text: str
    cause: str
    remedy: str
    lies: str


# The first one that matches counts: several errors have the same status, 26.
ROWS = (
    Row(
        "device_memory",
        r"(?:FATAL ERROR :: )?MODULE:PT_DEVMEM Allocation failed",
        "the card's memory is used up",
        "take a smaller batch, checkpoint activations, or shard over more cards (the playbook probe_batch_size.yml)",
        PROGRAM,
    ),
    Row(
        "lazy",
        r"(?:FATAL ERROR :: )?MODULE:PT_LAZY .{0,200}tensor_data is empty",
        "this release does not support the card (first-generation Gaudi)",
        "use Gaudi 2 or Gaudi 3 with it",
        PROGRAM,
    ),
    Row(
        "node",
        r"synNodeCreateWithId failed",
        "the installed stack, or the image, is of another release than the driver",
        "bring them to one release (the playbook site.yml)",
        PROGRAM,
    ),
    Row(
        "graph",
        r"Graph compile failed",
        "an operation or shape that is not supported, versions that do not fit, or no memory while compiling",
        "reduce the batch, compare the versions, and run once with LOG_LEVEL_ALL=4",
        PROGRAM,
    ),
    Row(
        "acquire",
        r"Device acquire failed|synStatus[ =].{0,20}\b(?:8|20|26)\b|/dev/accel\S{0,40}: Device or resource busy",
        "the card is another process's, is in reset, or HABANA_VISIBLE_DEVICES names another one",
        "find its holders (`fuser /dev/accel/accel*`), end them, and look at the card's status (hl-smi)",
        CARD,
    ),
    Row(
        "bridge",
        r"Failed to infer device type",
        "the plugin or PyTorch bridge for the card is not in the environment",
        "install it there (the playbook venv.yml), and compare the versions",
        PROGRAM,
    ),
    Row(
        "runtime",
        r"Unknown runtime specified habana|unknown runtime specified habana|unknown or invalid runtime name: habana",
        "the container runtime for the cards is not registered",
        "run the playbook containers.yml",
        PROGRAM,
    ),
    Row(
        "warmup",
        r"Recompilation triggered with skip_guard_eval_unsafe stance",
        "a shape came that the warm-up did not cover, with VLLM_FULL_WARMUP set",
        "unset VLLM_FULL_WARMUP, or warm that shape up",
        PROGRAM,
    ),
)
_BY_KEY = {row.key: row for row in ROWS}
_ANY = re.compile("|".join(f"(?P<{row.key}>{row.text})" for row in ROWS))


def row_of(text: str) -> Optional[Row]:
    """The row for what was written; None where there is none."""
    return next((row for row in ROWS if re.search(row.text, text)), None) if _ANY.search(text) else None


def row_named(key: object) -> Optional[Row]:
    """By its key, in a failure that was reported."""
    return _BY_KEY.get(key) if isinstance(key, str) else None


def beginning_at(text: str) -> str:
    """``text`` from where one of the rows begins in it; "" where none does."""
    found = _ANY.search(text)
    return text[found.start() :].strip() if found else ""
