# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of text and token classification."""

from __future__ import annotations

from typing import Any, Sequence

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.fine_tune.labels import Labels
from gaudi3_scale.fine_tune.options import JobArguments
from gaudi3_scale.fine_tune.records import Row, column

TEXTS = ("text", "sentence", "sentence1", "premise", "question1", "question")
# The second text of a pair, as GLUE names it beside the first.
SECOND = {"sentence1": "sentence2", "premise": "hypothesis", "question1": "question2", "question": "sentence"}
TOKENS, TAGS = ("tokens", "words"), ("ner_tags", "tags", "labels")
# Where a token has no label, the loss skips it.
NONE = -100


def label_column(rows: Sequence[Row], job: JobArguments) -> str:
    return column(rows, ("--label_column", job.label_column), TAGS if TOKENS[0] in rows[0] else ("label", "labels"))


def texts(rows: Sequence[Row], tokenizer: Any, job: JobArguments, labels: Labels, size: int) -> list[Row]:
    """One text or a pair each, and its label."""
    first = column(rows, ("--text_column", job.text_column), TEXTS)
    pair = SECOND.get(first)
    second = [str(row[pair]) for row in rows] if pair and all(pair in row for row in rows) else None
    encoded = tokenizer(
        [str(row[first]) for row in rows],
        second,
        truncation=True,
        max_length=size,
        padding="max_length" if job.pad_to_max_length else False,
    )
    name = label_column(rows, job)
    return [
        {**{key: encoded[key][number] for key in encoded}, "labels": labels.of(row[name])}
        for number, row in enumerate(rows)
    ]


def tokens(rows: Sequence[Row], tokenizer: Any, job: JobArguments, labels: Labels, size: int) -> list[Row]:
    """Words with a label each; a word's first token has it."""
    words, tags = column(rows, ("--text_column", job.text_column), TOKENS), label_column(rows, job)
    wrong = next((number for number, row in enumerate(rows) if len(row[words]) != len(row[tags])), None)
    if wrong is not None:
        raise GaudiError(f"Row {wrong + 1} has not as many values in {tags} as in {words}; give each word one.")
    encoded = tokenizer(
        [row[words] for row in rows],
        is_split_into_words=True,
        truncation=True,
        max_length=size,
        padding="max_length" if job.pad_to_max_length else False,
    )
    return [
        {
            **{key: encoded[key][number] for key in encoded},
            "labels": _of_tokens(encoded.word_ids(number), [labels.of(tag) for tag in row[tags]]),
        }
        for number, row in enumerate(rows)
    ]


def _of_tokens(words: Sequence[int | None], numbers: Sequence[int | float]) -> list[int | float]:
    before = [None, *words]
    return [numbers[word] if word is not None and word != previous else NONE for word, previous in zip(words, before)]
