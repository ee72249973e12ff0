# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The first stage: what each node measures of itself, all at the same time, looked at until all have ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.results import ENDED, RUNNING
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import said, taken
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import Ask
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.answers import QUALIFIED

START, LOOK = "gaudi3.scale.hpu_qualify", "gaudi3.scale.hpu_qualify_info"
# Seconds that a node is waited for before it is asked again: as often as a line on the screen may change.
LOOK_SECONDS = 10
# A node that does not answer so many looks in a row is waited for no more.
_SILENT_LOOKS = 3


@dataclass(frozen=True)
class Own:
    """What a node says of itself; ``why`` there is nothing to be used. ``is_running``: it goes on by itself."""

    answer: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    is_running: bool = False


def begin(nodes: Sequence[str], options: Mapping[str, Mapping[str, Any]], ask: Ask) -> dict[str, str]:
    """Node -> why it did not begin, of those that did not. A run that was cut off goes on."""
    begun = ask(START, {node: options[node] for node in nodes})
    return {
        node: str(said(str(answer.get("msg") or "it returned no result"), "msg"))
        for node, answer in begun.items()
        if answer.get("unreachable") or answer.get("failed")
    }


def follow(
    nodes: Sequence[str],
    ask: Ask,
    show: Callable[[str], None],
    timeout: float,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Own]:
    """Look until all have ended or ``timeout`` seconds are over; shows what each node begins."""
    found: dict[str, Own] = {}
    shown: dict[str, str] = {}
    silent = dict.fromkeys(nodes, 0)
    deadline = clock() + timeout
    while waiting := [node for node in nodes if node not in found]:
        late = clock() >= deadline
        wait = {"wait": not late, "timeout": LOOK_SECONDS}
        for node, answer in ask(LOOK, {node: dict(wait) for node in waiting}).items():
            own = _own(node, answer)
            silent[node] = silent[node] + 1 if own.why else 0
            if own.is_running and not late:
                _progress(node, own.answer, shown, show)
            elif not own.why or late or silent[node] >= _SILENT_LOOKS:
                found[node] = own
    return found


def _own(node: str, answer: Mapping[str, Any]) -> Own:
    if answer.get("unreachable") or answer.get("failed"):
        return Own(why=str(said(str(answer.get("msg") or "it returned no result"), "msg")))
    try:
        told = taken(node, "hpu_qualify_info", QUALIFIED, answer)
    except GaudiError as error:
        return Own(why=str(error))
    if told["state"] == RUNNING:
        return Own(told, is_running=True)
    if told["state"] != ENDED:
        return Own(told, why=f"its qualification is {told['state']}; run the playbook again to resume it.")
    return Own(told)


def _progress(node: str, told: Mapping[str, Any], shown: dict[str, str], show: Callable[[str], None]) -> None:
    line = f"{node}: {told['done']} of {told['total']} tests, now {told['current'] or 'between two'}."
    if shown.get(node) != line:
        shown[node] = line
        show(line)
