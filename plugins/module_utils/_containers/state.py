# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Register the vendor's OCI runtime with the container engines of a node."""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._node.commands import Run
from .._node.kernel_tree import kernel_tree
from .._node.lock import alone, state_beside
from .._node.os_release import DNF, package_manager
from .._node.programs import Installed, is_installed
from .._node.rendered_files import WantedFile, differences, pending, read_text, write
from .._packages.debian_packages import Apt
from .._packages.package_system import PackageSystem
from .._packages.rpm_packages import Dnf
from . import cdi, vendor_settings
from .containerd import CONFIGURATION as CONTAINERD_CONFIGURATION
from .containerd import config_toml, cri_is_off
from .docker import CONFIGURATION as DOCKER_CONFIGURATION
from .docker import daemon_json
from .engines import CONTAINERD, DAEMONS, DOCKER, ENGINES, PODMAN, RUNTIME, Version, reads_cdi, too_old, version
from .podman import CONFIGURATION as PODMAN_CONFIGURATION
from .podman import containers_conf
from .services import to_tell

AUTO = "auto"

CONFIGURATIONS = {
    DOCKER: DOCKER_CONFIGURATION,
    PODMAN: PODMAN_CONFIGURATION,
    CONTAINERD: CONTAINERD_CONFIGURATION,
}


@dataclass(frozen=True)
class RuntimeOptions:
    """The operator's wishes; see the options of the module ``hpu_container_runtime``."""

    engines: tuple[str, ...] = (AUTO,)
    program: str = "/usr/bin/habana-container-runtime"
    default: bool = False
    cdi: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)
    hold: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Place:
    """Where the node keeps its configuration, which programs it has, and where its kernel is looked at."""

    etc: str = "/etc"
    run: str = "/run"
    kernel_root: str = field(default_factory=kernel_tree)
    installed: Installed = is_installed


def converge(options: RuntimeOptions, run: Run, check_mode: bool, place: Place) -> dict[str, Any]:
    """Register the runtime; returns what an Ansible module returns.

    ``services`` are the running daemons that have yet to read their changed file, with the state to ask for.
    """
    with alone("container engines", state_beside(place.etc), check_mode=check_mode):
        return _converge(options, place, run, check_mode)


def _converge(options: RuntimeOptions, place: Place, run: Run, check_mode: bool) -> dict[str, object]:
    engines = chosen_engines(options.engines, place)
    versions = _versions(engines, place, run) if options.cdi else {}
    cards = cdi.card_nodes(place.kernel_root) if options.cdi else ()
    files = [wanted_file(engine, options, place, versions.get(engine)) for engine in engines]
    changes = pending([*files, *_vendors_file(options, place), _cdi_file(options, cards, place)])
    packages: PackageSystem = Dnf(run) if package_manager(place.etc) == DNF else Apt(run)
    to_hold = _not_held(options.hold, packages)
    _refuse_missing_program(options, engines, check_mode)
    services, restart_due = to_tell(changes, {engine: _configuration(engine, place) for engine in engines}, run)
    backups: list[str] = []
    if not check_mode:
        if to_hold:
            packages.hold(to_hold)
        backups = [backup for backup in map(write, changes) if backup]
    warnings = [*_warnings(engines, place, versions), *_without_cards(options, cards), *restart_due]
    return {
        "changed": bool(changes or to_hold),
        "diff": [*differences(changes), *(_hold_difference(name) for name in to_hold)],
        "msg": _summary(engines),
        "engines": engines,
        "cdi_devices": cdi.device_names(cards),
        "backups": backups,
        "services": services,
        "warnings": list(warnings),
    }


def chosen_engines(engines: Sequence[str], place: Place) -> list[str]:
    """The engines to register with: those named, and for ``auto`` those that are installed.

    containerd is left alone where Docker brought it along: Docker does not read its CRI settings, and docker.service
    is bound to containerd.service on some systems, so that a restart would end Docker's containers.
    """
    named = [engine for engine in ENGINES if engine in engines]
    if AUTO not in engines:
        return named
    found = {engine for engine in ENGINES if place.installed(DAEMONS[engine])}
    if DOCKER in found or cri_is_off(read_text(_configuration(CONTAINERD, place))):
        found.discard(CONTAINERD)
    return [engine for engine in ENGINES if engine in named or engine in found]


