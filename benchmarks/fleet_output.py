# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How many lines a run over hundreds of hosts prints, and what printing them takes: three callbacks, the same play.

    .venv/bin/python -m benchmarks.fleet_output --hosts 2 512

No host is asked anything: each task is one that the controller answers in a fork of its own, the least that Ansible
does for a host. So what the callback takes is here a larger part of the run than in any run that does something. One
host in 64 fails, each in words of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from benchmarks.controller_cost import cost_of
from benchmarks.playbook_run import ROOT, search_path

OURS = "gaudi3.scale.fleet"
CALLBACKS = (OURS, "ansible.builtin.default", "ansible.builtin.minimal")
# Goals: of the run's seconds, and lines from the result on.
MOST_OF_RUN, MOST_LINES = 0.01, 40
RESULT = "RESULT of "
# One host after the other in the words of the task that fails; the play is over before the last task for those.
PLAY = """
- name: Fleet
  hosts: all
  gather_facts: false
  tasks:
    - name: Pass
      ansible.builtin.assert: {that: true, quiet: true}
    - name: Change
      ansible.builtin.set_fact: {seen: true}
      changed_when: number | int % 2 == 0
    - name: Fail on some
      ansible.builtin.assert: {that: number | int % 64 > 0, fail_msg: "card {{ number }} is missing", quiet: true}
    - name: Pass again
      ansible.builtin.assert: {that: true, quiet: true}
"""
# A callback that is the measured one, and counts the processor seconds of its own thread in it.
MEASURED = '''
import functools, json, os, time
from ansible.plugins.loader import callback_loader

DOCUMENTATION = """
name: measured
type: stdout
short_description: measured
description: measured
extends_documentation_fragment: [default_callback, result_format_callback]
"""
Base = callback_loader.get(os.environ["MEASURED"], class_only=True)


def clocked(method):
    @functools.wraps(method)
    def inner(self, *arguments, **options):
        begun = time.thread_time()
        try:
            return method(self, *arguments, **options)
        finally:
            self.seconds += time.thread_time() - begun
            if method.__name__ == "v2_playbook_on_stats":
                with open(os.environ["MEASURED_TO"], "w") as file:
                    json.dump(self.seconds, file)
    return inner


class CallbackModule(Base):
    CALLBACK_NAME = "measured"
    CALLBACK_TYPE = "stdout"
    seconds = 0.0


for name in dir(Base):
    if name.startswith("v2_") and name != "v2_on_any":
        setattr(CallbackModule, name, clocked(getattr(Base, name)))
'''


@dataclass(frozen=True)
class Output:
    """One run: its seconds, the processor seconds of the callback, and what was printed."""

    hosts: int
    callback: str
    wall_s: float
    callback_s: float
    lines: int
    at_end: int


def main() -> int:
    """Measure each size with each callback; returns how many goals were missed."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    options.add_argument("--hosts", type=int, nargs="+", default=[2, 512], metavar="N")
    options.add_argument("--forks", type=int, default=16)
    options.add_argument("--json", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    print(
        f"{'hosts':>5}  {'callback':26} {'run':>8} {'callback':>10} {'of the run':>10} {'lines':>6} {'at the end':>10}"
    )
    outputs = [measure(hosts, name, arguments.forks) for hosts in arguments.hosts for name in CALLBACKS]
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(one) for one in outputs], indent=2) + "\n")
    missed = [one for one in outputs if one.callback == OURS and not is_good(one)]
    print("\nNo goal is missed." if not missed else f"\nMissed: {', '.join(f'{one.hosts} hosts' for one in missed)}")
    return len(missed)


def is_good(output: Output) -> bool:
    return output.callback_s <= MOST_OF_RUN * output.wall_s and output.at_end <= MOST_LINES


def measure(hosts: int, callback: str, forks: int) -> Output:
    """One run, printed as a line."""
    with tempfile.TemporaryDirectory(prefix="fleet-output-") as place:
        folder = Path(place)
        (folder / "callbacks").mkdir()
        (folder / "callbacks" / "measured.py").write_text(MEASURED, encoding="utf-8")
        (folder / "play.yml").write_text(PLAY, encoding="utf-8")
        names = {f"node{number:03}": {"number": number} for number in range(hosts)}
        inventory = {"all": {"hosts": names, "vars": {"ansible_connection": "local"}}}
        (folder / "hosts.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")
        command = [
            str(Path(sys.executable).with_name("ansible-playbook")),
            "-i",
            f"{place}/hosts.yml",
            f"{place}/play.yml",
        ]
        log = folder / "log"
        os.chdir(ROOT)
        cost = cost_of([*command, "--forks", str(forks)], environment(folder, callback), log)
        lines = log.read_text(encoding="utf-8").splitlines()
        output = Output(
            hosts,
            callback,
            cost.wall_s,
            json.loads((folder / "seconds").read_text(encoding="utf-8")),
            len(lines),
            at_end(lines),
        )
    print(
        f"{hosts:5}  {callback:26} {output.wall_s:6.1f} s {output.callback_s:8.3f} s "
        f"{output.callback_s / output.wall_s:9.2%} {output.lines:6} {output.at_end:10}",
        flush=True,
    )
    return output


def environment(folder: Path, callback: str) -> Mapping[str, str]:
    return {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_CALLBACK_PLUGINS": str(folder / "callbacks"),
        "ANSIBLE_STDOUT_CALLBACK": "measured",
        "MEASURED": callback,
        "MEASURED_TO": str(folder / "seconds"),
        "PATH": search_path(),
    }


def at_end(lines: list[str]) -> int:
    """Lines of the recap or the table; the minimal callback has none."""
    starts = [place for place, line in enumerate(lines) if line.startswith((RESULT, "PLAY RECAP"))]
    return len(lines) - starts[-1] if starts else 0


if __name__ == "__main__":
    sys.exit(main())
