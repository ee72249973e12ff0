# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A model that is made in a second and that servers load: a Llama of random weights with a tokenizer and a template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LICENSES = Path("/usr/share/common-licenses")
VOCABULARY, PLACES = 512, 512
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def write_tiny_llama(directory: Path, seed: int = 0, **sizes: Any) -> Path:
    """Write it into ``directory``; other seeds have other weights. ``sizes`` are LlamaConfig's."""
    import torch
    from transformers.models.llama import LlamaConfig, LlamaForCausalLM

    tokenizer = _tokenizer()
    torch.manual_seed(seed)
    told: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": PLACES,
        "bos_token_id": 0,
        "eos_token_id": 1,
        # Large enough that the likeliest token is a clear one, as a trained model has it.
        "initializer_range": 0.2,
    }
    LlamaForCausalLM(LlamaConfig(**{**told, **sizes})).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def _tokenizer() -> Any:
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    made = ByteLevelBPETokenizer()
    texts = [str(path) for path in sorted(LICENSES.iterdir()) if path.is_file()][:6]
    made.train(texts, vocab_size=VOCABULARY, special_tokens=["<s>", "</s>"], show_progress=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made._tokenizer, bos_token="<s>", eos_token="</s>")
    tokenizer.chat_template = TEMPLATE
    return tokenizer
