# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of language modeling: all texts behind each other, cut into blocks of one length."""

from __future__ import annotations

from itertools import chain
from typing import Any, Sequence

from transformers import DataCollatorForLanguageModeling

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.fine_tune.options import JobArguments
from gaudi3_scale.fine_tune.records import Row, column


def blocks(rows: Sequence[Row], tokenizer: Any, job: JobArguments, size: int) -> list[Row]:
    """What is left over at the end of the last text is left out. GaudiError where there is not one block."""
    name = column(rows, ("--text_column", job.text_column), ("text",))
    encoded = tokenizer([str(row[name]) for row in rows])["input_ids"]
    joined = list(chain.from_iterable(encoded))
    if len(joined) < size:
        raise GaudiError(
            f"The data has {len(joined)} tokens, fewer than --block_size {size}; give a smaller one or more text."
        )
    starts = range(0, len(joined) - len(joined) % size, size)
    return [{"input_ids": joined[start : start + size]} for start in starts]


def causal(samples: Sequence[Row]) -> list[Row]:
    """The samples with their labels, which the model shifts itself."""
    return [{"input_ids": one["input_ids"], "labels": one["input_ids"]} for one in samples]


def masking(tokenizer: Any, share: float) -> Any:
    """What masks a batch's samples anew each time that it puts them together."""
    if tokenizer.mask_token is None:
        raise GaudiError("The tokenizer has no mask token; give a model for --task fill-mask, such as BERT.")
    return DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm_probability=share)
