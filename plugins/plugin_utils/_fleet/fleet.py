# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The hosts of a run: who is out and why, who was stopped with others, who never began; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.final_table import NOT_RUN, OUT, Ended
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.tally import FAILED, STOPPED, UNREACHABLE, Trouble

_UNKNOWN = "its task is above"


class Fleet:
    """Filled while the run goes on."""

    def __init__(self) -> None:
        self.troubles: dict[str, Trouble] = {}
        self._hosts: dict[str, None] = {}
        self._stopped: dict[str, tuple[str, Trouble]] = {}
        self._batch: Sequence[str] = ()

    def play(self, batch: Sequence[str], everywhere: Iterable[str]) -> None:
        """A play on the hosts ``batch``, and before or after them on all that it is for."""
        self._batch = batch
        self._hosts.update(dict.fromkeys([*batch, *everywhere]))

    def trouble(self, host: str, trouble: Trouble) -> None:
        """The host is out."""
        self.troubles[host] = trouble

    def stop(self, task: str, name: str) -> None:
        """The play ends for all of its hosts at this task, also for those that are well."""
        why = f"with the others, at: {name}"
        self._stopped.update({host: (task, Trouble(STOPPED, why, why)) for host in self._batch})

    @property
    def has_stopped(self) -> bool:
        """Whether the play may have ended for some."""
        return bool(self._stopped)

    def goes_on(self, host: str, task: str) -> None:
        """The host has done this task, so it was not stopped at another one."""
        if host in self._stopped and self._stopped[host][0] != task:
            del self._stopped[host]

    def hosts(self) -> int:
        """Of the batch, those that are not out."""
        return sum(host not in self.troubles for host in self._batch)

    def out(self) -> str:
        """How many are out in few words, or nothing."""
        counted = Counter(trouble.state for trouble in self.troubles.values())
        return ", ".join(f"{counted[state]} {state}" for state in OUT if counted[state])

    def ended(self, counts: Mapping[str, Mapping[str, int]]) -> list[Ended]:
        """Each host as it ended, in the order of the plays; Ansible's own counts decide who failed."""
        hosts = [*self._hosts, *(host for host in counts if host not in self._hosts)]
        return [self._ended(host, counts.get(host)) for host in hosts]

    def _ended(self, host: str, counts: Mapping[str, int] | None) -> Ended:
        if counts is None:
            return Ended(host, NOT_RUN, {})
        state = _state(counts)
        if state in OUT:
            return Ended(host, state, counts, self.troubles.get(host) or Trouble(state, _UNKNOWN, _UNKNOWN))
        if host in self._stopped:
            return Ended(host, STOPPED, counts, self._stopped[host][1])
        return Ended(host, state, counts)


def _state(counts: Mapping[str, int]) -> str:
    if counts.get("unreachable"):
        return UNREACHABLE
    if counts.get("failures"):
        return FAILED
    return "changed" if counts.get("changed") else "ok"
