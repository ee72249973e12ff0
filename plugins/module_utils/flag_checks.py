# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Judging environment flags before any process sees them.

The Gaudi software ignores names it does not know without a message, and ends the process, or misreads, on values it
does not take; so this is the only place where a wrong flag can be told apart from a right one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from .flag_catalogue import find_flag, nearest_names
from .flag_harms import HARMS, Target
from .flag_rejected import find_rejected, set_by_launcher
from .flag_types import EXPERIMENTAL_GATE, Flag, Kind, RejectedName
from .flag_values import WrongValueError, allowed_values, is_on, read_value
from .releases import version_key


@dataclass(frozen=True)
class Finding:
    """What is wrong with a flag: ``level`` is error or warning, ``message`` one clause, ``remedy`` what to do."""

    level: str
    flag: str
    message: str
    remedy: str

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


def check_name(name: str) -> list[Finding]:
    """The finding for a name that nothing reads; empty for a real flag."""
    rejected = find_rejected(name)
    if rejected is not None:
        return [_rejected("error", name, rejected)]
    return [] if find_flag(name) is not None else [_unknown(name)]


def check_unchecked(names: Iterable[str]) -> list[Finding]:
    """Findings for plain variables, whose names and values are not judged: flags that hide among them."""
    findings = []
    for name in names:
        rejected = find_rejected(name)
        if find_flag(name) is not None:
            findings.append(
                Finding(
                    "error", name, f"{name} in environment is a Gaudi flag and would escape its check", _TO_OVERRIDES
                )
            )
        elif rejected is not None:
            level = "error" if set_by_launcher(name) else "warning"
            findings.append(_rejected(level, name, rejected))
    return findings


_TO_OVERRIDES = "move it to overrides"
_TO_ENVIRONMENT = "a variable that is no Gaudi flag, or a flag newer than this catalogue, belongs in environment"


def _check_flag(name: str, text: str, flags: Mapping[str, str], target: Target, chosen: bool) -> list[Finding]:
    flag = find_flag(name)
    if flag is None:
        return check_name(name)
    value_findings = _check_value(flag, name, text)
    if any(finding.level == "error" for finding in value_findings):
        return value_findings
    findings = [
        *value_findings,
        *_check_harms(flag, name, flags, target),
        *_check_requirements(flag, name, text, flags),
    ]
    if findings:
        return findings
    return _first(
        _check_removed(flag, name, target),
        _check_effect(flag, name, flags, target),
        _check_default(flag, name, text) if chosen else None,
        _check_evidence(flag, name, target) if chosen else None,
    )


def _first(*findings: Finding | None) -> list[Finding]:
    """One reason to leave a flag out is enough."""
    return [finding for finding in findings if finding is not None][:1]


def _rejected(level: str, name: str, entry: RejectedName) -> Finding:
    remedy = f"use {entry.use_instead}" if entry.use_instead else "leave it out"
    return Finding(level, name, f"{name} must not be set: {entry.why}", remedy)


def _unknown(name: str) -> Finding:
    near = nearest_names(name)
    if near:
        nearest = f"the nearest real name is {near[0]}" + (f" (then {', '.join(near[1:])})" if near[1:] else "")
        return Finding("error", name, f"{name} is not a known Gaudi flag", nearest)
    return Finding("error", name, f"{name} is not a known Gaudi flag, and no flag looks like it", _TO_ENVIRONMENT)


def _check_value(flag: Flag, name: str, text: str) -> list[Finding]:
    if not text and flag.kind in (Kind.BRIDGE_BOOL, Kind.BRIDGE_INT, Kind.RECIPE_CACHE):
        return [
            Finding(
                "warning", name, f"{name} is empty, which counts as not set", "override it with null to leave it out"
            )
        ]
    try:
        value = read_value(flag, text)
    except WrongValueError as error:
        misuse = f" ({flag.misuse})" if flag.misuse else ""
        return [Finding("error", name, f"{name}: {error}{misuse}", f"it takes {allowed_values(flag)}")]
    if flag.kind is Kind.BRIDGE_INT and not text.lower().startswith("0x") and str(value) != text.lstrip("+"):
        remedy = "write the number in decimal digits without a leading zero"
        return [Finding("warning", name, f"{name}={text} is read as {value}", remedy)]
    return []


