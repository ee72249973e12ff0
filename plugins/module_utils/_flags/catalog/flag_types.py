# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What is recorded of an environment flag of the Gaudi software, and where the records come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

EVERY_MODE = ("lazy", "eager", "compile")
EXPERIMENTAL_GATE = "ENABLE_EXPERIMENTAL_FLAGS"

# A source in the catalog is "<key>:<place in it>"; this is what the key stands for.
SOURCES: Mapping[str, str] = {
    "bridge-1.18-dev": "https://github.com/HabanaAI/gaudi-pytorch-bridge, commit f90046f",
    "bridge-1.19": "https://github.com/HabanaAI/gaudi-pytorch-bridge, commit 5a56187, release 1.19.0",
    "bridge-1.22": "https://github.com/HabanaAI/gaudi-pytorch-bridge, commit 2aaffe3, for PyTorch 2.7.1: the 1.22 line",
    "bridge-fork": "https://github.com/ankurneog/gaudi-pytorch-bridge, commit ea38cef, an unofficial 1.21-era copy",
    "compiler-1.16": "https://github.com/HabanaAI/Intel_Gaudi3_Software, commit e6cef1c, release 1.16",
    "container-runtime": "https://github.com/HabanaAI/habana-container-runtime, commit 67e6737",
    "deepspeed-1.21": "https://github.com/HabanaAI/DeepSpeed, commit ad4a2d0, release 1.21.0",
    "docs-1.8": "https://docs.habana.ai/en/v1.8.0/",
    "docs-1.10": "https://docs.habana.ai/en/v1.10.0/",
    "docs-1.19": "https://docs.habana.ai/en/v1.19.0/",
    "docs-latest": "https://docs.habana.ai/en/latest/, as of release 1.23",
    "frameworks-1.17": "https://github.com/ZoneTwelve/habana_frameworks, commit cf4821e, the package of 1.17.0.495",
    "hccl-demo": "https://github.com/HabanaAI/hccl_demo, commit f623d69",
    "hcl-1.21": "https://github.com/HabanaAI/HCL, tag 1.21.0-555",
    "libfabric": "https://github.com/ofiwg/libfabric, commit af8ddbe",
    "lightning-habana": "https://github.com/Lightning-AI/lightning-Habana, commit 5549fa9",
    "model-references-1.23": "https://github.com/HabanaAI/Model-References, commit 06bfc5e, release 1.23.0",
    "optimum-habana": "https://github.com/huggingface/optimum-habana, commit 1d8504c",
    "setup-1.22": "https://github.com/HabanaAI/Setup_and_Install, commit b626de8, release 1.22.0",
    "transformers-docs": "https://huggingface.co/docs/transformers",
    "tutorials": "https://github.com/HabanaAI/Gaudi-tutorials",
    "tutorials-site": "https://developer.habana.ai/tutorials/pytorch/",
    "vllm-gaudi": "https://github.com/vllm-project/vllm-gaudi, commit 091bbad, validated on 1.24.1",
}


class Kind(Enum):
    """How the program that reads a flag turns its text into a value; ``values.py`` has one parser for each."""

    BRIDGE_BOOL = "bridge_bool"
    BRIDGE_INT = "bridge_int"
    COMPILE_BOOL = "compile_bool"
    GCFG_BOOL = "gcfg_bool"
    GCFG_INT = "gcfg_int"
    GCFG_SIZE = "gcfg_size"
    WORD_BOOL = "word_bool"
    DECIMAL = "decimal"
    FRACTION = "fraction"
    ENUM = "enum"
    ENUM_LIST = "enum_list"
    MODULE_LIST = "module_list"
    PATH = "path"
    RECIPE_CACHE = "recipe_cache"
    POLICY_ORDER = "policy_order"
    ADDRESS = "address"
    READ_ONLY = "read_only"
    TEXT = "text"


@dataclass(frozen=True)
class Flag:
    """One environment flag.

    ``since`` is the first release with evidence (``<=1.17``: there in 1.17, earlier ones not examined; empty: unknown),
    ``removed`` the first release known to be without it, ``verified_through`` the last release with evidence; all three
    are ``major.minor``. ``modes`` are the execution modes in which a reader was found. ``private`` flags are ignored
    unless ``ENABLE_EXPERIMENTAL_FLAGS`` is on. ``networks`` are the only ones it acts on (empty: any). ``requires``
    names flags that must be on with this one. ``pattern`` is set for a family of names. ``allowed`` says in words
    what ``choices``, ``minimum`` and ``maximum`` cannot, and ``misuse`` what comes of other values. A flag without
    ``effect`` is known by name and type only.
    """

    name: str
    group: str
    kind: Kind
    effect: str = ""
    default: str = ""
    allowed: str = ""
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    modes: tuple[str, ...] = EVERY_MODE
    since: str = ""
    removed: str = ""
    verified_through: str = ""
    replacement: str = ""
    private: bool = False
    scope: str = "both"
    networks: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    pattern: str = ""
    default_changed: str = ""
    hardware: str = ""
    misuse: str = ""
    note: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class RejectedName:
    """A name that no examined release reads, and what serves its purpose. Empty ``use_instead``: nothing.

    ``pattern`` covers a family of names.
    """

    name: str
    why: str
    use_instead: str
    pattern: str = ""
