# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Mounts, stripes and settings of a node: read, compared and applied together. One that fails stops no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._host.kernel.values import value_difference
from .._host.packages import install_missing
from .._node.commands import Run, last_line
from .._node.job_user import check_user
from .._node.lock import alone, state_beside
from .._node.os_release import APT, DNF, package_manager
from .._node.rendered_files import WantedFile, differences, pending, write
from .._node.systemd_units import disable, enable, is_enabled, reload_units, restart
from . import lustre, space
from .mounts import ABSENT, LUSTRE, NFS, Mount, parse
from .refusals import refuse
from .units import Node, unit_name, wanted_unit

# systemd gives a mount TimeoutSec, and its own end.
_MOUNT_TIMEOUT_S = 90
NFS_CLIENT = {APT: "nfs-common", DNF: "nfs-utils"}


@dataclass(frozen=True)
class Options:
    """See the options of the module ``storage_mounts``."""

    mounts: Sequence[Mapping[str, Any]] = ()
    stripes: Sequence[Mapping[str, Any]] = ()
    lustre_settings: Mapping[str, Any] = field(default_factory=dict)
    lustre_packages: Sequence[str] = ()
    local_places: Sequence[str] = ()
    user: str = "gaudi"


def converge(options: Options, run: Run, check_mode: bool, node: Node) -> dict[str, Any]:
    """What the module returns; raises GaudiError before anything is touched, or with all that failed after the rest."""
    check_user(options.user)
    mounts = parse(options.mounts, options.local_places)
    stripes = lustre.parse_stripes(options.stripes)
    settings = lustre.check_settings(options.lustre_settings)
    for mount in mounts:
        refuse(mount, node, run)
    with alone("mounts", state_beside(node.etc), check_mode=check_mode):
        return _converge(options, mounts, stripes, settings, run, check_mode, node)


def _converge(
    options: Options,
    mounts: Sequence[Mount],
    stripes: Sequence[lustre.Stripe],
    settings: Mapping[str, str],
    run: Run,
    check_mode: bool,
    node: Node,
) -> dict[str, Any]:
    diff: list[dict[str, str]] = [*_clients(options, mounts, run, check_mode, node)]
    failures: list[str] = []
    about = []
    for mount in mounts:
        try:
            diff += _mount(mount, run, check_mode, node)
        except GaudiError as error:
            failures.append(str(error))
            continue
        is_there = mount.path in node.mounted()
        found = space.left(mount, options.user, run) if is_there else None
        short = space.shortage(mount, found, options.user) if is_there else ""
        failures += [short] if short else []
        about.append({"path": mount.path, "source": mount.source, "type": mount.type, "left_bytes": found})
    for stripe in stripes:
        try:
            diff += _stripe(stripe, run, check_mode, node)
        except GaudiError as error:
            failures.append(str(error))
    try:
        diff += _settings(settings, run, check_mode, node)
    except GaudiError as error:
        failures.append(str(error))
    if failures:
        raise GaudiError(" ".join(failures), changed=bool(diff), diff=diff, mounts=about)
    return {"changed": bool(diff), "diff": diff, "mounts": about}


def _clients(options: Options, mounts: Sequence[Mount], run: Run, check_mode: bool, node: Node) -> list[dict[str, str]]:
    types = {mount.type for mount in mounts if mount.state != ABSENT}
    steps = []
    if NFS in types:
        steps += install_missing(
            [NFS_CLIENT[package_manager(node.etc)]], "type nfs", run, str(Path(node.etc).parent), check_mode
        )
    if LUSTRE in types and options.lustre_packages:
        steps += install_missing(options.lustre_packages, "type lustre", run, str(Path(node.etc).parent), check_mode)
    return steps


def _mount(mount: Mount, run: Run, check_mode: bool, node: Node) -> list[dict[str, str]]:
    """The steps made (in check mode: to make)."""
    unit, changes = unit_name(mount.path), pending([wanted_unit(mount, node.etc)])
    is_there = mount.path in node.mounted()
    if mount.state == ABSENT:
        if changes and not check_mode:
            _unmount(mount, run, is_there)
            disable(run, unit)
            write(changes[0])
            reload_units(run)
        return [*differences(changes), *_step(mount, is_there and bool(changes), "mounted", "not mounted")]
    due = bool(changes) or not is_there or not is_enabled(run, unit)
    if due and not check_mode:
        if changes and is_there:
            _unmount(mount, run, is_there)
        for change in changes:
            write(change)
        reload_units(run)
        enable(run, unit)
        _start(mount, unit, run)
    return [*differences(changes), *_step(mount, not is_there, "not mounted", "mounted")]


def _step(mount: Mount, is_step: bool, before: str, after: str) -> list[dict[str, str]]:
    return [value_difference(mount.path, before, after)] if is_step else []


def _unmount(mount: Mount, run: Run, is_there: bool) -> None:
    """By umount(8), which refuses what is in use. systemd would first stop all services that work there, as jobs do."""
    if not is_there:
        return
    done = run(["umount", mount.path], timeout=_MOUNT_TIMEOUT_S)
    if done.rc != 0:
        said = last_line(done.stderr).rstrip(".")
        raise GaudiError(
            f"{mount.path} cannot be unmounted, and stays as it is ({said}); end what uses it first "
            f"(`fuser -vm {mount.path}`)."
        )


def _start(mount: Mount, unit: str, run: Run) -> None:
    done = run(["systemctl", "restart", unit], timeout=_MOUNT_TIMEOUT_S)
    if done.rc == 0:
        return
    log = run(["journalctl", "--unit", unit, "--lines", "20", "--no-pager", "--output", "cat"]).stdout.splitlines()
    said = [line for line in log if line.startswith("mount")]
    reason = (said or [last_line(done.stderr)])[-1].strip().rstrip(".")
    lacking = " The Lustre client is not installed: name its packages in lustre_packages." if _no_lustre(mount) else ""
    raise GaudiError(f"{mount.path} cannot be mounted ({reason}); `systemctl status '{unit}'` shows more.{lacking}")


def _no_lustre(mount: Mount) -> bool:
    return mount.type == LUSTRE and not any(Path(place, "mount.lustre").exists() for place in ("/sbin", "/usr/sbin"))


def _stripe(stripe: lustre.Stripe, run: Run, check_mode: bool, node: Node) -> list[dict[str, str]]:
    lustre.refuse_stripe(stripe, node.mounted())
    now = lustre.stripe_of(stripe.path, run)
    if now == stripe:
        return []
    if not check_mode:
        lustre.set_stripe(stripe, run)
    return [
        value_difference(f"stripes of {stripe.path}", f"{now.count} of {now.size}", f"{stripe.count} of {stripe.size}")
    ]


def _settings(settings: Mapping[str, str], run: Run, check_mode: bool, node: Node) -> list[dict[str, str]]:
    wanted: WantedFile = lustre.settings_unit(settings, node.etc)
    changes = pending([wanted])
    differing = lustre.settings_differ(settings, run)
    if not check_mode:
        if changes and not settings:
            disable(run, lustre.UNIT)
        for change in changes:
            write(change)
        if changes:
            reload_units(run)
        if settings and (changes or differing):
            enable(run, lustre.UNIT)
            restart(run, lustre.UNIT, timeout=_MOUNT_TIMEOUT_S)
    return [*differences(changes), *(value_difference(name, "another", settings[name]) for name in differing)]
