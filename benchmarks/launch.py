# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What `launch_training.yml` costs: until the first finished step, against torchrun started by hand on the same nodes,
and from a dead rank until nothing of the job is left.

    .venv/bin/python -m benchmarks.launch --nodes 2 4 [--program trainer]

The program is a small one of a user's, which loads PyTorch, or the collection's trainer, which loads Lightning, too.
One more launch through ansible-runner shows where the time of the play goes: its slowest tasks.
Makes sandboxes of its own and removes them again; ``--sandbox NAME`` takes one that has the training stack. By hand
means one command on each node at the same moment, past SSH: no tool can be faster. Seconds compare within one run only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.playbook_events import count_plays, task_seconds
from benchmarks.playbook_run import ROOT, SANDBOX, run, run_events, sandbox, total
from plugins.module_utils._node.process_tree import started_with

SCRIPT = ROOT / "molecule" / "surviving" / "tests" / "trainee.py"
BY_HAND, JOB = "by-hand", "bench"
SMALL, TRAINER = "small", "trainer"
TEXT = "/usr/share/common-licenses/GPL-3"
PORT = 29600
SLOWEST = 6


def main() -> int:
    """Measure each size in turn."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    options.add_argument("--nodes", type=int, nargs="+", default=[2, 4], metavar="N", help="sizes of the job")
    options.add_argument("--program", choices=(SMALL, TRAINER), default=SMALL, help="what is launched (%(default)s)")
    options.add_argument("--repeat", type=int, default=3, help="launches of each kind; the median counts")
    options.add_argument("--sandbox", help="nodes that have the training stack already, at least as many")
    options.add_argument("--json", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    os.environ["GAUDI_SANDBOX"] = arguments.sandbox or SANDBOX
    own = arguments.sandbox is None
    figures = [measure(nodes, arguments.repeat, arguments.program, own=own) for nodes in arguments.nodes]
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def in_node(host: str) -> list[str]:
    return ["podman", "exec", f"{os.environ['GAUDI_SANDBOX']}-{host}"]


def measure(nodes: int, repeat: int, program: str, *, own: bool) -> dict[str, Any]:
    """One size: both kinds of launch by turns, then ranks that are killed."""
    if own:
        sandbox("up", "--nodes", str(nodes))
        run("venv")
    # It looks for the nodes of GAUDI_SANDBOX when it is imported.
    from tests import sandbox_jobs as jobs

    hosts = [f"node{number}" for number in range(1, nodes + 1)]
    try:
        for host in hosts:
            jobs.podman("cp", str(SCRIPT), f"{os.environ['GAUDI_SANDBOX']}-{host}:{jobs.TRAINEE}")
        wished = WISHES[program]
        pairs = [(by_hand(jobs, hosts, WORDS[program]), by_playbook(jobs, hosts, **wished)) for _ in range(repeat)]
        tasks = seconds_of_tasks(jobs, hosts)
        gone = [time_until_gone(jobs, hosts) for _ in range(repeat)]
    finally:
        if own:
            sandbox("down")
    hand, playbook = (statistics.median(column) for column in zip(*pairs, strict=True))
    own_part = statistics.median(played - bare for bare, played in pairs)
    figure = {
        "nodes": nodes,
        "by hand": hand,
        "by playbook": playbook,
        "own share": own_part,
        "dead rank until all gone": statistics.median(gone),
        **tasks,
        "pairs": pairs,
        "gone": gone,
    }
    print(f"{nodes} nodes, medians of {repeat}, seconds:", flush=True)
    for name in ("by hand", "by playbook", "own share", "dead rank until all gone"):
        print(f"  {name:26} {figure[name]:7.1f}")
    print(
        f"one more launch, {figure['remote tasks']} tasks on a node; of {len(figure['tasks'])} in all the slowest, s:"
    )
    for name, seconds in sorted(figure["tasks"], key=lambda task: -task[1])[:SLOWEST]:
        print(f"  {seconds:7.1f}  {name}")
    return figure


def by_hand(jobs: Any, hosts: Sequence[str], words: str) -> float:
    """Seconds from the commands to the first finished step of torchrun alone, which starts ``words``."""
    lines = f"/var/tmp/{BY_HAND}"
    for host in hosts:
        jobs.shell(host, f"rm -rf {lines} && mkdir -p {lines}")
    address = jobs.shell(hosts[0], "hostname -I").split()[0]
    began = time.time()
    started = [
        subprocess.Popen(
            [
                "podman",
                "exec",
                f"{os.environ['GAUDI_SANDBOX']}-{host}",
                "sh",
                "-c",
                hand_command(lines, len(hosts), rank, address, words),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for rank, host in enumerate(hosts)
    ]
    for process in started:
        process.wait()
    reported = [json.loads(line) for line in jobs.shell(hosts[0], f"cat {lines}/metrics.jsonl").splitlines()]
    return first_step(reported) - began


def hand_command(directory: str, nodes: int, rank: int, address: str, words: str) -> str:
    """What a person would type, with the variables that the programs read."""
    return (
        f"GLOO_SOCKET_IFNAME=eth0 GAUDI3_SCALE_JOB_DIR={directory} GAUDI3_SCALE_METRICS={directory}/metrics.jsonl "
        f"GAUDI3_SCALE_PROGRESS_DIR={directory} "
        f"/opt/gaudi3_scale/venv/bin/torchrun --nnodes {nodes} --node-rank {rank} "
        f"--nproc-per-node 1 --rdzv-backend static --master-addr {address} --master-port {PORT} {words}"
    )


def by_playbook(jobs: Any, hosts: Sequence[str], **changes: Any) -> float:
    """Seconds from ``ansible-playbook`` to the same step, with supervisors; ``changes`` are of the job's variables."""
    forget(jobs, hosts)
    with tempfile.TemporaryDirectory() as directory:
        began = time.time()
        code, said = jobs.play(Path(directory), **{**wish(hosts, "1"), **changes})
        if code:
            sys.exit(said)
        jobs.wait_for("a first step", lambda: jobs.steps(hosts[0], JOB))
    found = first_step(jobs.lines(hosts[0], JOB)) - began
    wait_for_the_end(jobs, hosts)
    return found


