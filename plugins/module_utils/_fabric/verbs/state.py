# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What scale-out over a host's InfiniBand or RoCE cards needs of a node: driver stack, libfabric, and the checks of it.

Whatever is refused is refused before anything is touched; then the stack, then libfabric, then the checks again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..._errors import GaudiError
from ..._host.kernel.values import value_difference
from ..._node.check import advice, as_failures, as_results, failed, refusal
from ..._node.commands import Run
from ..._node.kernel_tree import kernel_tree
from ..._node.lock import alone
from ..libfabric import build as libfabric_build
from ..libfabric import install as libfabric_install
from ..libfabric import plan as libfabric_plan
from ..libfabric.build import BuildPlace, Sources
from ..libfabric.install import LibraryPlace
from ..libfabric.plan import LibfabricOptions
from ..provider import VERBS
from .checks import ROCE_MTU, uses_gaudi_direct, verbs_checks
from .install import StackOptions, StackPlan, install_stack, plan_stack
from .node import VerbsNode, read_node
from .repository import OfedRepository


@dataclass(frozen=True)
class Brought:
    """What the action plugin adds: ``build_into`` asks for a build of ``sources`` into it; ``archive`` is one."""

    build_into: str = ""
    sources: Sources = field(default_factory=Sources)
    archive: str = ""
    checksum: str = ""


@dataclass(frozen=True)
class VerbsOptions:
    """The operator's wishes; see the options of the module ``hpu_host_nics``."""

    provider: str
    environment: str = "/etc/gaudi3_scale/environment"
    roce_mtu: int = ROCE_MTU
    stack: StackOptions = field(default_factory=StackOptions)
    libfabric: LibfabricOptions = field(default_factory=LibfabricOptions)
    brought: Brought = field(default_factory=Brought)


# The options with names of packages, less that word.
_LISTS = ("ofed", "libfabric_build")


@dataclass(frozen=True)
class Place:
    """The node's files."""

    kernel_root: str = field(default_factory=kernel_tree)
    root: str = "/"

    @property
    def etc(self) -> str:
        return str(Path(self.root, "etc"))

    @property
    def library(self) -> LibraryPlace:
        return LibraryPlace(self.root)


def options_of(given: Mapping[str, Any], manager: str) -> VerbsOptions:
    """The options of a module call, whose names have the part that they are of before them.

    Where a list of packages is empty, that of the node's package ``manager`` stands for it.
    """
    system = (given.get("system_packages") or {}).get(manager) or {}
    given = {**given, **{f"{name}_packages": given[f"{name}_packages"] or system.get(name) or [] for name in _LISTS}}

    def part(prefix: str) -> dict[str, Any]:
        return {name[len(prefix) :]: value for name, value in given.items() if name.startswith(prefix)}

    ofed = part("ofed_")
    lock_timeout, plain = given["lock_timeout"], given["plain_http_hosts"]
    repository = OfedRepository(
        url=ofed["repository"],
        suite=ofed["suite"],
        components=ofed["components"],
        key_url=ofed["key_url"],
        key_fingerprint=ofed["key_fingerprint"],
        plain_http_hosts=plain,
        lock_timeout=lock_timeout,
    )
    library = {**part("libfabric_"), **{f"wrapper_{name}": value for name, value in part("ofi_wrapper_").items()}}
    library.pop("directory")
    files = Sources(library.pop("archive_file"), library.pop("wrapper_archive_file"))
    return VerbsOptions(
        provider=given["provider"],
        environment=given["environment"],
        roce_mtu=given["roce_mtu"],
        stack=StackOptions(given["ofed"], ofed["packages"], repository),
        libfabric=LibfabricOptions(**library, release=given["release"], plain_http_hosts=plain),
        brought=Brought(given["build_into"], files, given["built_archive"], given["built_checksum"]),
    )


def converge(options: VerbsOptions, run: Run, check_mode: bool, place: Place) -> dict[str, Any]:
    """Bring the node to ``options``, as far as it can be without a build; returns what an Ansible module returns."""
    if options.provider not in VERBS:
        raise GaudiError(f"provider is {options.provider!r:.80}; use {' or '.join(VERBS)}.")
    libfabric_plan.check_options(options.libfabric)
    _check_brought(options)
    stack = plan_stack(options.stack, run, place.etc, place.root)
    node = _read(options, run, place)
    refused = failed(_checks(options, node))
    if refused:
        raise GaudiError(
            refusal(f"Scale-out over {options.provider} was not set up on this node", refused),
            checks=as_failures(refused),
        )
    key = libfabric_plan.build_key(options.libfabric, libfabric_install.system_of(run, place.etc))
    if not check_mode and options.libfabric.wanted and libfabric_install.installed(place.library).get("key") != key:
        # In check mode the layer that brings the headers may not have run yet.
        synapse = Path(place.root, options.libfabric.synapse.lstrip("/"), libfabric_plan.HEADER)
        libfabric_plan.check_headers(options.libfabric, synapse.is_file())
    if options.brought.build_into and not check_mode:
        return _build(options, key, run, place)
    with alone("host network cards", place.library.state, check_mode=check_mode):
        return _converge(options, stack, key, run, check_mode, place)


