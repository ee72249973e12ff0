# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The driver of a node brought to one release: read, refuse or plan, change step by step, go back when a step fails.

Before each step the marker is on disk, so that a run after a power cut knows what the node was like before.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Sequence

from .._cards import holders as card_holders
from .._cards.accel_sysfs import pci_cards
from .._cards.hpu_facts import gather
from .._cards.node_system import read_kernel
from .._errors import GaudiError
from .._fabric.ports import UNIT as PORTS_UNIT
from .._firmware.record import unfinished
from .._host.kernel.boot_kernels import boot_kernels
from .._host.kernel.hold import kernel_globs, kernel_packages
from .._node import driver_marker, kernel_modules, restart_due, systemd_units
from .._node.commands import Run
from .._node.driver_marker import Marker
from .._node.lock import exclusive
from .._node.os_release import APT
from .._node.rendered_files import read_text
from .._node.steps import Step, take
from .._packages import node_packages
from .._packages.lock_holder import locks_of, require_free
from .._packages.package_system import Package, PackageSystem
from .._releases.lookup import RELEASES, Release, find_release
from .._verify.compatibility import firmware_obstacle
from . import dkms, kept_kernel, kernel_sources
from . import signing as driver_signing
from .dkms_repair import find_damages
from .module_override import module_override
from .module_signing import check_options
from .outlook import difference, foresee, passthrough_warnings, warnings
from .plan import (
    PREPARING,
    TOUCHING,
    UNTOLD,
    VENDOR,
    DriverNode,
    DriverOptions,
    is_change,
    is_other,
    outcome,
    packages_before,
    plan,
    previous_release,
    refusals,
    reload_required,
    waits_for_passthrough,
    wanted_cards,
)
from .steps import BOOT_LIST, EFFECTS, StepContext

_EVERY_MODULE = tuple(dict.fromkeys(name for row in RELEASES.values() for name in row.modules))


def read(
    options: DriverOptions, release: Release, run: Run, root: str = "/", system: PackageSystem | None = None
) -> DriverNode:
    """See the node; changes nothing."""
    system = system or node_packages.of_node(run, root)
    running = kernel_modules.running_kernel(options.kernel_root)
    kept = kernel_sources.look(options.kernel, options.os_packages, release, running, run, system, root)
    usual = () if options.kernels else boot_kernels(run, options.kernel_root, root)
    kernels = kept_kernel.kernels_to_build(options.kernels, usual, running, kept)
    loaded = kernel_modules.loaded_modules(_EVERY_MODULE, options.kernel_root)
    version = kernel_modules.loaded_version(options.kernel_root)
    if version is None and kernel_modules.DRIVER_MODULE in loaded:
        version = UNTOLD
    named = [name.replace("{kernel}", kernel) for name in options.os_packages for kernel in kernels]
    named += [*kept.image, *kept.packages, *kept.to_release]
    kernel_names = _kernel_packages(system) if options.hold_kernel or kept.wanted else {}
    cards = len(pci_cards(options.kernel_root))
    files = {kernel: kernel_modules.module_files(release.modules, kernel, run) for kernel in {running, *kernels}}
    return DriverNode(
        running=running,
        kernels=kernels,
        packages={**system.query([*options.packages, *dict.fromkeys(named), f"{VENDOR}*"]), **kernel_names},
        broken=system.broken(),
        interrupted=system.interrupted(),
        damages=find_damages(run, root),
        dkms=dkms.read_status(run),
        headers=[kernel for kernel in kernels if dkms.has_headers(kernel, root)],
        shadowed=[kernel for kernel in kernels if module_override(files[kernel], kernel, root)],
        kernel_packages=sorted(kernel_names),
        signing=driver_signing.look(options.signing, kernels, run, root, options.kernel_root),
        loaded=loaded,
        loaded_version=version,
        # Walking every process's open files is only worth it where somebody has to be asked to let go.
        holders=kernel_modules.find_holders(options.kernel_root) if is_other(version, release) else [],
        files=files[running],
        boot_list=read_text(str(Path(root, BOOT_LIST))),
        ports_unit=PORTS_UNIT if systemd_units.is_enabled(run, PORTS_UNIT) else "",
        cards=cards,
        kept=kept,
        iommu_in_the_way=bool(cards) and read_kernel(options.kernel_root).iommu_in_the_way,
        obstacle=unfinished(root) or _obstacle(version, release, run, options.kernel_root),
        marker=driver_marker.read(root),
    )


