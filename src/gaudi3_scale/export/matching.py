# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which weight of a checkpoint is which of the model: strictly, neither more nor fewer, each of its shape."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import torch

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.export.architecture import Architecture
from gaudi3_scale.export.weights import Weights, name_of

_WRAPPER = re.compile(r"(?:^|(?<=\.))(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.")
"""What torch.compile, FSDP1 and activation checkpointing put into names."""
EXPORTABLE = (torch.float32, torch.bfloat16, torch.float16)
_MOST_NAMED = 3


def matched(weights: Weights, architecture: Architecture, prefix: str | None) -> dict[str, str]:
    """The checkpoint's name of each weight, tied ones that it has among them.

    ``prefix`` is what stands before them (None: found). Raises GaudiError for what is missing, left over or another.
    """
    plain = {_WRAPPER.sub("", name): name for name in weights.tensors}
    prefix = _prefix(weights, plain, architecture) if prefix is None else prefix
    here = {name.removeprefix(prefix): full for name, full in plain.items() if name.startswith(prefix)}
    for alias, name in architecture.tied.items():
        # Writers keep either name of a weight that two modules share.
        if name not in here and alias in here:
            here[name] = here[alias]
    known = {*architecture.shapes, *architecture.tied}
    ignored = re.compile("|".join(f"(?:{one})" for one in architecture.ignored) or r"(?!)")
    missing = sorted(name for name in architecture.shapes if name not in here)
    more = sorted(name for name in here if name not in known and not ignored.search(name))
    if missing:
        raise GaudiError(
            f"{weights.where} has no {_listed(missing)}, of {architecture.name}; name the directory of the model that "
            "was trained with --model."
        )
    if more:
        raise GaudiError(
            f"{weights.where} has {_listed(more)}, which {architecture.name} has not; name the directory of the model "
            "that was trained with --model."
        )
    for name, shape in architecture.shapes.items():
        found = weights.tensors[here[name]].shape
        if found != shape:
            raise GaudiError(
                f"{weights.where}: {name} is {list(found)} in it and {list(shape)} in {architecture.name}; name the "
                "directory of the model that was trained with --model."
            )
    return {name: here[name] for name in known if name in here}


def chosen_dtype(weights: Weights, names: Iterable[str], wanted: torch.dtype | None) -> torch.dtype:
    """The type of all weights. Raises GaudiError where it is to stay as trained and there are several, or none fits."""
    found = {weights.tensors[name].dtype for name in names}
    strange = sorted(name_of(dtype) for dtype in found if not dtype.is_floating_point or dtype.itemsize < 2)
    if strange:
        raise GaudiError(
            f"{weights.where} has weights of type {strange[0]}, and trained ones are float32, bfloat16 or float16."
        )
    if wanted is not None:
        return wanted
    if len(found) > 1 or next(iter(found)) not in EXPORTABLE:
        raise GaudiError(
            f"{weights.where} has weights of type {' and '.join(sorted(map(name_of, found)))}, and a served model has "
            f"one; choose it with --dtype ({', '.join(map(name_of, EXPORTABLE))})."
        )
    return next(iter(found))


def _prefix(weights: Weights, plain: Mapping[str, str], architecture: Architecture) -> str:
    """What stands before every weight of the model, as ``model.`` does in this trainer's checkpoints."""
    # The rarest name tells them apart soonest: the first layer's weights have many namesakes, the last norm has few.
    sought = max(architecture.shapes, key=len)
    candidates = [name.removesuffix(sought) for name in plain if name == sought or name.endswith(f".{sought}")]
    complete = [one for one in candidates if all(f"{one}{name}" in plain for name in architecture.shapes)]
    if len(complete) > 1:
        raise GaudiError(
            f"{weights.where} has several models, before whose weights stand {_listed(sorted(complete))}; choose one "
            "with --prefix."
        )
    if complete:
        return complete[0]
    # For a message that says what is missing, by where most of it is.
    counts = {one: sum(f"{one}{name}" in plain for name in architecture.shapes) for one in _prefixes(plain)}
    return max(counts, key=lambda one: (counts[one], -len(one)), default="")


def _prefixes(names: Iterable[str]) -> set[str]:
    found = {""}
    for name in names:
        parts = name.split(".")
        found |= {".".join(parts[:depth]) + "." for depth in range(1, min(len(parts), 4))}
    return found


def _listed(names: list[str]) -> str:
    shown = ", ".join(name or "nothing" for name in names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"
