# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a comparison of settings is asked: a base, and what each setting changes of it; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Mapping, Sequence

from .._batch.trial import Workload
from .._errors import GaudiError
from .._flags.explanation import listed

BASE = "base"
# Of fewer rounds Student's t makes nothing but wide intervals.
FEWEST_ROUNDS = 3
_KEYS = ("name", "flags", "options", "batch_size")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.,:=+ /-]{0,59}")


@dataclass(frozen=True)
class Setting:
    """What differs from the base. A flag is an environment variable; one that is None is taken away."""

    name: str
    flags: Mapping[str, str | None] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    batch_size: int | None = None


@dataclass(frozen=True)
class Comparison:
    """``workload`` has the options of the base. ``confidence`` is that of all intervals together.

    ``precision``: half an interval that is no wider than this ends the comparison early. ``loss_tolerance``: a mean
    loss that differs by less is the same.
    """

    workload: Workload
    base: Setting
    settings: Sequence[Setting]
    rounds: int = 10
    precision: float = 0.01
    confidence: float = 0.95
    loss_tolerance: float = 0.01
    seed: int = 0

    @property
    def names(self) -> list[str]:
        return [BASE, *(setting.name for setting in self.settings)]

    @property
    def looks(self) -> tuple[int, ...]:
        """After which rounds the intervals are looked at: to look more often finds differences that are none."""
        half = (self.rounds + 1) // 2
        return (half, self.rounds) if half >= FEWEST_ROUNDS else (self.rounds,)

    @property
    def level(self) -> float:
        """Of one interval, so that all of them at every look hold their truth with ``confidence`` (Bonferroni)."""
        return 1 - (1 - self.confidence) / (len(self.settings) * len(self.looks))

    def of(self, name: str) -> Setting:
        """The whole setting of this name: the base with its changes."""
        if name == BASE:
            return self.base
        change = next(setting for setting in self.settings if setting.name == name)
        return Setting(
            name,
            {**self.base.flags, **change.flags},
            {**self.workload.options, **self.base.options, **change.options},
            change.batch_size or self.base.batch_size,
        )

    def workload_of(self, name: str) -> Workload:
        return replace(self.workload, options={**self.workload.options, **self.of(name).options})

    def samples_of(self, name: str) -> int:
        """Samples of one step of all ranks: ``accumulation`` is the contract's word for batches a step."""
        accumulation = self.workload_of(name).options.get("accumulation", 1)
        batches = self.workload.processes * (accumulation if isinstance(accumulation, int) else 1)
        return (self.of(name).batch_size or 1) * batches


def check(comparison: Comparison) -> None:
    """Raises GaudiError for what cannot be meant, in a sentence with option, value and remedy."""
    module, _colon, function = comparison.workload.function.partition(":")
    if not module or not function:
        raise GaudiError(f"workload is {comparison.workload.function!r}; give module:function.")
    if not comparison.settings:
        raise GaudiError("settings is empty; give at least one setting to compare with the base.")
    if comparison.base.batch_size is None:
        raise GaudiError("base has no batch_size; give the job's, or find it with probe_batch_size.yml.")
    _check_settings(comparison)
    _check_numbers(comparison)


def _check_settings(comparison: Comparison) -> None:
    names = [setting.name for setting in comparison.settings]
    for name in names:
        if name == BASE or names.count(name) > 1:
            raise GaudiError(
                f"settings has the name {name!r} twice, or it is the name of the base; give each setting a unique name."
            )
    for setting in comparison.settings:
        if not (setting.flags or setting.options or setting.batch_size):
            raise GaudiError(f"settings: {setting.name} changes nothing; add flags, options or a batch_size.")


def _check_numbers(comparison: Comparison) -> None:
    if comparison.rounds < FEWEST_ROUNDS:
        raise GaudiError(f"rounds is {comparison.rounds}; give at least {FEWEST_ROUNDS}, because fewer give no result.")
    if comparison.workload.steps < 1:
        raise GaudiError(f"steps is {comparison.workload.steps}; give at least 1.")
    for option, part, below in (
        ("confidence", comparison.confidence, 1.0),
        ("precision", comparison.precision, 0.5),
        ("loss_tolerance", comparison.loss_tolerance, 0.5),
    ):
        if not 0 < part < below:
            raise GaudiError(f"{option} is {part:g}; give a fraction above 0 and below {below:g}.")


def read_setting(given: Mapping[str, Any], name: str = "") -> Setting:
    """A setting as an operator writes it; ``name`` is for the base, which has none of its own.

    Raises GaudiError for keys that there are not, and for values that are none.
    """
    reported = name or str(given.get("name") or "")
    if not _NAME.fullmatch(reported):
        raise GaudiError(f"settings: name is {reported!r}; give each a short name of letters, digits and _.,:=+ /-.")
    unknown = sorted(set(given) - set(_KEYS))
    if unknown:
        raise GaudiError(f"settings: {reported} has {unknown[0]!r}; give flags, options and batch_size.")
    flags, options, size = given.get("flags") or {}, given.get("options") or {}, given.get("batch_size")
    for key, value in (("flags", flags), ("options", options)):
        if not isinstance(value, Mapping):
            raise GaudiError(f"settings: {key} of {reported} is {value!r}; give a mapping of names to values.")
    if size is not None and (isinstance(size, bool) or not str(size).isdecimal() or int(size) < 1):
        raise GaudiError(f"settings: batch_size of {reported} is {size!r}; give a whole number of at least 1.")
    set_flags = listed({flag: value for flag, value in flags.items() if value is not None})
    return Setting(
        reported, {flag: set_flags.get(flag) for flag in flags}, dict(options), None if size is None else int(size)
    )
