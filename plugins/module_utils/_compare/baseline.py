# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A comparison against one that was kept: whether it asked the same, and what has become slower since; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from .._errors import GaudiError
from .._node.json_file import parse_json
from .comparison import BASE
from .intervals import Interval, independent_ratio


@dataclass(frozen=True)
class Baseline:
    """``fields`` say what was measured, ``settings`` what each had, ``rates`` samples a second of every run.

    ``tolerance``: what is slower by no more than this part is no regression.
    """

    file: str
    fields: Mapping[str, str]
    settings: Mapping[str, Mapping[str, Any]]
    rates: Mapping[str, Sequence[float]]
    tolerance: float


@dataclass(frozen=True)
class Change:
    """How fast a setting is now, of its speed in the baseline. ``slower`` is beyond tolerance and beyond noise."""

    name: str
    speed: Interval
    slower: bool

    def sentence(self, file: str) -> str:
        """For an operator; ``file`` is the baseline's."""
        return (
            f"{self.name} is {1 - self.speed.estimate:.1%} slower than in {file} "
            f"({self.speed.level:.1%} interval {1 - self.speed.high:.1%} to {1 - self.speed.low:.1%})"
        )


def read_baseline(content: object, file: str, node: str, tolerance: float) -> Baseline:
    """What ``content``, a baseline file's text or data, has of ``node``; raises GaudiError where it is none."""
    if not 0 <= tolerance < 1:
        raise GaudiError(f"tolerance is {tolerance:g}; give a fraction from 0 to below 1.")
    try:
        data: Any = parse_json(content) if isinstance(content, str) else content
        hosts = data["hosts"]
        if node not in hosts:
            raise GaudiError(
                f"baseline: {file} has {', '.join(hosts) or 'no node'} but not {node}; save a baseline with "
                f"{node} too, "
                "or use another file."
            )
        return Baseline(
            file,
            {str(name): str(value) for name, value in hosts[node]["fields"].items()},
            {name: dict(setting) for name, setting in hosts[node]["settings"].items()},
            {name: [float(rate) for rate in rates] for name, rates in hosts[node]["rates"].items()},
            tolerance,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:100]
        raise GaudiError(f"baseline: {file} is not a baseline ({why}); use a file that this playbook saved.") from error


def check_same(baseline: Baseline, fields: Mapping[str, str], settings: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises GaudiError naming the first thing that the baseline was made with and that is another now."""
    for name in dict.fromkeys((*baseline.fields, *fields)):
        _require(baseline, name, baseline.fields.get(name), fields.get(name))
    for name in [name for name in settings if name in baseline.settings]:
        for key in settings[name]:
            _require(baseline, f"{key} of {name}", baseline.settings[name].get(key), settings[name][key])


def _require(baseline: Baseline, name: str, then: object, now: object) -> None:
    if then != now:
        raise GaudiError(
            f"baseline: {baseline.file} was made with {name} {_shown(then)}, and this run has {_shown(now)}; "
            "measure a new baseline, or use the one of this comparison."
        )


def _shown(value: object) -> str:
    return "nothing" if value in (None, "", {}) else str(value)


def changes(baseline: Baseline, rates: Mapping[str, Sequence[float]], confidence: float) -> list[Change]:
    """One for the base and each setting that both have; all intervals together hold with ``confidence``."""
    names = [name for name in (BASE, *(name for name in rates if name != BASE)) if baseline.rates.get(name)]
    both = [name for name in names if rates.get(name)]
    level = 1 - (1 - confidence) / max(1, len(both))
    found = [(name, independent_ratio(rates[name], baseline.rates[name], level)) for name in both]
    return [
        Change(name, speed, slower=speed.estimate < 1 - baseline.tolerance and speed.high < 1)
        for name, speed in found
        if speed is not None
    ]
