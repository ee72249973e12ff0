# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The flags that a kind of job and a kind of network need, each with the source that says so.

Short on purpose: for permutes, pipelines and memory pools no evidence was found that anything but the default helps.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from .._errors import GaudiError
from .._node.environment_file import Setting
from .._node.interface_names import check_interfaces
from .._node.secret_words import is_secret
from .._releases.row import Release
from .bridge import InstalledBridge
from .catalog.catalog import find_flag
from .catalog.values import WrongValueError, recipe_cache
from .harms import Target
from .recipe_cache import RECIPE_CACHE

Row = TypeVar("Row")
LOGS = "HABANA_LOGS"
FROM_OVERRIDES = "overrides, set by the operator"
FROM_ENVIRONMENT = "environment, set by the operator and not checked"

# Groups of flags that do not change what is compiled.
_NOT_COMPILED = ("recipe_cache", "hccl", "hcl", "libfabric_verbs", "logging", "profiling_metrics", "container")


@dataclass(frozen=True)
class Profile:
    """Flags for one kind of job: what it is for, the execution modes it runs in, name and value and source of each."""

    purpose: str
    modes: tuple[str, ...]
    settings: tuple[Setting, ...]


@dataclass(frozen=True)
class Network:
    """Flags for one kind of network between the nodes; ``caution`` is what is known to stand against it.

    ``instead`` are those with which it is used although the cards' own ports, which come first, have links.
    """

    settings: tuple[Setting, ...] = ()
    caution: str = ""
    instead: tuple[Setting, ...] = ()


_EAGER = Setting(
    "PT_HPU_LAZY_MODE",
    "0",
    "docs.habana.ai PyTorch/Runtime_Flags: eager mode with torch.compile; set, as 1 was the default through 1.19",
)
_LAZY = Setting(
    "PT_HPU_LAZY_MODE", "1", "docs.habana.ai PyTorch_Gaudi_Theory_of_Operations: lazy mode, a legacy of older releases"
)

PROFILES: Mapping[str, Profile] = {
    "training_compile": Profile("training", ("eager", "compile"), (_EAGER,)),
    "training_lazy": Profile("training", ("lazy",), (_LAZY,)),
    "inference_vllm": Profile(
        "inference",
        ("eager", "compile"),
        (
            _EAGER,
            Setting("VLLM_BUCKETING_STRATEGY", "exp", "vllm-gaudi docs/configuration/env_variables.md"),
        ),
    ),
}

_SCALE_OUT = "docs.habana.ai PyTorch_Scaling_Guide/Scale_Out_Topology"

_HCL = "HabanaAI/HCL 1.21 setScaleoutMode: ends the library's own choice"
# Without Gaudi Direct the traffic goes through the host's memory.
_OVER_HOST = (Setting("HCCL_OVER_OFI", "1", _HCL),)
_DIRECT = (*_OVER_HOST, Setting("HCCL_GAUDI_DIRECT", "1", _HCL))

_VERBS = Network(
    (
        Setting("RDMAV_FORK_SAFE", "1", f"{_SCALE_OUT}: host NIC with verbs"),
        Setting("MLX5_SCATTER_TO_CQE", "0", f"{_SCALE_OUT}: host NIC with verbs"),
    ),
    instead=_DIRECT,
)

NETWORKS: Mapping[str, Network] = {
    "gaudi_ethernet": Network(),
    "infiniband": _VERBS,
    "roce": _VERBS,
    "efa": Network(
        (
            Setting("RDMAV_FORK_SAFE", "1", f"{_SCALE_OUT}: AWS EFA"),
            Setting("FI_EFA_USE_DEVICE_RDMA", "1", f"{_SCALE_OUT}: AWS EFA"),
        ),
        caution="open HCL sources from 1.18 on skip EFA, and nothing was found that shows Gaudi 2 or Gaudi 3 on it",
        instead=_OVER_HOST,
    ),
    "ethernet": Network(instead=_OVER_HOST),
}

# libfabric's own switch (fi_getinfo(3)). Where a node has an adapter of EFA, TCP alone is only had by asking for it.
PLAIN_TCP = {"FI_PROVIDER": "tcp"}


def network_flags(provider: str, *, instead: bool) -> dict[str, str]:
    """The flags of a network by name; with ``instead`` also those that it needs where the cards' ports have links."""
    network = NETWORKS[provider]
    return {setting.name: setting.value for setting in (*network.settings, *(network.instead if instead else ()))}


@dataclass(frozen=True)
class EnvironmentOptions:
    """What an operator asks for; ``recipe_cache_size`` (a directory) and ``recipe_cache_limit`` (all) are in MB.

    ``stock_torch`` is as in :class:`harms.Target`; ``venv`` is where the bridge may be installed. ``vendor_profiles``
    are files of the vendor's packages, or patterns of such; without any its environment is left out.
    """

    release: str
    profile: str = "training_compile"
    network: str = "gaudi_ethernet"
    interface: str = ""
    overrides: Mapping[str, object] = field(default_factory=dict)
    environment: Mapping[str, object] = field(default_factory=dict)
    path: str = "/etc/gaudi3_scale/environment"
    recipe_cache: str = "/var/lib/gaudi3_scale/recipe_cache"
    recipe_cache_size: int = 8192
    log_directory: str = "/var/log/gaudi3_scale/habana"
    owner: str | None = None
    stock_torch: bool | None = None
    strict: bool = False
    venv: str = "/opt/gaudi3_scale/venv"
    login_shell_path: str = ""
    slurm_task_prolog: str = ""
    systemd_units: Sequence[str] = ()
    vendor_profiles: Sequence[str] = ()
    unit_directory: str = "/etc/systemd/system"
    recipe_cache_limit: int = 0
    clean_recipe_cache: bool = True
    release_overrides: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    proc: str = "/proc"


