# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The effect of each step of ``plan.py``."""

from __future__ import annotations

import shutil
import time
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Mapping, Sequence

from .._cards import holders as card_holders
from .._errors import GaudiError
from .._host.kernel import boot_choice
from .._node import kernel_modules, systemd_units
from .._node.commands import Run
from .._node.rendered_files import WantedFile, pending, write
from .._node.steps import Effects, Step
from .._packages.package_system import PackageSystem
from .._releases.lookup import Release
from . import dkms
from . import signing as driver_signing
from .dkms_repair import find_damages, repair_all
from .module_override import module_override, run_depmod
from .plan import DriverOptions, boot_list
from .verify import require_healthy

PACKAGE_FILES = "var/lib/gaudi3_scale/packages"
BOOT_LIST = "etc/modules-load.d/habanalabs.conf"


@dataclass(frozen=True)
class StepContext:
    """What the steps work with.

    ``before`` are the vendor's packages to be able to go back to, ``reported`` collects what did not start again.
    """

    options: DriverOptions
    release: Release
    system: PackageSystem
    run: Run
    root: str = "/"
    before: Mapping[str, str] | None = None
    reported: list[str] = field(default_factory=list)


def _mend(_step: Step, context: StepContext) -> None:
    repair_all(find_damages(context.run, context.root), context.run, context.root)


def _sign(_step: Step, context: StepContext) -> None:
    options = context.options
    signing = driver_signing.look(options.signing, (), context.run, context.root, options.kernel_root)
    driver_signing.prepare(signing, options.signing, context.run)


def _repair(step: Step, context: StepContext) -> None:
    context.system.repair(step.names)


def _require(step: Step, context: StepContext) -> None:
    _prepare(step.names, context)
    started = int(time.time())
    try:
        with boot_choice.default_kept(context.run, context.root) if context.options.kernel else nullcontext():
            context.system.install(step.names, context.options.lock_timeout)
    except GaudiError as error:
        # Headers of another kernel have DKMS build the driver that is there for it.
        failed = _failed_build(context, started)
        if failed is None:
            raise
        raise failed from error


def _prepare(requests: Sequence[str], context: StepContext) -> None:
    """Have everything on the node. The lists may be older than the mirror's content: then they are read anew."""
    try:
        context.system.prepare(requests, context.options.lock_timeout)
    except GaudiError:
        context.system.refresh(context.options.lock_timeout)
        context.system.prepare(requests, context.options.lock_timeout)


def _keep(step: Step, context: StepContext) -> None:
    for version, names in _by_version(context.before or {}).items():
        try:
            pins = dict.fromkeys((name for name in names if name in step.names), version)
            context.system.fetch(pins, _files(context, version))
        except GaudiError as error:
            raise GaudiError(
                f"Rollback to {version} would not be possible, so nothing was changed: {error} Add it to the "
                "repository, or set rollback: false."
            ) from error


def _fetch(step: Step, context: StepContext) -> None:
    files = context.system.fetch(dict.fromkeys(step.names, context.release.package_version), _files(context))
    _prepare(files, context)


def _stop(step: Step, context: StepContext) -> None:
    card_holders.stop(step.names, context.run)


def _unload(step: Step, context: StepContext) -> None:
    for name in step.names:
        kernel_modules.unload(name, context.run)


def _install(step: Step, context: StepContext) -> None:
    version = context.release.package_version
    files = context.system.fetch(dict.fromkeys(step.names, version), _files(context))
    started = int(time.time())
    try:
        context.system.install(files, context.options.lock_timeout)
    except GaudiError as error:
        raise _why(error, context, started) from error
    _forget_other_files(context)


def _why(error: GaudiError, context: StepContext, started: int) -> GaudiError:
    """A package's script builds the driver: the end of its log says more than the package manager does."""
    failed = _failed_build(context, started)
    return failed or GaudiError(f"Release {context.release.package_version}: {error}", **error.facts)


def _failed_build(context: StepContext, started: int) -> GaudiError | None:
    return dkms.failed_build(kernel_modules.running_kernel(context.options.kernel_root), context.root, started)


def _forget_other_files(context: StepContext) -> None:
    """Keep the files of this release and of the rollback; an old one's would only fill the disk."""
    kept = {context.release.package_version, *(context.before or {}).values()}
    for directory in Path(context.root, PACKAGE_FILES).glob("*"):
        if directory.name not in kept:
            shutil.rmtree(directory, ignore_errors=True)


