# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The vendor's own environment as a layer of the node's flags: where its libraries and firmware lie.

Its packages and its installer write it to ``/etc/profile.d``, which only login shells read; ranks are started by
systemd, Slurm or mpirun. The files' names: docs.habana.ai (``habanalabs*.sh``), Intel's recipe (``habana_env.sh``).
Which of them comes from a package and which from the installer alone is unverified, so where no file sets one of the
documented paths, and it is there on the node, the documented path counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._errors import GaudiError
from .._node.environment_file import Setting
from .._node.shell_profile import ShellProfile, parse, read_file
from .bridge import InstalledBridge
from .catalog.catalog import FLAGS, find_flag
from .catalog.flag_types import Flag, Kind
from .catalog.rejected import find_rejected
from .checks import Finding

ORIGIN = "vendor package"
VENDOR_PROFILES = ("/etc/profile.d/habanalabs*.sh", "/etc/profile.d/habana_env.sh")

_GROUP = "synapse_paths"
_ABSOLUTE_PATH = re.compile(r"/[A-Za-z0-9_./+@%=-]*")
# What steers the loader, the interpreter, the shell or Open MPI would change every program of a job, ours included.
_STEERS_OTHERS = re.compile(
    r"(?:LD|LC|OPAL|OMPI|PMIX|PRTE|SLURM|SSL|GIT|XDG|GAUDI3_SCALE)_.*|(?:PYTHON|BASH|PERL).*|(?:CD|MAN|CLASS|INFO|C)?PATH|"
    r"(?:LIBRARY|PKG_CONFIG)_PATH|(?:VIRTUAL_)?ENV|HOME|PWD|OLDPWD|SHELL|IFS|TMPDIR|USER|LOGNAME|MAIL|TERM|TZ|LANG"
)
# Of a setting that the operator did not choose it is not worth saying that it does nothing.
_NOT_WORTH_SAYING = ("no_effect", "gate", "removed")
_OF_THE_SHELL = "its value depends on the shell that reads the file"
_SHOWN = 60


@dataclass(frozen=True)
class LeftOut:
    """A variable that a profile exports and that no rank gets."""

    file: str
    line: int
    name: str
    why: str