def known(option: str, name: str, rows: Mapping[str, Row]) -> Row:
    """The row of this name; raises GaudiError where there is none."""
    if name not in rows:
        raise GaudiError(f"{option} {name!r} is not known: use {', '.join(rows)}.")
    return rows[name]


def target_of(
    profile: str, network: str, release: tuple[int, ...], stock_torch: bool | None, bridge: InstalledBridge | None
) -> Target:
    """What flags are for; the bridge of a venv judges only where it is of the same ``release``, (major, minor)."""
    of_profile = known("profile", profile, PROFILES)
    judges = bridge if bridge and bridge.release in (None, release) else None
    return Target(release, of_profile.modes, of_profile.purpose, network, stock_torch, judges)


def plan_environment(options: EnvironmentOptions, release: Release, vendor: Sequence[Setting] = ()) -> list[Setting]:
    """All variables in the order of the file: vendor, profile, network, what the operator adds, plain environment.

    Each layer wins over those before it.

    Raises :class:`GaudiError` for an unknown profile or network and for a value that is no text.
    """
    profile, network = known("profile", options.profile, PROFILES), known("network", options.network, NETWORKS)
    # A plain variable of the operator's, or null for it, stands instead of the vendor's.
    replaced = [name for name in options.environment if find_flag(name) is None]
    flags = {setting.name: setting for setting in vendor if setting.name not in replaced}
    for origin, settings in (
        (f"profile {options.profile}", profile.settings),
        (f"network {options.network}", network.settings),
    ):
        flags.update({setting.name: setting._replace(origin=origin) for setting in settings})
    if options.interface:
        check_interfaces("interface", options.interface)
        source = f"{_SCALE_OUT}: interfaces for coordination between the hosts"
        flags["HCCL_SOCKET_IFNAME"] = Setting("HCCL_SOCKET_IFNAME", options.interface, source, "option interface")
    source = "docs.habana.ai Debugging_with_Intel_Gaudi_Logs"
    flags[LOGS] = Setting(LOGS, options.log_directory, source, "option log_directory")
    for name, value in options.overrides.items():
        if value is None:
            flags.pop(name, None)
        else:
            flags[name] = Setting(name, _text("overrides", name, value), FROM_OVERRIDES, "overrides")
    if RECIPE_CACHE not in options.overrides:
        flags[RECIPE_CACHE] = _recipe_cache(options, release, flags)
    return [*flags.values(), *_plain_environment(options, flags)]


def directories(settings: Sequence[Setting]) -> list[str]:
    """Directories that the settings name and that have to exist before a job starts."""
    values = {setting.name: setting.value for setting in settings}
    found = [values.get(LOGS, "")]
    with contextlib.suppress(WrongValueError):  # The check of the flags refuses it, and says why.
        found.append(recipe_cache(values.get(RECIPE_CACHE, "")).directory)
    return [directory for directory in found if directory.startswith("/")]


def _recipe_cache(options: EnvironmentOptions, release: Release, flags: Mapping[str, Setting]) -> Setting:
    """A directory of its own for each release and each set of compiling flags.

    The bridge means to tell such recipes apart by itself, but its key for libraries reads as constant, and 15 of the 16
    variables that it watches are spelled with trailing blanks and so never match (1.19: cache_version.cpp).
    """
    known_flags = {name: find_flag(name) for name in flags}
    compiling = [name for name, flag in known_flags.items() if flag and flag.group not in _NOT_COMPILED]
    compiled = sorted(f"{name}={flags[name].value}" for name in compiling)
    key = hashlib.sha256("\n".join(compiled).encode()).hexdigest()[:8]
    if not re.fullmatch("/[^,]*", options.recipe_cache):
        raise GaudiError(f"recipe_cache is {options.recipe_cache!r}; give an absolute path without a comma.")
    if options.recipe_cache_size < 1:
        raise GaudiError(f"recipe_cache_size is {options.recipe_cache_size}; give a number of MB above 0.")
    # Three fields: releases before 1.22 end the process on a fourth.
    value = f"{options.recipe_cache.rstrip('/')}/{release.package_version}/{key},false,{options.recipe_cache_size}"
    return Setting(
        RECIPE_CACHE,
        value,
        "docs.habana.ai PyTorch/Runtime_Flags; a directory for each release and set of flags",
        "option recipe_cache",
    )


def _plain_environment(options: EnvironmentOptions, flags: Mapping[str, Setting]) -> list[Setting]:
    twice = sorted(set(options.environment) & set(flags))
    if twice:
        raise GaudiError(
            f"environment sets {', '.join(twice)}, which is among the flags already: use overrides for it."
        )
    secret = sorted(name for name, value in options.environment.items() if value is not None and is_secret(name))
    if secret:
        raise GaudiError(
            f"environment sets {', '.join(secret)}, which sounds like a secret, and every account of the node can read "
            f"{options.path}: give it to the job itself (environment of training_job, gaudi_training_environment)."
        )
    return [
        Setting(name, _text("environment", name, value), FROM_ENVIRONMENT, "environment")
        for name, value in options.environment.items()
        if value is not None
    ]


def _text(option: str, name: str, value: object) -> str:
    """The text of a YAML scalar; true and false stay words, so that a flag that takes digits only refuses them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise GaudiError(f"{option}: {name} is {value!r}; give one text or number, with commas inside it for a list.")
