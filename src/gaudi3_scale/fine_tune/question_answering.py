# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of extractive question answering, from rows in the form of SQuAD."""

from __future__ import annotations

from typing import Any, Sequence

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.fine_tune.options import JobArguments
from gaudi3_scale.fine_tune.records import Row, column

Offsets = Sequence[tuple[int, int]]


def windows(rows: Sequence[Row], tokenizer: Any, job: JobArguments, size: int) -> list[Row]:
    """A context that is too long gives several samples, which overlap by ``--doc_stride`` tokens.

    A sample in which the answer is not as a whole has the sequence's first special token as its answer.
    """
    if not tokenizer.is_fast:
        raise GaudiError("--task question-answering needs a tokenizer that knows its tokens' places: a fast one.")
    most = size - tokenizer.num_special_tokens_to_add(pair=True)
    if job.doc_stride >= most:
        raise GaudiError(f"--doc_stride {job.doc_stride} leaves nothing of a window of {most} tokens; make it smaller.")
    for name in ("question", "context", "answers"):
        column(rows, ("SQuAD's form", name), ())
    # What is cut is the context, which comes second unless the padding is on the left.
    names = ("question", "context") if tokenizer.padding_side == "right" else ("context", "question")
    side = names.index("context")
    encoded = tokenizer(
        *([str(row[name]).lstrip() if name == "question" else str(row[name]) for row in rows] for name in names),
        truncation=("only_first", "only_second")[side],
        max_length=size,
        stride=job.doc_stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        padding="max_length" if job.pad_to_max_length else False,
    )
    kept = [key for key in encoded if key in tokenizer.model_input_names]
    samples = []
    for number, row in enumerate(encoded["overflow_to_sample_mapping"]):
        nowhere = _special(encoded["input_ids"][number], tokenizer)
        within = [at for at, part in enumerate(encoded.sequence_ids(number)) if part == side]
        first, last = _answer(rows[row]["answers"], encoded["offset_mapping"][number], within) or (nowhere, nowhere)
        inputs = {key: encoded[key][number] for key in kept}
        samples.append({**inputs, "start_positions": first, "end_positions": last})
    return samples


def _answer(answers: Row, offsets: Offsets, within: Sequence[int]) -> tuple[int, int] | None:
    """The first and the last token of the first answer, if all of it is in this window."""
    if not answers["answer_start"] or not within:
        return None
    begin = answers["answer_start"][0]
    end = begin + len(answers["text"][0])
    if offsets[within[0]][0] > begin or offsets[within[-1]][1] < end:
        return None
    first = max(at for at in within if offsets[at][0] <= begin)
    last = min(at for at in within if offsets[at][1] >= end)
    return first, last


def _special(tokens: Sequence[int], tokenizer: Any) -> int:
    for special in (tokenizer.cls_token_id, tokenizer.bos_token_id):
        if special is not None and special in tokens:
            return list(tokens).index(special)
    return 0
