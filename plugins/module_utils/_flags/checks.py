# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Judging environment flags before any process sees them.

The Gaudi software ignores names it does not know without a message, and ends the process, or misreads, on values it
does not take; so this is the only place where a wrong flag can be told apart from a right one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from .._releases.lookup import version_key
from .bridge import InstalledBridge
from .catalog.catalog import CURATED_FLAGS, find_flag, nearest_names, other_program
from .catalog.flag_types import EXPERIMENTAL_GATE, Flag, Kind, RejectedName
from .catalog.rejected import find_rejected, set_by_launcher
from .catalog.values import WrongValueError, allowed_values, is_on, read_value
from .harms import HARMS, Target


@dataclass(frozen=True)
class Finding:
    """What is wrong with a flag: ``level`` is error or warning, ``message`` one clause, ``remedy`` what to do.

    ``kind`` says which check found it: unknown, rejected, value, harm, requires, removed, no_effect, gate, default,
    superseded, unverified, alias, unchecked, network, or other: it is another program's.
    """

    level: str
    flag: str
    message: str
    remedy: str
    kind: str = ""

    def sentence(self) -> str:
        """The finding as one sentence."""
        return f"{self.message}; {self.remedy}."


def check(flags: Mapping[str, str], target: Target, chosen: Collection[str] | None = None) -> list[Finding]:
    """All findings for ``flags``, errors and warnings, in the order of the flags.

    ``chosen`` are the names that the operator set (None: all); only for these is it worth saying that a flag is
    redundant, superseded or older than the sources, since a profile's own flags were chosen with that knowledge.
    """
    findings: list[Finding] = []
    for name, text in flags.items():
        findings += _check_flag(name, text, flags, target, chosen is None or name in chosen)
    return findings + _check_aliases(flags)


def worth_telling(findings: Iterable[Finding], chosen: Collection[str]) -> list[Finding]:
    """Those of a wider :func:`check` that one with these ``chosen`` would have."""
    return [finding for finding in findings if finding.kind not in _OF_CHOSEN or finding.flag in chosen]


def check_name(name: str, bridge: InstalledBridge | None = None) -> list[Finding]:
    """The finding for a name that no Gaudi software reads; empty for a real flag. The installed bridge has the first
    word. Known, known of another program and unknown are three answers.
    """
    if bridge is not None and bridge.has(name):
        return []
    rejected = find_rejected(name)
    if rejected is not None:
        return [_rejected("error", name, rejected)]
    if find_flag(name) is not None:
        return []
    program = other_program(name)
    return [_of_another(name, program)] if program else [_unknown(name, bridge)]


def check_unchecked(names: Iterable[str], bridge: InstalledBridge | None = None) -> list[Finding]:
    """Findings for plain variables, whose names and values are not judged: flags that hide among them."""
    findings = []
    for name in names:
        rejected = find_rejected(name)
        if find_flag(name) is not None or (bridge is not None and bridge.has(name)):
            message = f"{name} in environment is a Gaudi flag and would escape its check"
            findings.append(Finding("error", name, message, _TO_OVERRIDES, "unchecked"))
        elif rejected is not None:
            level = "error" if set_by_launcher(name) else "warning"
            findings.append(_rejected(level, name, rejected))
    return findings


# Of a flag that others require, the names of these others.
_REQUIRED_BY: Mapping[str, list[str]] = {
    required: [name for flag in CURATED_FLAGS if required in flag.requires for name in (flag.name, *flag.aliases)]
    for required in {required for flag in CURATED_FLAGS for required in flag.requires}
}
# Findings about a flag that does what it is to do.
_OF_CHOSEN = ("default", "superseded", "unverified")
_TO_OVERRIDES = "move it to overrides"
_TO_ENVIRONMENT = "a variable that is not a Gaudi flag, or a flag newer than this catalog, belongs in environment"


