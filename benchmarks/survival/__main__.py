# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What our supervisors, torchrun and NVIDIA's ft_launcher make of the same faults:
``.venv/bin/python -m benchmarks.survival [--engine ...] [--fault ...] [--json FILE]``.

Nodes are network namespaces of this machine, so it needs root. Each runs one rank of a small training by gloo. What is
measured is the time from the fault until no old rank is left that could run (one on a frozen node cannot), until the
job's first new step, and until the engine names the lost rank or node; and the steps that are done again; as medians.
The engines take turns. Seconds compare within one run only.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from benchmarks.survival.engines import ENGINES, FT_LAUNCHER, TORCHFT, Setting, ft_python, refusal
from benchmarks.survival.faults import FAULTS, LASTS_S
from benchmarks.survival.network import Namespace, check_possible
from benchmarks.survival.steps import Outcome
from benchmarks.survival.table import named_and_lost, pause, table
from benchmarks.survival.trial import SETTLE_S, run_trial
from plugins.module_utils._errors import GaudiError

NOT_STARTED = "did not start"
NO_NODE = Namespace("", "", "", "")
LEAST_NODES = 3
FT_VENV = Path.home() / ".cache" / "gaudi3_scale" / "ft_launcher"


def main() -> int:
    """Run each fault with each engine in turn."""
    arguments = options().parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        check_possible()
        check(arguments)
        figures = measure(arguments)
    except GaudiError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def options() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="benchmarks.survival", description=(__doc__ or "").partition(":\n")[0])
    found.add_argument("--engine", nargs="+", choices=ENGINES, default=list(ENGINES), help="all by default")
    found.add_argument("--fault", nargs="+", choices=FAULTS, default=list(FAULTS), help="all by default")
    found.add_argument("--nodes", type=int, default=3, help="nodes of one rank each; the job may lose one of them")
    found.add_argument("--repeat", type=int, default=3, help="jobs of each kind; the median counts")
    found.add_argument("--limit", type=float, default=60, help="seconds for which a job is watched after the fault")
    found.add_argument("--pause", type=float, default=0.1, help="seconds a step")
    found.add_argument("--timeout", type=float, default=20, help="of the program's process group, in seconds")
    found.add_argument(
        "--before", type=float, default=70, help="seconds that a job runs before the fault (default: %(default)s)"
    )
    found.add_argument("--checkpoint-every", type=int, default=50, help="steps between checkpoints (torchft: none)")
    found.add_argument("--python", default=sys.executable, help="of a venv with PyTorch and the node library")
    found.add_argument("--ft-version", default="0.7.0", help="of nvidia-resiliency-ext")
    found.add_argument("--ft-venv", type=Path, default=FT_VENV, help="where it is, or gets installed")
    found.add_argument("--torchft", type=Path, default=Path("torchft"), help="where pip --target has put it")
    found.add_argument("--keep", type=Path, help="copy what the nodes wrote to a folder a job below this one")
    found.add_argument("--json", type=Path, help="also write all figures here")
    return found


def check(arguments: argparse.Namespace) -> None:
    """Raises GaudiError for what cannot be measured."""
    least = LASTS_S + SETTLE_S
    if not LEAST_NODES <= arguments.nodes <= 200:
        raise GaudiError(
            f"--nodes is {arguments.nodes}; give {LEAST_NODES} to 200: what is left of two nodes has no majority."
        )
    if arguments.repeat < 1:
        raise GaudiError(f"--repeat is {arguments.repeat}; give at least 1.")
    if arguments.limit < least:
        raise GaudiError(
            f"--limit is {arguments.limit:g}; give at least {least:g}, since some faults last {LASTS_S:g} s."
        )
    if arguments.checkpoint_every < 1:
        raise GaudiError(f"--checkpoint-every is {arguments.checkpoint_every}; give at least 1 step.")
    for name in ("pause", "timeout"):
        if getattr(arguments, name) <= 0:
            raise GaudiError(f"--{name} is {getattr(arguments, name):g}; give more than 0 seconds.")


def measure(arguments: argparse.Namespace) -> Mapping[str, object]:
    """All figures, with a table on the screen."""
    refused = {
        engine: refusal(engine, arguments.python, arguments.ft_venv, arguments.ft_version, arguments.torchft)
        for engine in arguments.engine
    }
    setting = Setting(
        (),
        NO_NODE,
        Path(),
        arguments.pause,
        arguments.timeout,
        arguments.python,
        ft_python(arguments.ft_venv),
        arguments.before,
        arguments.torchft.resolve(),
        arguments.checkpoint_every,
    )
    outcomes: dict[tuple[str, str], list[Outcome]] = {}
    # Ctrl-C ends a run of an hour with what it has found so far.
    with contextlib.suppress(KeyboardInterrupt):
        for fault in arguments.fault:
            for turn in range(arguments.repeat):
                for engine in (name for name, reason in refused.items() if not reason):
                    outcome = one(engine, fault, turn + 1, arguments, setting)
                    outcomes.setdefault((fault, engine), []).append(outcome)
                    print(f"{fault}, {engine}, turn {turn + 1}: {outcome}", file=sys.stderr, flush=True)
    titles = {engine: title(engine, arguments.ft_version) for engine in refused}
    print(
        f"Old ranks gone / first new step, seconds after the fault, medians of up to {arguments.repeat} "
        f"({arguments.nodes} nodes of one rank on {os.cpu_count()} cores, process group timeout "
        f"{arguments.timeout:g} s, watched for {arguments.limit:g} s):\n"
    )
    named = {(fault, titles[engine]): found for (fault, engine), found in outcomes.items()}
    columns = {titles[engine]: reason for engine, reason in refused.items()}
    print(table(arguments.fault, columns, named, {TORCHFT: pause}), flush=True)
    print(
        f"\nSeconds until a line of the engine's own output names the lost rank or node / steps that are done again, "
        f"with a checkpoint every {arguments.checkpoint_every} steps of {arguments.pause:g} s:\n"
    )
    print(table(arguments.fault, columns, named, dict.fromkeys(columns, named_and_lost)), flush=True)
    return {
        "machine": {"cores": os.cpu_count(), "system": platform.platform()},
        "nodes": arguments.nodes,
        "timeout": arguments.timeout,
        "limit": arguments.limit,
        "refused": {titles[engine]: reason for engine, reason in refused.items() if reason},
        "outcomes": [
            {"fault": fault, "engine": engine, **asdict(outcome)}
            for (fault, engine), found in named.items()
            for outcome in found
        ],
    }


def one(engine: str, fault: str, turn: int, arguments: argparse.Namespace, setting: Setting) -> Outcome:
    """A job that does not start is an outcome as well; what it said goes to the screen."""
    kept = arguments.keep and arguments.keep / f"{fault}-{engine}-{turn}"
    try:
        return run_trial(engine, FAULTS[fault], arguments.nodes, arguments.limit, setting, kept)
    except GaudiError as error:
        sys.stderr.write(f"{engine}: {error}\n")
        return Outcome(None, None, 0, NOT_STARTED)


def title(engine: str, ft_version: str) -> str:
    return f"{engine} {ft_version}" if engine == FT_LAUNCHER else engine


def _end(_number: int, _frame: FrameType | None) -> None:
    """As Ctrl-C does, so that nothing is left behind."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
