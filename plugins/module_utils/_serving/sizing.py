# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What fits in the cards' memory, by the vendor's formula (vllm-gaudi .cd/server/vllm_autocalc_rules.py), as a sum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._errors import GaudiError
from .architectures import KNOWN

GIB = 1 << 30
# Of a card's memory, GiB: what is not there for anybody, and what is left free (3 to 16 in the vendor's table).
UNAVAILABLE_GIB, FREE_GIB = 2.0, 3.0
GRAPHS = "VLLM_GRAPH_RESERVED_MEM"
GRAPHS_SHARE = 0.1
# vLLM's own limit where nobody sets one; more makes more graphs to warm up.
MOST_SEQUENCES = 256
DECODE_STEP = 32
TOKENS_STEP = 128
_BYTES = {"float32": 4, "float": 4, "bfloat16": 2, "float16": 2, "half": 2}
_MODEL_IMPLEMENTATION = "model-impl"


@dataclass(frozen=True)
class Shape:
    """What counts of a model. ``positions`` 0: it does not say how long a sequence may be."""

    architectures: tuple[str, ...]
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    positions: int
    dtype: str
    weight_bytes: int


@dataclass(frozen=True)
class Size:
    """What an instance gets. ``sums`` says how, in two lines."""

    max_model_len: int
    max_num_seqs: int
    utilization: float
    sums: tuple[str, str]


def shape_of(place: str, config: Mapping[str, Any], weight_bytes: int) -> Shape:
    """Of config.json; GaudiError where it lacks what vLLM needs."""
    inner = config.get("text_config")
    found = {**config, **(inner if isinstance(inner, dict) else {})}
    architectures = tuple(map(str, config.get("architectures") or ()))

    def number(*names: str, otherwise: int = 0) -> int:
        values = [found[name] for name in names if isinstance(found.get(name), int)]
        return int(values[0]) if values else otherwise

    layers, heads = number("num_hidden_layers", "n_layer", "num_layers"), number("num_attention_heads", "n_head")
    width = number("hidden_size", "n_embd", "d_model")
    if not layers or not heads or not (width or found.get("head_dim")):
        raise GaudiError(
            f"{place}: config.json does not say how many layers and heads the model has; serve a model that "
            "`gaudi3_scale export` made."
        )
    return Shape(
        architectures,
        layers,
        heads,
        number("num_key_value_heads", otherwise=heads),
        number("head_dim", otherwise=width // heads),
        number("max_position_embeddings", "n_positions", "max_seq_len"),
        str(found.get("dtype") or found.get("torch_dtype") or "bfloat16"),
        weight_bytes,
    )


def refuse_architecture(place: str, shape: Shape, flags: Mapping[str, Any]) -> None:
    """GaudiError for one that vLLM does not have, unless Transformers' own code is to compute it."""
    if flags.get(_MODEL_IMPLEMENTATION) in ("transformers", "terratorch") or KNOWN & set(shape.architectures):
        return
    named = ", ".join(shape.architectures)[:120] or "none"
    raise GaudiError(
        f"{place}: vLLM has no architecture {named}; serve a model with one of its own (docs/serving.md), or set "
        f"{_MODEL_IMPLEMENTATION}: transformers in flags."
    )


def refuse_cards(place: str, shape: Shape, cards: int) -> None:
    """GaudiError where the heads cannot be shared evenly by so many cards."""
    if shape.heads % cards:
        fitting = [str(count) for count in range(1, min(shape.heads, 64) + 1) if shape.heads % count == 0]
        raise GaudiError(
            f"{place}: {cards} cards do not divide the {shape.heads} attention heads of the model; use "
            f"{', '.join(fitting[:8])} cards."
        )
    if shape.kv_heads % cards and cards % shape.kv_heads:
        raise GaudiError(
            f"{place}: {cards} cards do not divide the {shape.kv_heads} key and value heads of the model; use a "
            "divisor or a multiple of that."
        )


def size_of(
    place: str,
    shape: Shape,
    *,
    cards: int,
    hbm_mib: int,
    max_model_len: int,
    max_num_seqs: int,
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
) -> Size:
    """What fits; GaudiError, with the sum, where what is asked for does not."""
    length = _length(place, shape, max_model_len, flags)
    bytes_each = 1 if "fp8" in str(flags.get("kv-cache-dtype", "")) else _bytes(str(flags.get("dtype") or shape.dtype))
    weights = shape.weight_bytes / cards / GIB
    usable = hbm_mib / 1024 - UNAVAILABLE_GIB - weights
    share = _number(environment.get(GRAPHS), GRAPHS_SHARE)
    utilization = _number(
        flags.get("gpu-memory-utilization"), max(0.0, math.floor((1 - FREE_GIB / max(usable, FREE_GIB)) * 100) / 100)
    )
    pool = max(0.0, usable * utilization * (1 - share))
    heads = max(1, math.ceil(shape.kv_heads / cards))
    each = 2 * length * shape.layers * shape.head_dim * heads * bytes_each / GIB
    fits = int(pool / each)
    memory = (
        f"{hbm_mib / 1024:.2f} GiB of a card - {UNAVAILABLE_GIB:.2f} unavailable - {weights:.2f} of weights = "
        f"{usable:.2f} usable; x {utilization:.2f} in use x {1 - share:.2f} without graphs = {pool:.2f} GiB for the KV "
        "cache"
    )
    request = (
        f"2 (K and V) x {length} tokens x {shape.layers} layers x {heads} heads of {shape.head_dim} x {bytes_each} "
        f"bytes = {each:.4f} GiB a request, so that {fits} fit"
    )
    if fits < max(1, max_num_seqs):
        what = f"max_num_seqs is {max_num_seqs}" if max_num_seqs else f"not one request of {length} tokens fits"
        raise GaudiError(
            f"{place}: the KV cache goes beyond the memory of the cards: {what}, and {memory}; {request}. Give more "
            "cards, or a smaller max_model_len or max_num_seqs.",
            sum=[memory, request],
        )
    return Size(length, max_num_seqs or _rounded(min(fits, MOST_SEQUENCES)), utilization, (memory, request))


def _length(place: str, shape: Shape, asked: int, flags: Mapping[str, Any]) -> int:
    if shape.positions and asked > shape.positions and "hf-overrides" not in flags and "rope-scaling" not in flags:
        raise GaudiError(
            f"{place}: max_model_len is {asked}, and the model knows {shape.positions} positions; give at most that."
        )
    wanted = asked or shape.positions
    if not wanted:
        raise GaudiError(f"{place}: the model does not say how long a sequence may be; set max_model_len.")
    rounded = math.ceil(wanted / TOKENS_STEP) * TOKENS_STEP
    # As the vendor recommends; a model that knows fewer positions than that has its own number.
    return rounded if not shape.positions or rounded <= shape.positions else wanted


def _rounded(count: int) -> int:
    """Down to a multiple of the decode batches' step, or below that to a power of two."""
    return count // DECODE_STEP * DECODE_STEP if count >= DECODE_STEP else 1 << (count.bit_length() - 1)


def _bytes(dtype: str) -> int:
    return _BYTES.get(dtype, 2)


def _number(given: Any, otherwise: float) -> float:
    try:
        found = float(given)
    except (TypeError, ValueError):
        return otherwise
    return found if 0 < found <= 1 else otherwise
