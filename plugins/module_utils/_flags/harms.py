# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Values that a flag takes and that do harm, or nothing, on the cluster they are meant for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .bridge import InstalledBridge
from .catalog.values import is_on


@dataclass(frozen=True)
class Target:
    """What the flags are for.

    ``release`` is ``(major, minor)``. ``modes`` are the execution modes of the profile, ``purpose`` is training or
    inference, ``network`` one of the network profiles, or empty where it is not known. ``stock_torch``: True for torch
    from PyPI, False for the vendor's fork, None for not known. ``bridge`` is the one installed on the node, if any.
    """

    release: tuple[int, ...]
    modes: tuple[str, ...]
    purpose: str
    network: str
    stock_torch: bool | None = None
    bridge: InstalledBridge | None = None


Flags = Mapping[str, str]


@dataclass(frozen=True)
class Harm:
    """``applies`` gets all flags and the target; it is asked only where ``flag`` is set.

    ``ignored``: nothing worse happens than that the flag does nothing.
    """

    flag: str
    level: str
    applies: Callable[[Flags, Target], bool]
    why: str
    remedy: str
    ignored: bool = False


def _on(name: str) -> Callable[[Flags, Target], bool]:
    return lambda flags, _target: is_on(flags[name])


def _training(_flags: Flags, target: Target) -> bool:
    return target.purpose == "training"


def _always(_flags: Flags, _target: Target) -> bool:
    return True


def _leaves_no_provider(flags: Flags, target: Target) -> bool:
    """HCL from 1.18 on skips every libfabric provider whose name has neither tcp nor verbs in it (hl_ofi.cpp)."""
    text = flags["FI_PROVIDER"]
    names = text.lstrip("^").split(",")
    named = [family for family in ("tcp", "verbs") if any(family in name for name in names)]
    usable = len(named) < 2 if text.startswith("^") else bool(named)
    return target.release >= (1, 18) and not usable


HARMS: tuple[Harm, ...] = (
    Harm(
        "PT_HPU_LAZY_MODE",
        "error",
        lambda flags, target: flags["PT_HPU_LAZY_MODE"] == "1" and "lazy" not in target.modes,
        "the profile is for eager mode with torch.compile, and lazy mode switches that off",
        "choose the profile training_lazy, or leave the flag out",
    ),
    Harm(
        "PT_HPU_LAZY_MODE",
        "error",
        lambda flags, target: flags["PT_HPU_LAZY_MODE"] == "0" and target.modes == ("lazy",),
        "the profile is for lazy mode",
        "choose the profile training_compile, or leave the flag out",
    ),
    Harm(
        "PT_HPU_LAZY_MODE",
        "error",
        lambda flags, target: flags["PT_HPU_LAZY_MODE"] == "1" and target.stock_torch is True,
        "stock torch raises AssertionError when it is imported in lazy mode",
        "install the vendor's build of torch, or choose the profile training_compile",
    ),
    Harm(
        "PT_HPU_LAZY_MODE",
        "warning",
        lambda flags, target: (
            flags["PT_HPU_LAZY_MODE"] == "1" and "lazy" in target.modes and target.stock_torch is None
        ),
        "lazy mode needs the vendor's build of torch, and is no longer developed",
        "move to the profile training_compile when the model allows it",
    ),
    Harm(
        "PT_HPU_INFERENCE_MODE",
        "error",
        _training,
        "it puts batch norm and weights into inference form for the whole process, and Python code takes even 0 for on",
        "leave it out; for inference call hpu.enable_inference_mode()",
    ),
    Harm(
        "PT_COMPILE_ONLY_MODE",
        "error",
        lambda flags, target: is_on(flags["PT_COMPILE_ONLY_MODE"]) and target.purpose == "training",
        "graphs are compiled and never launched, so every result is garbage",
        "leave it out",
    ),
    Harm(
        "PT_HPU_RECIPE_CACHE_CONFIG",
        "error",
        lambda flags, target: flags["PT_HPU_RECIPE_CACHE_CONFIG"].count(",") > 2 and target.release < (1, 22),
        "releases before 1.22 take at most 3 fields and end the process on a fourth",
        "give <directory>,<true|false>,<MB>",
    ),
    Harm(
        "FI_PROVIDER",
        "error",
        _leaves_no_provider,
        "HCL from 1.18 on uses only tcp and verbs providers, so it would be left without a network between the hosts",
        "leave it out; HCL chooses the provider itself",
    ),
    Harm(
        "HCCL_OVER_OFI",
        "warning",
        lambda flags, _target: not is_on(flags.get("HCCL_GAUDI_DIRECT", flags.get("HCCL_PEER_DIRECT", "0"))),
        "setting it ends the automatic choice of the scale-out path and sends traffic through host memory",
        "leave it out, or set HCCL_GAUDI_DIRECT=1 with it",
    ),
    Harm(
        "PT_HPU_DISALLOW_TORCH_COMPILE",
        "warning",
        _on("PT_HPU_DISALLOW_TORCH_COMPILE"),
        "every torch.compile in the process is refused",
        "leave it out unless the job runs in plain eager mode",
    ),
    Harm(
        "PT_HPU_MAX_COMPOUND_OP_SIZE",
        "warning",
        lambda _flags, target: "lazy" in target.modes,
        "it caps the size of lazy graphs to save memory and may cost speed; good values differ from model to model",
        "set it for the one job that needs it",
    ),
    Harm(
        "PT_RECIPE_CACHE_IGNORE_VERSION",
        "warning",
        _on("PT_RECIPE_CACHE_IGNORE_VERSION"),
        "recipes of another release would be used",
        "leave it out",
    ),
    Harm(
        "PT_HPU_EMULATE_DISTRIBUTED",
        "warning",
        _on("PT_HPU_EMULATE_DISTRIBUTED"),
        "one card plays several, so nothing is exchanged between cards",
        "leave it out for real runs",
    ),
    Harm(
        "PT_HPU_SYNC_LAUNCH",
        "warning",
        _on("PT_HPU_SYNC_LAUNCH"),
        "the host waits for every graph; it is for debugging",
        "leave it out for real runs",
    ),
    Harm(
        "SCAL_DISABLE_TIMEOUT",
        "warning",
        _always,
        "a card that hangs is never reported; it is for debugging",
        "leave it out for real runs",
    ),
    Harm(
        "PT_HCCL_SLICE_SIZE_MB",
        "warning",
        _always,
        "Gaudi 2 and Gaudi 3 ignore it",
        "leave it out",
        ignored=True,
    ),
    Harm(
        "HCL_CPU_AFFINITY",
        "warning",
        _always,
        "scripts set it, but no public source reads it",
        "use USE_CPU_AFFINITY",
        ignored=True,
    ),
    Harm(
        "VLLM_SKIP_WARMUP",
        "warning",
        _on("VLLM_SKIP_WARMUP"),
        "the first requests then wait for compilation; it is for development",
        "leave it out in production",
    ),
)
