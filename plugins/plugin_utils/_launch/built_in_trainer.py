# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""How the built-in trainer is started, and what the batch-size probe measures in its place; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

MODEL: Mapping[str, Any] = {"layers": 4, "width": 256, "heads": 4, "sequence_length": 256}
# What is behind the path of the tokens in the name of the file that says what they are.
MANIFEST, MANIFEST_BYTES = ".manifest.json", 1 << 20


@dataclass(frozen=True)
class BuiltInTrainer:
    """What the operator says of it. ``model`` has what differs from MODEL; ``precision`` empty: that of the device.

    ``batch_size`` 0 is not known yet; ``learning_rate`` 0 is the trainer's own. ``arguments`` are further words.
    """

    text: Sequence[str] = ()
    text_upload: str = ""
    data: str = ""
    max_steps: int = 200
    device: str = "hpu"
    precision: str = ""
    model: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int = 0
    accumulation_steps: int = 1
    learning_rate: float = 0.0
    arguments: Sequence[str] = ()

    @property
    def whole_model(self) -> dict[str, Any]:
        return {**MODEL, **self.model}

    @property
    def real_precision(self) -> str:
        return self.precision or ("fp32" if self.device == "cpu" else "bf16")


def typed(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as they are meant where ``text`` or ``model`` was typed, as with ``-e`` or into a survey."""
    text = [name.strip() for name in options["text"]]
    model = {name: int(value) if str(value).isdecimal() else value for name, value in options["model"].items()}
    return {**options, "text": [name for name in text if name], "model": model}


def refusal(trainer: BuiltInTrainer) -> str:
    """Why it has nothing to train on, or nothing."""
    if trainer.data and (trainer.text or trainer.text_upload):
        return (
            f"gaudi_training_data {trainer.data} cannot be combined with gaudi_training_text or "
            "gaudi_training_text_upload; leave one out, or empty it (gaudi_training_text: [])."
        )
    if not trainer.data and not trainer.text:
        return (
            "gaudi_training_text is empty; name files or directories with text on the hosts, set gaudi_training_data "
            "to prepared tokens, or set gaudi_training_command."
        )
    return ""


def command(trainer: BuiltInTrainer) -> list[str]:
    """What torchrun starts. The operator's own words come last, since the last of two alike counts."""
    model = trainer.whole_model
    source = ["--data", trainer.data] if trainer.data else ["--text", *trainer.text]
    words = ["-m", "gaudi3_scale.train", *source, "--max-steps", trainer.max_steps]
    words += ["--device", trainer.device, "--precision", trainer.real_precision]
    words += ["--layers", model["layers"], "--width", model["width"], "--heads", model["heads"]]
    words += ["--sequence-length", model["sequence_length"]]
    words += ["--batch-size", trainer.batch_size] if trainer.batch_size else []
    words += ["--accumulate", trainer.accumulation_steps] if trainer.accumulation_steps > 1 else []
    words += ["--learning-rate", trainer.learning_rate] if trainer.learning_rate else []
    return [str(word) for word in (*words, *trainer.arguments)]


def batch_refusal(trainer: BuiltInTrainer) -> str:
    """Why the probe cannot find the batch size of this trainer, or nothing."""
    if any(word == "--model" or word.startswith("--model=") for word in trainer.arguments):
        return (
            "gaudi_training_arguments has --model, and the probe knows only the built-in model; set "
            "gaudi_training_batch_size."
        )
    return bucket_refusal(trainer.data)


def bucket_refusal(data: str) -> str:
    """Why nothing can be measured of tokens there, or nothing."""
    if not data.startswith("s3://"):
        return ""
    return (
        f"gaudi_training_data {data}: only a training reads tokens in a bucket; set gaudi_training_batch_size for a "
        "launch, and measure with a copy of them on the nodes."
    )


def probe_options(trainer: BuiltInTrainer, processes: int, vocabulary: Optional[int]) -> dict[str, Any]:
    """The options of the built-in language model that takes as much memory as this trainer.

    Ranks of the trainer keep equal copies of the model (DDP), whose gradient buckets take memory too. Logits take as
    much as there are tokens to tell apart, which ``vocabulary`` counts (None: as many as the text has characters).
    """
    return {
        **trainer.whole_model,
        "precision": trainer.real_precision,
        **({"sharding": "ddp"} if processes > 1 else {}),
        **({} if vocabulary is None else {"vocabulary": vocabulary}),
    }


def vocabulary_in(manifest: str) -> Optional[int]:
    """How many different tokens there are, by the text of a manifest; None where it is none."""
    try:
        return int(json.loads(manifest)["vocabulary"])
    except (ValueError, TypeError, KeyError):
        return None


def without_manifest(data: str, user: str, host: str) -> GaudiError:
    """The tokens are not there, or not for that account."""
    return GaudiError(
        f"gaudi_training_data {data}: there is no {data}{MANIFEST} that {user} can read on {host}; write one with "
        f"gaudi3_scale data check --data {data}, and copy it to every host with the .bin and .idx."
    )
