# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The flags of a node as state: plan them, judge them, and bring the environment file and what goes with it there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .._node.environment_file import Setting, render
from .._node.hand_edits import HandEdit, find_edit, record_of
from .._node.lock import alone
from .._node.rendered_files import FileChange, WantedFile, differences, pending, read_text, replaced, write
from .._releases.lookup import find_release, version_key
from . import directories as flag_directories
from . import reach as flag_reach
from . import recipe_cache
from . import vendor as vendor_layer
from .bridge import read_bridge
from .checks import Finding
from .directories import WantedDirectory
from .profiles import EnvironmentOptions, directories, plan_environment, target_of
from .settings_check import Judged, judge
from .vendor import VendorEnvironment

WRITTEN_BY = "# Written by gaudi3.scale.hpu_flags "


@dataclass(frozen=True)
class _Wanted:
    """What the node is to have, and what is to be said of it. ``release`` has the version of its packages, ``text`` is
    that of the environment file.
    """

    release: str
    settings: Sequence[Setting]
    text: str
    directories: Sequence[WantedDirectory]
    judged: Judged
    judged_by: str
    vendor: VendorEnvironment


@dataclass(frozen=True)
class _Plan:
    """What is to be done on a node: ``gone`` and ``full`` are directories with recipes, each with the reason,
    below ``recipes``.
    """

    record: WantedFile
    edit: HandEdit | None
    files: Sequence[FileChange]
    missing: Sequence[WantedDirectory]
    gone: Sequence[tuple[str, str]]
    full: Sequence[tuple[str, str]]
    recipes: str

    def differences(self) -> list[dict[str, str]]:
        """All of it as Ansible's ``diff``; the edit of a person comes first."""
        return [
            *([self.edit.difference()] if self.edit else []),
            *differences(self.files),
            *map(flag_directories.difference, self.missing),
            *({"before": f"{path} ({why})\n", "after": ""} for path, why in (*self.gone, *self.full)),
        ]

    def apply(self) -> str:
        """Do it; returns the place of the copy of an edited file, empty where none was needed."""
        for directory in self.missing:
            flag_directories.make(directory)
        backup = ""
        for change in self.files:
            kept = write(change)
            backup = kept if kept and change.wanted.backup else backup
        # The record is no state that anyone wants: it is neither shown nor counted as a change.
        for change in pending([self.record]):
            write(change)
        for path, _why in self.gone:
            recipe_cache.remove(path)
        for path, _why in self.full:
            recipe_cache.empty(self.recipes, path)
        return backup


def converge(options: EnvironmentOptions, check_mode: bool, mounts: str = "/proc/self/mounts") -> dict[str, Any]:
    """Judge the flags, then bring the files, the directories and the recipe cache to their wanted state.

    Returns what the module ``hpu_flags`` documents, and ``warnings``, a sentence for each finding. Raises
    :class:`GaudiError`, before anything is touched, for what :func:`plan_environment` refuses and for any finding that
    is an error.
    """
    wanted = _wanted(options, check_mode, mounts)
    # What is refused is refused before there is even a lock; from looking to writing no other run may write.
    _look(options, wanted)
    with alone("flags", str(Path(options.path).parent), check_mode=check_mode):
        plan = _look(options, wanted)
        diff = plan.differences()
        backup = "" if check_mode else plan.apply()
    return {
        "changed": bool(diff),
        "diff": diff,
        "path": options.path,
        "container_path": flag_reach.container_file(options.path, wanted.settings),
        "flags": wanted.judged.rows,
        "findings": [asdict(finding) for finding in wanted.judged.findings],
        "vendor_profiles": list(wanted.vendor.files),
        "vendor_left_out": [asdict(one) for one in wanted.vendor.left_out],
        "directories": [directory.path for directory in wanted.directories],
        "removed_directories": [path for path, _why in (*plan.gone, *plan.full)],
        "judged_by": wanted.judged_by,
        "hand_edit": plan.edit.lines() if plan.edit else [],
        "backup": backup,
        "systemd_changed": any(change.wanted.path.endswith(flag_reach.DROP_IN) for change in plan.files),
        "warnings": [
            *(finding.sentence() for finding in wanted.judged.findings),
            *([_edit_sentence(plan.edit, backup)] if plan.edit else []),
            *replaced(change for change in plan.files if change.wanted.path != options.path),
        ],
    }


