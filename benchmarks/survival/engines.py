# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What keeps the job going: our supervisors, torchrun and ft_launcher, each as its user would start it on a node."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.survival.network import DEVICE, Namespace
from benchmarks.survival.trainer import install_steps, trainer
from plugins.module_utils._job.description import SupervisionOptions
from plugins.module_utils._job.engines.torchrun import supervision_text, supervisor_command
from plugins.module_utils._job.paths import JobPaths
from plugins.module_utils._job.plan import Job
from plugins.module_utils._job.supervision import launch_of

HERE = Path(__file__).parent
JOB = "survival"
PORT = 29500
ETCD_PORT = 2379
LIGHTHOUSE_PORT = 29510
# Of lost_after: for how long a supervisor that says nothing lives (the unit's WatchdogSec).
WATCHDOG = 0.8
# torchrun waits 30 s for more nodes by default, once there are enough.
LAST_CALL_S = 5
MOST_RESTARTS = 10
# The time after which ft_launcher ends a rank without heartbeats, and one that has never sent any.
HEARTBEAT_S, FIRST_HEARTBEAT_S = 15, 60


@dataclass(frozen=True)
class Setting:
    """What all engines are given alike: nodes of one rank each, and the program's pause in each step and its timeout.

    ``python`` has PyTorch and the node library; ``ft_python`` has ft_launcher, the folder ``torchft`` that. ``before``:
    seconds that a job runs before the fault. ``every``: steps between checkpoints. ``memory``: a directory in a tmpfs.
    """

    nodes: tuple[Namespace, ...]
    hub: Namespace
    directory: Path
    pause: float
    timeout: float
    python: str
    ft_python: str
    before: float = 0.0
    torchft: Path = Path()
    every: int = 50
    memory: Path = Path()

    def place(self, node: Namespace) -> Path:
        return self.directory / node.address

    def program(self, node: Namespace) -> tuple[str, ...]:
        return str(HERE / "program.py"), *self.words(node)

    def words(self, node: Namespace) -> tuple[str, ...]:
        """What each of the programs is told."""
        return str(self.place(node)), str(self.pause), str(self.timeout), str(self.every)


@dataclass(frozen=True)
class Started:
    """An engine's processes on one node. ``pid_file``: where the keeper says which its main process is."""

    node: Namespace
    place: Path
    process: subprocess.Popen[bytes]
    pid_file: Path | None = None

    @property
    def agent(self) -> int:
        """The process that starts the ranks: supervisor, torchrun or ft_launcher."""
        return self.process.pid if self.pid_file is None else int(self.pid_file.read_text())

    @property
    def keeper(self) -> int | None:
        """It stands for systemd, which is no process of the job."""
        return None if self.pid_file is None else self.process.pid


Command = Callable[[Setting, Namespace], tuple[str, ...]]
# What a rank runs, and what that has in its environment.
Program = tuple[tuple[str, ...], Mapping[str, str]]


def start(engine: str, setting: Setting) -> list[Started]:
    """Start the job on all nodes; the log of each is ``log`` in its place."""
    for node in setting.nodes:
        setting.place(node).mkdir()
    if engine == OURS:
        return _start_ours(setting, lambda node: (setting.program(node), {}))
    if engine == OURS_MEMORY:
        return _start_ours(setting, lambda node: _trainer(setting, node))
    command, variables = COMMANDS[engine]
    if engine == TORCHRUN_ETCD:
        _start_etcd(setting)
    if engine == TORCHFT:
        _start_lighthouse(setting)
        variables = {**variables, **_torchft_variables(setting)}
    return [_start(setting, node, command(setting, node), variables) for node in setting.nodes]


def _start(
    setting: Setting, node: Namespace, argv: Sequence[str], variables: Mapping[str, str], pid_file: Path | None = None
) -> Started:
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": DEVICE, "OMP_NUM_THREADS": "1", **variables}
    place = setting.place(node)
    with (place / "log").open("ab") as log:
        return Started(node, place, node.start(argv, log, environment), pid_file)


