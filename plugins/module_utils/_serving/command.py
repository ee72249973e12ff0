# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What an instance's unit starts, and with which variables. Values only: no key is in either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .buckets import BATCHED_TOKENS, are_given, buckets_for
from .control import ServingPaths
from .engines import Engine
from .flags import EXPONENTIAL, RECIPES, SKIP_WARM_UP, STRATEGY, VISIBLE
from .instance import Instance
from .sizing import Size

BATCHED = "max-num-batched-tokens"
# Above this the vendor asks for longer waits inside the engine (vllm-gaudi docs, long_context.md).
LONG_CONTEXT = 32768
RECIPES_MB = 8192


def engine_argv(
    instance: Instance, engine: Engine, size: Size, model: str, *, program: str, drain: int, tls: Sequence[str] = ()
) -> tuple[str, ...]:
    """``program`` is vllm; ``tls`` the files of its certificate and private key; none: no TLS."""
    given: dict[str, Any] = {
        "host": instance.address,
        "port": instance.port,
        "served-model-name": instance.model.served_name,
        "tensor-parallel-size": instance.count,
        "max-model-len": size.max_model_len,
        "max-num-seqs": size.max_num_seqs,
        "gpu-memory-utilization": size.utilization,
        "block-size": 128,
        BATCHED: BATCHED_TOKENS,
        "generation-config": "vllm",
        **({"shutdown-timeout": drain} if engine.drains else {}),
        **dict(zip(("ssl-certfile", "ssl-keyfile"), tls)),
        **instance.flags,
    }
    words = [word for name, value in given.items() for word in _words(name, value)]
    return (program, "serve", model, *words)


def _words(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, bool):
        return (f"--{name}",) if value else (f"--no-{name}",)
    if isinstance(value, list):
        return (f"--{name}", *map(str, value))
    return (f"--{name}", f"{value:g}" if isinstance(value, float) else str(value))


def engine_variables(
    instance: Instance, engine: Engine, size: Size, modules: tuple[int, ...], paths: ServingPaths, recipes: str
) -> dict[str, str]:
    """In their order; what the operator gives is last and wins. ``recipes`` is the directory of compiled recipes."""
    own = {
        "HOME": paths.home,
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
        "PT_HPU_LAZY_MODE": "0",
        "HABANA_LOGS": f"{paths.home}/habana_logs",
        VISIBLE: ",".join(map(str, modules)),
        RECIPES: f"{recipes},false,{RECIPES_MB}",
        **_long_context(size),
        **_bucket_variables(instance, engine, size),
        **({SKIP_WARM_UP: "true"} if instance.skip_warm_up else {}),
    }
    return {**own, **instance.environment}


def _long_context(size: Size) -> dict[str, str]:
    if size.max_model_len <= LONG_CONTEXT:
        return {}
    return {"VLLM_ENGINE_ITERATION_TIMEOUT_S": "3600", "VLLM_RPC_TIMEOUT": "100000"}


def _bucket_variables(instance: Instance, engine: Engine, size: Size) -> dict[str, str]:
    if are_given(instance.environment):
        return {}
    if not engine.pads:
        return {STRATEGY: EXPONENTIAL}
    return buckets_for(size.max_model_len, size.max_num_seqs, batched_tokens(instance.flags)).variables()


def batched_tokens(flags: Mapping[str, Any]) -> int:
    """Of a step of the engine."""
    found = flags.get(BATCHED)
    return found if isinstance(found, int) and found > 0 else BATCHED_TOKENS
