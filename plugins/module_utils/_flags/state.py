# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The flags of a node as state: plan them, judge them, and bring the environment file and what goes with it there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._node.environment_file import Setting, render
from .._node.hand_edits import HandEdit, find_edit, record_of
from .._node.lock import alone
from .._node.rendered_files import FileChange, WantedFile, differences, pending, read_text, replaced, write
from .._node.secret_texts import masked_texts
from .._releases.lookup import find_release, version_key
from . import directories as flag_directories
from . import reach as flag_reach
from . import recipe_cache
from . import vendor as vendor_layer
from .bridge import InstalledBridge, read_bridge
from .catalog.catalog import other_program
from .catalog.values import WrongValueError
from .catalog.values import recipe_cache as read_recipe_cache
from .checks import Finding, check, check_name, check_unchecked
from .directories import WantedDirectory
from .harms import Target
from .judgement import OTHER, judge_flags
from .profiles import (
    FROM_ENVIRONMENT,
    FROM_OVERRIDES,
    NETWORKS,
    PROFILES,
    EnvironmentOptions,
    directories,
    plan_environment,
)
from .recipe_cache import RECIPE_CACHE

WRITTEN_BY = "# Written by gaudi3.scale.hpu_flags "


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
    target, installed = target_of(options)
    vendor = vendor_layer.read_vendor(options.vendor_profiles, target.bridge)
    settings = plan_environment(options, vendor.settings)
    unsettled = (finding for finding in vendor.findings if finding.flag not in options.overrides)
    about_files = [*unsettled, *vendor_layer.missing(settings)]
    findings = [
        *judge(options, settings, target, read_text(mounts) or "", about_files),
        *_release_findings(installed, target),
        *vendor_layer.absent(options.vendor_profiles, vendor),
    ]
    # What is refused is refused before there is even a lock; from looking to writing no other run may write.
    _plan(options, settings, check_mode)
    with alone("flags", str(Path(options.path).parent), check_mode=check_mode):
        plan = _plan(options, settings, check_mode)
        diff = plan.differences()
        backup = "" if check_mode else plan.apply()
    return {
        "changed": bool(diff),
        "diff": diff,
        "path": options.path,
        "container_path": flag_reach.container_file(options.path, settings),
        "flags": _described(settings, target),
        "findings": [asdict(finding) for finding in findings],
        **vendor.facts(),
        "directories": directories(settings),
        "removed_directories": [path for path, _why in (*plan.gone, *plan.full)],
        "judged_by": target.bridge.label if target.bridge else "catalog",
        "hand_edit": plan.edit.lines() if plan.edit else [],
        "backup": backup,
        "systemd_changed": any(change.wanted.path.endswith(flag_reach.DROP_IN) for change in plan.files),
        "warnings": [
            *(finding.sentence() for finding in findings),
            *([_edit_sentence(plan.edit, backup)] if plan.edit else []),
            *replaced(change for change in plan.files if change.wanted.path != options.path),
        ],
    }


def _plan(options: EnvironmentOptions, settings: list[Setting], check_mode: bool) -> _Plan:
    text = render(settings, _heading(options))
    edit = shown_edit(options.path) if read_text(options.path) != text else None
    wanted = [
        WantedFile(options.path, text, backup=edit is not None),
        *flag_reach.wanted_files(_reach(options), settings, _present_drop_ins(options)),
    ]
    account = flag_directories.account_of(options.owner, check_mode)
    named = directories(settings)
    missing = [
        directory
        for directory in (WantedDirectory(path, account) for path in named)
        if not flag_directories.is_as_wanted(directory)
    ]
    record = WantedFile(record_of(options.path), text)
    return _Plan(record, edit, pending(wanted), missing, *_recipes(options, named), options.recipe_cache.rstrip("/"))


def shown_edit(path: str) -> HandEdit | None:
    """What a person did to the environment file since, without the values of secrets that may stand in it."""
    edit = find_edit(path, WRITTEN_BY)
    return HandEdit(path, *masked_texts(edit.written, edit.found)) if edit else None


def target_of(options: EnvironmentOptions) -> tuple[Target, InstalledBridge | None]:
    """What the flags are for, and the bridge of the venv, which judges only where it is of the same release."""
    profile = PROFILES.get(options.profile)
    if profile is None:
        raise GaudiError(f"profile {options.profile!r} is not known: use {', '.join(PROFILES)}.")
    release = version_key(find_release(options.release, options.release_overrides).version)[:2]
    bridge = read_bridge(options.venv)
    judges = bridge if bridge and bridge.release in (None, release) else None
    return Target(release, profile.modes, profile.purpose, options.network, options.stock_torch, judges), bridge