@dataclass(frozen=True)
class VendorEnvironment:
    """``files`` were found, whether they could be read or not; ``findings`` name what in them could not be."""

    settings: tuple[Setting, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()


def read_vendor(
    patterns: Sequence[str], bridge: InstalledBridge | None, exists: Callable[[str], bool] = os.path.exists
) -> VendorEnvironment:
    """The layer of this node; empty without ``patterns``. Raises :class:`GaudiError` for one that is not absolute."""
    for pattern in patterns:
        if not re.fullmatch("/+[^/].*", pattern):
            raise GaudiError(f"vendor_profiles has {pattern!r}; give absolute paths, * and ? stand for any characters.")
    # The order in which a login shell reads them.
    files = sorted({str(path) for pattern in patterns for path in Path("/").glob(pattern.lstrip("/"))})
    findings: list[Finding] = []
    profiles: list[tuple[str, ShellProfile]] = []
    for path in files:
        text, why = read_file(path)
        if why:
            remedy = "correct that file, or give in overrides what it sets for the Gaudi software"
            findings.append(Finding("warning", path, f"{path} {why}, so no rank gets what it sets", remedy, "vendor"))
            continue
        profile = parse(text, profiles[-1][1] if profiles else None)
        profiles.append((path, profile))
        findings += _unread(path, profile)
    settings, left_out = take(profiles, bridge)
    findings += [_unknown_value(one) for one in left_out if one.why == _OF_THE_SHELL and find_flag(one.name)]
    documented = documented_paths({setting.name for setting in settings}, exists) if patterns else []
    return VendorEnvironment((*settings, *documented), tuple(left_out), tuple(findings), tuple(files))


def take(
    profiles: Iterable[tuple[str, ShellProfile]], bridge: InstalledBridge | None
) -> tuple[list[Setting], list[LeftOut]]:
    """What ranks get of the files, the last one winning: flags that are known, and plain paths under other names."""
    taken: dict[str, Setting] = {}
    left: dict[str, LeftOut] = {}
    for path, profile in profiles:
        number, _line = profile.unread or (0, "")
        for name in sorted(profile.doubtful & set(taken)):
            del taken[name]
            left[name] = LeftOut(path, number, name, _OF_THE_SHELL)
        for name, one in profile.exported.items():
            taken.pop(name, None)
            left.pop(name, None)
            why = _why_not(name, one.value, bridge)
            if why or one.value is None:
                left[name] = LeftOut(path, one.line, name, why)
            else:
                taken[name] = Setting(name, one.value, path, ORIGIN)
    return list(taken.values()), list(left.values())


def documented_paths(given: Iterable[str], exists: Callable[[str], bool]) -> list[Setting]:
    """The documented places of what no profile gives a value that is known, as far as something is there."""
    return [
        Setting(
            flag.name,
            flag.default,
            f"documented place ({flag.sources[0]}), with no plain value in a profile file",
            ORIGIN,
        )
        for flag in FLAGS.values()
        if _is_place(flag) and flag.name not in given and exists(flag.default)
    ]


def absent(patterns: Sequence[str], vendor: VendorEnvironment) -> list[Finding]:
    """Says that there is nothing of the vendor's yet, as on a node whose driver layer has not run."""
    if not patterns or vendor.files or vendor.settings:
        return []
    message = f"no profile of the vendor's ({', '.join(patterns)}) is on this node yet, so ranks get no paths of it"
    return [Finding("warning", "vendor_profiles", message, "install the driver layer, then run this again", "vendor")]


def missing(settings: Iterable[Setting], exists: Callable[[str], bool] = os.path.exists) -> list[Finding]:
    """Paths to the vendor's files under which there is nothing on this node."""
    return [
        Finding(
            "warning",
            setting.name,
            f"{setting.name}: there is no {path} on this node ({setting.provenance})",
            "install the vendor's package that brings it, or give the right path in overrides",
            "missing",
        )
        for setting in settings
        if setting.origin == ORIGIN or _is_place(find_flag(setting.name))
        for path in setting.value.split(":")
        if _ABSOLUTE_PATH.fullmatch(path) and setting.value.startswith("/") and not exists(path)
    ]


def is_judged(setting: Setting, bridge: InstalledBridge | None) -> bool:
    """Whether anything is known of its name by which it can be judged; of the layer's other paths nothing is."""
    return setting.origin != ORIGIN or _is_known(setting.name, bridge)


def of_the_vendor(finding: Finding, setting: Setting) -> Finding | None:
    """A finding about a setting of the layer, with the file to correct; None where it is not worth saying."""
    if finding.level == "warning" and finding.kind in _NOT_WORTH_SAYING:
        return None
    assignment = f"{setting.name}={setting.value}"
    message = f"{setting.source} sets {assignment}: {finding.message.removeprefix(f'{assignment}: ')}"
    remedy = f"{finding.remedy}: give {setting.name} in overrides (null removes it), or correct that file"
    return Finding(finding.level, finding.flag, message, remedy, finding.kind)


def _why_not(name: str, value: str | None, bridge: InstalledBridge | None) -> str:
    """Why ranks do not get a variable; empty where they do."""
    if _STEERS_OTHERS.fullmatch(name):
        return "it steers other programs than the Gaudi software"
    if value is None:
        return _OF_THE_SHELL
    if not _is_known(name, bridge) and not _ABSOLUTE_PATH.fullmatch(value):
        return "it is neither a known flag nor an absolute path"
    return ""


def _is_known(name: str, bridge: InstalledBridge | None) -> bool:
    known = find_flag(name) is not None or find_rejected(name) is not None
    return known or (bridge is not None and bridge.has(name))


def _is_place(flag: Flag | None) -> bool:
    return flag is not None and flag.group == _GROUP and flag.kind is Kind.PATH and flag.default.startswith("/")


def _unread(path: str, profile: ShellProfile) -> list[Finding]:
    if profile.unread is None:
        return []
    number, line = profile.unread
    shown = repr(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}...")
    message = (
        f"{path}, line {number}, is more than a plain assignment ({shown}), so this line and the rest of "
        "the file were not read"
    )
    remedy = "put what ranks need from it into overrides"
    return [Finding("warning", path, message, remedy, "vendor")]


def _unknown_value(one: LeftOut) -> Finding:
    message = f"{one.file}, line {one.line}: {one.why}, so ranks do not get this {one.name}"
    return Finding("warning", one.name, message, f"give {one.name} in overrides", "vendor")
