# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Text to tokens: its bytes, or what a Hugging Face tokenizer in a local directory makes of it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.extras import remedy

BYTES = "bytes"
FILE = "tokenizer.json"


class Tokenizer(ABC):
    """``identity`` says which tokenizer this is, wherever it lies; ``end`` is put after each file, None for nothing."""

    identity: str
    vocabulary: int
    end: int | None

    @abstractmethod
    def encode(self, text: bytes) -> np.ndarray:
        """The tokens of whole lines of UTF-8."""


class ByteTokenizer(Tokenizer):
    """One token a byte, so that any file is text, and nothing is added to it."""

    identity = BYTES
    vocabulary = 256
    end = None

    def encode(self, text: bytes) -> np.ndarray:
        return np.frombuffer(text, np.uint8)


class HuggingFaceTokenizer(Tokenizer):
    """``DIR/tokenizer.json``, which holds all of a tokenizer; its end-of-text token is named beside it."""

    def __init__(self, directory: Path) -> None:
        contents = tokenizer_file(directory)
        if importlib.util.find_spec("tokenizers") is None:
            raise GaudiError(f"--tokenizer {directory}: the package tokenizers is not in this Python; {remedy('hf')}.")
        # Its own threads: the processes of data prepare are the parallel ones.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from tokenizers import Tokenizer as Loaded

        try:
            self._loaded = Loaded.from_str(contents.decode())
        # The package raises plain Exception.
        except Exception as error:
            raise GaudiError(f"--tokenizer {directory}: {FILE} cannot be read: {error}; save it again.") from error
        self.identity = hashlib.sha256(contents).hexdigest()
        self.vocabulary = max(self._loaded.get_vocab().values()) + 1
        self.end = self._loaded.token_to_id(_end_of_text(directory) or "")

    def encode(self, text: bytes) -> np.ndarray:
        ids = self._loaded.encode(text.decode(errors="replace"), add_special_tokens=False).ids
        return np.asarray(ids, np.uint32)


def open_tokenizer(name: str) -> Tokenizer:
    """``bytes``, or a directory. Raises GaudiError where that is no tokenizer's or a package is missing."""
    return ByteTokenizer() if name == BYTES else HuggingFaceTokenizer(Path(name))


def tokenizer_file(directory: Path) -> bytes:
    try:
        return (directory / FILE).read_bytes()
    except OSError as error:
        raise GaudiError(
            f"--tokenizer {directory}: there is no {FILE} to read; give {BYTES}, or a directory that "
            "AutoTokenizer.save_pretrained wrote."
        ) from error


def _end_of_text(directory: Path) -> str | None:
    """What the configuration beside it calls eos_token: a text, or an object with one."""
    try:
        # Not with the reader for files of others: transformers writes a model_max_length of 31 digits.
        token = json.loads((directory / "tokenizer_config.json").read_text()).get("eos_token")
    except (OSError, ValueError):
        return None
    return token.get("content") if isinstance(token, dict) else token
