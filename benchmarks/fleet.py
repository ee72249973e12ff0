# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a fleet of hundreds costs its controller, beside thirty plain tasks on the same hosts in the same run.

    .venv/bin/python -m benchmarks.fleet --hosts 8 32 128 512 --json fleet.json

Real sshd processes answer on as many addresses in four containers (benchmarks/fleet_hosts.py). They share four disks
and the machine's processors with the controller, so its processor seconds compare and seconds hardly do. What would
change a node, or compute on it, is left out or played in check mode: no fabric is measured, and no all-reduce.
Following a job asks one node at a time; it is played with answers of nodes that are objects. A job on more hosts
than supervisors keep together is launched by Slurm, which is really there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from benchmarks.controller_cost import Cost, cost_of
from benchmarks.fleet_hosts import answer_on, forget, write_inventory
from benchmarks.playbook_run import ROOT, SANDBOX, run, sandbox, search_path

sys.path.insert(0, str(ROOT / ".collections"))

from ansible_collections.gaudi3.scale.plugins.module_utils._job.supervision import MOST_NODES
from ansible_collections.gaudi3.scale.plugins.plugin_utils._supervised_watch import SupervisedWatch

TASKS = 30
LOOKS = 200
# On few cores, what computes would be all that is measured. Hundreds of hosts that import torch at once need more
# memory than the one machine has that they share; and of 128 hosts in one container, which has one driver and so one
# lock, one has waited for it for five minutes.
QUIET = {
    "gaudi_fabric_benchmark": False,
    "gaudi_verify_all_reduce": False,
    "gaudi_verify_venv": "",
    "gaudi_lock_timeout": 3600,
}
LAUNCH: Mapping[str, Any] = {"gaudi_training_command": ["/srv/train.py"], "gaudi_training_processes_per_node": 1}
# Slurm knows its nodes by other names than the hosts of the fleet have.
BY_SLURM: Mapping[str, Any] = {**LAUNCH, "gaudi_training_engine": "slurm", "gaudi_training_slurm": {"nodes": "any"}}
# Word of --runs -> its line of the tables, playbook, variables and options; the plain tasks are no playbook of ours.
PLAIN, FIRST, SITE, LAUNCHED, SLURM = "plain", "first", "site", "launch", "slurm"
RUNS: Mapping[str, tuple[str, str, Mapping[str, Any], tuple[str, ...]]] = {
    FIRST: ("site, virgin, in check mode", "site", QUIET, ("--check",)),
    SITE: ("site, nothing to do", "site", QUIET, ()),
    "preflight": ("preflight", "preflight", QUIET, ()),
    "verify": ("verify", "verify", QUIET, ()),
    LAUNCHED: ("launch, in check mode", "launch_training", LAUNCH, ("--check",)),
    SLURM: ("launch by Slurm, in check mode", "launch_training", BY_SLURM, ("--check",)),
}
BASELINE = f"{TASKS} plain tasks"
WORDS = [PLAIN, *RUNS]
# Goals: of the controller's processor time a host, of the wall time from 32 hosts to 512, MiB.
MOST_OF_PLAIN, MOST_GROWTH, MOST_MIB = 0.5, 18.0, 2048.0
# Of a module call over SSH, for what grows with the number of hosts in each look at a job.
MOST_OF_A_TASK = 0.01


