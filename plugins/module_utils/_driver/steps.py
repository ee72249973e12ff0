# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The effect of each step of ``plan.py``."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Mapping, Sequence

from .._cards import holders as card_holders
from .._errors import GaudiError
from .._host.kernel import modules as kernel_modules
from .._node import systemd_units
from .._node.commands import Run
from .._node.rendered_files import WantedFile, pending, write
from .._packages.package_system import PackageSystem
from .._releases.lookup import Release
from . import dkms
from . import signing as driver_signing
from .dkms_repair import find_wedged, repair_all
from .module_override import module_override, run_depmod
from .plan import DriverOptions, Step, boot_list
from .verify import require_healthy

PACKAGE_FILES = "var/lib/gaudi3_scale/packages"
BOOT_LIST = "etc/modules-load.d/habanalabs.conf"


@dataclass(frozen=True)
class Workshop:
    """What the steps work with.

    ``before`` are the vendor's packages to be able to go back to, ``told`` collects what did not start again.
    """

    options: DriverOptions
    release: Release
    system: PackageSystem
    run: Run
    root: str = "/"
    before: Mapping[str, str] | None = None
    told: list[str] = field(default_factory=list)


def take(step: Step, shop: Workshop) -> None:
    """Do one step; raises :class:`GaudiError` with its reason."""
    _EFFECTS[step.action](step, shop)


def _mend(_step: Step, shop: Workshop) -> None:
    repair_all(find_wedged(shop.run, shop.root), shop.run, shop.root)


def _sign(_step: Step, shop: Workshop) -> None:
    options = shop.options
    signing = driver_signing.look(options.signing, (), shop.run, shop.root, options.kernel_root)
    driver_signing.prepare(signing, options.signing, shop.run)


def _repair(step: Step, shop: Workshop) -> None:
    shop.system.repair(step.names)


def _require(step: Step, shop: Workshop) -> None:
    _prepare(step.names, shop)
    shop.system.install(step.names, shop.options.lock_timeout)


def _prepare(requests: Sequence[str], shop: Workshop) -> None:
    """Have everything on the node. The lists may be older than the mirror's content: then they are read anew."""
    try:
        shop.system.prepare(requests, shop.options.lock_timeout)
    except GaudiError:
        shop.system.refresh(shop.options.lock_timeout)
        shop.system.prepare(requests, shop.options.lock_timeout)


def _keep(step: Step, shop: Workshop) -> None:
    for version, names in _by_version(shop.before or {}).items():
        try:
            pins = dict.fromkeys((name for name in names if name in step.names), version)
            shop.system.fetch(pins, _files(shop, version))
        except GaudiError as error:
            raise GaudiError(
                f"There would be no rollback to {version}, nothing was changed: {error} Have the vault offer it, or do "
                "without one with rollback: false."
            ) from error


def _fetch(step: Step, shop: Workshop) -> None:
    files = shop.system.fetch(dict.fromkeys(step.names, shop.release.package_version), _files(shop))
    _prepare(files, shop)


def _stop(step: Step, shop: Workshop) -> None:
    card_holders.stop(step.names, shop.run)


def _unload(step: Step, shop: Workshop) -> None:
    for name in step.names:
        kernel_modules.unload(name, shop.run)


def _install(step: Step, shop: Workshop) -> None:
    version = shop.release.package_version
    files = shop.system.fetch(dict.fromkeys(step.names, version), _files(shop))
    started = int(time.time())
    try:
        shop.system.install(files, shop.options.lock_timeout)
    except GaudiError as error:
        raise _why(error, shop, started) from error
    _forget_other_files(shop)


def _why(error: GaudiError, shop: Workshop, started: int) -> GaudiError:
    """A package's script builds the driver: the end of its log says more than the package manager does."""
    version, kernel = shop.release.package_version, kernel_modules.running_kernel(shop.options.kernel_root)
    log = dkms.newest_log(version, kernel, shop.root, since=started)
    if log is None or dkms.installed_for(dkms.read_status(shop.run), version, kernel):
        return GaudiError(f"Release {version}: {error}", **error.facts)
    return dkms.build_error(version, kernel, log, shop.root)


