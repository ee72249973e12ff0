# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the worker groups of a job on all its nodes mean together."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from .._job.followers import first_with_others
from .._job.paths import JobPaths
from .._job.reported_failure import LOST_PEER, failure_sentence
from .status import WAITING, Status
from .worker_group import ABSENT, FAILED, RUNNING, STOPPED, SUCCEEDED

# What a node is to a supervised job that has no ranks of it.
SPARE, WITNESS, LOST = "spare", "witness", "lost"
# Events that are worth a line at the end; that ranks began is seen from the rest.
REPORTED = (
    *("rank_failed", "node_lost", "node_back", "hang", "straggler", "unfit", "spare", "shrunk", "grown"),
    # What became of a program's newest checkpoint.
    "set_aside",
)
MOST_REPORTED = 12


def host_of_node(node: str, addresses: Mapping[str, str]) -> str | None:
    """The host of the inventory, of those in ``addresses``, that Slurm calls ``node``: by its name, its address, or its
    name up to the first dot. None where there is none, or where more than one could be meant.
    """
    for meant in (
        [host for host in addresses if host == node],
        [host for host, address in addresses.items() if address == node],
        [host for host in addresses if host.partition(".")[0] == node.partition(".")[0]],
    ):
        if meant:
            return meant[0] if len(meant) == 1 else None
    return None


def job_state(worker_groups: Mapping[str, str]) -> str:
    """The state of the whole job: it fails as soon as one worker group does, and has succeeded when all have."""
    states = set(worker_groups.values())
    for state in (FAILED, ABSENT, STOPPED, RUNNING):
        if state in states:
            return FAILED if state == ABSENT else state
    return SUCCEEDED


def verdict_sentence(name: str, worker_groups: Mapping[str, str], failures: Mapping[str, Mapping[str, object]]) -> str:
    """Why a job that did not succeed did not; ``failures`` by host, as ``training_job_info`` returns them."""
    first = first_with_others(failures)
    if first is not None:
        return f"Job {name} failed: {_left_before(worker_groups, first[1])}{failure_sentence(*first)}"
    absent = sorted(host for host, state in worker_groups.items() if state == ABSENT)
    if absent:
        return f"Job {name} is not on {', '.join(absent)}; start it there, on all its nodes at once."
    stopped = sorted(host for host, state in worker_groups.items() if state == STOPPED)
    return f"Job {name} was stopped on {', '.join(stopped)} before it was done; start it again to resume."


def _left_before(worker_groups: Mapping[str, str], failure: Mapping[str, object]) -> str:
    """The nodes whose ranks ended well, where all that failed are ranks that lost others."""
    hosts = sorted(host for host, state in worker_groups.items() if state == SUCCEEDED)
    if not hosts or failure.get("echo") != LOST_PEER:
        return ""
    return f"all ranks on {', '.join(hosts)} ended with exit status 0 while other ranks ran, which lost them; "


def speaks_for_the_job(host: str, status: Status, worker_group: str) -> bool:
    """Whether this node knows how the job stands: it leads it, or the job is over.

    A node that was cut off goes on telling what it knew before.
    """
    if worker_group != RUNNING:
        return bool(status.outcome)
    return status.leader == host and status.state != WAITING


def worker_group_words(nodes: Sequence[str], status: Status, witness: str = "") -> dict[str, str]:
    """What each node is to the job now, or was at its end: a state for those with ranks, else a word above.

    ``witness`` "": there is none.
    """
    return {node: _word(node, status, witness) for node in (nodes if status.time else ())}


def _word(node: str, status: Status, witness: str) -> str:
    if node in status.members:
        return status.outcome or RUNNING
    if node not in status.alive:
        return LOST
    return WITNESS if node == witness else SPARE


def witness_of(description: Mapping[str, Any]) -> str:
    """The node that only votes, in a description of whoever; "" for none."""
    supervision = description.get("supervision")
    witness = supervision.get("witness") if isinstance(supervision, Mapping) else None
    return witness if isinstance(witness, str) else ""


def outcome_sentence(name: str, status: Status) -> str:
    """Why a supervised job that did not succeed did not."""
    if status.outcome == STOPPED:
        return f"Job {name} was stopped before it was done ({status.reason.rstrip('.')}); start it again to resume."
    again = f" Restarts: {status.restarts}." if status.restarts else ""
    if status.failure:
        said = failure_sentence(str(status.failure.get("host")), status.failure)
        return f"Job {name} failed: {said}{again}{_why_no_more(status.reason, said)}"
    return f"Job {name} failed: {status.reason.rstrip('.')}.{again}"


def _why_no_more(reason: str, said: str) -> str:
    """Why a job was not started again: what the reason of its end has behind its first failure."""
    first = said.partition("\n")[0].rstrip(".")
    why = reason.removeprefix(first).removeprefix("; ").rstrip(".") if reason.startswith(first) else ""
    return f" Not started again: {why}." if why else ""


def unknown_end_sentence(name: str, host: str, absent: bool) -> str:
    """For a job that no node runs any more, and of which none knows how it ended."""
    if absent:
        return f"Job {name} is on none of the nodes that responded; launch it."
    return (
        f"Job {name} runs on none of the nodes that responded, and its supervisors were stopped before they could "
        f"report why: all nodes went down, or somebody stopped the units; see `journalctl -u {JobPaths(name).unit}` on "
        f"{host}, and launch it again to resume."
    )


def event_line(event: Mapping[str, Any], log_directory: str) -> str:
    """What a supervisor says of an event, and for a hang also where the ranks' stacks are."""
    text = str(event.get("text"))
    if event.get("kind") != "hang":
        return text
    return f"{text} The stacks are in {log_directory}/stacks/generation-{event.get('generation')} on the ranks' nodes."


def job_story(info: Mapping[str, Any], left_out: Mapping[str, str]) -> list[str]:
    """What a user has to know besides the end: nodes left out at the launch, and what happened to the job after it.

    ``info`` is what ``training_job_info`` returned; of many events the last ones are told.
    """
    reported = [event for event in info.get("events") or () if event.get("kind") in REPORTED]
    texts = [event_line(event, str(info.get("log_directory"))).partition("\n")[0] for event in reported]
    earlier = [f"{len(texts) - MOST_REPORTED} earlier events are in {info.get('log_directory')}/events.jsonl"]
    out = [f"started without {node}: {reason}" for node, reason in left_out.items()]
    return [*out, *(earlier if len(texts) > MOST_REPORTED else ()), *texts[-MOST_REPORTED:]]