def _check_brought(options: VerbsOptions) -> None:
    """What only the action plugin sets, by somebody who is none."""
    into = options.brought.build_into
    if into and not (options.libfabric.wanted and Path(into).is_dir()):
        raise GaudiError(f"build_into is {into!r:.200}, which the action plugin sets to a directory; leave it out.")


def _build(options: VerbsOptions, key: str, run: Run, place: Place) -> dict[str, Any]:
    log = str(Path(place.root, "var/log/gaudi3_scale/libfabric-build.log"))
    where = BuildPlace(place.root, place.library.state, log)
    brought = options.brought
    built = libfabric_build.build(options.libfabric, key, brought.sources, brought.build_into, run, where)
    return {"changed": True, "diff": [], "warnings": [], "built": {"key": key, **built}}


def _converge(
    options: VerbsOptions, stack: StackPlan, key: str, run: Run, check_mode: bool, place: Place
) -> dict[str, Any]:
    result = install_stack(stack, run, check_mode, place.etc)
    diff, warnings = result["diff"], result["warnings"]
    library = _library(options, key, run, check_mode, place)
    diff += library.pop("diff")
    warnings += library.pop("warnings")
    checks = _checks(options, _read(options, run, place))
    return {
        "changed": bool(diff),
        "diff": diff,
        "warnings": [*warnings, *advice(checks)],
        "checks": as_results(checks),
        "stack": result["stack"],
        "libfabric": library,
    }


def _read(options: VerbsOptions, run: Run, place: Place) -> VerbsNode:
    return read_node(options.provider, options.environment, run, place.kernel_root)


def _checks(options: VerbsOptions, node: VerbsNode) -> Any:
    built_for_it = options.libfabric.wanted and options.libfabric.gaudi_direct
    return verbs_checks(node, options.provider, uses_gaudi_direct(node.environment, built_for_it), options.roce_mtu)


def _library(options: VerbsOptions, key: str, run: Run, check_mode: bool, place: Place) -> dict[str, Any]:
    """What the node has of libfabric; installed here only where the controller brought a build."""
    there = libfabric_install.installed(place.library)
    if not options.libfabric.wanted:
        return {**_facts(there, ""), "diff": [], "warnings": []}
    if there.get("key") == key:
        return {**_facts(there, key), "diff": [], "warnings": []}
    wanted = {"key": key, "version": options.libfabric.version, "gaudi_direct": options.libfabric.gaudi_direct}
    difference = value_difference(
        libfabric_plan.PREFIX,
        _words(there) if there else None,
        _words({**wanted, "wrapper": options.libfabric.wrapper_archive}),
    )
    if check_mode:
        return {**_facts(there, key), "diff": [difference], "warnings": []}
    if not options.brought.archive:
        return {**_facts(there, key), "diff": [], "warnings": []}
    brought = options.brought
    there = libfabric_install.install(brought.archive, brought.checksum, key, run, place.library)
    return {**_facts(there, key), "diff": [difference], "warnings": [] if there["gaudi_direct"] else [_NOT_DIRECT]}


_NOT_DIRECT = (
    "libfabric: built without SynapseAI, as requested, so it has no Gaudi Direct: all traffic goes through the "
    "host's memory."
)


def _words(manifest: Mapping[str, Any]) -> str:
    direct = "with Gaudi Direct" if manifest.get("gaudi_direct") else "without Gaudi Direct"
    wrapper = ", with HCCL's wrapper" if manifest.get("wrapper") else ""
    return f"libfabric {manifest.get('version')} {direct}{wrapper} ({manifest.get('key')})"


def _facts(there: Mapping[str, Any], wanted: str) -> dict[str, Any]:
    """``key`` is that of the build that is wanted, empty for none."""
    return {
        "key": wanted,
        "installed": bool(there) and (not wanted or there.get("key") == wanted),
        "version": there.get("version"),
        "gaudi_direct": there.get("gaudi_direct"),
        "wrapper": there.get("wrapper"),
    }