def _forget_other_files(shop: Workshop) -> None:
    """Keep the files of this release and of the rollback; an old one's would only fill the disk."""
    kept = {shop.release.package_version, *(shop.before or {}).values()}
    for directory in Path(shop.root, PACKAGE_FILES).glob("*"):
        if directory.name not in kept:
            shutil.rmtree(directory, ignore_errors=True)


def _list(_step: Step, shop: Workshop) -> None:
    for change in pending([WantedFile(str(Path(shop.root, BOOT_LIST)), boot_list(shop.release))]):
        write(change)


def _build(step: Step, shop: Workshop) -> None:
    version = shop.release.package_version
    # What the package's own script left undone would be "already added" to dkms.
    _mend(step, shop)
    for kernel in step.names:
        _build_for(kernel, version, shop)
        _prefer_in(kernel, shop)


def _build_for(kernel: str, version: str, shop: Workshop) -> None:
    entries = [entry for entry in dkms.read_status(shop.run) if entry.kernel == kernel]
    # The package's own script has built for some of them, perhaps with another key.
    built = dkms.installed_for(entries, version, kernel)
    signing = shop.options.signing
    if built and driver_signing.is_unsigned(signing, kernel, shop.run, shop.root):
        dkms.discard(version, kernel, shop.run)
        built = False
    if not built or any(entry.differs for entry in entries):
        dkms.install(version, kernel, shop.run, shop.options.build_timeout, shop.root)
    driver_signing.require_signed(signing, kernel, shop.run, shop.root)


def _prefer(step: Step, shop: Workshop) -> None:
    for kernel in step.names:
        _prefer_in(kernel, shop)


def _prefer_in(kernel: str, shop: Workshop) -> None:
    """What DKMS built comes before a module of the same name in the kernel's own tree."""
    wanted = module_override(kernel_modules.module_files(shop.release.modules, kernel, shop.run), kernel, shop.root)
    if wanted is not None:
        for change in pending([wanted]):
            write(change)
        run_depmod(kernel, shop.run)


def _hold(step: Step, shop: Workshop) -> None:
    shop.system.hold(step.names)


def _unhold(step: Step, shop: Workshop) -> None:
    shop.system.unhold(step.names)


def _load(step: Step, shop: Workshop) -> None:
    for name in step.names:
        kernel_modules.load(name, shop.run)


def _ports(step: Step, shop: Workshop) -> None:
    for unit in step.names:
        systemd_units.restart(shop.run, unit)


def _start(step: Step, shop: Workshop) -> None:
    """The driver works by now: a container that is gone once it was stopped is no reason to take the node back."""
    try:
        card_holders.start(step.names, shop.run)
    except GaudiError as error:
        shop.told.append(str(error))


def _verify(step: Step, shop: Workshop) -> None:
    require_healthy(shop.release, int(step.names[0]), shop.run, shop.options.kernel_root, shop.options.settle_timeout)


def _files(shop: Workshop, version: str = "") -> str:
    return str(Path(shop.root, PACKAGE_FILES, version or shop.release.package_version))


def _by_version(packages: Mapping[str, str]) -> dict[str, list[str]]:
    versions: dict[str, list[str]] = {}
    for name, version in packages.items():
        versions.setdefault(version, []).append(name)
    return versions


_EFFECTS: Mapping[str, Callable[[Step, Workshop], None]] = {
    "mend": _mend,
    "sign": _sign,
    "repair": _repair,
    "require": _require,
    "keep": _keep,
    "fetch": _fetch,
    "stop": _stop,
    "unload": _unload,
    "install": _install,
    "list": _list,
    "build": _build,
    "prefer": _prefer,
    "unhold": _unhold,
    "hold": _hold,
    "load": _load,
    "ports": _ports,
    "start": _start,
    "verify": _verify,
}
