# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Options and variables of the engine that an operator gives, and those that he cannot mean. Values only.

Sources: vllm-gaudi docs/configuration/env_variables.md and vllm_gaudi/extension/bucketing; options that today's vLLM
answers with "unrecognized arguments" were seen with vLLM 0.32.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .._errors import GaudiError
from .._node.environment_file import assignment

STRATEGY, EXPONENTIAL_SWITCH, FROM_FILE = (
    "VLLM_BUCKETING_STRATEGY",
    "VLLM_EXPONENTIAL_BUCKETING",
    "VLLM_BUCKETING_FROM_FILE",
)
EXPONENTIAL, LINEAR, PADDED = "exp", "lin", "pad"
STRATEGIES = (EXPONENTIAL, LINEAR, PADDED)
SKIP_WARM_UP, KEY, VISIBLE = "VLLM_SKIP_WARMUP", "VLLM_API_KEY", "HABANA_VISIBLE_MODULES"
RECIPES = "PT_HPU_RECIPE_CACHE_CONFIG"
# Read with lin and pad alone; with exp the engine writes its own over them. The exception sets the real prefill batch.
BUCKET = re.compile(r"VLLM_(PROMPT|DECODE)_(BS|QUERY|SEQ|CTX|BLOCK)_BUCKET_(MIN|STEP|MAX|PAD_MAX|PAD_PERCENT)")
ALWAYS_READ = ("VLLM_PROMPT_BS_BUCKET_MAX",)
_FLAG = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_TRUE = ("1", "true", "t", "y", "yes", "on")
# Of HabanaAI/vllm-fork, which has ended: vLLM knows none of them.
FORKS_FLAGS: Mapping[str, str] = {
    "device": "vLLM finds the cards by its plug-in",
    "num-scheduler-steps": "vLLM schedules each step",
    "use-padding-aware-scheduling": "VLLM_BUCKETING_STRATEGY: pad is closest to it",
    "max-num-prefill-seqs": "VLLM_PROMPT_BS_BUCKET_MAX is closest to it",
    "max-seq-len-to-capture": "buckets follow max_model_len",
    "disable-log-requests": "vLLM does not log requests unless enable-log-requests is given",
    "weights-load-device": "vLLM loads weights to the cards",
    "split-qkv": "it has no successor",
}
FORKS_VARIABLES: Mapping[str, str] = {
    "VLLM_DELAYED_SAMPLING": "async-scheduling among the flags is closest to it",
    "VLLM_CONFIG_HIDDEN_LAYERS": "it has no successor",
    "VLLM_PROMPT_USE_FUSEDSDPA": "it is always so",
    EXPONENTIAL_SWITCH: f"it overrules {STRATEGY}; set that",
}
# What an instance's own options, the role or the node decide.
_OWN: Mapping[str, str] = {
    **dict.fromkeys(("host", "uds"), "address"),
    "port": "port",
    **dict.fromkeys(("model", "served-model-name", "tokenizer", "download-dir", "revision"), "model"),
    "max-model-len": "max_model_len",
    "max-num-seqs": "max_num_seqs",
    "tensor-parallel-size": "cards",
    "shutdown-timeout": "gaudi_serving_drain_timeout",
    "api-key": "gaudi_serving_key_file",
    "ssl-certfile": "gaudi_serving_certificate",
    "ssl-keyfile": "gaudi_serving_certificate_key",
}
_SEVERAL_NODES = ("nnodes", "node-rank", "master-addr", "master-port", "headless", "data-parallel-address")
_OWN_VARIABLES: Mapping[str, str] = {
    KEY: "gaudi_serving_key_file",
    VISIBLE: "cards or modules",
    "HABANA_VISIBLE_DEVICES": "cards or modules",
    RECIPES: "nothing, since each set of cards has its own",
    FROM_FILE: "max_model_len and max_num_seqs",
    "HF_TOKEN": "nothing, since models are not fetched from elsewhere",
    "VLLM_SERVER_DEV_MODE": "nothing: it opens the server's debugging to clients",
}


def check_flags(place: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options by their names as vLLM writes them; GaudiError for one that cannot be meant.

    A value is text, a number, True (the option alone), False (the option with ``no-``), or a list.
    """
    found: dict[str, Any] = {}
    for written, value in given.items():
        name = str(written).lstrip("-").replace("_", "-")
        if not _FLAG.fullmatch(name):
            raise GaudiError(f"{place}: flags has {str(written)[:60]!r}; give an option of vllm serve by its name.")
        plain = name.removeprefix("no-")
        if plain in FORKS_FLAGS:
            raise GaudiError(
                f"{place}: flags has {written}, which only HabanaAI/vllm-fork knew, and that has ended: "
                f"{FORKS_FLAGS[plain]}; remove it."
            )
        if plain in _OWN:
            raise GaudiError(f"{place}: flags has {written}, which {_OWN[plain]} decides; remove it from flags.")
        _check_one_node(place, name, value)
        if not isinstance(value, (str, int, float, bool, list)) or not _fits(value):
            raise GaudiError(
                f"{place}: flags has {written} with {value!r:.60}; give text, a number, a boolean or a list."
            )
        if name in found:
            raise GaudiError(f"{place}: flags has {name} twice; give it once.")
        found[name] = value
    return found


def _fits(value: Any) -> bool:
    words = value if isinstance(value, list) else [value]
    return all(isinstance(word, (str, int, float)) and str(word).isprintable() for word in words)


def _check_one_node(place: str, name: str, value: Any) -> None:
    is_several = (
        name in _SEVERAL_NODES
        or (name in ("pipeline-parallel-size", "data-parallel-size-local") and value != 1)
        or (name == "distributed-executor-backend" and value != "mp")
    )
    if is_several:
        raise GaudiError(
            f"{place}: flags has {name}: {value}, and the plug-in for Gaudi serves on one node alone; describe one "
            "instance on each node, behind the proxy."
        )


def check_environment(place: str, given: Mapping[str, Any], *, skips_warm_up: bool = False) -> dict[str, str]:
    """The variables as text; GaudiError for one that cannot be meant, or that the chosen buckets ignore."""
    for name, value in given.items():
        if not isinstance(value, (str, int, float, bool)):
            raise GaudiError(f"{place}: environment has {str(name)[:60]} with {value!r:.60}; give text or a number.")
    found = {str(name): _text(value) for name, value in given.items()}
    for name, value in found.items():
        assignment(name, value)
        if name in FORKS_VARIABLES:
            raise GaudiError(f"{place}: environment has {name}: {FORKS_VARIABLES[name]}; remove it.")
        if name in _OWN_VARIABLES:
            raise GaudiError(f"{place}: environment has {name}, which {_OWN_VARIABLES[name]} decides; remove it.")
    strategy = found.get(STRATEGY, "")
    if strategy not in ("", *STRATEGIES):
        raise GaudiError(f"{place}: {STRATEGY} is {strategy!r:.40}; use {', '.join(STRATEGIES)}.")
    if strategy == EXPONENTIAL:
        ignored = [name for name in found if BUCKET.fullmatch(name) and name not in ALWAYS_READ]
        if ignored:
            raise GaudiError(
                f"{place}: environment has {ignored[0]}, which {STRATEGY}={EXPONENTIAL} ignores; remove it, or set "
                f"{STRATEGY} to {PADDED} or {LINEAR}."
            )
    if found.get(SKIP_WARM_UP, "").lower() in _TRUE and not skips_warm_up:
        raise GaudiError(
            f"{place}: environment has {SKIP_WARM_UP}, after which the first requests wait for graphs to be compiled; "
            "remove it, or set skip_warm_up for a test."
        )
    return found


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