def _check_flag(name: str, text: str, flags: Mapping[str, str], target: Target, chosen: bool) -> list[Finding]:
    flag = find_flag(name)
    if flag is None:
        return check_name(name, target.bridge) or (_untyped(name, target) if chosen else [])
    value_findings = _check_value(flag, name, text)
    if any(finding.level == "error" for finding in value_findings):
        return value_findings
    findings = [*value_findings, *_check_harms(flag, name, flags, target)]
    if findings:
        return findings
    # One reason to leave a flag out is enough.
    found = _check_effect(flag, name, flags, target) or (_check_choice(flag, name, text, target) if chosen else None)
    return [found] if found else []


def _untyped(name: str, target: Target) -> list[Finding]:
    by = target.bridge.label if target.bridge else "bridge"
    message = f"{name} is read by the {by}, but the catalog does not have it, so its value was not checked"
    return [Finding("warning", name, message, "see the documentation of the release for its values", "unverified")]


def _rejected(level: str, name: str, entry: RejectedName) -> Finding:
    remedy = f"use {entry.use_instead}" if entry.use_instead else "leave it out"
    return Finding(level, name, f"{name} must not be set: {entry.why}", remedy, "rejected")


def _of_another(name: str, program: str) -> Finding:
    message = f"{name} is a variable of {program} not a Gaudi flag, so neither name nor value was checked"
    return Finding("warning", name, message, "such a variable belongs in environment", "other")


def _unknown(name: str, bridge: InstalledBridge | None) -> Finding:
    near = nearest_names(name, more=sorted(bridge.cpp | bridge.python) if bridge else ())
    if near:
        nearest = f"the nearest real name is {near[0]}" + (f" (then {', '.join(near[1:])})" if near[1:] else "")
        return Finding("error", name, f"{name} is not a known Gaudi flag", nearest, "unknown")
    message = f"{name} is not a known Gaudi flag, and no flag looks like it"
    return Finding("error", name, message, _TO_ENVIRONMENT, "unknown")


def _check_value(flag: Flag, name: str, text: str) -> list[Finding]:
    if not text and flag.kind in (Kind.BRIDGE_BOOL, Kind.BRIDGE_INT, Kind.RECIPE_CACHE):
        message = f"{name} is empty, which counts as not set"
        return [Finding("warning", name, message, "override it with null to leave it out", "no_effect")]
    try:
        value = read_value(flag, text)
    except WrongValueError as error:
        misuse = f" ({flag.misuse})" if flag.misuse else ""
        return [Finding("error", name, f"{name}: {error}{misuse}", f"it takes {allowed_values(flag)}", "value")]
    if flag.kind is Kind.BRIDGE_INT and not text.lower().startswith("0x") and str(value) != text.lstrip("+"):
        remedy = "write the number in decimal digits without a leading zero"
        return [Finding("warning", name, f"{name}={text} is read as {value}", remedy, "value")]
    return []


def _check_harms(flag: Flag, name: str, flags: Mapping[str, str], target: Target) -> list[Finding]:
    """What the value does to the cluster, and what the process ends without."""
    given = f"{name}={flags[name]}"
    by_own_name = {**flags, flag.name: flags[name]}
    harms = [harm for harm in HARMS if harm.flag == flag.name and harm.applies(by_own_name, target)]
    missing = [other for other in flag.requires if is_on(flags[name]) and not is_on(flags.get(other, "0"))]
    return [
        *(
            Finding(harm.level, name, f"{given}: {harm.why}", harm.remedy, "no_effect" if harm.ignored else "harm")
            for harm in harms
        ),
        *(
            Finding(
                "error",
                name,
                f"{given} without {other}=1 ends the process",
                f"set {other}=1 too, or leave both out",
                "requires",
            )
            for other in missing
        ),
    ]


