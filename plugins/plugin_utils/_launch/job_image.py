# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""A job's image on all of its nodes: looked up on one of them, fetched by all with that digest."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.reference import (
    parse_pinned,
    parse_reference,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import Answer, Ask

MODULE = "gaudi3.scale.job_image"


def bring_image(
    image: str,
    hosts: Sequence[str],
    given: Mapping[str, Any],
    ask: Ask,
    show: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> tuple[str, Mapping[str, Answer]]:
    """The image with its digest, and what each node answered; GaudiError where it cannot be on all of them.

    ``given`` are the other options of the module, the same on each node.
    """
    pinned = _pinned(image, hosts, given, ask)
    show(f"Bringing {pinned} to {len(hosts)} node(s).")
    begun = clock()
    asked = {**given, "image": pinned, "state": "present"}
    answers = ask(MODULE, dict.fromkeys(hosts, asked))
    _refuse_failed(answers)
    fetched = [node for node, answer in answers.items() if answer.get("changed")]
    said = f"fetched by {', '.join(fetched)} in {clock() - begun:.0f} s" if fetched else "which have it already"
    show(f"It is on all {len(hosts)} node(s), {said}.")
    return pinned, answers


def _pinned(image: str, hosts: Sequence[str], given: Mapping[str, Any], ask: Ask) -> str:
    """Looked up by the first node that answers, since a tag may be moved while the nodes are asked one by one."""
    reference = parse_reference(image)
    if reference.digest:
        return reference.pinned
    silent: dict[str, Answer] = {}
    for host in hosts:
        answer = ask(MODULE, {host: {**given, "image": image, "state": "resolved"}})[host]
        if not answer.get("unreachable"):
            _refuse_failed({host: answer})
            return parse_pinned(str(answer.get("image"))).pinned
        silent[host] = answer
    _refuse_failed(silent)
    raise GaudiError("image: there is no host to look it up on; name the hosts of the job.")


def _refuse_failed(answers: Mapping[str, Answer]) -> None:
    """Raises GaudiError with each reason once, and the nodes that have it."""
    reasons: dict[str, list[str]] = {}
    for node, answer in answers.items():
        said = str(answer.get("msg") or "it returned no result")
        if answer.get("unreachable"):
            reasons.setdefault(f"it does not answer: {said}", []).append(node)
        elif answer.get("failed") or "image" not in answer:
            reasons.setdefault(said, []).append(node)
    if reasons:
        raise GaudiError("\n".join(f"{', '.join(nodes)}: {reason}" for reason, nodes in reasons.items()))
