# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The driver on a node, after its packages: built for the wanted kernels, held, loaded at boot and now.

``read`` sees the node, ``converge`` takes the steps of ``driver_plan``.
"""

from __future__ import annotations

from pathlib import Path

from . import dkms, kernel_modules
from .commands import Run
from .debian_packages import mark, query_packages
from .driver_plan import (
    DriverNode,
    DriverOptions,
    Step,
    describe,
    foresee,
    is_other,
    plan,
    refusals,
    reload_required,
    wanted_kernels,
    warnings,
)
from .errors import GaudiError
from .releases import Release, find_release
from .rendered_files import WantedFile, differences, pending, write


def read(options: DriverOptions, release: Release, run: Run, root: str = "/") -> DriverNode:
    """See the node; changes nothing."""
    running = kernel_modules.running_kernel(options.kernel_root)
    version = kernel_modules.loaded_version(options.kernel_root)
    return DriverNode(
        running=running,
        packages=query_packages(list(options.packages), run),
        dkms=dkms.read_status(run),
        headers=[kernel for kernel in wanted_kernels(options, running) if dkms.has_headers(kernel, root)],
        loaded=kernel_modules.loaded_modules(release.modules, options.kernel_root),
        loaded_version=version,
        # Walking every process's open files is only worth it where somebody has to be asked to let go.
        holders=kernel_modules.find_holders(options.kernel_root) if is_other(version, release) else [],
        files=kernel_modules.module_files(release.modules, running, run),
    )


def converge(options: DriverOptions, run: Run, check_mode: bool, root: str = "/") -> dict[str, object]:
    """Bring the node to what is wanted; the result's keys are always the same."""
    release = find_release(options.release, options.release_overrides)
    before = read(options, release, run, root)
    reasons = refusals(options, release, before)
    # In check mode the packages of this very run are not there yet; what would follow them is still shown.
    if reasons and not check_mode:
        message = f"The driver of release {release.version} cannot be set up: {'; '.join(reasons)}; then run again."
        raise GaudiError(message, reasons=reasons)
    steps = plan(options, release, before)
    boot_list = kernel_modules.render_modules_load(release.modules, release.version)
    changes = pending([WantedFile(str(Path(root, "etc/modules-load.d/habanalabs.conf")), boot_list)])
    if check_mode:
        after = foresee(release, before, steps)
    else:
        for change in changes:
            write(change)
        for step in steps:
            _take(step, options, release, run, root)
        after = read(options, release, run, root) if steps else before
    return {
        "changed": bool(steps or changes),
        "diff": differences(changes) + _state_diff(before, after),
        "release": release.version,
        "package_version": release.package_version,
        "kernels": wanted_kernels(options, before.running),
        "steps": [str(step) for step in steps],
        "loaded": list(after.loaded),
        "loaded_version": after.loaded_version,
        "reload_required": reload_required(options, release, after),
        "holders": [{**vars(holder), "devices": list(holder.devices)} for holder in after.holders],
        "held": sorted(name for name, package in after.packages.items() if package.held),
        "warnings": warnings(options, release, after),
    }


def _take(step: Step, options: DriverOptions, release: Release, run: Run, root: str) -> None:
    if step.action in ("hold", "unhold"):
        mark(step.action, step.names, run)
        return
    for name in step.names:
        if step.action == "build":
            dkms.install(release.package_version, name, run, options.build_timeout, root)
        elif step.action == "unload":
            kernel_modules.unload(name, run)
        else:
            kernel_modules.load(name, run)


def _state_diff(before: DriverNode, after: DriverNode) -> list[dict[str, str]]:
    texts = {"before": describe(before), "after": describe(after)}
    if texts["before"] == texts["after"]:
        return []
    return [{"before_header": "driver", "after_header": "driver", **texts}]


def explain_failed_install(options: DriverOptions, said: str, run: Run, root: str = "/") -> GaudiError:
    """Why the package manager failed: the DKMS build that a package's script started, or its own words (``said``)."""
    release = find_release(options.release, options.release_overrides)
    packages = query_packages(list(options.packages), run).values()
    half = [package.name for package in packages if package.status not in ("installed", "not-installed")]
    entries = dkms.read_status(run)
    for kernel in wanted_kernels(options, kernel_modules.running_kernel(options.kernel_root)):
        log = dkms.newest_log(release.package_version, kernel, root)
        if half and log and not dkms.installed_for(entries, release.package_version, kernel):
            error = dkms.build_error(release.package_version, kernel, log)
            return GaudiError(str(error), half_configured=half, **error.facts)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    reason = next((line for line in lines if line.startswith("E: ")), lines[-1] if lines else "no reason given")
    message = f"The packages of release {release.package_version} cannot be installed: {reason}"
    return GaudiError(message, half_configured=half)
