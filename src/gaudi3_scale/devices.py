# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The kind of device a process computes on: ``hpu`` (Gaudi), ``cuda`` or ``cpu``.

Everything that calls ``habana_frameworks`` goes through here, so that it is imported only where a Gaudi is used.
"""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

import torch

from gaudi3_scale.core._cards.peak_rates import gaudi_label
from gaudi3_scale.core._errors import GaudiError

KINDS = ("hpu", "cuda", "cpu")
BACKENDS = {"hpu": "hccl", "cuda": "nccl", "cpu": "gloo"}


def choose_device(name: str) -> str:
    """The kind meant by ``name``: one of :data:`KINDS`, or ``auto`` for the first of them that this node has.

    Raises GaudiError when the kind that was asked for cannot be used here.
    """
    if name == "auto":
        return next(kind for kind in KINDS if missing(kind) is None)
    if name not in KINDS:
        raise GaudiError(f"--device {name}: there is no such device; choose one of auto, {', '.join(KINDS)}.")
    reason = missing(name)
    if reason:
        raise GaudiError(f"--device {name}: {reason}")
    return name


def missing(kind: str) -> str | None:
    """Why ``kind`` cannot be used here, as the rest of a sentence, or None if it can."""
    if kind == "hpu":
        if importlib.util.find_spec("habana_frameworks") is None:
            return "habana_frameworks is not in this Python; install the release's PyTorch bundle, or use --device cpu."
        habana("core")
        if not hpu_module().is_available():
            return "habana_frameworks sees no card; look at hl-smi and at the habanalabs driver."
    if kind == "cuda" and not torch.cuda.is_available():
        return "this PyTorch sees no CUDA device; use --device cpu, or a PyTorch built for the cards."
    return None


def local_device(kind: str, local_rank: int) -> torch.device:
    """The device of the process with this rank on its node, made the current one.

    On Gaudi the bridge gives each process its own card from torchrun's environment, so that every process calls
    its card ``hpu`` (docs.habana.ai, Distributed Backend Initialization, "Device Mapping").
    """
    if kind == "cuda":
        count = torch.cuda.device_count()
        if local_rank >= count:
            raise GaudiError(
                f"--device cuda: local rank {local_rank} has no card, since this node shows {count}; "
                "start no more processes than cards."
            )
        torch.cuda.set_device(local_rank)
        return torch.device("cuda", local_rank)
    return torch.device(kind)


def card_label(device: torch.device) -> str:
    """The kind of card, as the table of peak rates names it; empty for the CPU and a card that nobody knows."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return gaudi_label() if device.type == "hpu" else ""


def synchronize(device: torch.device) -> None:
    """Wait until everything queued on ``device`` is done."""
    if device.type == "hpu":
        hpu_module().synchronize()
    elif device.type == "cuda":
        torch.cuda.synchronize(device)


def end_lazy_graph(device: torch.device) -> None:
    """In the lazy mode of Gaudi (PT_HPU_LAZY_MODE=1) what was recorded runs from here on; elsewhere it has run."""
    if device.type == "hpu":
        habana("core").mark_step()


def compile_backend(kind: str) -> str:
    """The name of the backend of ``torch.compile`` for ``kind``; Gaudi's bridge brings one of its own."""
    if kind == "hpu":
        habana("core")
        return "hpu_backend"
    return "inductor"


def load_collectives(kind: str) -> str:
    """The name of the process group backend for ``kind``, ready to be used."""
    if kind == "hpu":
        habana("distributed.hccl")
    return BACKENDS[kind]


def hpu_module() -> ModuleType:
    """``habana_frameworks.torch.hpu``, what ``torch.cuda`` is for CUDA."""
    return habana("hpu")


def habana(part: str) -> ModuleType:
    """The module ``part`` of the bridge."""
    return importlib.import_module(f"habana_frameworks.torch.{part}")
