# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A job whose ranks tell where they are, and what is left of it on the nodes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from testinfra.host import Host

from tests.sandbox_nodes import Played, played, run

# In the order of the ranks, which is not Slurm's.
CLUSTER = ("node3", "node1", "node2")
IN_ORDER = {host: str(rank) for rank, host in enumerate(CLUSTER)}
PORT = 29600
PROGRAM = "/var/tmp/engines/rank.py"
# Its rank alone, neither its agent nor a shell.
KILL = "pkill -KILL -f '^[^ ]*/venv/bin/python (-u )?/var/tmp/engines/[r]ank.py'"
# No torch in the ranks: what is tried here is what starts and ends them. Each imports the stand-in for the vendor's
# bridge, which refuses without the environment of its packages, and says that it is there, and which try it is; told to
# end, it says that too, as after a checkpoint, and ends well.
RANK = """
import os, pathlib, signal, sys, time
import habana_frameworks.torch.core
reported = []
signal.signal(signal.SIGTERM, lambda *_: reported.append(True))
place = pathlib.Path("/var/tmp/engines", os.environ["GAUDI3_SCALE_JOB"])
place.mkdir(exist_ok=True)
rank = os.environ["RANK"]
(place / f"rank-{rank}").write_text(os.environ.get("SLURM_RESTART_COUNT", "0"))
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end and not reported:
    time.sleep(0.1)
if reported:
    (place / f"reported-{rank}").touch()
"""


# What the kernel lets it run on, and what it was reported of threads.
BOUND = r"""
pid=$(pgrep -f '^[^ ]*/venv/bin/python (-u )?/var/tmp/engines/[r]ank.py')
echo "$(taskset -pc "$pid" | sed 's/.*: //') $(tr '\0' '\n' < "/proc/$pid/environ" | sed -n 's/^OMP_NUM_THREADS=//p')"
"""
# What is left to see of a job on a node, and what its agents said.
SEEN_ON_NODE = """
uptime; ps -eo pid,ppid,stat,wchan:20,etimes,args --forest | grep -v '\\[' | tail -n 40
tail -n 15 /var/log/slurm/slurmd.log /var/log/gaudi3_scale/jobs/*/logs/agent.log /var/log/gaudi3_scale/jobs/*/agent.log
"""
NEAR = "/var/lib/gaudi_simulator/kernel/sys/devices/system/node/node0/cpulist"


def play(directory: Path, playbook: str, **variables: object) -> Played:
    job = {
        "gaudi_training_hosts": list(CLUSTER),
        "gaudi_training_processes_per_node": 1,
        "gaudi_training_rendezvous_port": PORT,
        "gaudi_training_follow_interval": 1,
        # A test that goes wrong ends, too.
        "gaudi_training_timeout": 300,
        "gaudi_report_target": str(directory),
    }
    return played(run(directory, playbook, **{**job, **variables}))


class Cluster:
    """The nodes, and what of jobs is on them."""

    def __init__(self, nodes: dict[str, Host]) -> None:
        self.nodes = nodes

    def prepare(self) -> None:
        for node in self.nodes.values():
            node.check_output(
                f"rm -rf /var/tmp/engines && install -d -o gaudi /var/tmp/engines && cat > {PROGRAM} <<'END'{RANK}END"
            )

    def ranks_left(self, wait: float = 30) -> dict[str, str]:
        """What of jobs runs on each node, or listens on their port, after at most ``wait`` seconds."""
        # The brackets keep pgrep's own command line out.
        question = f"pgrep -af '[e]ngines/rank.py|[t]orchrun|[o]rted'; ss -Hltn 'sport = :{PORT}'"
        left = {}
        for name in CLUSTER:
            node = self.nodes[name]
            left[name] = until(lambda node=node: node.run(question).stdout, lambda said: not said, wait)  # type: ignore[misc]
        return left


def until(ask: Callable[[], str], enough: Callable[[str], bool], wait: float = 180) -> str:
    """Ask until the answer is enough; returns the last one, also where it is not."""
    deadline = time.monotonic() + wait
    while True:
        answer = ask()
        if enough(answer) or time.monotonic() > deadline:
            return answer
        time.sleep(0.5)


def wait_for_ranks(nodes: dict[str, Host], name: str, ranks: dict[str, str], start: str = "0") -> None:
    """Return when each of ``ranks``, host to rank, has said that it is there."""
    for host, rank in ranks.items():
        said = until(lambda: nodes[host].run(f"cat /var/tmp/engines/{name}/rank-{rank}").stdout, lambda it: it == start)  # noqa: B023
        assert said == start, f"rank {rank} on {host} says {said!r} of its start"


def assert_bound(nodes: dict[str, Host]) -> None:
    """The one rank of each node runs on the first NUMA node's cores, whose number is that of its threads."""
    for node in nodes.values():
        cpus = node.check_output(f"cat {NEAR}")
        first, _dash, last = cpus.partition("-")
        assert node.check_output(BOUND) == f"{cpus} {int(last or first) - int(first) + 1}"


def reported(nodes: dict[str, Host], name: str) -> list[str]:
    """The ranks that were reported to end, on all nodes."""
    listed = [node.run(f"cd /var/tmp/engines/{name} && ls reported-*").stdout.split() for node in nodes.values()]
    return sorted(rank for ranks in listed for rank in ranks)