def main() -> int:
    """Measure each size in turn; returns how many goals were missed."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    options.add_argument("--hosts", type=int, nargs="+", default=[8, 32, 128, 512], metavar="N")
    options.add_argument("--nodes", type=int, default=4, help="containers that stand for the hosts")
    options.add_argument("--forks", type=int, default=0, help="how many hosts work at once; 0 for all of them")
    options.add_argument("--serial", default="100%", metavar="N", help="hosts a play takes at a time; all of them")
    options.add_argument(
        "--runs", nargs="+", choices=WORDS, default=WORDS, metavar="RUN", help=f"of {', '.join(WORDS)}; all"
    )
    options.add_argument("--json", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    os.environ["GAUDI_SANDBOX"] = SANDBOX
    sandbox("up", "--nodes", str(arguments.nodes))
    try:
        answer_on(SANDBOX, max(arguments.hosts))
        virgin = [name for name in arguments.runs if name == FIRST]
        first = {hosts: measure(hosts, arguments.forks, arguments.serial, virgin) for hosts in arguments.hosts}
        status, _plays = run("site")
        if status != "successful":
            return 1
        if SLURM in arguments.runs:
            sandbox("slurm")
        later = [name for name in arguments.runs if name != FIRST]
        figures = {
            hosts: {**first[hosts], **measure(hosts, arguments.forks, arguments.serial, later)}
            for hosts in arguments.hosts
        }
    finally:
        forget(SANDBOX)
        sandbox("down")
    follow = {hosts: follow_cost(hosts) for hosts in arguments.hosts}
    show(figures, follow)
    if arguments.json:
        written = {hosts: {name: asdict(cost) for name, cost in costs.items()} for hosts, costs in figures.items()}
        arguments.json.write_text(json.dumps({"runs": written, "follow": follow}, indent=2) + "\n")
    return missed(figures, follow)


def measure(hosts: int, forks: int, serial: str, names: Sequence[str]) -> dict[str, Cost]:
    """Each of these runs over so many hosts, by its line of the tables."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as place:
        inventory = Path(place) / "fleet.json"
        write_inventory(SANDBOX, hosts, inventory)
        plain = Path(place) / "plain.yml"
        plain.write_text(yaml.safe_dump(plain_play(serial)), encoding="utf-8")
        wanted = {BASELINE: [str(plain)]} if PLAIN in names else {}
        # Larger jobs than supervisors keep together are for Slurm alone.
        possible = [name for name in names if name in RUNS and (name != LAUNCHED or hosts <= MOST_NODES)]
        for line, playbook, variables, more in (RUNS[name] for name in possible):
            given = {**variables, "gaudi_serial": serial}
            wanted[line] = [f"gaudi3.scale.{playbook}", "-e", json.dumps(given), *more]
        return {line: played(line, hosts, inventory, forks, arguments) for line, arguments in wanted.items()}


def plain_play(serial: str) -> list[dict[str, Any]]:
    """What a flat playbook is made of, with all that Ansible itself can do for speed."""
    task = {"name": "Look", "ansible.builtin.command": {"argv": ["true"]}, "changed_when": False}
    play = {"hosts": "gaudi", "serial": serial, "become": True, "gather_facts": False, "tasks": [task] * TASKS}
    return [play]


def played(name: str, hosts: int, inventory: Path, forks: int, arguments: list[str]) -> Cost:
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "PATH": search_path()}
    program = Path(sys.executable).with_name("ansible-playbook")
    log = Path(tempfile.gettempdir()) / f"fleet-{hosts}-{name.replace(' ', '-').replace(',', '')}.log"
    command = [str(program), "-i", str(inventory), "--forks", str(forks or hosts), *arguments]
    os.chdir(ROOT)
    cost = cost_of(command, environment, log)
    print(
        f"{hosts:4} hosts  {name:30} {cost.wall_s:7.1f} s  {cost.processor_s / hosts:6.3f} processor s a host  "
        f"{cost.memory_mib:6.0f} MiB" + (f"  ended with {cost.status}: {log}" if cost.status else ""),
        flush=True,
    )
    return cost


class _Running:
    """A node of a job that runs on so many hosts: it tells the same each time."""

    def __init__(self, hosts: list[str]) -> None:
        self._status = {
            "time": 1.0,
            "state": "running",
            "generation": 1,
            "members": hosts,
            "leader": hosts[0],
            "alive": hosts,
            "reason": "",
        }

    def module(self, _name: str, _arguments: Mapping[str, Any], _timeout: float) -> dict[str, Any]:
        said = {"state": "running", "log_directory": "/log", "last_step": {"step": 2}, "last_loss": 1.0}
        lines = {"events": [], "events_offset": 0, "metrics": [], "metrics_offset": 0}
        return {**said, **lines, "supervision": self._status}


