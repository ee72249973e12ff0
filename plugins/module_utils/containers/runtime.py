# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Register the vendor's OCI runtime with the container engines of a node."""

from __future__ import annotations

import platform
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import GaudiError
from ..node import systemd_units
from ..node.commands import Run
from ..node.os_release import DNF, package_manager
from ..node.programs import Installed, is_installed
from ..node.rendered_files import FileChange, WantedFile, differences, pending, read_text, write
from ..packages.debian_packages import Apt
from ..packages.package_system import PackageSystem
from ..packages.rpm_packages import Dnf
from .containerd import CONFIGURATION as CONTAINERD_CONFIGURATION
from .containerd import config_toml, cri_is_off
from .docker import CONFIGURATION as DOCKER_CONFIGURATION
from .docker import daemon_json
from .podman import CONFIGURATION as PODMAN_CONFIGURATION
from .podman import containers_conf

# The name that `docker run --runtime` and a Kubernetes RuntimeClass ask for in all of the vendor's documents.
RUNTIME = "habana"

AUTO = "auto"
DOCKER = "docker"
PODMAN = "podman"
CONTAINERD = "containerd"
ENGINES = (DOCKER, PODMAN, CONTAINERD)

_CONFIGURATIONS = {
    DOCKER: DOCKER_CONFIGURATION,
    PODMAN: PODMAN_CONFIGURATION,
    CONTAINERD: CONTAINERD_CONFIGURATION,
}
_DAEMONS = {DOCKER: "dockerd", PODMAN: "podman", CONTAINERD: "containerd"}
# dockerd takes new runtimes and a new default at a reload (moby's daemon/reload.go); containerd reads its file only
# when it starts. podman has no daemon.
_AFTERWARDS = {DOCKER: "reloaded", CONTAINERD: "restarted"}


@dataclass(frozen=True)
class RuntimeOptions:
    """The operator's wishes; see the options of the module ``hpu_container_runtime``."""

    engines: tuple[str, ...] = (AUTO,)
    program: str = "/usr/bin/habana-container-runtime"
    default: bool = False
    hold: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Place:
    """Where the node keeps its configuration and which programs it has."""

    etc: str = "/etc"
    installed: Installed = is_installed


def converge(options: RuntimeOptions, place: Place, *, run: Run, check_mode: bool) -> dict[str, object]:
    """Register the runtime; returns what an Ansible module returns.

    ``services`` are the running daemons that have yet to read their changed file, with the state to ask for.
    """
    engines = chosen_engines(options.engines, place)
    changes = pending([wanted_file(engine, options, place) for engine in engines])
    packages: PackageSystem = Dnf(run) if package_manager(place.etc) == DNF else Apt(run)
    to_hold = _not_held(options.hold, packages)
    _refuse_missing_program(options, engines, check_mode)
    backups: list[str] = []
    if not check_mode:
        if to_hold:
            packages.hold(to_hold)
        backups = [backup for backup in map(write, changes) if backup]
    return {
        "changed": bool(changes or to_hold),
        "diff": [*differences(changes), *(_hold_difference(name) for name in to_hold)],
        "msg": _summary(engines),
        "engines": engines,
        "backups": backups,
        "services": _services(changes, place, run),
        "warnings": [f"{platform.node()}: {warning}" for warning in _warnings(engines, place)],
    }


def chosen_engines(engines: Sequence[str], place: Place) -> list[str]:
    """The engines to register with: those named, and for ``auto`` those that are installed.

    containerd is left alone where Docker brought it along: Docker does not read its CRI settings, and docker.service
    is bound to containerd.service on some systems, so that a restart would end Docker's containers.
    """
    named = [engine for engine in ENGINES if engine in engines]
    if AUTO not in engines:
        return named
    found = {engine for engine in ENGINES if place.installed(_DAEMONS[engine])}
    if DOCKER in found or cri_is_off(read_text(_configuration(CONTAINERD, place))):
        found.discard(CONTAINERD)
    return [engine for engine in ENGINES if engine in named or engine in found]


def wanted_file(engine: str, options: RuntimeOptions, place: Place) -> WantedFile:
    """The engine's configuration with the runtime in it. An operator's file keeps its mode and gets a backup."""
    path = _configuration(engine, place)
    if engine == PODMAN:
        text = containers_conf(name=RUNTIME, program=options.program, default=options.default)
        return WantedFile(path, text)
    merge = daemon_json if engine == DOCKER else config_toml
    before = read_text(path)
    text = merge(before, path, name=RUNTIME, program=options.program, default=options.default)
    # Through a link the file it leads to is written, so that the link stays.
    target = Path(path).resolve()
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o644
    return WantedFile(str(target), text, mode, backup=before is not None)


def _configuration(engine: str, place: Place) -> str:
    return str(Path(place.etc, _CONFIGURATIONS[engine]))


def _not_held(names: Sequence[str], packages: PackageSystem) -> list[str]:
    """Packages that are installed and that the package manager may still replace by another release."""
    return [package.name for package in packages.query(names).values() if package.installed and not package.held]


def _hold_difference(name: str) -> Mapping[str, str]:
    header = f"hold on {name}"
    return {"before_header": header, "after_header": header, "before": "not held\n", "after": "held\n"}


def _refuse_missing_program(options: RuntimeOptions, engines: Sequence[str], check_mode: bool) -> None:
    """In check mode the package may be one that this very run would have installed."""
    if engines and not check_mode and not Path(options.program).exists():
        raise GaudiError(
            f"{options.program} is not on this node; install the package habanalabs-container-runtime first."
        )


def _services(changes: Sequence[FileChange], place: Place, run: Run) -> list[dict[str, str]]:
    changed = {change.wanted.path for change in changes}
    return [
        {"name": engine, "state": state}
        for engine, state in _AFTERWARDS.items()
        if str(Path(_configuration(engine, place)).resolve()) in changed and systemd_units.is_active(run, engine)
    ]


def _summary(engines: Sequence[str]) -> str:
    if not engines:
        return f"No container engine is installed, so {RUNTIME} is registered with none."
    return f"The runtime {RUNTIME} is registered with {', '.join(engines)}."


def _warnings(engines: Sequence[str], place: Place) -> list[str]:
    # The vendor's runtime rewrites the container's specification and then becomes runc (its main.go); Docker and
    # containerd bring runc along, podman is happy with crun alone.
    if PODMAN in engines and place.installed(_DAEMONS[PODMAN]) and not place.installed("runc"):
        return [f"{RUNTIME} starts containers with runc, which is not installed; install the package runc."]
    return []