def _check_harms(flag: Flag, name: str, flags: Mapping[str, str], target: Target) -> list[Finding]:
    by_own_name = {**flags, flag.name: flags[name]}
    return [
        Finding(harm.level, name, f"{name}={flags[name]}: {harm.why}", harm.remedy)
        for harm in HARMS
        if harm.flag == flag.name and harm.applies(by_own_name, target)
    ]


def _check_requirements(flag: Flag, name: str, text: str, flags: Mapping[str, str]) -> list[Finding]:
    missing = [other for other in flag.requires if is_on(text) and not is_on(flags.get(other, "0"))]
    return [
        Finding(
            "error", name, f"{name}={text} without {other}=1 ends the process", f"set {other}=1 too, or leave both out"
        )
        for other in missing
    ]


def _check_removed(flag: Flag, name: str, target: Target) -> Finding | None:
    if not flag.removed or target.release < version_key(flag.removed):
        return None
    remedy = f"use {flag.replacement}" if flag.replacement else "leave it out"
    return Finding("warning", name, f"{name} is gone since {flag.removed} and ignored", remedy)


def _check_effect(flag: Flag, name: str, flags: Mapping[str, str], target: Target) -> Finding | None:
    reason = _reason_for_no_effect(flag, flags, target)
    return Finding("warning", name, f"{name} has no effect here: {reason}", "leave it out") if reason else None


def _reason_for_no_effect(flag: Flag, flags: Mapping[str, str], target: Target) -> str:
    if not set(flag.modes) & set(target.modes) and not _is_required(flag, flags):
        return (
            f"it is read in {' and '.join(flag.modes)} mode only, and the profile runs in {' and '.join(target.modes)}"
        )
    if flag.scope not in ("both", target.purpose):
        return f"it is for {flag.scope}, and the profile is for {target.purpose}"
    if flag.networks and target.network not in flag.networks:
        hardware = f" with {flag.hardware}" if flag.hardware else ""
        return f"it is for the network {' or '.join(flag.networks)}{hardware}, and this one is {target.network}"
    if flag.private and not any(is_on(flags.get(gate, "0")) for gate in (EXPERIMENTAL_GATE, "EXP_FLAGS")):
        return f"it is private and ignored unless {EXPERIMENTAL_GATE}=true is set"
    first = "" if flag.since.startswith("<=") else flag.since
    if first and target.release < version_key(first):
        return f"it was first seen in {first}"
    return ""


def _is_required(flag: Flag, flags: Mapping[str, str]) -> bool:
    others = (find_flag(name) for name in flags)
    return any(other is not None and flag.name in other.requires for other in others)


def _check_default(flag: Flag, name: str, text: str) -> Finding | None:
    if flag.default_changed:
        return None
    try:
        redundant = read_value(flag, text) == read_value(flag, flag.default)
    except WrongValueError:  # Some defaults are described in words, since they depend on the card or on other settings.
        return None
    return Finding("warning", name, f"{name}={text} is the default already", "leave it out") if redundant else None


def _check_evidence(flag: Flag, name: str, target: Target) -> Finding | None:
    if flag.replacement:
        return Finding("warning", name, f"{name} is superseded", f"use {flag.replacement}")
    if not flag.verified_through or target.release <= version_key(flag.verified_through):
        return None
    wanted = ".".join(map(str, target.release))
    message = f"{name} was last seen in {flag.verified_through}, and whether {wanted} reads it is not known"
    return Finding("warning", name, message, "measure its effect before you rely on it")


def _check_aliases(flags: Mapping[str, str]) -> list[Finding]:
    """HCL and the compiler refuse a flag and its alias with different values."""
    own_names = {
        name: flag.name for name in flags for flag in [find_flag(name)] if flag is not None and not flag.pattern
    }
    return [
        Finding("error", alias, f"{alias} and {name} are the same flag with different values", "set one of them")
        for alias, name in own_names.items()
        if alias != name and name in flags and flags[alias] != flags[name]
    ]