def _start_ours(setting: Setting, program_of: Callable[[Namespace], Program]) -> list[Started]:
    """As a launch leaves it on each node, but for the unit, in whose place the keeper is."""
    nodes, key = setting.nodes, secrets.token_hex(32)
    names = tuple(f"node{number}" for number, _node in enumerate(nodes, 1))
    options = SupervisionOptions(addresses=tuple(node.address for node in nodes), min_nodes=len(nodes) - 1)
    venv = str(Path(setting.python).parents[1])
    started = []
    for name, node in zip(names, nodes):
        place = setting.place(node)
        paths = JobPaths(JOB, str(place / "state"), str(place / "logs"))
        program, variables = program_of(node)
        job = Job(
            JOB, names, name, 1, nodes[0].address, PORT, program, venv,
            device="cpu", supervision=options, key=key,
        )  # fmt: skip
        for directory in (paths.control, paths.directory, paths.agent_logs, paths.logs, paths.ranks, paths.progress):
            Path(directory).mkdir(parents=True)
        text = supervision_text(job, paths, "/")
        Path(paths.supervision).write_text(text)
        votes = json.loads(text).get("votes") or f"{paths.directory}/votes.json"
        Path(votes).write_text(json.dumps({"launch": launch_of(bytes.fromhex(key))}) + "\n")
        pid_file = place / "main_pid"
        keeper = (sys.executable, str(HERE / "keeper.py"), f"{WATCHDOG * options.lost_after:g}", str(pid_file))
        argv = (*keeper, *supervisor_command(venv), paths.supervision)
        told = {"GAUDI3_SCALE_PROGRESS_DIR": paths.progress, "GAUDI3_SCALE_JOB_DIR": paths.directory}
        started.append(_start(setting, node, argv, {**told, **variables}, pid_file))
    return started


def _trainer(setting: Setting, node: Namespace) -> Program:
    memory = setting.memory / node.address
    memory.mkdir()
    return trainer(setting.every, memory), install_steps(setting.place(node), setting.pause)


def _elastic(setting: Setting, node: Namespace, *rendezvous: str) -> tuple[str, ...]:
    """The options of all that is torchrun or was made from it."""
    return (
        "--nnodes", f"{len(setting.nodes) - 1}:{len(setting.nodes)}",
        "--nproc-per-node", "1",
        "--max-restarts", str(MOST_RESTARTS),
        "--local-addr", node.address,
        "--rdzv-id", JOB,
        *rendezvous,
    )  # fmt: skip


def _c10d(setting: Setting, node: Namespace) -> tuple[str, ...]:
    """The store is in the first node's agent. It would be looked for by the host's name, which is the same on all."""
    first = setting.nodes[0]
    return (
        "--rdzv-backend", "c10d",
        "--rdzv-endpoint", f"{first.address}:{PORT}",
        "--rdzv-conf", f"is_host={int(node == first)},last_call_timeout={LAST_CALL_S}",
    )  # fmt: skip


def _torchrun_c10d(setting: Setting, node: Namespace) -> tuple[str, ...]:
    options = _elastic(setting, node, *_c10d(setting, node))
    return (setting.python, "-m", "torch.distributed.run", *options, *setting.program(node))


def _torchrun_etcd(setting: Setting, node: Namespace) -> tuple[str, ...]:
    endpoint = ("--rdzv-backend", "etcd", "--rdzv-endpoint", f"{setting.hub.address}:{ETCD_PORT}")
    options = _elastic(setting, node, *endpoint, "--rdzv-conf", f"last_call_timeout={LAST_CALL_S}")
    return (setting.python, "-m", "torch.distributed.run", *options, *setting.program(node))


def _ft_launcher(setting: Setting, node: Namespace) -> tuple[str, ...]:
    heartbeats = (
        "--ft-rank-heartbeat-timeout", str(HEARTBEAT_S),
        "--ft-initial-rank-heartbeat-timeout", str(FIRST_HEARTBEAT_S),
    )  # fmt: skip
    options = (*_elastic(setting, node, *_c10d(setting, node)), *heartbeats)
    return (setting.ft_python, "-m", "nvidia_resiliency_ext.fault_tolerance.launcher", *options, *setting.program(node))


def _torchft(setting: Setting, node: Namespace) -> tuple[str, ...]:
    """torchrun restarts the rank of each node by itself, and torchft's lighthouse tells which ranks there are."""
    agent = (setting.python, "-m", "torch.distributed.run", "--nnodes", "1", "--nproc-per-node", "1")
    where = ("--max-restarts", str(MOST_RESTARTS), "--master-addr", node.address, "--master-port", str(PORT))
    return (*agent, *where, str(HERE / "program_torchft.py"), *setting.words(node))


