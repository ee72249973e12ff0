# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of the collection (``tests/programs``), on nodes of a sandbox, where each loses a rank.

They save as such programs do: Hugging Face's, Lightning's and PyTorch's own examples on rank 0, and read on all ranks.
Where they do so is a directory that all nodes see, or one on each node's own disk.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.sandbox_jobs import COLLECTIONS, PATIENCE_S, launching, play, podman, ranks_of, screen, shell, wait_for
from tests.sandbox_nodes import ROOT, SANDBOX

PROGRAMS = "/var/tmp/programs"
SHARED = "/shared/programs"
OWN_DISKS = "/var/tmp/kept-by-programs"
TRANSFORMERS = "--use_cpu --ddp_backend gloo --report_to none --max_steps 160 --save_steps 20 --logging_steps 5"
UNTIL = "until {}; do sleep 0.2; done"
# It need not be on the disk as a whole yet, and no program here looks for that.
KILLED_AFTER_S = 2.0
# For programs that save each 20 steps: none is killed in its next save, after which one that takes the newest directory
# finds half a checkpoint there, at every try.
SECONDS_PER_STEP = 2 * KILLED_AFTER_S / 20
TRAINER = r"resuming training at .*/checkpoint-(\d+)"


@dataclass(frozen=True)
class Program:
    """``checkpoint`` is what the one is complete with after which it loses a rank; ``resumed`` is what it says of where
    it goes on. ``place`` is the directory that has the one of its checkpoints."""

    name: str
    file: str
    arguments: str
    checkpoint: str
    resumed: str
    place: str = SHARED

    @property
    def path(self) -> str:
        return f"{PROGRAMS}/{self.file}"

    @property
    def directory(self) -> str:
        return f"{self.place}/{self.name}"

    def command(self) -> list[str]:
        return [self.path, *shlex.split(self.arguments.format(directory=self.directory))]


def of_transformers(name: str, file: str) -> Program:
    arguments = f"--output_dir {{directory}} {TRANSFORMERS}"
    return Program(name, file, arguments, "checkpoint-20/trainer_state.json", TRAINER)


@dataclass(frozen=True)
class Ended:
    """A job that lost a rank: where its first rank ran, what was on the screen, and its page.

    ``resumed_s``: seconds from the kill to the line in which the program says where it resumes.
    """

    node: str
    resumed_s: float
    exit_code: int
    said: str
    page: str


def bring_programs(nodes: Sequence[str]) -> None:
    """The programs on the nodes, and nothing of an earlier run in the directory that all see."""
    for node in nodes:
        podman("cp", f"{ROOT / 'tests' / 'programs'}/.", f"{SANDBOX}-{node}:{PROGRAMS}")
    # The account of jobs writes there.
    shell(nodes[0], f"rm -rf {SHARED} && install -d -o gaudi -g gaudi {SHARED}")


def equip(collections: Path, further: Sequence[str], directory: Path) -> None:
    """Install beside what the role installs what programs of Hugging Face's import, and ``further`` requirements."""
    defaults = collections / "ansible_collections/gaudi3/scale/roles/gaudi_venv/defaults/main.yml"
    usual = yaml.safe_load(defaults.read_text(encoding="utf-8"))["gaudi_venv_requirements"]
    code, said = play(
        directory,
        "venv",
        collections=collections,
        gaudi_venv_extras=["hf"],
        gaudi_venv_requirements=[*usual, *further],
    )
    assert code == 0, said[-4000:]


def lose_a_rank(
    program: Program,
    hosts: Sequence[str],
    directory: Path,
    port: int = 29700,
    collections: Path = COLLECTIONS,
    **further: Any,
) -> Ended:
    """Launch it, kill the last host's rank after its checkpoint, and follow it to its end."""
    following = launching(
        directory,
        collections=collections,
        gaudi_training_name=program.name,
        gaudi_training_hosts=list(hosts),
        gaudi_training_processes_per_node=1,
        gaudi_training_command=program.command(),
        gaudi_training_rendezvous_port=port,
        gaudi_training_environment={"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        **further,
    )
    (rank,) = wait_for(f"the rank of {program.name}", lambda: _ranks(following, directory, hosts[-1], program))
    # Both wait on the nodes: on a busy machine a command into one takes longer to begin than a program to end.
    with _killing(hosts[-1], rank) as kill:
        there = f"ls {program.directory}/{program.checkpoint} >/dev/null 2>&1"
        shell(hosts[0], f"timeout {PATIENCE_S:.0f} sh -c {shlex.quote(UNTIL.format(there))} || true")
        assert following.poll() is None, screen(directory)
        time.sleep(KILLED_AFTER_S)
        killed = kill()
    said = f"grep -rqP {shlex.quote(program.resumed)} {logs_of(program)}"
    shown = shell(hosts[0], f"timeout {PATIENCE_S:.0f} sh -c {shlex.quote(UNTIL.format(said))} || true; date +%s.%N")
    exit_code = following.wait(timeout=PATIENCE_S)
    page = directory / "reports" / f"training-{program.name}.html"
    return Ended(hosts[0], float(shown) - killed, exit_code, screen(directory), page.read_text(encoding="utf-8"))


def _ranks(following: subprocess.Popen[str], directory: Path, node: str, program: Program) -> list[int]:
    assert following.poll() is None, screen(directory)
    return ranks_of(node, program.name, program.path)


@contextmanager
def _killing(node: str, rank: int) -> Iterator[Callable[[], float]]:
    """What kills the rank at once, and returns when that was."""
    script = f"read -r go && date +%s.%N && kill -KILL {rank}"
    command = ["podman", "exec", "--interactive", f"{SANDBOX}-{node}", "sh", "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as waiting:

        def kill() -> float:
            said, _errors = waiting.communicate("go\n", timeout=PATIENCE_S)
            assert waiting.returncode == 0, f"rank {rank} on {node} had ended"
            return float(said)

        yield kill


def logs_of(program: Program) -> str:
    """What its ranks print, on each node."""
    return f"/var/log/gaudi3_scale/jobs/{program.name}/ranks"


def resumed_from(node: str, program: Program) -> list[int]:
    """The steps from which it went on, in its own words, in all its runs."""
    said = shell(node, f"grep -rhiE 'resum|going on' {logs_of(program)} || true")
    return [int(step) for step in re.findall(program.resumed, said)]
