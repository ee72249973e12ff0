# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A measurement as a series of runs, one per call: the loads that were named, or the search for the highest."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..._errors import GaudiError
from .run import Load, measure
from .search import MOST_CLIENTS, Limits, found_level, levels, misses, next_level
from .target import Target, instance_target, only_instance, url_target

# Clients have two requests each that count, at least.
ROUNDS = 2


@dataclass(frozen=True)
class Measurement:
    """What is asked for. With ``limits``, ``concurrency`` is not used, and loads up to ``highest`` are tried."""

    input_tokens: int
    output_tokens: int
    requests: int
    concurrency: Sequence[int]
    limits: Limits
    highest: int
    timeout: float

    def next(self, runs: Sequence[Mapping[str, Any]], guess: int = 0) -> int | None:
        """The clients of the run that comes after these."""
        if not self.limits:
            done = {run["concurrency"] for run in runs}
            return next((clients for clients in self.concurrency if clients not in done), None)
        return next_level(levels(self.highest), self._tried(runs), guess)

    def load(self, clients: int) -> Load:
        """One run of it. Its prompts are new ones, since a cache of prefixes remembers those of the last run."""
        counted = max(self.requests, ROUNDS * clients)
        return Load(
            concurrency=clients,
            requests=clients + counted,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            timeout=self.timeout,
            left_out=clients,
            first_token_ms=self.limits.first_token_ms,
            seed=secrets.randbelow(1 << 32),
        )

    def outcome(self, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """``highest_load``: None where none was searched for; ``is_highest``: more was not tried."""
        if not self.limits or self.next(runs) is not None:
            return {"highest_load": None, "is_highest": False}
        found = found_level(levels(self.highest), self._tried(runs))
        return {"highest_load": found, "is_highest": found == self.highest}

    def _tried(self, runs: Sequence[Mapping[str, Any]]) -> dict[int, float]:
        return {int(run["concurrency"]): misses(run, self.limits) for run in runs}


def advance(
    options: Mapping[str, Any],
    check_mode: bool,
    measured: Callable[[Target, Load], dict[str, Any]] = measure,
) -> dict[str, Any]:
    """Make the next run, if one is left, and say what is known. Raises GaudiError before anything is asked."""
    wanted, target = _wanted(options), _target(options)
    runs = list(options["runs"])
    clients = wanted.next(runs, target.seats)
    if clients is not None and not check_mode:
        runs.append(measured(target, wanted.load(clients)))
        clients = wanted.next(runs, target.seats)
    return {"changed": False, "runs": runs, "next": clients, **wanted.outcome(runs)}


def _wanted(options: Mapping[str, Any]) -> Measurement:
    for name in ("input_tokens", "output_tokens", "requests", "timeout"):
        if options[name] < 1:
            raise GaudiError(f"{name} is {options[name]:g}; give a number above 0.")
    wanted = Measurement(
        **{name: options[name] for name in ("input_tokens", "output_tokens", "requests", "highest", "timeout")},
        concurrency=tuple(dict.fromkeys(options["concurrency"])),
        limits=Limits(options["first_token_ms"], options["between_tokens_ms"]),
    )
    levels(wanted.highest)
    wrong = [clients for clients in wanted.concurrency if not 1 <= clients <= MOST_CLIENTS]
    if wrong or not wanted.concurrency:
        raise GaudiError(
            f"concurrency is {list(wanted.concurrency)}; give numbers of clients from 1 to {MOST_CLIENTS}."
        )
    return wanted


def _target(options: Mapping[str, Any]) -> Target:
    """The server at ``url``, or the instance; the node's only one where neither is named."""
    name, url = options["name"], options["url"]
    if name and url:
        raise GaudiError(f"name is {name}, and a url is given too, but one server is measured; give one of them.")
    if url:
        return url_target(url, options["model"], options["key_file"] or "", options["certificate"] or "")
    for only in ("model", "key_file", "certificate"):
        if options[only]:
            raise GaudiError(f"{only} is only for url; an instance brings its own.")
    return instance_target(name or only_instance())
