# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A small BERT of its own that ``gaudi3_scale.fine_tune`` trains, as with ``-m`` and a model on each node."""

import json
import os
import sys
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, PreTrainedTokenizerFast

from gaudi3_scale.fine_tune.__main__ import PROGRAM, fine_tune
from gaudi3_scale.ranks import run_rank

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog"]


def write_parts(directory):
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.WordLevel({"<pad>": 0, "<unk>": 1, **{word: 2 + n for n, word in enumerate(WORDS)}}))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>").save_pretrained(directory)
    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    BertConfig(**small, vocab_size=len(WORDS) + 2).save_pretrained(directory)
    rows = [{"text": " ".join(WORDS[n % 9 :]), "label": n % 2} for n in range(400)]
    (directory / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def main():
    output = Path(sys.argv[sys.argv.index("--output_dir") + 1])
    # Each rank its own, as one has a model on each node's disk; beside the checkpoints, which are the nodes' to copy.
    parts = output.with_name(f"{output.name}-parts-{os.environ.get('RANK', '0')}")
    write_parts(parts)
    task = ["--task", "text-classification", "--config_name", str(parts), "--train_file", f"{parts}/rows.jsonl"]
    run_rank(PROGRAM, fine_tune, [*task, *sys.argv[1:]])


if __name__ == "__main__":
    main()