def _list(_step: Step, context: StepContext) -> None:
    for change in pending([WantedFile(str(Path(context.root, BOOT_LIST)), boot_list(context.release))]):
        write(change)


def _build(step: Step, context: StepContext) -> None:
    version = context.release.package_version
    # What the package's own script left undone would be "already added" to dkms.
    _mend(step, context)
    for kernel in step.names:
        _build_for(kernel, version, context)
        _prefer_in(kernel, context)


def _build_for(kernel: str, version: str, context: StepContext) -> None:
    entries = [entry for entry in dkms.read_status(context.run) if entry.kernel == kernel]
    # The package's own script has built for some of them, perhaps with another key.
    built = dkms.installed_for(entries, version, kernel)
    signing = context.options.signing
    if built and driver_signing.is_unsigned(signing, kernel, context.run, context.root):
        dkms.discard(version, kernel, context.run)
        built = False
    if not built or any(entry.differs for entry in entries):
        dkms.install(version, kernel, context.run, context.options.build_timeout, context.root)
    driver_signing.require_signed(signing, kernel, context.run, context.root)


def _prefer(step: Step, context: StepContext) -> None:
    for kernel in step.names:
        _prefer_in(kernel, context)


def _prefer_in(kernel: str, context: StepContext) -> None:
    """What DKMS built comes before a module of the same name in the kernel's own tree."""
    wanted = module_override(
        kernel_modules.module_files(context.release.modules, kernel, context.run), kernel, context.root
    )
    if wanted is not None:
        for change in pending([wanted]):
            write(change)
        run_depmod(kernel, context.run)


def _hold(step: Step, context: StepContext) -> None:
    context.system.hold(step.names)


def _unhold(step: Step, context: StepContext) -> None:
    context.system.unhold(step.names)


def _load(step: Step, context: StepContext) -> None:
    for name in step.names:
        kernel_modules.load(name, context.run)


def _ports(step: Step, context: StepContext) -> None:
    for unit in step.names:
        systemd_units.restart(context.run, unit)


def _start(step: Step, context: StepContext) -> None:
    """The driver works by now: a container that is gone once it was stopped is no reason to take the node back."""
    try:
        card_holders.start(step.names, context.run)
    except GaudiError as error:
        context.reported.append(str(error))


def _verify(step: Step, context: StepContext) -> None:
    require_healthy(
        context.release, int(step.names[0]), context.run, context.options.kernel_root, context.options.settle_timeout
    )


def _image(step: Step, context: StepContext) -> None:
    _prepare(step.names, context)
    context.system.install(step.names, context.options.lock_timeout)


def _choose(step: Step, context: StepContext) -> None:
    (kernel,) = step.names
    # A kernel without the driver never boots, whatever came in between.
    if kernel not in _built(context):
        raise GaudiError(f"Kernel {kernel} is not chosen: no driver is built for it; see `dkms status` on the node.")
    _prefer_in(kernel, context)
    boot_choice.choose(kernel, context.run, context.root)


def _retain(step: Step, context: StepContext) -> None:
    record = boot_choice.read_record(context.root)
    if record is not None:
        held = tuple(dict.fromkeys([*record.held, *step.names]))
        boot_choice.keep_record(replace(record, held=held), context.root)
    context.system.hold(step.names)


def _give_back(_step: Step, context: StepContext) -> None:
    record = boot_choice.read_record(context.root)
    boot_choice.give_back(_built(context), context.run, context.root)
    if record is not None and record.held and not context.options.hold_kernel:
        context.system.unhold(record.held)
    boot_choice.keep_record(None, context.root)


def _built(context: StepContext) -> list[str]:
    """The kernels for which the release's driver is installed."""
    entries = dkms.read_status(context.run)
    names = dict.fromkeys(entry.kernel for entry in entries if entry.kernel)
    version = context.release.package_version
    return [kernel for kernel in names if dkms.installed_for(entries, version, kernel)]


def _files(context: StepContext, version: str = "") -> str:
    return str(Path(context.root, PACKAGE_FILES, version or context.release.package_version))


def _by_version(packages: Mapping[str, str]) -> dict[str, list[str]]:
    versions: dict[str, list[str]] = {}
    for name, version in packages.items():
        versions.setdefault(version, []).append(name)
    return versions


EFFECTS: Effects[StepContext] = {
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
    "image": _image,
    "choose": _choose,
    "retain": _retain,
    "give_back": _give_back,
}