def _kernel_packages(system: PackageSystem) -> dict[str, Package]:
    family = "debian" if system.name == APT else "rhel"
    found = system.query(kernel_globs(family))
    names = kernel_packages((name for name, package in found.items() if package.installed), family)
    return {name: found[name] for name in names}


def _obstacle(loaded_version: str | None, release: Release, run: Run, kernel_root: str) -> str | None:
    """What the cards' firmware has against the release; only asked where another release is loaded."""
    if not is_other(loaded_version, release):
        return None
    facts = gather(run, kernel_root)
    return firmware_obstacle(facts.generation, facts.firmware.spi, (), release)


def converge(options: DriverOptions, run: Run, check_mode: bool, root: str = "/") -> dict[str, Any]:
    """Bring the node to what is wanted; the result's keys are always the same."""
    release = find_release(options.release, options.release_overrides)
    check_options(options.signing, root)
    if check_mode:
        return _converge(options, release, run, check_mode, root)
    with exclusive("driver", options.lock_timeout, root):
        result = _converge(options, release, run, check_mode, root)
        state = str(Path(root, "var/lib/gaudi3_scale"))
        restart_due.keep("driver", result["restart_reasons"], state, options.kernel_root)
    return result


def _converge(options: DriverOptions, release: Release, run: Run, check_mode: bool, root: str) -> dict[str, Any]:
    system = node_packages.of_node(run, root)
    before = node = read(options, release, run, root, system)
    if node.kept.unlisted and not check_mode:
        # A new node has no package lists, or old ones.
        system.refresh(options.lock_timeout)
        before = node = read(options, release, run, root, system)
    _require_possible(options, release, node, check_mode)
    steps = plan(options, release, node)
    if check_mode or not steps:
        return _result(options, release, before, foresee(release, node, steps), steps, [])
    # Before the first step: what is half done waits for the lock itself.
    require_free(locks_of(system.name), options.lock_timeout, root)
    context = StepContext(options, release, system, run, root, packages_before(options, release, node))
    preparing = [step for step in steps if step.action in PREPARING]
    if preparing:
        for step in preparing:
            take(step, EFFECTS, context)
        node = read(options, release, run, root, system)
        _require_possible(options, release, node, check_mode)
        steps = [step for step in plan(options, release, node) if step.action not in PREPARING]
        context = replace(context, before=packages_before(options, release, node))
    _change(node, steps, context)
    after = read(options, release, run, root, system)
    return _result(options, release, before, after, [*preparing, *steps], context.reported)


def _require_possible(options: DriverOptions, release: Release, node: DriverNode, check_mode: bool) -> None:
    reasons = refusals(options, release, node, check_mode)
    if reasons:
        message = f"The driver cannot be brought to release {release.version}: {'; '.join(reasons)}."
        raise GaudiError(message, state="refused", reasons=reasons)


