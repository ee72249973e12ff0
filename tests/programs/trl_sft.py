# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Supervised fine-tuning of a small GPT-2 with TRL and LoRA, in the manner of TRL's ``sft.py``."""

from dataclasses import dataclass, field

from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, HfArgumentParser, PreTrainedTokenizerFast, set_seed
from transformers.trainer_utils import get_last_checkpoint
from trl import SFTConfig, SFTTrainer

TEXT = "the quick brown fox jumps over a lazy dog and runs away from hens that keep their yard"
WORDS = TEXT.split()


@dataclass
class ScriptArguments:
    samples: int = field(default=512, metadata={"help": "Sentences of the data set."})


def tokenizer_of(words):
    vocabulary = {word: number for number, word in enumerate(["<pad>", "<eos>", "<unk>", *sorted(set(words))])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")


def main():
    script_args, training_args = HfArgumentParser((ScriptArguments, SFTConfig)).parse_args_into_dataclasses()
    set_seed(training_args.seed)
    tokenizer = tokenizer_of(WORDS)
    starts = [number % len(WORDS) for number in range(script_args.samples)]
    texts = [" ".join([*WORDS[start:], *WORDS[:start]]) for start in starts]
    last_checkpoint = get_last_checkpoint(training_args.output_dir)
    if last_checkpoint is not None:
        print(f"Checkpoint detected, resuming training at {last_checkpoint}", flush=True)
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=64, n_embd=32, n_layer=2, n_head=2)
    trainer = SFTTrainer(
        model=GPT2LMHeadModel(config),
        args=training_args,
        train_dataset=Dataset.from_dict({"text": texts}),
        processing_class=tokenizer,
        peft_config=LoraConfig(r=4, task_type="CAUSAL_LM", target_modules=["c_attn"]),
    )
    trainer.train(resume_from_checkpoint=last_checkpoint)
    trainer.save_model(training_args.output_dir)


if __name__ == "__main__":
    main()
