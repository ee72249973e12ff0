# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The built-in model as a GPT-2 that does the same: the same layers in the same order, under other names.

GPT-2 keeps the weights of its blocks' linear layers with inputs as rows (Transformers' Conv1D), PyTorch's Linear with
outputs as rows; numbers and roundings are the same. It is GPT-2 with the exact GELU, and with a head of its own.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from torch import nn

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.export.architecture import Architecture, Origin, shapes_of, without_weights
from gaudi3_scale.models.language_model import LanguageModel, ModelShape

NAME = "built-in"
_OUTSIDE = {
    "transformer.wte.weight": "tokens.weight",
    "transformer.wpe.weight": "places.weight",
    "transformer.ln_f.weight": "norm.weight",
    "transformer.ln_f.bias": "norm.bias",
    "lm_head.weight": "head.weight",
}
_NORMS = {"ln_1": "attention_norm", "ln_2": "perceptron_norm"}
_LINEAR = {
    "attn.c_attn": "query_key_value",
    "attn.c_proj": "attention_out",
    "mlp.c_fc": "perceptron.0",
    "mlp.c_proj": "perceptron.2",
}


def built_in(saved: dict[str, Any]) -> Architecture:
    """``saved`` is the shape that a checkpoint says. Raises GaudiError where it is none."""
    from transformers.models.gpt2 import GPT2Config

    try:
        shape = ModelShape(**{name: value for name, value in saved.items() if name != "model"})
    except TypeError as error:
        raise GaudiError(f"the checkpoint's model is {saved}, which this release does not know.") from error
    config = GPT2Config(
        vocab_size=shape.vocabulary,
        n_positions=shape.sequence_length,
        n_embd=shape.width,
        n_layer=shape.layers,
        n_head=shape.heads,
        activation_function="gelu",
        tie_word_embeddings=False,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        eos_token_id=None,
    )

    def trained() -> nn.Module:
        with without_weights():
            return LanguageModel(ModelShape(**asdict(shape))).eval()

    return Architecture("GPT2LMHeadModel", config, trained, shapes_of(trained()), _origins(shape.layers))


def _origins(layers: int) -> dict[str, Origin]:
    found = {name: Origin(origin) for name, origin in _OUTSIDE.items()}
    for layer in range(layers):
        for here, there in (*_NORMS.items(), *_LINEAR.items()):
            for part in ("weight", "bias"):
                origin = Origin(f"blocks.{layer}.{there}.{part}", part == "weight" and here in _LINEAR)
                found[f"transformer.h.{layer}.{here}.{part}"] = origin
    return found