def _result(
    options: DriverOptions,
    release: Release,
    before: DriverNode,
    after: DriverNode,
    steps: Sequence[Step],
    not_started: Sequence[str],
) -> dict[str, Any]:
    previous = previous_release(options, before)
    reasons = kept_kernel.restart_reasons(after.kept, after.running)
    said = [*warnings(after), *passthrough_warnings(options, before, after)]
    said += kept_kernel.warnings(after.kept, after.running)
    return {
        "changed": bool(steps),
        "diff": difference(before, after),
        "state": outcome(previous, release, bool(steps)),
        "release": release.version,
        "package_version": release.package_version,
        "previous_release": previous.package_version if previous else None,
        "kernels": list(before.kernels),
        "steps": [str(step) for step in steps],
        "loaded": list(after.loaded),
        "loaded_version": after.loaded_version or None,
        "reload_required": reload_required(options, release, after),
        "holders": [{**vars(holder), "devices": list(holder.devices)} for holder in before.holders],
        "held": sorted(name for name, package in after.packages.items() if package.held),
        "not_started": list(not_started),
        "restart_required": waits_for_passthrough(options, after) or bool(reasons),
        "restart_reasons": reasons,
        "warnings": [*said, *not_started],
    }


def _change(before: DriverNode, steps: Sequence[Step], context: StepContext) -> None:
    """Take the steps with the marker ahead of each; on a failure go back to the release that the node had."""
    previous = previous_release(context.options, before)
    marker = Marker(
        driver_marker.CHANGING,
        previous=previous.package_version if previous and is_change(context.options, context.release, before) else "",
        wanted=context.release.package_version,
        packages=dict(context.before or {}),
        stopped=_to_start_again(before, steps),
        cards=wanted_cards(context.options, before),
    )
    touched = before.marker is not None and before.marker.interrupted
    try:
        for step in steps:
            touched = touched or step.action in TOUCHING
            if touched:
                driver_marker.begun(marker, step.action, context.root)
            take(step, EFFECTS, context)
    except GaudiError as error:
        if not touched or not marker.previous or previous is None or not context.options.rollback:
            raise
        raise _go_back(marker, previous, error, context) from error
    if touched:
        driver_marker.keep(replace(marker, state=driver_marker.DONE), context.root)


def _to_start_again(before: DriverNode, steps: Sequence[Step]) -> tuple[str, ...]:
    starting = [name for step in steps if step.action == "start" for name in step.names]
    return tuple(starting) or card_holders.names(before.holders)


def _go_back(marker: Marker, previous: Release, error: GaudiError, context: StepContext) -> GaudiError:
    """Bring the node back; the error that tells how that went."""
    marker = replace(marker, state=driver_marker.GOING_BACK, reason=str(error).partition("\n")[0])
    options = replace(
        context.options,
        release=previous.package_version,
        packages=tuple(marker.packages),
        others=False,
        stop_device_users=True,
        rollback=False,
        # It was loaded before.
        load_without_passthrough=True,
        kernel="",
        # DKMS keeps its settings; that it could not sign may be why the node goes back.
        signing_key="",
        signing_certificate="",
        enrollment_hash_file="",
    )
    back = replace(context, options=options, release=previous)
    driver_marker.keep(marker, context.root)
    try:
        for step in plan(options, previous, read(options, previous, context.run, context.root, context.system)):
            driver_marker.begun(marker, f"back: {step.action}", context.root)
            take(step, EFFECTS, back)
    except GaudiError as second:
        driver_marker.keep(replace(marker, state=driver_marker.FAILED), context.root)
        reason = str(second).partition("\n")[0].rstrip(".")
        message = (
            f"{_failed(context)}, and going back to {previous.version} failed too ({reason}); inspect the node. {error}"
        )
        return GaudiError(message, **{**error.facts, "state": driver_marker.FAILED, "reason": marker.reason})
    driver_marker.keep(replace(marker, state=driver_marker.ROLLED_BACK), context.root)
    message = " ".join(
        [f"{_failed(context)}; the node is back on {previous.version}, verified.", *context.reported, str(error)]
    )
    facts = {**error.facts, "state": driver_marker.ROLLED_BACK, "reason": marker.reason}
    return GaudiError(message, previous_release=previous.package_version, **facts)


def _failed(context: StepContext) -> str:
    return f"The change to release {context.release.version} failed"
