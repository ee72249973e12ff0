# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which variables a profile, a network and an operator give, in which order and from which source."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._flags import profiles
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.profiles import (
    NETWORKS,
    PROFILES,
    EnvironmentOptions,
    directories,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.settings_check import judge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.environment_file import Setting
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import Release, find_release

CACHE = "PT_HPU_RECIPE_CACHE_CONFIG"


def options(**more: Any) -> EnvironmentOptions:
    return EnvironmentOptions(**{"release": "1.24.1", **more})


def release_of(wanted: EnvironmentOptions) -> Release:
    return find_release(wanted.release, wanted.release_overrides)


def plan_environment(wanted: EnvironmentOptions) -> list[Setting]:
    return profiles.plan_environment(wanted, release_of(wanted))


def values(**more: Any) -> dict[str, str]:
    return {setting.name: setting.value for setting in plan_environment(options(**more))}


def without_places(**more: Any) -> dict[str, str]:
    return {name: value for name, value in values(**more).items() if name not in (CACHE, "HABANA_LOGS")}


@pytest.mark.parametrize(
    ("profile", "network", "expected"),
    [
        ("training_compile", "gaudi_ethernet", {"PT_HPU_LAZY_MODE": "0"}),
        ("training_compile", "ethernet", {"PT_HPU_LAZY_MODE": "0"}),
        ("training_lazy", "gaudi_ethernet", {"PT_HPU_LAZY_MODE": "1"}),
        ("inference_vllm", "gaudi_ethernet", {"PT_HPU_LAZY_MODE": "0", "VLLM_BUCKETING_STRATEGY": "exp"}),
        (
            "training_compile",
            "infiniband",
            {"PT_HPU_LAZY_MODE": "0", "RDMAV_FORK_SAFE": "1", "MLX5_SCATTER_TO_CQE": "0"},
        ),
        (
            "training_compile",
            "efa",
            {"PT_HPU_LAZY_MODE": "0", "RDMAV_FORK_SAFE": "1", "FI_EFA_USE_DEVICE_RDMA": "1"},
        ),
    ],
)
def test_a_profile_and_a_network_give_their_flags(profile: str, network: str, expected: dict[str, str]) -> None:
    assert without_places(profile=profile, network=network) == expected


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("profile", PROFILES)
def test_no_profile_is_refused_by_the_check_and_each_value_has_a_source(profile: str, network: str) -> None:
    wanted = options(profile=profile, network=network, interface="eth0")
    settings = plan_environment(wanted)
    assert all(setting.source for setting in settings)
    target = profiles.target_of(profile, network, (1, 24), None, None)
    expected = {"PT_HPU_LAZY_MODE"} if profile == "training_lazy" else set()
    expected |= {"network"} if network == "efa" else set()
    assert {finding.flag for finding in judge(wanted, settings, target).findings} == expected


def test_logs_and_recipes_have_their_places() -> None:
    found = values(recipe_cache="/scratch/recipes/", recipe_cache_size=2048, log_directory="/scratch/logs")
    assert found["HABANA_LOGS"] == "/scratch/logs"
    directory, empty, size = found[CACHE].split(",")
    assert directory.startswith("/scratch/recipes/1.24.1-482/")
    assert (empty, size) == ("false", "2048")


def cache_directory(**more: Any) -> str:
    return values(**more)[CACHE].split(",")[0]


def test_recipes_of_another_release_or_other_compiling_flags_are_kept_apart() -> None:
    changed = [
        cache_directory(),
        cache_directory(release="1.23.0"),
        cache_directory(profile="training_lazy"),
        cache_directory(overrides={"PT_HPU_USE_FUSE_SDPA_PASS": "1"}),
    ]
    assert len(set(changed)) == len(changed)


def test_flags_that_compile_nothing_share_the_recipes() -> None:
    other = {
        "HABANA_LOGS": "/logs",
        "LOG_LEVEL_ALL": 3,
        "HCCL_SOCKET_IFNAME": "eth",
        "PT_HPU_ENABLE_CACHE_METRICS": True,
    }
    assert cache_directory(overrides=other) == cache_directory(release="1.24.1-482")
    assert cache_directory(network="infiniband") == cache_directory(environment={"OMP_NUM_THREADS": 8})


def test_an_override_changes_adds_or_removes_a_flag_and_is_marked() -> None:
    settings = plan_environment(
        options(overrides={"PT_HPU_LAZY_MODE": None, "HABANA_LOGS": "/logs", "PT_HPU_METRICS_FILE": "/m"})
    )
    assert [setting.name for setting in settings] == ["HABANA_LOGS", "PT_HPU_METRICS_FILE", CACHE]
    assert settings[0] == Setting("HABANA_LOGS", "/logs", "overrides, set by the operator", "overrides")


def test_null_keeps_recipes_in_memory() -> None:
    assert CACHE not in values(overrides={CACHE: None})
    assert values(overrides={CACHE: "/x,true,1"})[CACHE] == "/x,true,1"


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (False, "false"), (8, "8"), (0.1, "0.1"), ("1e6", "1e6"), ("", "")]
)
def test_yaml_scalars_become_text(value: object, text: str) -> None:
    assert values(overrides={"LOG_FILE_SIZE": value})["LOG_FILE_SIZE"] == text


def test_plain_variables_come_last_and_are_marked_as_unchecked() -> None:
    settings = plan_environment(options(environment={"OMP_NUM_THREADS": 8, "LEFT_OUT": None}))
    assert settings[-1] == Setting(
        "OMP_NUM_THREADS", "8", "environment, set by the operator and not checked", "environment"
    )
    assert "LEFT_OUT" not in {setting.name for setting in settings}


def test_the_interface_of_the_fabric_is_handed_to_hccl() -> None:
    assert values(interface="ens1f0")["HCCL_SOCKET_IFNAME"] == "ens1f0"
    assert "HCCL_SOCKET_IFNAME" not in values()


def test_directories_are_those_the_settings_name_in_the_end() -> None:
    assert directories(plan_environment(options(overrides={"HABANA_LOGS": "/a", CACHE: "/b,false,1"}))) == ["/a", "/b"]
    assert directories(plan_environment(options(overrides={"HABANA_LOGS": None, CACHE: None}))) == []
    assert directories([Setting(CACHE, "/b,maybe,1", "")]) == []
    assert directories([Setting(CACHE, ",false,1024", "")]) == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"release": "1.99.0"}, r"Release '1\.99\.0' is not known"),
        ({"profile": "fast"}, "profile 'fast' is not known: use training_compile, training_lazy, inference_vllm"),
        ({"network": "tcp"}, "network 'tcp' is not known: use gaudi_ethernet, infiniband, roce, efa, ethernet"),
        (
            {"overrides": {"HABANA_VISIBLE_MODULES": [0, 1]}},
            r"overrides: HABANA_VISIBLE_MODULES is \[0, 1\]; give one text",
        ),
        ({"environment": {"A": {}}}, "environment: A is {}; give one text"),
        (
            {"environment": {"PT_HPU_LAZY_MODE": 1}},
            "environment sets PT_HPU_LAZY_MODE, which is among the flags already",
        ),
        ({"recipe_cache": "/a,b"}, "recipe_cache is '/a,b'; give an absolute path without a comma"),
        ({"recipe_cache": "cache"}, "recipe_cache is 'cache'; give an absolute path"),
        ({"recipe_cache_size": 0}, "recipe_cache_size is 0; give a number of MB above 0"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(more: dict[str, Any], message: str) -> None:
    with pytest.raises(GaudiError, match=message):
        plan_environment(options(**more))
