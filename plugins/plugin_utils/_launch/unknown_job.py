# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What nodes answered that were asked to stop a job: where it ended, or that none knows its name; pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import ABSENT
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import NAME
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_options import NEAR

# More names than these are no help.
MOST_NAMED = 8


def unknown_job(name: str, answers: Mapping[str, Any], option: str = "name") -> str:
    """The refusal, or nothing where a node knows the job, or none has answered.

    ``answers`` is what ``training_job`` returned on each node with ``state=stopped``, whatever a node made of that; one
    that did not answer has no state, and is named.
    """
    states = _states(answers)
    answered = [node for node, state in states.items() if state]
    if not answered or any(states[node] != ABSENT for node in answered):
        return ""
    known = sorted({job for node in answered for job in _jobs(answers[node])})
    silent = [node for node in states if node not in answered]
    who = f"no host that answers ({', '.join(silent)} did not)" if silent else "no host"
    return f"{option} {name}: {who} has such a job; {_remedy(name, known)}"


def stopped_line(name: str, answers: Mapping[str, Any]) -> str:
    """For the screen: where the job ended, who did not answer, and how it resumes."""
    states = _states(answers)
    ended = [node for node, state in states.items() if state and state != ABSENT]
    silent = [node for node, state in states.items() if not state]
    missing = f"; no answer from {', '.join(silent)}" if silent else ""
    where = f"has ended on {', '.join(ended)}" if ended else "runs on no node that answered"
    return f"Job {name} {where}{missing}. Launch it again to resume from its last checkpoint."


def _states(answers: Mapping[str, Any]) -> dict[str, Any]:
    """The state that each node told, whatever a node makes of its answer; none where it did not answer."""
    return {node: answer.get("state") if isinstance(answer, Mapping) else None for node, answer in answers.items()}


def _remedy(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3, cutoff=NEAR)
    if near:
        return f"did you mean {' or '.join(near)}?"
    if not known:
        return "there is none on these hosts: give the hosts that it was launched on."
    more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    return f"there are {', '.join(known[:MOST_NAMED])}{more}."


def _jobs(answer: Mapping[str, Any]) -> list[str]:
    """Names only, whatever a node says."""
    jobs = answer.get("jobs")
    return [job for job in jobs if isinstance(job, str) and NAME.fullmatch(job)] if isinstance(jobs, list) else []