def _torchft_variables(setting: Setting) -> dict[str, str]:
    return {"TORCHFT_LIGHTHOUSE": f"http://{setting.hub.address}:{LIGHTHOUSE_PORT}", "PYTHONPATH": str(setting.torchft)}


def _start_lighthouse(setting: Setting) -> None:
    # It reads the words of its process, after the name of a script.
    script = str(setting.torchft / "bin" / "torchft_lighthouse")
    # With half a minute for those that are yet to come, a job begins with all of them.
    options = ("--bind", f"{setting.hub.address}:{LIGHTHOUSE_PORT}", "--min_replicas", str(len(setting.nodes) - 1))
    timed = ("--join_timeout_ms", "1000", "--quorum_tick_ms", "100", "--heartbeat_timeout_ms", "5000")
    with (setting.directory / "lighthouse.log").open("ab") as log:
        argv = (setting.python, script, *options, *timed)
        setting.hub.start(argv, log, {**os.environ, "PYTHONPATH": str(setting.torchft)})
    time.sleep(2)


def _start_etcd(setting: Setting) -> None:
    address = f"http://{setting.hub.address}:{ETCD_PORT}"
    urls = ("--listen-client-urls", address, "--advertise-client-urls", address)
    with (setting.directory / "etcd.log").open("ab") as log:
        # torch's client speaks the second version of its API.
        argv = ("etcd", "--enable-v2", "--data-dir", str(setting.directory / "etcd"), *urls)
        setting.hub.start(argv, log, os.environ)
    time.sleep(2)


OURS, OURS_MEMORY = "ours", "ours-memory"
TORCHRUN_C10D, TORCHRUN_ETCD, FT_LAUNCHER = "torchrun-c10d", "torchrun-etcd", "ft_launcher"
TORCHFT = "torchft"
# Without the variable torchrun's ranks use the agent's store, and often do not come back (pytorch#135712).
UNSHARED = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
COMMANDS: dict[str, tuple[Command, Mapping[str, str]]] = {
    TORCHRUN_C10D: (_torchrun_c10d, UNSHARED),
    TORCHRUN_ETCD: (_torchrun_etcd, UNSHARED),
    FT_LAUNCHER: (_ft_launcher, UNSHARED),
    TORCHFT: (_torchft, {}),
}
ENGINES = (OURS, OURS_MEMORY, *COMMANDS)


MODULES = {
    OURS: "torch, gaudi3_scale.supervisor",
    OURS_MEMORY: "torch, gaudi3_scale.supervisor, gaudi3_scale.trainer.run",
    TORCHRUN_ETCD: "torch, etcd",
}


def refusal(engine: str, python: str, ft_venv: Path, ft_version: str, torchft: Path) -> str:
    """Why it cannot be run here; "" where it can. Installs ft_launcher where it is to be run and is missing."""
    if engine == TORCHFT:
        return "" if (torchft / "torchft").is_dir() else f"pip install --target {torchft} torchft puts it there"
    if engine == FT_LAUNCHER:
        return _ft_refusal(ft_venv, ft_version)
    module = MODULES.get(engine, "torch")
    if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode:
        return f"{python} cannot import {module}"
    if engine == TORCHRUN_ETCD and shutil.which("etcd") is None:
        return "etcd (3.5 or older) is not installed here"
    return ""


def _ft_refusal(venv: Path, version: str) -> str:
    python, wanted = ft_python(venv), f"nvidia-resiliency-ext=={version}"
    if not Path(python).exists():
        base = shutil.which("python3.12")
        if base is None or subprocess.run([base, "-c", ""], capture_output=True).returncode:
            return "its wheel wants Python 3.12, which is not installed here"
        subprocess.run([base, "-m", "venv", str(venv)], check=True)
    found = "import importlib.metadata as m; print(m.version('nvidia-resiliency-ext'))"
    if subprocess.run([python, "-c", found], capture_output=True, text=True).stdout.strip() == version:
        return ""
    # Its wheel is asked for alone first: where there is none, nothing big is fetched, and nothing is changed.
    for words in (["--dry-run", "--no-deps", wanted], [wanted]):
        pip = subprocess.run([python, "-m", "pip", "install", "-q", *words], capture_output=True, text=True)
        if pip.returncode:
            said = [line for line in pip.stderr.splitlines() if line.startswith("ERROR: ")] or [pip.stderr.strip()]
            return f"its wheel does not install here: {said[0].removeprefix('ERROR: ')}"
    return ""


def ft_python(venv: Path) -> str:
    return str(venv / "bin" / "python")
