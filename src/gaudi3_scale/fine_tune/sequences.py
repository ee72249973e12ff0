# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of summarization and translation."""

from __future__ import annotations

from typing import Any, Iterable, Sequence

from transformers import DataCollatorForSeq2Seq

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.fine_tune.options import JobArguments
from gaudi3_scale.fine_tune.records import Row, column

TEXTS = ("text", "article", "document", "dialogue")
SUMMARIES = ("summary", "highlights", "abstract")
NONE = -100


def summaries(rows: Sequence[Row], job: JobArguments) -> list[tuple[str, str]]:
    text = column(rows, ("--text_column", job.text_column), TEXTS)
    summary = column(rows, ("--summary_column", job.summary_column), SUMMARIES)
    return [(str(row[text]), str(row[summary])) for row in rows]


def translations(rows: Sequence[Row], job: JobArguments) -> list[tuple[str, str]]:
    """From rows such as ``{"translation": {"en": …, "ro": …}}``."""
    if not (job.source_lang and job.target_lang):
        raise GaudiError(
            "--task translation needs --source_lang and --target_lang, the keys in each row's translation."
        )
    pairs = [row.get("translation", row) for row in rows]
    source = column(pairs, ("--source_lang", job.source_lang), ())
    target = column(pairs, ("--target_lang", job.target_lang), ())
    return [(str(pair[source]), str(pair[target])) for pair in pairs]


def samples(pairs: Iterable[tuple[str, str]], tokenizer: Any, job: JobArguments, size: int) -> list[Row]:
    texts, targets = zip(*pairs)
    padding = "max_length" if job.pad_to_max_length else False
    encoded = tokenizer([job.source_prefix + text for text in texts], max_length=size, padding=padding, truncation=True)
    wanted = tokenizer(text_target=list(targets), max_length=job.max_target_length, padding=padding, truncation=True)
    skipped = tokenizer.pad_token_id if job.ignore_pad_token_for_loss else None
    return [
        {
            **{key: encoded[key][number] for key in encoded},
            "labels": [NONE if token == skipped else token for token in tokens],
        }
        for number, tokens in enumerate(wanted["input_ids"])
    ]


def collator(tokenizer: Any, model: Any, job: JobArguments) -> Any:
    padding = NONE if job.ignore_pad_token_for_loss else tokenizer.pad_token_id
    return DataCollatorForSeq2Seq(tokenizer, model=model, label_pad_token_id=padding)