def _check_effect(flag: Flag, name: str, flags: Mapping[str, str], target: Target) -> Finding | None:
    """Why the flag does nothing in this release and mode, and on this network."""
    ignored, instead = _ignored(flag, name, target), f"use {flag.replacement}" if flag.replacement else "leave it out"
    if ignored:
        return Finding("warning", name, ignored, instead, "removed")
    reason = _reason_for_no_effect(flag, flags, target)
    if reason:
        return Finding("warning", name, f"{name} has no effect here: {reason}", "leave it out", "no_effect")
    if not flag.private or any(is_on(flags.get(gate, "0")) for gate in (EXPERIMENTAL_GATE, "EXP_FLAGS")):
        return None
    message = f"{name} has no effect here: it is private and ignored unless {EXPERIMENTAL_GATE}=true is set"
    return Finding("warning", name, message, f"set {EXPERIMENTAL_GATE}=true with it, or leave it out", "gate")


def _ignored(flag: Flag, name: str, target: Target) -> str:
    """That the release no longer reads it; the installed bridge has the first word."""
    bridge = target.bridge
    if bridge is not None and (bridge.has(flag.name) or bridge.answers_for(flag)):
        return "" if bridge.has(flag.name) else f"{name} is not among the flags of the {bridge.label}, and ignored"
    is_gone = flag.removed and target.release >= version_key(flag.removed)
    return f"{name} is gone since {flag.removed} and ignored" if is_gone else ""


def _reason_for_no_effect(flag: Flag, flags: Mapping[str, str], target: Target) -> str:
    is_required = any(other in flags for other in _REQUIRED_BY.get(flag.name, ()))
    if not set(flag.modes) & set(target.modes) and not is_required:
        return (
            f"it is read in {' and '.join(flag.modes)} mode only, and the profile runs in {' and '.join(target.modes)}"
        )
    if flag.scope not in ("both", target.purpose):
        return f"it is for {flag.scope}, and the profile is for {target.purpose}"
    if flag.networks and target.network and target.network not in flag.networks:
        hardware = f" with {flag.hardware}" if flag.hardware else ""
        return f"it is for the network {' or '.join(flag.networks)}{hardware}, and this one is {target.network}"
    installed = target.bridge is not None and target.bridge.has(flag.name)
    first = "" if installed or flag.since.startswith("<=") else flag.since
    if first and target.release < version_key(first):
        return f"it was first seen in {first}"
    return ""


def _check_choice(flag: Flag, name: str, text: str, target: Target) -> Finding | None:
    """What is to be said of a flag that does what it is to do, to whom has chosen it."""
    if _is_default(flag, text):
        return Finding("warning", name, f"{name}={text} is the default already", "leave it out", "default")
    if flag.replacement:
        return Finding("warning", name, f"{name} is superseded", f"use {flag.replacement}", "superseded")
    if target.bridge is not None and target.bridge.has(flag.name):
        return None
    if not flag.verified_through or target.release <= version_key(flag.verified_through):
        return None
    wanted = ".".join(map(str, target.release))
    message = f"{name} was last seen in {flag.verified_through}, and whether {wanted} reads it is not known"
    return Finding("warning", name, message, "measure its effect before you rely on it", "unverified")


def _is_default(flag: Flag, text: str) -> bool:
    # The default of a place is where the vendor's packages put it; what readers assume without it is not known.
    if flag.default_changed or flag.group == "synapse_paths":
        return False
    try:
        return read_value(flag, text) == read_value(flag, flag.default)
    except WrongValueError:  # Some defaults are described in words, since they depend on the card or on other settings.
        return False


def _check_aliases(flags: Mapping[str, str]) -> list[Finding]:
    """HCL and the compiler refuse a flag and its alias with different values."""
    own_names = {
        name: flag.name for name in flags for flag in [find_flag(name)] if flag is not None and not flag.pattern
    }
    return [
        Finding(
            "error", alias, f"{alias} and {name} are the same flag with different values", "set one of them", "alias"
        )
        for alias, name in own_names.items()
        if alias != name and name in flags and flags[alias] != flags[name]
    ]
