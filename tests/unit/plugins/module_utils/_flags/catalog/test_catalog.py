# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The catalog is complete, sound in itself, and found by name."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.catalog.catalog import (
    CURATED_FLAGS,
    FLAGS,
    find_flag,
    nearest_names,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.catalog.flag_types import (
    EVERY_MODE,
    SOURCES,
    Flag,
    Kind,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.catalog.names import NAMED_FLAGS
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.catalog.rejected import (
    REJECTED_NAMES,
    find_rejected,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.harms import HARMS
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.profiles import NETWORKS, PROFILES

EVERY_FLAG = [*CURATED_FLAGS, *NAMED_FLAGS]
VERSION = re.compile(r"1\.[0-9]+")


def test_holds_what_the_research_found() -> None:
    assert len(CURATED_FLAGS) >= 228
    assert len(FLAGS) >= 850


def test_no_name_is_there_twice() -> None:
    names = [*(flag.name for flag in EVERY_FLAG), *(alias for flag in EVERY_FLAG for alias in flag.aliases)]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def problems(flag: Flag) -> list[str]:
    """What is wrong with an entry."""
    versions = [text for text in (flag.removed, flag.verified_through, flag.since.replace("<=", "")) if text]
    wrong = {
        "no source": not flag.sources,
        "unknown source": not {source.partition(":")[0] for source in flag.sources} <= set(SOURCES),
        "modes": not flag.modes or not set(flag.modes) <= set(EVERY_MODE),
        "scope": flag.scope not in ("both", "training", "inference"),
        "networks": not set(flag.networks) <= set(NETWORKS),
        "version": not all(VERSION.fullmatch(text) for text in versions),
        "no choices": flag.kind in (Kind.ENUM, Kind.ENUM_LIST) and not flag.choices,
        "requires an unknown flag": any(find_flag(name) is None for name in flag.requires),
    }
    return [f"{flag.name}: {what}" for what, found in wrong.items() if found]


def test_every_entry_is_sound() -> None:
    assert [problem for flag in EVERY_FLAG for problem in problems(flag)] == []


def test_an_unsound_entry_would_be_seen() -> None:
    entry = Flag("A", "g", Kind.ENUM, modes=("fast",), scope="all", networks=("x",), since="<=v1", requires=("B",))
    assert len(problems(entry)) == 7
    assert problems(replace(entry, sources=("hearsay:x",)))[0] == "A: unknown source"


def test_curated_entries_say_what_the_flag_does() -> None:
    assert [flag.name for flag in CURATED_FLAGS if not flag.effect.endswith(".")] == []


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("PT_HPU_LAZY_MODE", "PT_HPU_LAZY_MODE"),
        ("HCCL_PEER_DIRECT", "HCCL_GAUDI_DIRECT"),
        ("LOG_LEVEL_ALL_HCL", "LOG_LEVEL_ALL_<PREFIX>"),
        ("LOG_LEVEL_PT_FALLBACK", "LOG_LEVEL_<LOGGER>"),
        ("VLLM_PROMPT_SEQ_BUCKET_MAX", "VLLM_PROMPT_SEQ_BUCKET_<limit>"),
        ("PT_HPU_DISABLE_pass_fuse_partitions", "PT_HPU_DISABLE_pass_<name>"),
        ("HCL_IBV_RETRY_TIMEOUT_SEC", "HCL_IBV_RETRY_TIMEOUT_SEC"),
    ],
)
def test_flag_is_found(name: str, entry: str) -> None:
    found = find_flag(name)
    assert found is not None
    assert found.name == entry


@pytest.mark.parametrize(
    "name", ["", "PT_HPU", "PT_HPU_LAZY", "pt_hpu_lazy_mode", "LOG_LEVEL_<LOGGER>", "OMP_NUM_THREADS"]
)
def test_no_flag_is_found(name: str) -> None:
    assert find_flag(name) is None


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("PT_HPU_LAZYMODE", "PT_HPU_LAZY_MODE"),
        ("pt-hpu-lazy-mode", "PT_HPU_LAZY_MODE"),
        ("PT_HPU_POOL_STRATEGI", "PT_HPU_POOL_STRATEGY"),
        ("HCCL_OVER_OFFI", "HCCL_OVER_OFI"),
        ("HABANA_LOG", "HABANA_LOGS"),
    ],
)
def test_the_nearest_real_name_comes_first(name: str, nearest: str) -> None:
    assert nearest_names(name)[0] == nearest


def test_nothing_is_near_a_name_from_elsewhere() -> None:
    assert nearest_names("OMP_NUM_THREADS") == []


def test_no_rejected_name_is_a_flag_too() -> None:
    assert [entry.name for entry in REJECTED_NAMES if find_flag(entry.name) is not None] == []
    assert [name for name in FLAGS if find_rejected(name) is not None] == []


def test_what_to_use_instead_exists() -> None:
    prefixes = r"\b(?:PT_|HCCL_|HCL_|FI_|LOG_LEVEL_|SCAL_|HABANA_)[A-Z0-9_]+"
    named = {name for entry in REJECTED_NAMES for name in re.findall(prefixes, entry.use_instead)}
    assert len(named) > 8
    assert [name for name in sorted(named) if find_flag(name) is None] == []


def test_harms_and_profiles_speak_of_real_flags() -> None:
    settings = [setting for profile in PROFILES.values() for setting in profile.settings]
    settings += [setting for network in NETWORKS.values() for setting in network.settings]
    names = {harm.flag for harm in HARMS} | {setting.name for setting in settings}
    assert [name for name in sorted(names) if name not in FLAGS] == []
