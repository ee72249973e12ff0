# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which rank failed first and why, or which node was lost, from what Open MPI's mpirun left in the agent's log.

The sentences of 4.1 were recorded from 4.1.4, those of 5.0 from 5.0.11.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Mapping

from ..agent_table import AgentEntry
from ..failure import RankFailure, rank_failure
from ..failure_kinds import LOST as LOST_NODE
from ..reported_failure import AGENT

EXITED = re.compile(r"first process to do so was:\s+Process name: \[\S*,(?P<rank>\d+)\]\s+Exit code: +(?P<code>\d+)")
# 5.0 breaks its lines where they get long.
KILLED = re.compile(
    r"^(?:mpirun|prterun) noticed that process rank (?P<rank>\d+) with PID \d+ on node\s+\S+\s+"
    r"exited\s+on\s+signal\s+(?P<number>\d+)",
    re.MULTILINE,
)
# A node that says nothing any more, and one whose sshd is told to go.
SILENT = re.compile(
    r"has lost communication with a remote daemon.*?Remote daemon: \S+ on node (?P<node>\S+)", re.DOTALL
)
CLOSED = re.compile(r"^Connection to (?P<node>\S+) closed by remote host\.", re.MULTILINE)
LOST = "the node, or its network, went down while the job ran; launch it again to resume"


def mpirun_failure(log: str, path: str, time: float, description: Mapping[str, object]) -> RankFailure | None:
    """What mpirun says was the first: a rank with its last words, or a node; None where it says neither."""
    lost = SILENT.search(log) or CLOSED.search(log)
    if lost is not None:
        # The ranks of the other nodes then lose their connections to it: echoes.
        return RankFailure(AGENT, AGENT, 0, time, "", LOST, (), path, _host(lost["node"], description), kind=LOST_NODE)
    exited, killed = EXITED.search(log), KILLED.search(log)
    found = exited or killed
    if found is None:
        return None
    rank = int(found["rank"])
    code = int(exited["code"]) if exited else -int(found["number"])
    node, local_rank = _place(rank, description)
    words = re.findall(rf"^\[1,{rank}\]<stderr>: ?(.*)$", log, re.MULTILINE)
    entry = AgentEntry(rank, local_rank, code, time, wrote_error=False)
    return replace(rank_failure(entry, None, "\n".join(words), path), host=node)


def _place(rank: int, description: Mapping[str, object]) -> tuple[str, int]:
    """The host of a rank, and which of its ranks it is; the order is that of the description."""
    hosts, processes = description.get("hosts"), description.get("processes_per_node")
    if not isinstance(processes, int) or not processes or not isinstance(hosts, list):
        return "", rank
    return (str(hosts[rank // processes]) if rank // processes < len(hosts) else ""), rank % processes


def _host(node: str, description: Mapping[str, object]) -> str:
    """The host's name in the description, for a node as mpirun calls it: by its address, where it was given one."""
    hosts, options = description.get("hosts"), description.get("mpi")
    addresses = options.get("addresses") if isinstance(options, Mapping) else None
    if isinstance(hosts, list) and isinstance(addresses, list) and node in addresses:
        return str(hosts[addresses.index(node)])
    return node
