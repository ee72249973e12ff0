# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What checkpoints cost a training, in the background and blocking, and what agreeing each step costs:
``python -m benchmarks.checkpoints``.

All in the same processes, turn by turn, so that whatever else the machine does slows all alike. A turn is so many steps
of a DDP training; one with a checkpoint saves at its first step, by the trainer's own parts, and lasts until it is
in place.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.nn.parallel import DistributedDataParallel

from gaudi3_scale.checkpoints.files import Retention
from gaudi3_scale.checkpoints.place import Place, find_place
from gaudi3_scale.checkpoints.saver import BackgroundSaver
from gaudi3_scale.checkpoints.writer import WholeCheckpointWriter
from gaudi3_scale.devices import choose_device, local_device, synchronize
from gaudi3_scale.gaudi.optimizer import fused_adamw
from gaudi3_scale.ranks import join, ranks_from, run_rank
from gaudi3_scale.stop_together import Agreement

MODES = ("none", "background", "blocking")
MOST_FOR_AGREEING = 0.01
MOST_OF_BLOCKING = 0.5


class Training:
    """Steps of a data parallel training, with and without what is measured."""

    def __init__(self, place: Place, device: torch.device, width: int, layers: int) -> None:
        torch.manual_seed(0)
        self._place = place
        self._device = device
        plain = torch.nn.Sequential(*(_block(width) for _ in range(layers))).to(device)
        self._model = DistributedDataParallel(plain, gradient_as_bucket_view=True)
        self._optimizer = fused_adamw(self._model.parameters())
        self._batch = torch.randn(32, width, device=device)
        writer = WholeCheckpointWriter(place.directory, 1, Retention(1), lambda: None)
        self._saver = BackgroundSaver(place, writer)
        self._agreement = Agreement(place.everyone, questions=3)
        self._number = 0
        self.bytes = 0
        self._waited = 0.0

    def step(self) -> None:
        self._model(self._batch).square().mean().backward()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)

    def turn(self, mode: str, steps: int) -> tuple[float, float]:
        """Seconds of so many steps, until the checkpoint is in place; and of these the seconds spent waiting for it."""
        self._meet()
        self._waited = 0.0
        began = time.perf_counter()
        for number in range(steps):
            self.step()
            if number == 0 and mode != "none":
                self._save()
                if mode == "blocking":
                    self._saved()
        synchronize(self._device)
        self._saved()
        return time.perf_counter() - began, self._waited

    def agreeing(self, steps: int) -> list[float]:
        """Seconds that each step spends in agreeing."""
        self._meet()
        spent = []
        for _ in range(steps):
            self.step()
            began = time.perf_counter()
            self._agreement.after_step(0, 0, 0)
            spent.append(time.perf_counter() - began)
        self._agreement.last()
        return spent

    def _save(self) -> None:
        self._number += 1
        model, optimizer = get_state_dict(self._model, self._optimizer)
        self._saver.begin(self._number, {"model": model, "optimizer": optimizer["state"]})

    def _saved(self) -> None:
        saved = self._saver.ended(wait=True)
        if saved:
            assert saved.failure is None, saved.failure
            self.bytes = saved.bytes
            self._waited = saved.blocked_seconds

    def _meet(self) -> None:
        synchronize(self._device)
        torch.distributed.barrier()


def _block(width: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU())


def measure(arguments: argparse.Namespace) -> dict[str, object]:
    """Medians over the turns, on each rank of its own."""
    ranks = ranks_from(os.environ)
    device = local_device(choose_device(arguments.device), ranks.local_rank)
    join(ranks, device)
    place = find_place(arguments.directory, ranks)
    training = Training(place, device, arguments.width, arguments.layers)
    for mode in MODES:
        training.turn(mode, 2)
    turns = [{mode: training.turn(mode, arguments.steps) for mode in MODES} for _ in range(arguments.turns)]
    step = statistics.median(turn["none"][0] for turn in turns) / arguments.steps
    agreeing = statistics.median(training.agreeing(arguments.steps * arguments.turns))
    return {
        "ranks": ranks.world_size,
        "device": device.type,
        "megabytes": training.bytes / 1e6,
        "steps": arguments.steps,
        "milliseconds_a_step": step * 1e3,
        "lost": {mode: statistics.median(1 - turn["none"][0] / turn[mode][0] for turn in turns) for mode in MODES[1:]},
        "waited": {mode: statistics.median(turn[mode][1] / turn[mode][0] for turn in turns) for mode in MODES[1:]},
        "agreeing_milliseconds": agreeing * 1e3,
        "agreeing_share": agreeing / step,
    }


def show(found: dict[str, Any]) -> None:
    print(
        f"{found['ranks']} ranks on {found['device']}, a checkpoint of {found['megabytes']:.0f} MB every "
        f"{found['steps']} steps of {found['milliseconds_a_step']:.1f} ms"
    )
    for mode in MODES[1:]:
        print(f"  {mode:12}{found['lost'][mode]:7.1%} of the time lost, {found['waited'][mode]:7.1%} spent waiting")
    print(f"  agreeing    {found['agreeing_milliseconds']:7.3f} ms a step, {found['agreeing_share']:.2%} of it")


def goals(found: dict[str, Any]) -> list[tuple[str, float, float]]:
    """What is held, its figure, and the most that it may be."""
    lost, waited = found["lost"], found["waited"]
    return [
        (
            "time lost in the background, in parts of blocking's",
            lost["background"] / lost["blocking"],
            MOST_OF_BLOCKING,
        ),
        ("the same of time spent waiting", waited["background"] / waited["blocking"], MOST_OF_BLOCKING),
        ("time spent agreeing, as a part of a step", found["agreeing_share"], MOST_FOR_AGREEING),
    ]


def main() -> int:
    """Start the ranks, print the figures; returns the number of goals that are not held."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--ranks", type=int, default=1)
    options.add_argument("--device", default="auto")
    options.add_argument("--layers", type=int, default=6)
    options.add_argument("--width", type=int, default=768)
    options.add_argument("--steps", type=int, default=20, help="of a turn: what lies between two checkpoints")
    options.add_argument("--turns", type=int, default=5)
    options.add_argument("--directory", type=Path, help="where checkpoints are written (default: a temporary one)")
    options.add_argument("--result", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    if "RANK" in os.environ:
        run_rank("benchmarks.checkpoints", lambda _: _as_rank(arguments), [])
        return 0
    with tempfile.TemporaryDirectory() as directory:
        result = arguments.result or Path(directory) / "result.json"
        given = [*sys.argv[1:], "--result", str(result)]
        if not arguments.directory:
            given += ["--directory", f"{directory}/checkpoints"]
        torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(arguments.ranks)]
        subprocess.run([sys.executable, *torchrun, "-m", "benchmarks.checkpoints", *given], check=True)
        found = json.loads(result.read_text())
    show(found)
    held = goals(found)
    for text, figure, most in held:
        print(f"{'held  ' if figure <= most else 'MISSED'} {text}: {figure:.3g}, at most {most:g}")
    return sum(figure > most for _text, figure, most in held)


def _as_rank(arguments: argparse.Namespace) -> None:
    found = measure(arguments)
    if torch.distributed.get_rank() == 0:
        arguments.result.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
