# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The workloads of a benchmark as an operator writes them, each as the command that its ranks run; pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.command_words import command_words

# The built-in model by name; `small` is what the trainer has by default.
SIZES: Mapping[str, Mapping[str, int]] = {
    "tiny": {"layers": 2, "width": 64, "heads": 2, "sequence_length": 64},
    "small": {"layers": 4, "width": 256, "heads": 4, "sequence_length": 256},
    "medium": {"layers": 12, "width": 768, "heads": 12, "sequence_length": 1024},
    "large": {"layers": 24, "width": 1536, "heads": 16, "sequence_length": 2048},
}
PRECISIONS = ("bf16", "fp32")
MAX_STEPS, BATCH_SIZE, LINE_EVERY = "{max_steps}", "{batch_size}", "{line_every}"
_OF_WHAT = ("size", "model", "command")
_KEYS = ("name", *_OF_WHAT, "batch_sizes", "precision", "arguments")
# What the benchmark sets itself, and what a row is known by.
_OWN = {"--precision": "precision", "--batch-size": "batch_sizes", "--max-steps": "gaudi_benchmark_steps"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:=+ /-]{0,59}")


@dataclass(frozen=True)
class Site:
    """What all workloads of a run share: the tokens or text of the trainer, the device, its precision, batch sizes."""

    device: str = "hpu"
    text: Sequence[str] = ()
    data: str = ""
    precision: str = ""
    batch_sizes: Sequence[int] = (16,)

    @property
    def usual_precision(self) -> str:
        return self.precision or ("fp32" if self.device == "cpu" else "bf16")


@dataclass(frozen=True)
class Workload:
    """``words`` are the command, with places for steps, batch size and steps per metric line."""

    name: str
    words: tuple[str, ...]
    precision: str
    batch_sizes: tuple[int, ...]

    @property
    def definition(self) -> str:
        """Twelve hexadecimal digits, other ones as soon as the command is another."""
        return hashlib.sha256(json.dumps(self.words).encode()).hexdigest()[:12]

    def command(self, steps: int, batch_size: int, line_every: int) -> list[str]:
        """What torchrun starts."""
        places = {MAX_STEPS: steps, BATCH_SIZE: batch_size, LINE_EVERY: line_every}
        return [_filled(word, places) for word in self.words]


def read_workloads(given: Any, site: Site) -> list[Workload]:
    """Raises GaudiError for what cannot be meant, in one sentence with the option, the value and the remedy."""
    if not isinstance(given, (list, tuple)) or not given or not all(isinstance(one, Mapping) for one in given):
        raise GaudiError(f"workloads is {given!r:.100}; give a list of mappings, each with a name and a size.")
    workloads = [_workload(one, site) for one in given]
    names = [one.name for one in workloads]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise GaudiError(f"workloads has {twice} twice; give each a name of its own.")
    return workloads


def _workload(given: Mapping[str, Any], site: Site) -> Workload:
    name = str(given.get("name") or given.get("size") or "")
    if not _NAME.fullmatch(name):
        raise GaudiError(f"workloads: name is {name!r:.80}; give a short one of letters, digits and _.:=+ /-.")
    unknown = sorted(set(map(str, given)) - set(_KEYS))
    if unknown:
        raise GaudiError(f"workloads: {name} has {unknown[0]!r:.80}; it may have {', '.join(_KEYS)}.")
    kinds = [kind for kind in _OF_WHAT if given.get(kind)]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none of them"
        raise GaudiError(f"workloads: {name} has {found}; give one of size, model and command.")
    precision = _precision(name, given.get("precision"), kinds[0], site)
    sizes = _batch_sizes(name, given.get("batch_sizes") or site.batch_sizes)
    return Workload(name, _words(name, given, kinds[0], precision, site), precision, sizes)


def _precision(name: str, given: Any, kind: str, site: Site) -> str:
    if isinstance(given, (list, tuple)):
        said = ", ".join(map(str, given))
        raise GaudiError(
            f"workloads: precision of {name} is {said}; a row has one precision, so make each a workload of its own."
        )
    if given is None and kind == "command":
        raise GaudiError(f"workloads: {name} is a command without a precision; give the one that it trains in.")
    if given is not None and str(given) not in PRECISIONS and kind != "command":
        raise GaudiError(f"workloads: precision of {name} is {given!r:.40}; give {' or '.join(PRECISIONS)}.")
    return site.usual_precision if given is None else str(given)


def _batch_sizes(name: str, given: Any) -> tuple[int, ...]:
    values = given if isinstance(given, (list, tuple)) else str(given).split(",")
    if not values or not all(str(value).strip().isdecimal() and int(value) > 0 for value in values):
        raise GaudiError(f"workloads: batch_sizes of {name} is {given!r:.80}; give whole numbers of at least 1.")
    return tuple(dict.fromkeys(int(value) for value in values))


def _words(name: str, given: Mapping[str, Any], kind: str, precision: str, site: Site) -> tuple[str, ...]:
    arguments = command_words(given.get("arguments") or [], f"workloads: arguments of {name}")
    if kind == "command":
        words = [*command_words(given["command"], f"workloads: command of {name}"), *arguments]
        if not any(MAX_STEPS in word for word in words):
            raise GaudiError(f"workloads: command of {name} has no {MAX_STEPS}; put it where the number of steps goes.")
        if not any(BATCH_SIZE in word for word in words):
            raise GaudiError(f"workloads: command of {name} has no {BATCH_SIZE}; put it where the batch size goes.")
        return tuple(words)
    for word in arguments:
        if (own := word.partition("=")[0]) in _OWN:
            raise GaudiError(f"workloads: arguments of {name} has {own}; leave it out, and set {_OWN[own]}.")
    return (*_trainer(name, given, kind, site), "--precision", precision, *arguments)


def _trainer(name: str, given: Mapping[str, Any], kind: str, site: Site) -> list[str]:
    """The built-in trainer without checkpoints and loggers: a benchmark keeps nothing on the nodes."""
    source = ["--data", site.data] if site.data else ["--text", *site.text]
    own = ["--max-steps", MAX_STEPS, "--batch-size", BATCH_SIZE, "--metrics-every", LINE_EVERY]
    nothing = ["--checkpoint-every", "0", "--resume", "never", "--loggers", "none"]
    words = ["-m", "gaudi3_scale.train", *source, *own, *nothing, "--device", site.device]
    if kind == "model":
        return [*words, "--model", str(given["model"])]
    size = SIZES.get(str(given["size"]))
    if size is None:
        raise GaudiError(f"workloads: size of {name} is {given['size']!r:.40}; give one of {', '.join(SIZES)}.")
    return [*words, *(word for key, value in size.items() for word in (f"--{key.replace('_', '-')}", str(value)))]


def _filled(word: str, places: Mapping[str, int]) -> str:
    for place, value in places.items():
        word = word.replace(place, str(value))
    return word