def wanted_file(engine: str, options: RuntimeOptions, place: Place, have: Version | None = None) -> WantedFile:
    """The configuration of the engine, which has the version ``have``, with the runtime in it."""
    path = _configuration(engine, place)
    if engine == PODMAN:
        # podman reads CDI specifications without being told.
        text = containers_conf(name=RUNTIME, program=options.program, default=options.default)
        return WantedFile(path, text)
    merge = daemon_json if engine == DOCKER else config_toml
    before = read_text(path)
    wants_cdi = options.cdi and reads_cdi(engine, have)
    text = merge(before, path, name=RUNTIME, program=options.program, default=options.default, cdi=wants_cdi)
    return _merged_file(path, before, text)


def _merged_file(path: str, before: str | None, text: str) -> WantedFile:
    """An operator's file keeps its mode and gets a backup; through a link the file it leads to is written."""
    target = Path(path).resolve()
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o644
    return WantedFile(str(target), text, mode, backup=before is not None)


def _vendors_file(options: RuntimeOptions, place: Place) -> list[WantedFile]:
    """The vendor's config.toml with the operator's settings; nothing without any."""
    if not options.settings:
        return []
    path = str(Path(place.etc, vendor_settings.CONFIGURATION))
    before = read_text(path)
    return [_merged_file(path, before, vendor_settings.config_toml(before, path, options.settings))]


def _cdi_file(options: RuntimeOptions, cards: Sequence[cdi.CardNodes], place: Place) -> WantedFile:
    """Our specification: of the cards there are now, and gone where CDI is off or the driver shows no card."""
    path = str(Path(place.etc, cdi.FILE))
    if options.cdi:
        cdi.refuse_foreign((str(Path(place.etc, "cdi")), str(Path(place.run, "cdi"))), path)
    return WantedFile(path, cdi.specification(cards, place.kernel_root))


def _versions(engines: Sequence[str], place: Place, run: Run) -> dict[str, Version | None]:
    return {engine: version(engine, run) for engine in engines if place.installed(DAEMONS[engine])}


def _configuration(engine: str, place: Place) -> str:
    return str(Path(place.etc, CONFIGURATIONS[engine]))


def _not_held(names: Sequence[str], packages: PackageSystem) -> list[str]:
    """Packages that are installed and that the package manager may still replace by another release."""
    return [package.name for package in packages.query(names).values() if package.installed and not package.held]


def _hold_difference(name: str) -> Mapping[str, str]:
    header = f"hold on {name}"
    return {"before_header": header, "after_header": header, "before": "not held\n", "after": "held\n"}


def _refuse_missing_program(options: RuntimeOptions, engines: Sequence[str], check_mode: bool) -> None:
    """In check mode the package may be one that this very run would have installed."""
    program = Path(options.program)
    if program.exists() and not program.is_file():
        raise GaudiError(f"program is {program}, which is not a program; give the path of the runtime.")
    if engines and not check_mode and not program.exists():
        raise GaudiError(f"{program} is not on this node; install the package habanalabs-container-runtime first.")


def _summary(engines: Sequence[str]) -> str:
    if not engines:
        return f"No container engine is installed, so {RUNTIME} is registered with none."
    return f"The runtime {RUNTIME} is registered with {', '.join(engines)}."


def _warnings(engines: Sequence[str], place: Place, versions: Mapping[str, Version | None]) -> list[str]:
    warnings = []
    # The vendor's runtime rewrites the container's specification and then becomes runc (its main.go); Docker and
    # containerd bring runc along, podman is happy with crun alone.
    if PODMAN in engines and place.installed(DAEMONS[PODMAN]) and not place.installed("runc"):
        warnings.append(f"{RUNTIME} starts containers with runc, which is not installed; install the package runc.")
    old = {engine: have for engine, have in versions.items() if have is not None and not reads_cdi(engine, have)}
    return warnings + [too_old(engine, have) for engine, have in old.items()]


def _without_cards(options: RuntimeOptions, cards: Sequence[cdi.CardNodes]) -> list[str]:
    if not options.cdi or cards:
        return []
    return ["The driver shows no card, so there is no CDI specification; run the role again when it is loaded."]
