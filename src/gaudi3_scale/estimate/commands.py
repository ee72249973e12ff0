# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The command that says before a launch whether a training fits: ``gaudi3_scale estimate``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Sequence

from gaudi3_scale.core._batch.probe.probe import SIZE, UNITS
from gaudi3_scale.core._cards.hardware import GENERATIONS
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.options import ArgumentParser, positive

MEMORY = {generation.name: generation.hbm_mib << 20 for generation in GENERATIONS}


def add_estimate(parser: argparse.ArgumentParser) -> None:
    """Sets ``run`` to the function that takes the options and returns the exit status."""
    model = parser.add_argument_group("model, as for gaudi3_scale.train")
    model.add_argument(
        "--model", type=Path, metavar="DIR", help="a Hugging Face model's directory; weights are not read"
    )
    model.add_argument("--layers", type=positive, default=4, help="of the built-in model (default: %(default)s)")
    model.add_argument("--width", type=positive, default=256, help="(default: %(default)s)")
    model.add_argument("--heads", type=positive, default=4, help="(default: %(default)s)")
    model.add_argument("--vocabulary", type=positive, default=256, help="(default: %(default)s)")
    model.add_argument("--sequence-length", type=positive, default=256, help="(default: %(default)s)")
    model.add_argument(
        "--batch-size", type=positive, default=1, help="windows per card and pass (default: %(default)s)"
    )
    model.add_argument("--precision", choices=("bf16", "fp32"), default="bf16", help="(default: %(default)s)")
    model.add_argument("--sharding", choices=("ddp", "fsdp2"), default="ddp", help="(default: %(default)s)")
    model.add_argument(
        "--checkpointing", choices=("auto", "on", "off"), nargs="?", const="on", default="auto", help="(default: auto)"
    )
    other = parser.add_argument_group("instead, a workload of your own")
    other.add_argument("--workload", metavar="MODULE:FUNCTION", help="as for the batch-size probe")
    other.add_argument("--workload-options", type=_mapping, default={}, metavar="JSON", help="its further arguments")
    cards = parser.add_argument_group("cards")
    cards.add_argument("--cards", type=positive, default=1, help="of the whole training (default: %(default)s)")
    cards.add_argument("--card", choices=sorted(MEMORY), default="gaudi3", help="(default: %(default)s)")
    cards.add_argument(
        "--memory", type=_size, metavar="SIZE", help="of a card, such as 94GiB (default: that of --card)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.set_defaults(run=run_estimate)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options as a whole command line has them. Raises GaudiError for a wrong one."""
    parser = ArgumentParser(prog="gaudi3_scale estimate")
    add_estimate(parser)
    return checked(parser.parse_args(arguments))


def checked(options: argparse.Namespace) -> argparse.Namespace:
    """With the memory of a card. Raises GaudiError for options that contradict each other."""
    if options.width % options.heads:
        raise GaudiError(
            f"--width {options.width} is not a multiple of --heads {options.heads}; change one of the two."
        )
    if options.workload and options.model:
        raise GaudiError("--workload and --model name two trainings; leave one of them out.")
    if options.workload and options.cards > 1:
        raise GaudiError(
            f"--cards {options.cards}: how a workload shares its model out is in its own code; estimate it on one card."
        )
    memory = MEMORY[options.card] if options.memory is None else options.memory
    return argparse.Namespace(**{**vars(options), "memory": memory, "from_scratch": True})


def run_estimate(options: argparse.Namespace) -> int:
    """0 where it fits. Raises GaudiError, after what it has shown, where it does not."""
    # PyTorch takes seconds to import: a wrong option is told before. It would load the bridge, and with it the card's
    # library, by itself.
    options = checked(options)
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    from gaudi3_scale.estimate.estimate import estimate_of, estimate_of_workload
    from gaudi3_scale.estimate.report import lines

    found = estimate_of_workload(options) if options.workload else estimate_of(options)
    said = (
        json.dumps({**asdict(found), "fits": not found.refusal}) if options.json else "\n".join(lines(found, options))
    )
    sys.stdout.write(f"{said}\n")
    if found.refusal:
        sys.stdout.flush()
        raise GaudiError(found.refusal)
    return 0


def _size(text: str) -> int:
    match = SIZE.fullmatch(text.strip())
    size = int(float(match["number"]) * UNITS[match["unit"]]) if match else 0
    if not size:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: give bytes, or a number with KiB, MiB or GiB")
    return size


def _mapping(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is not a JSON object")
    return value
