# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A model of Transformers, by the config.json of a local directory; none of its code is run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.export.architecture import Architecture, Origin, shapes_of, without_weights
from gaudi3_scale.models.hugging_face import first_line

CONFIG = "config.json"
_OLD_BUFFER = r"rotary_emb\.inv_freq$"
"""What old releases saved with each layer; Transformers leaves it out as well."""
_LOCAL = {"local_files_only": True, "trust_remote_code": False}


def hugging_face(directory: Path) -> Architecture:
    """Raises GaudiError where config.json is not there, or of a model that Transformers does not know or changes."""
    config = read_config(directory)
    if getattr(config, "quantization_config", None):
        raise GaudiError(f"{directory}: its weights are quantized; export the checkpoint that they were made of.")
    model = skeleton(directory, config)
    if _is_renamed(model):
        raise GaudiError(
            f"{directory}: Transformers stores a {config.model_type} under other names than it computes with, and "
            "export writes what was trained as it is; save this model with save_pretrained instead."
        )
    shapes = shapes_of(model)
    tied = dict(getattr(model, "all_tied_weights_keys", None) or {})
    return Architecture(
        type(model).__name__,
        config,
        lambda: skeleton(directory, config),
        {name: shape for name, shape in shapes.items() if name not in tied},
        {name: Origin(name) for name in shapes if name not in tied},
        tied,
        frozenset(name for name, _buffer in model.named_buffers() if name in shapes),
        (_OLD_BUFFER, *(getattr(model, "_keys_to_ignore_on_load_unexpected", None) or ())),
    )


def read_config(directory: Path) -> Any:
    """What config.json says, as Transformers reads it."""
    _stay_offline()
    from transformers import AutoConfig

    if not (directory / CONFIG).is_file():
        raise GaudiError(f"{directory}: there is no {CONFIG}; name the model's directory with --model.")
    try:
        return AutoConfig.from_pretrained(directory, **_LOCAL)
    except (ValueError, KeyError, OSError) as error:
        raise GaudiError(f"{directory}: transformers cannot read {CONFIG}: {first_line(error)}.") from error


def skeleton(directory: Path, config: Any) -> nn.Module:
    """The model of a configuration, without weights."""
    _stay_offline()
    from transformers import AutoModelForCausalLM

    try:
        with without_weights():
            # fp32, whatever a configuration says: a weight's type is what the checkpoint has.
            model: nn.Module = AutoModelForCausalLM.from_config(config, dtype=torch.float32, trust_remote_code=False)
    except (ValueError, KeyError, RuntimeError, ImportError) as error:
        raise GaudiError(
            f"{directory}: transformers cannot make a causal language model of it: {first_line(error)}."
        ) from error
    return model.eval()


def _is_renamed(model: Any) -> bool:
    from transformers.conversion_mapping import get_model_conversion_mapping

    return bool(get_model_conversion_mapping(model, add_legacy=False))


def _stay_offline() -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"