def wait_for_the_end(jobs: Any, hosts: Sequence[str], name: str = JOB) -> None:
    """Until the units are over: a supervisor writes how the job ended after its ranks have gone."""
    active = f"systemctl is-active gaudi3-scale-job-{name} || true"
    jobs.wait_for("the end", lambda: all(jobs.shell(host, active).strip() in ("inactive", "failed") for host in hosts))


def seconds_of_tasks(jobs: Any, hosts: Sequence[str]) -> dict[str, Any]:
    """Where the play's time goes in one launch."""
    forget(jobs, hosts)
    status, events = run_events("launch_training", wish(hosts, "1"), os.environ["GAUDI_SANDBOX"])
    if status != "successful":
        sys.exit(f"launch_training.yml: {status}")
    wait_for_the_end(jobs, hosts)
    return {"remote tasks": total(count_plays(events)).remote_per_host, "tasks": task_seconds(events)}


def time_until_gone(jobs: Any, hosts: Sequence[str]) -> float:
    """Seconds from the death of the last rank until no process of its generation is left on any node."""
    forget(jobs, hosts)
    with tempfile.TemporaryDirectory() as directory:
        jobs.play(Path(directory), **wish(hosts, "5000"))
        jobs.wait_for("steps", lambda: len(jobs.steps(hosts[0], JOB)) > 3)
        before = processes_of_job()
        jobs.shell(hosts[-1], f"kill -KILL {jobs.rank_of(hosts[-1], JOB)}")
        killed = time.monotonic()
        jobs.wait_for("all gone", lambda: not before & processes_of_job(), every=0.05)
        took = time.monotonic() - killed
        jobs.play(Path(directory), "stop_training", gaudi_training_name=JOB)
    return took


def processes_of_job() -> set[int]:
    """Of all nodes at once, containers of this machine: to ask each of eight takes longer than what is measured."""
    found = started_with("GAUDI3_SCALE_JOB", JOB)
    return {pid for pid in found if not re.search(rb"gaudi3_scale[./]supervisor", command_of(pid))}


def command_of(pid: int) -> bytes:
    """Empty for one that has just ended, which is also without an environment."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def forget(jobs: Any, hosts: Sequence[str], name: str = JOB) -> None:
    """Checkpoints and logs of the launch before would make this one go on from there."""
    for host in hosts:
        jobs.shell(host, f"cd /var/lib/gaudi3_scale && rm -rf jobs/{name} control/{name}")
        logs = " ".join(f"gaudi3_scale/{place}/{name}" for place in ("jobs", "agents", "earlier"))
        jobs.shell(host, f"cd /var/log && rm -rf {logs}")


def wish(hosts: Sequence[str], steps: str) -> dict[str, Any]:
    """The job, without anything that would end it by itself."""
    return {
        "gaudi_training_name": JOB,
        "gaudi_training_hosts": list(hosts),
        "gaudi_training_processes_per_node": 1,
        "gaudi_training_command": ["/var/tmp/trainee.py", steps, "0" if steps == "1" else "0.2"],
        "gaudi_training_follow": False,
        "gaudi_training_stop_timeout": 20,
    }


# By hand, and by the job's variables.
WORDS = {
    SMALL: "/var/tmp/trainee.py 1 0",
    TRAINER: f"-m gaudi3_scale.train --device cpu --max-steps 1 --batch-size 2 --text {TEXT} --loggers none",
}
WISHES: dict[str, dict[str, Any]] = {
    SMALL: {},
    TRAINER: {
        "gaudi_training_command": [],
        "gaudi_training_text": [TEXT],
        "gaudi_training_max_steps": 1,
        "gaudi_training_batch_size": 2,
        "gaudi_training_arguments": ["--loggers", "none"],
    },
}


def first_step(reported: Sequence[dict[str, Any]]) -> float:
    """When rank 0 had finished its first step."""
    return float(next(line["time"] for line in reported if line["kind"] == "step"))


if __name__ == "__main__":
    sys.exit(main())