def follow_cost(hosts: int) -> float:
    """Processor milliseconds of one look at a job on so many hosts."""
    names = [f"fleet-{number:04}" for number in range(hosts)]
    nodes: Any = dict.fromkeys(names, _Running(names))
    options = {"answer_timeout": 1, "state_directory": "/state", "log_directory": "/log"}
    watch = SupervisedWatch("fleet", options, nodes, lambda _line: None, 0)
    watch._look()
    begun = time.process_time()
    for _look in range(LOOKS):
        watch._look()
    return (time.process_time() - begun) / LOOKS * 1000


def show(figures: Mapping[int, Mapping[str, Cost]], follow: Mapping[int, float]) -> None:
    """One table for each figure, with a line for each run; a run that was not played with so many hosts has a dash."""
    _table("processor s a host", figures, lambda cost, hosts: f"{cost.processor_s / hosts:.3f}")
    _table("seconds", figures, lambda cost, _hosts: f"{cost.wall_s:.1f}")
    _table("MiB of the controller", figures, lambda cost, _hosts: f"{cost.memory_mib:.0f}")
    print(f"\n{'ms of a look at a job':30}" + "".join(f"{follow[hosts]:10.3f}" for hosts in figures))


def _table(title: str, figures: Mapping[int, Mapping[str, Cost]], figure: Callable[[Cost, int], str]) -> None:
    print(f"\n{title:30}" + "".join(f"{hosts:>10}" for hosts in figures))
    for name in dict.fromkeys(name for costs in figures.values() for name in costs):
        row = (figure(costs[name], hosts) if name in costs else "-" for hosts, costs in figures.items())
        print(f"{name:30}" + "".join(f"{shown:>10}" for shown in row))


def missed(figures: Mapping[int, Mapping[str, Cost]], follow: Mapping[int, float]) -> int:
    """How many goals were missed, each with a line."""
    said = []
    site = RUNS[SITE][0]
    for hosts, costs in figures.items():
        share = costs[site].processor_s / costs[BASELINE].processor_s if {site, BASELINE} <= {*costs} else 0
        said += [f"{hosts} hosts: {name} ended with {cost.status}" for name, cost in costs.items() if cost.status]
        said += [f"{hosts} hosts: {share:.2f} of the plain tasks' processor time"] if share > MOST_OF_PLAIN else []
        most = max((cost.memory_mib for cost in costs.values()), default=0.0)
        said += [f"{hosts} hosts: {most:.0f} MiB"] if most > MOST_MIB else []
    if {32, 512} <= {*figures} and site in figures[512]:
        growth = figures[512][site].wall_s / figures[32][site].wall_s
        said += [f"from 32 to 512 hosts {growth:.1f} times the time"] if growth > MOST_GROWTH else []
    said += _grown_looks(figures, follow)
    print("\n" + ("\n".join(said) if said else "No goal is missed that these runs measure."))
    return len(said)


def _grown_looks(figures: Mapping[int, Mapping[str, Cost]], follow: Mapping[int, float]) -> list[str]:
    """A look is one module call on one node, whatever there are; beside it, what grows has to be nothing."""
    least, most = min(figures), max(figures)
    if BASELINE not in figures[least]:
        return []
    one_task = figures[least][BASELINE].processor_s / least / TASKS * 1000
    if follow[most] - follow[least] <= MOST_OF_A_TASK * one_task:
        return []
    return [f"a look at a job costs {follow[most]:.3f} ms more at {most} hosts than a module call of {one_task:.1f}"]


if __name__ == "__main__":
    sys.exit(main())
