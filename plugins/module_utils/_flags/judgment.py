# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One verdict for each flag: real or not, effective or not here, what to use instead, and who says so."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .bridge import InstalledBridge
from .catalog.catalog import find_flag
from .catalog.flag_types import Flag
from .catalog.rejected import find_rejected
from .checks import Finding, check
from .harms import Target

YES = "yes"
NO = "no"
UNKNOWN = "unknown"

_NOT_REAL = ("unknown", "rejected")
# Who is known to read a name: the Gaudi software, another program, nobody.
GAUDI = "gaudi"
OTHER = "another program"
NOBODY = "nobody"
# A value that is refused or a missing partner ends the process, and a default is there without the flag.
_WITHOUT_EFFECT = (*_NOT_REAL, "requires", "alias", "removed", "no_effect", "gate", "default")


@dataclass(frozen=True)
class Judgment:
    """``effective`` is yes, no or unknown, in the mode and release that the flags are for.

    ``known`` says who reads the name: gaudi, another program or nobody. Of another program's it is ``real``, and
    nothing else is known. ``level`` is the worst finding's (error, warning, or ok); ``why`` and ``use_instead`` are
    empty where it is ok.
    ``since``, ``removed`` and ``verified_through`` are the catalog's, empty where it has none.
    """

    name: str
    value: str
    real: bool
    effective: str
    level: str
    why: str
    use_instead: str
    judged_by: str
    effect: str = ""
    since: str = ""
    removed: str = ""
    verified_through: str = ""
    known: str = GAUDI


def judge_flags(flags: Mapping[str, str], target: Target, chosen: Collection[str] | None = None) -> list[Judgment]:
    """A verdict for each of ``flags``, in their order, each seen together with the others; ``chosen`` as in `check`."""
    return verdicts(flags, check(flags, target, chosen), target.bridge)


def verdicts(flags: Mapping[str, str], findings: Sequence[Finding], bridge: InstalledBridge | None) -> list[Judgment]:
    """The verdicts that follow from the findings of :func:`check`."""
    found: dict[str, list[Finding]] = {name: [] for name in flags}
    for finding in findings:
        found[finding.flag].append(finding)
    return [_judgment(name, text, found[name], bridge) for name, text in flags.items()]


def judged_by(name: str, flag: Flag | None, bridge: InstalledBridge | None) -> str:
    """Which source decided about this name."""
    if bridge is not None and (bridge.has(name) or (flag is not None and bridge.answers_for(flag))):
        return bridge.label
    if flag is not None:
        return f"catalog, verified through {flag.verified_through}" if flag.verified_through else "catalog"
    if find_rejected(name) is not None or bridge is None:
        return "catalog"
    return f"{bridge.label} and catalog"


def _judgment(name: str, text: str, findings: Sequence[Finding], bridge: InstalledBridge | None) -> Judgment:
    flag = find_flag(name)
    kinds = {finding.kind for finding in findings}
    is_refused = any(finding.kind == "value" and finding.level == "error" for finding in findings)
    is_without_effect = is_refused or bool(kinds & set(_WITHOUT_EFFECT))
    return Judgment(
        name=name,
        value=text,
        real=not kinds & set(_NOT_REAL),
        effective=NO if is_without_effect else UNKNOWN if kinds & {"unverified", "other"} else YES,
        level="error" if any(finding.level == "error" for finding in findings) else "warning" if findings else "ok",
        why="; ".join(finding.message for finding in findings),
        use_instead="; ".join(dict.fromkeys(finding.remedy for finding in findings)),
        judged_by=NOBODY if "other" in kinds else judged_by(name, flag, bridge),
        effect=flag.effect if flag else "",
        since=flag.since if flag else "",
        removed=flag.removed if flag else "",
        verified_through=flag.verified_through if flag else "",
        known=NOBODY if kinds & set(_NOT_REAL) else OTHER if "other" in kinds else GAUDI,
    )