def _wanted(options: EnvironmentOptions, check_mode: bool, mounts: str) -> _Wanted:
    """Decide by the options, the release and what is installed here. The bridge of the venv judges only where it is of
    the same release.
    """
    release = find_release(options.release, options.release_overrides)
    number = version_key(release.version)[:2]
    bridge = read_bridge(options.venv)
    target = target_of(options.profile, options.network, number, options.stock_torch, bridge)
    vendor = vendor_layer.read_vendor(options.vendor_profiles, target.bridge)
    settings = plan_environment(options, release, vendor.settings)
    unsettled = (finding for finding in vendor.findings if finding.flag not in options.overrides)
    about_files = [*unsettled, *vendor_layer.missing(settings)]
    judged = judge(options, settings, target, read_text(mounts) or "", about_files)
    # Of a node whose other layers have not run yet; no strictness refuses it.
    unfinished = vendor_layer.absent(options.vendor_profiles, vendor)
    if bridge and not target.bridge:
        wanted = ".".join(map(str, number))
        message = f"the {bridge.label} is of another release than {wanted}, so the catalog judged the flags"
        remedy = "run this again when the training stack is at the release"
        unfinished = [Finding("warning", "bridge", message, remedy, "bridge"), *unfinished]
    heading = (
        f"{WRITTEN_BY[2:]}(profile {options.profile}, network {options.network}, release {release.package_version}); "
        "changes by hand are replaced."
    )
    account = flag_directories.account_of(options.owner, check_mode)
    return _Wanted(
        release.package_version,
        settings,
        render(settings, heading),
        [WantedDirectory(path, account) for path in directories(settings)],
        Judged([*judged.findings, *unfinished], judged.rows),
        target.bridge.label if target.bridge else "catalog",
        vendor,
    )


def _look(options: EnvironmentOptions, wanted: _Wanted) -> _Plan:
    """What there is to do, by what is on the node now."""
    edit = find_edit(options.path, WRITTEN_BY) if read_text(options.path) != wanted.text else None
    # The files by which the environment file comes to units, shells, containers and Slurm's jobs.
    reach = flag_reach.Reach(
        options.path, options.login_shell_path, options.slurm_task_prolog, options.systemd_units, options.unit_directory
    )
    present = sorted(map(str, Path(options.unit_directory).glob(f"*.d/{flag_reach.DROP_IN}")))
    files = [
        WantedFile(options.path, wanted.text, backup=edit is not None),
        *flag_reach.wanted_files(reach, wanted.settings, present),
    ]
    missing = [directory for directory in wanted.directories if not flag_directories.is_as_wanted(directory)]
    record = WantedFile(record_of(options.path), wanted.text)
    root = options.recipe_cache.rstrip("/")
    named = [directory.path for directory in wanted.directories]
    gone, full = _recipes(options, root, wanted.release, named)
    return _Plan(record, edit, pending(files), missing, gone, full, root)


def _recipes(
    options: EnvironmentOptions, root: str, release: str, named: Sequence[str]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Directories below ``root`` to remove and to empty, each with the reason."""
    gone, used = recipe_cache.look(root, release) if options.clean_recipe_cache else ([], [])
    running = recipe_cache.in_use(options.proc) if gone or used else []
    kept = [one for one in used if one.path not in named and one.path not in running]
    limit = options.recipe_cache_limit * recipe_cache.MB
    here = sum(one.size for one in used) - sum(one.size for one in kept)
    full = recipe_cache.above_limit(kept, max(limit - here, 1) if limit else 0)
    gone = [path for path in gone if not recipe_cache.overlaps(path, running)]
    return (
        [(path, "recipes of a release that is gone") for path in gone],
        [(path, f"recipes unused the longest, above {options.recipe_cache_limit} MB in all") for path in full],
    )


def _edit_sentence(edit: HandEdit, backup: str) -> str:
    where = f"the previous file is kept as {backup}" if backup else "a copy will be saved next to it"
    return f"{edit.path} was edited by hand ({edit.phrase()}); {where}; put what should stay into overrides."
