# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The bytes of a text as a tokenizer of Transformers: tokens of the trainer's ``--text`` and of ``data prepare``."""

from __future__ import annotations

import json

from gaudi3_scale.data.tokenizers import FILE

CONFIG_FILE = "tokenizer_config.json"


def byte_tokenizer(places: int | None) -> dict[str, bytes]:
    """The files by name: token 65 is the byte 65, and nothing is added to a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    tokenizer = Tokenizer(models.BPE(vocab=_letters(), merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    limit = {"model_max_length": places} if places else {}
    return {FILE: tokenizer.to_str().encode(), CONFIG_FILE: json.dumps({**about, **limit}, indent=1).encode()}


def _letters() -> dict[str, int]:
    """The printable letter that stands for each byte, as in GPT-2: its own, or the next free one above 255."""
    own = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    letters = {byte: chr(byte) for byte in own}
    others = [byte for byte in range(256) if byte not in letters]
    letters.update({byte: chr(256 + number) for number, byte in enumerate(others)})
    return {letters[byte]: byte for byte in range(256)}
