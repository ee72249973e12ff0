# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A small GPT-2 on lines of text with Hugging Face's Trainer, in the manner of its examples (``run_clm.py``)."""

import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel, HfArgumentParser, Trainer, TrainingArguments, set_seed
from transformers.trainer_utils import get_last_checkpoint

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the hen that keeps the yard. "


@dataclass
class DataArguments:
    block_size: int = field(default=32, metadata={"help": "Bytes of one sample."})
    seconds_per_sample: float = field(default=0.02, metadata={"help": "What reading a sample takes."})


class Blocks(torch.utils.data.Dataset):
    def __init__(self, text, arguments):
        self.data = torch.tensor(list(text.encode()), dtype=torch.long)
        self.arguments = arguments

    def __len__(self):
        return len(self.data) // self.arguments.block_size

    def __getitem__(self, index):
        time.sleep(self.arguments.seconds_per_sample)
        block = self.data[index * self.arguments.block_size :][: self.arguments.block_size]
        return {"input_ids": block, "labels": block}


def main():
    data_args, training_args = HfArgumentParser((DataArguments, TrainingArguments)).parse_args_into_dataclasses()
    set_seed(training_args.seed)
    last_checkpoint = None
    if Path(training_args.output_dir).is_dir():
        last_checkpoint = get_last_checkpoint(training_args.output_dir)
    if last_checkpoint is not None:
        print(f"Checkpoint detected, resuming training at {last_checkpoint}", flush=True)
    config = GPT2Config(vocab_size=256, n_positions=data_args.block_size, n_embd=32, n_layer=2, n_head=2)
    trainer = Trainer(model=GPT2LMHeadModel(config), args=training_args, train_dataset=Blocks(TEXT * 200, data_args))
    result = trainer.train(resume_from_checkpoint=last_checkpoint)
    trainer.save_model()
    trainer.log_metrics("train", result.metrics)
    trainer.save_state()


if __name__ == "__main__":
    main()
