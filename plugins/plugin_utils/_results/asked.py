# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a report by kind is made of, and what it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.earlier_failure import NOT_KNOWN
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.junit import Case

# What a host has of facts, by Ansible's own name.
FACTS = "ansible_facts"


@dataclass(frozen=True)
class Asked:
    """What a report is made of. ``hosts`` have, in the order of the table, those variables that its kind reads, and
    ``failures`` a sentence for those of them on which a task failed before."""

    hosts: Mapping[str, Mapping[str, Any]]
    given: Mapping[str, Any]
    check_mode: bool
    failures: Mapping[str, str] = field(default_factory=dict)

    def why_nothing(self, host: str) -> str:
        """Why the host has no result."""
        return self.failures.get(host) or NOT_KNOWN + "."

    def why_no_result(self, result: Mapping[str, Any], otherwise: str) -> str:
        """Why a task for all hosts has no result: its own message, else that of a host on which one failed before."""
        first = next((f"{host}: {why}" for host, why in self.failures.items() if host in self.hosts), "")
        return str(result.get("msg") or " ".join(filter(None, [otherwise, first or f"On each host {NOT_KNOWN}."])))

    def results(self, variable: str) -> dict[str, Mapping[str, Any]]:
        """Host to what was registered there, of the hosts that have it."""
        return {host: values[variable] for host, values in self.hosts.items() if variable in values}


@dataclass(frozen=True)
class Made:
    """``options`` of the module ``report``, and of its ``outcome``. ``refusal`` is a sentence for the play to fail with
    after the table was shown. ``reasons`` has a sentence for each host with which something is wrong. ``cases``, if
    any, are kept as JUnit beside the page, and the JSON then has the exit code that they come to."""

    options: Mapping[str, Any]
    outcome: Mapping[str, Any]
    refusal: str = ""
    reasons: Mapping[str, str] | None = None
    cases: Sequence[Case] | None = None


@dataclass(frozen=True)
class Kind:
    """``variables`` are those that it reads of each host."""

    variables: tuple[str, ...]
    made: Callable[[Asked], Made]
