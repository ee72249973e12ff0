# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The flags of a node as state: plan them, judge them, and bring the environment file and its directories there."""

from __future__ import annotations

import os
import pwd
from dataclasses import asdict, dataclass
from pathlib import Path

from .environment_file import Setting, render
from .errors import GaudiError
from .flag_catalogue import find_flag
from .flag_checks import Finding, check, check_name, check_unchecked
from .flag_harms import Target
from .flag_profiles import (
    FROM_ENVIRONMENT,
    FROM_OVERRIDES,
    NETWORKS,
    PROFILES,
    EnvironmentOptions,
    directories,
    plan_environment,
)
from .releases import find_release, version_key
from .rendered_files import WantedFile, differences, pending, write

_DIRECTORY_MODE = 0o755


@dataclass(frozen=True)
class WantedDirectory:
    """A directory as it should be; ``account`` None leaves the owner alone."""

    path: str
    account: pwd.struct_passwd | None


def converge(options: EnvironmentOptions, check_mode: bool) -> dict[str, object]:
    """Judge the flags, then bring the file and the directories to their wanted state.

    Returns ``changed``, ``diff``, ``path``, ``flags``, ``findings``, ``directories`` and ``warnings``, a sentence for
    each finding. Raises :class:`GaudiError`, before anything is touched, for what :func:`plan_environment` refuses and
    for any finding that is an error.
    """
    settings = plan_environment(options)
    findings = judge(options, settings)
    wanted = WantedFile(options.path, render(settings, _heading(options)))
    account = _account(options.owner)
    missing = [
        directory
        for directory in (WantedDirectory(path, account) for path in directories(settings))
        if not _is_as_wanted(directory)
    ]
    changes = pending([wanted])
    diff = [*differences(changes), *map(_difference, missing)]
    if not check_mode:
        for directory in missing:
            _make(directory)
        for change in changes:
            write(change)
    return {
        "changed": bool(diff),
        "diff": diff,
        "path": options.path,
        "flags": [_described(setting) for setting in settings],
        "findings": [asdict(finding) for finding in findings],
        "directories": directories(settings),
        "warnings": [finding.sentence() for finding in findings],
    }


def judge(options: EnvironmentOptions, settings: list[Setting]) -> list[Finding]:
    """The findings of a plan; raises :class:`GaudiError` naming all errors, or all findings where ``strict``."""
    profile = PROFILES[options.profile]
    target = Target(
        version_key(find_release(options.release, options.release_overrides).version)[:2],
        profile.modes,
        profile.purpose,
        options.network,
        options.stock_torch,
    )
    flags = {setting.name: setting.value for setting in settings if setting.source != FROM_ENVIRONMENT}
    chosen = [setting.name for setting in settings if setting.source == FROM_OVERRIDES]
    findings = check(flags, target, chosen)
    for name, value in options.overrides.items():
        if value is None:
            findings += check_name(name)
    findings += check_unchecked(setting.name for setting in settings if setting.source == FROM_ENVIRONMENT)
    caution = NETWORKS[options.network].caution
    if caution:
        findings.append(Finding("warning", "network", f"network {options.network}: {caution}", "measure it first"))
    refused = [finding for finding in findings if options.strict or finding.level == "error"]
    if refused:
        raise GaudiError(
            " ".join(finding.sentence() for finding in refused), findings=[asdict(finding) for finding in findings]
        )
    return findings


def _heading(options: EnvironmentOptions) -> str:
    release = find_release(options.release, options.release_overrides).package_version
    return (
        f"Written by gaudi3.scale.hpu_flags (profile {options.profile}, network {options.network}, release {release}); "
        "changes by hand are lost."
    )


def _described(setting: Setting) -> dict[str, object]:
    flag = None if setting.source == FROM_ENVIRONMENT else find_flag(setting.name)
    return {**setting._asdict(), "effect": flag.effect if flag else ""}


def _account(owner: str | None) -> pwd.struct_passwd | None:
    if not owner:
        return None
    try:
        return pwd.getpwnam(owner)
    except KeyError:
        raise GaudiError(
            f"owner {owner!r} is no account on this node; create it, or name the account that runs the jobs."
        ) from None


def _is_as_wanted(directory: WantedDirectory) -> bool:
    path = Path(directory.path)
    try:
        if not path.exists():
            return False
        if not path.is_dir():
            raise GaudiError(f"{path} is not a directory; move it away, or choose another path.")
        return directory.account is None or path.stat().st_uid == directory.account.pw_uid
    except OSError as error:
        raise GaudiError(f"{path} cannot be read: {error.strerror}; check its parent directories.") from error


def _make(directory: WantedDirectory) -> None:
    path = Path(directory.path)
    try:
        if not path.exists():
            path.mkdir(parents=True)
            path.chmod(_DIRECTORY_MODE)
        if directory.account is not None:
            os.chown(path, directory.account.pw_uid, directory.account.pw_gid)
    except OSError as error:
        raise GaudiError(f"{path} cannot be made: {error.strerror}; check its parent directory.") from error


def _difference(directory: WantedDirectory) -> dict[str, str]:
    owner = f", owner {directory.account.pw_name}" if directory.account else ""
    there = Path(directory.path).exists()
    return {
        "before_header": f"{directory.path} ({'another owner' if there else 'absent'})",
        "after_header": f"{directory.path} (directory{owner})",
        "before": "",
        "after": f"directory, mode {_DIRECTORY_MODE:04o}{owner}\n",
    }
