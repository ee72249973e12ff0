# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Judging the settings that a node is to get, all together: what refuses them, what is told of them, what each does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from .._errors import GaudiError
from .._node.environment_file import Setting
from . import recipe_cache
from . import vendor as vendor_layer
from .catalog.catalog import other_program
from .catalog.values import WrongValueError
from .catalog.values import recipe_cache as read_recipe_cache
from .checks import Finding, check, check_name, check_unchecked, worth_telling
from .harms import Target
from .judgment import OTHER, Judgment, verdicts
from .profiles import FROM_ENVIRONMENT, FROM_OVERRIDES, NETWORKS, EnvironmentOptions
from .recipe_cache import RECIPE_CACHE

# What a row has of a flag's verdict.
_OF_VERDICT = ("effect", "real", "known", "effective", "why", "judged_by")


@dataclass(frozen=True)
class Judged:
    """``rows`` describe each setting, in their order, as the module returns them."""

    findings: list[Finding]
    rows: list[dict[str, object]]


def judge(
    options: EnvironmentOptions,
    settings: Sequence[Setting],
    target: Target,
    mounts: str = "",
    known: Sequence[Finding] = (),
) -> Judged:
    """The findings come after those ``known`` already; ``mounts`` is the text of /proc/mounts.

    Raises :class:`GaudiError` naming all errors, or all findings where ``strict``.
    """
    flags = {
        setting.name: setting.value
        for setting in settings
        if setting.source != FROM_ENVIRONMENT and vendor_layer.is_judged(setting, target.bridge)
    }
    # That a release's own packages set a variable is evidence enough that it reads it.
    checked = check(flags, target, [setting.name for setting in settings if setting.origin != vendor_layer.ORIGIN])
    overridden = [setting.name for setting in settings if setting.source == FROM_OVERRIDES]
    of_vendor = {setting.name: setting for setting in settings if setting.origin == vendor_layer.ORIGIN}
    reported = [
        vendor_layer.of_the_vendor(one, of_vendor[one.flag]) if one.flag in of_vendor else one
        for one in worth_telling(checked, overridden)
    ]
    caution = NETWORKS[options.network].caution
    findings = [
        *known,
        *filter(None, reported),
        *(one for name, value in options.overrides.items() if value is None for one in check_name(name, target.bridge)),
        *check_unchecked((one.name for one in settings if one.source == FROM_ENVIRONMENT), target.bridge),
        *(
            [Finding("warning", "network", f"network {options.network}: {caution}", "measure it first", "network")]
            if caution
            else []
        ),
        *_disk_findings(flags.get(RECIPE_CACHE, ""), mounts),
    ]
    refused = [finding for finding in findings if options.strict or finding.level == "error"]
    if refused:
        raise GaudiError(
            " ".join(finding.sentence() for finding in refused), findings=[asdict(finding) for finding in findings]
        )
    of_flags = {one.name: one for one in verdicts(flags, checked, target.bridge)}
    return Judged(findings, [_row(setting, of_flags.get(setting.name)) for setting in settings])


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


def _row(setting: Setting, verdict: Judgment | None) -> dict[str, object]:
    if verdict is None:
        return {
            **setting._asdict(),
            "effect": "",
            "real": None,
            "known": OTHER if other_program(setting.name) else "",
            "effective": "unknown",
            "why": "a plain variable, not checked",
            "judged_by": "nobody",
        }
    return {**setting._asdict(), **{name: getattr(verdict, name) for name in _OF_VERDICT}}
