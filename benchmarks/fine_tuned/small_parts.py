# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Models that are made in a second, with tokenizers, and data for them: nothing is downloaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterable, Mapping

import torch
import transformers

SENTENCE = "the quick brown fox jumps over a lazy dog and runs away from hens that keep their yard"
WORDS = SENTENCE.split()
SAMPLES = 64
SIDE = 16


def write_models(directory: Path) -> None:
    """``llama``, ``bert``, ``t5`` and ``vit``, each of random weights."""
    from transformers.models.bert import BertConfig, BertForMaskedLM
    from transformers.models.llama import LlamaConfig, LlamaForCausalLM
    from transformers.models.t5 import T5Config, T5ForConditionalGeneration
    from transformers.models.vit import ViTConfig, ViTForImageClassification

    tokenizer, bare = _tokenizer(), _tokenizer(ends=False)
    size = len(tokenizer)
    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    models = {
        "llama": (
            LlamaForCausalLM,
            LlamaConfig(**small, vocab_size=size, max_position_embeddings=128, pad_token_id=0),
        ),
        "bert": (
            BertForMaskedLM,
            BertConfig(**small, vocab_size=size, max_position_embeddings=128, pad_token_id=0),
        ),
        "t5": (
            T5ForConditionalGeneration,
            T5Config(
                vocab_size=size, d_model=32, d_ff=64, d_kv=16, num_layers=2, num_heads=2, decoder_start_token_id=0
            ),
        ),
        "vit": (
            ViTForImageClassification,
            ViTConfig(**small, image_size=SIDE, patch_size=4, num_labels=2),
        ),
    }
    for name, (kind, config) in models.items():
        torch.manual_seed(0)
        kind(config).save_pretrained(directory / name)
        # TRL puts prompt and completion behind each other, with nothing between them.
        (bare if name == "llama" else tokenizer).save_pretrained(directory / name)
    _write_processor(directory / "vit")


def _write_processor(directory: Path) -> None:
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

    ViTImageProcessorPil(size={"height": SIDE, "width": SIDE}).save_pretrained(directory)


def _tokenizer(ends: bool = True) -> Any:
    """``ends``: each text is between two special tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = ["<pad>", "</s>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {word: number for number, word in enumerate([*special, *sorted(set(WORDS))])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if ends:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")],
        )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=128,
    )


def text(start: int, words: int = len(WORDS)) -> str:
    """So many words of the sentence, from another one on each time."""
    return " ".join(WORDS[(start + number) % len(WORDS)] for number in range(words))


def write_data(directory: Path) -> None:
    """A file of each form, and a directory of images."""
    directory.mkdir(parents=True, exist_ok=True)
    numbers = range(SAMPLES)
    _write(directory / "texts.jsonl", ({"text": text(number)} for number in numbers))
    _write(
        directory / "pairs.jsonl",
        (
            {"sentence1": text(9 * (number % 2), 5), "sentence2": text(number, 5), "label": ("no", "yes")[number % 2]}
            for number in numbers
        ),
    )
    _write(
        directory / "tagged.jsonl", ({"tokens": text(number).split(), "ner_tags": tags(number)} for number in numbers)
    )
    _write(directory / "questions.jsonl", (question(number) for number in numbers))
    _write(directory / "summaries.jsonl", ({"text": text(number), "summary": text(number, 3)} for number in numbers))
    _write(
        directory / "translations.jsonl",
        ({"translation": {"en": text(number), "ro": text(number + 5)}} for number in numbers),
    )
    _write(
        directory / "instructions.jsonl",
        ({"prompt": text(number, 4), "completion": text(number + 4, 6)} for number in numbers),
    )
    _write(
        directory / "preferences.jsonl",
        (
            {"prompt": text(number, 4), "chosen": text(number + 4, 6), "rejected": text(number + 9, 6)}
            for number in numbers
        ),
    )
    _write_images(directory / "images")


def tags(number: int) -> list[str]:
    return [
        "B" if WORDS[(number + place) % len(WORDS)] in ("fox", "dog", "hens") else "O" for place in range(len(WORDS))
    ]


def question(number: int) -> dict[str, Any]:
    context = text(number)
    answer = context.split()[2 + number % 4]
    begin = context.index(f" {answer} ") + 1
    return {"question": "fox and dog", "context": context, "answers": {"text": [answer], "answer_start": [begin]}}


def _write_images(directory: Path) -> None:
    from PIL import Image

    for number in range(SAMPLES):
        label = ("dark", "light")[number % 2]
        (directory / label).mkdir(parents=True, exist_ok=True)
        shade = 40 + number + 90 * (number % 2)
        Image.new("RGB", (20, 24), (shade, 255 - shade, shade // 2)).save(directory / label / f"{number:03}.png")


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