def judge(
    options: EnvironmentOptions,
    settings: list[Setting],
    target: Target | None = None,
    mounts: str = "",
    known: Sequence[Finding] = (),
) -> list[Finding]:
    """The findings of a plan, after those ``known`` already.

    Raises :class:`GaudiError` naming all errors, or all findings where ``strict``.
    """
    target = target or target_of(options)[0]
    flags = _judged(settings, target)
    chosen = [setting.name for setting in settings if setting.source == FROM_OVERRIDES]
    findings = [*known, *_with_vendor_files(check(flags, target, chosen), settings)]
    for name, value in options.overrides.items():
        if value is None:
            findings += check_name(name, target.bridge)
    plain = (setting.name for setting in settings if setting.source == FROM_ENVIRONMENT)
    findings += check_unchecked(plain, target.bridge)
    caution = NETWORKS[options.network].caution
    if caution:
        message = f"network {options.network}: {caution}"
        findings.append(Finding("warning", "network", message, "measure it first", "network"))
    findings += _disk_findings(flags.get(RECIPE_CACHE, ""), mounts)
    refused = [finding for finding in findings if options.strict or finding.level == "error"]
    if refused:
        raise GaudiError(
            " ".join(finding.sentence() for finding in refused), findings=[asdict(finding) for finding in findings]
        )
    return findings


def _judged(settings: Sequence[Setting], target: Target) -> dict[str, str]:
    """The settings that can be judged by their names."""
    return {
        setting.name: setting.value
        for setting in settings
        if setting.source != FROM_ENVIRONMENT and vendor_layer.is_judged(setting, target.bridge)
    }


def _with_vendor_files(findings: Sequence[Finding], settings: Sequence[Setting]) -> list[Finding]:
    vendor = {setting.name: setting for setting in settings if setting.origin == vendor_layer.ORIGIN}
    reported = (vendor_layer.of_the_vendor(one, vendor[one.flag]) if one.flag in vendor else one for one in findings)
    return [finding for finding in reported if finding is not None]


def _disk_findings(text: str, mounts: str) -> list[Finding]:
    try:
        cache = read_recipe_cache(text)
    except WrongValueError:  # Refused already, with the reason.
        return []
    point, kind = recipe_cache.file_system(mounts, cache.directory)
    if not cache.directory or cache.on_nfs or not recipe_cache.is_remote(kind):
        return []
    message = f"{RECIPE_CACHE}: {cache.directory} lies on {kind} (mounted at {point}), and recipes need a local disk"
    remedy = "choose another recipe_cache, or take the flag away with null in overrides"
    return [Finding("error", RECIPE_CACHE, message, remedy, "harm")]


def _release_findings(bridge: InstalledBridge | None, target: Target) -> list[Finding]:
    if bridge is None or target.bridge is not None:
        return []
    wanted = ".".join(map(str, target.release))
    message = f"the {bridge.label} is of another release than {wanted}, so the catalog judged the flags"
    return [Finding("warning", "bridge", message, "run this again when the training stack is at the release", "bridge")]


def _recipes(options: EnvironmentOptions, named: Sequence[str]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Directories to remove and directories to empty, each with the reason."""
    root = options.recipe_cache.rstrip("/")
    release = find_release(options.release, options.release_overrides).package_version
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


def _reach(options: EnvironmentOptions) -> flag_reach.Reach:
    return flag_reach.Reach(
        options.path, options.login_shell_path, options.slurm_task_prolog, options.systemd_units, options.unit_directory
    )


def _present_drop_ins(options: EnvironmentOptions) -> list[str]:
    return sorted(map(str, Path(options.unit_directory).glob(f"*.d/{flag_reach.DROP_IN}")))


def _heading(options: EnvironmentOptions) -> str:
    release = find_release(options.release, options.release_overrides).package_version
    return (
        f"{WRITTEN_BY[2:]}(profile {options.profile}, network {options.network}, release {release}); "
        "changes by hand are replaced."
    )


def _described(settings: Sequence[Setting], target: Target) -> list[dict[str, object]]:
    # That a release's own packages set a variable is evidence enough that it reads it.
    chosen = [setting.name for setting in settings if setting.origin != vendor_layer.ORIGIN]
    verdicts = {one.name: one for one in judge_flags(_judged(settings, target), target, chosen)}
    rows = []
    for setting in settings:
        verdict = verdicts.get(setting.name)
        rows.append(
            {
                **setting._asdict(),
                "effect": verdict.effect if verdict else "",
                "real": verdict.real if verdict else None,
                "known": verdict.known if verdict else OTHER if other_program(setting.name) else "",
                "effective": verdict.effective if verdict else "unknown",
                "why": verdict.why if verdict else "a plain variable, not checked",
                "judged_by": verdict.judged_by if verdict else "nobody",
            }
        )
    return rows


def _edit_sentence(edit: HandEdit, backup: str) -> str:
    where = f"what was there is kept as {backup}" if backup else "what is there will be kept beside it"
    return f"{edit.path} was edited by hand ({edit.phrase()}); {where}; put what should stay into overrides."
