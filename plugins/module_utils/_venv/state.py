# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The training environment on a node: a virtual environment whose PyTorch is the vendor's, and stays so."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

from .._cards.node_system import read_system
from .._errors import GaudiError
from .._node.commands import Run
from .._node.lock import exclusive
from .._node.rendered_files import differences, pending, read_text
from .._node.secret_words import without_credentials, without_secrets
from .._releases.lookup import Release, find_release
from . import node_library
from . import plan as venv_plan
from .pin_table import PINS
from .pins import chosen, needed
from .plan import Asked, Stamp, VenvOptions
from .repository import Repository, Site
from .wanted import VenvState, Wanted, pip_conf, read, settings, write_pending

LOCK = "training environment"


def converge(options: VenvOptions, run: Run, check_mode: bool, repository: Repository) -> dict[str, object]:
    """Bring the environment to what is wanted; the result's keys are always the same.

    Raises :class:`GaudiError` with the fact ``missing_wheel`` where something has to be installed and the node library
    that the controller has is not on the node.
    """
    wanted = _wanted(options, repository.recorded(options.packages_url))
    state = read(wanted.options)
    reasons = _reasons(wanted, state)
    stamp = state.stamp
    diff: list[dict[str, str]] = []
    if reasons:
        _refuse(wanted.options, wanted.asked, state)
        diff = [_venv_difference(wanted.options, wanted.asked, stamp)]
        if check_mode:
            diff += differences(pending([pip_conf(wanted.options)]))
        else:
            with exclusive(LOCK, options.timeout, directory=repository.directory, remedy="wait for it to finish"):
                state = read(wanted.options)
                if _reasons(wanted, state):
                    # What downloads and calls pip is half of the code, and most runs install nothing.
                    from .install import install

                    # The bundle may have been built anew since; what installs has to have the newest checksums.
                    wanted = _wanted(options, repository.fresh(options.packages_url, run))
                    stamp, changes = install(wanted, state, run)
                    diff += differences(changes)
                else:
                    # Another controller did it meanwhile.
                    stamp, diff = state.stamp, []
    elif stamp:
        changes = pending(settings(wanted, stamp.wheels, stamp.unpinned))
        if changes and not check_mode:
            with exclusive(LOCK, options.timeout, directory=repository.directory, remedy="wait for it to finish"):
                changes = write_pending(settings(wanted, stamp.wheels, stamp.unpinned))
        diff = differences(changes)
    return {
        "changed": bool(diff),
        "diff": without_secrets(diff),
        "path": options.path,
        "release": wanted.release.version,
        "bundle_url": without_credentials(wanted.asked.bundle_url),
        "constraints": options.constraints,
        "node_library": without_credentials(wanted.asked.node_library),
        "reasons": without_secrets(reasons),
        "wheels": dict(stamp.wheels) if stamp else {},
        "requirements": dict(stamp.requirements) if stamp else {},
    }


def _wanted(options: VenvOptions, site: Site | None) -> Wanted:
    release = find_release(options.release, options.release_overrides)
    options = _at_site(options, release, site)
    library = node_library.look(node_library.wanted(options.node_library, options.extras, options.path))
    pins = chosen(PINS, options.pins, options.requirements)
    of_this = needed(pins, library.extras) if library.url or options.requirements else []
    interpreter = os.path.realpath(options.python)
    asked = venv_plan.asked_for(options, release, interpreter, read_system().os, library, of_this)
    return Wanted(options, release, library, pins, asked)


def _reasons(wanted: Wanted, state: VenvState) -> list[str]:
    reasons = venv_plan.faults(wanted.asked, state.stamp, state.installed)
    if not reasons and not state.runnable:
        return [f"{wanted.options.path}/bin has no python or no pip that works"]
    return reasons


def _at_site(options: VenvOptions, release: Release, site: Site | None) -> VenvOptions:
    """Where the repository is a bundle, its wheels and its checksum stand in for what the operator left empty."""
    system = read_system().os
    url = venv_plan.bundle_url(options, release, system)
    published = release.pytorch_sha256.get(venv_plan.os_directory(options, system), "")
    checksum = options.bundle_checksum or (f"sha256:{published}" if published and not options.bundle_url else "")
    if site is None or not site.is_bundle:
        return replace(options, bundle_checksum=checksum)
    checksum = options.bundle_checksum or site.checksum(url)
    if not checksum and not options.bundle_url:
        raise GaudiError(
            f"The bundle {site.packages_url} has no {url[len(site.packages_url) + 1 :]}; build its part pytorch for "
            "this release and system, or correct release, pytorch or os_directory.",
            url=url,
        )
    own = not options.index_url or options.index_url.rstrip("/") == site.index_url
    return replace(options, bundle_checksum=checksum, signed_wheels=dict(site.wheels) if own else {})


def _venv_difference(options: VenvOptions, asked: Asked, stamp: Stamp | None) -> dict[str, str]:
    """The environment as text, for ``--diff``: what went into it, and what shall."""
    before, after = _as_text(stamp.asked) if stamp else "", _as_text(asked)
    return {"before_header": options.path, "after_header": options.path, "before": before, "after": after}


def _as_text(asked: Asked) -> str:
    values = {name: value for name, value in vars(asked).items() if name != "pins"}
    lines = [*(f"{name}: {value}" for name, value in values.items()), *(f"pin: {pin}" for pin in asked.pins)]
    return "".join(f"{line}\n" for line in lines)


def _refuse(options: VenvOptions, asked: Asked, state: VenvState) -> None:
    """What can be known to be impossible before anything is fetched or changed."""
    if state.foreign:
        raise GaudiError(
            f"path '{options.path}' exists and was not made by this collection; choose another path, or remove it.",
            path=options.path,
        )
    read_text(options.constraints)  # Refuses what is no file there.
    if venv_plan.keeps_bundle(asked, state.stamp, state.installed):
        return
    place = next(parent for parent in [Path(options.path), *Path(options.path).parents] if parent.is_dir())
    free = shutil.disk_usage(place).free >> 20
    if free < options.min_free_mib:
        raise GaudiError(
            f"The file system of path '{options.path}' has {free} MiB free, and the training environment needs "
            f"{options.min_free_mib} MiB; free space there, choose another path, or lower min_free_mib.",
            free_mib=free,
        )
