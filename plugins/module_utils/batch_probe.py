# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The largest batch size of a workload on this node: remembered, or found by trials."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Mapping

from .batch_question import Question
from .batch_search import Search, Trial, largest_batch
from .batch_trial import Workload, run_trial
from .environment_file import parse
from .errors import GaudiError
from .rendered_files import WantedFile, pending, read_text, write

STATE_DIRECTORY = "/var/lib/gaudi3_scale"
SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>|KiB|MiB|GiB)")
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
# The packages whose version changes what a step needs.
PACKAGES = ("torch", "habana_torch_plugin", "gaudi3_scale")


@dataclass(frozen=True)
class Probe:
    """The question. ``timeout`` is seconds a trial; an environment file may be missing where a dash is before it."""

    workload: Workload
    maximum: int
    multiple_of: int
    timeout: float
    venv: str
    environment_files: tuple[str, ...] = ()
    state_directory: str = STATE_DIRECTORY
    minimum: int = 1
    margin: float = 0.01
    utilisation: float = 1.0

    @property
    def question(self) -> Question:
        """What the search is asked. Only where the memory is simulated is the limit known before a trial tells it."""
        return Question(
            maximum=self.maximum,
            multiple_of=self.multiple_of,
            minimum=self.minimum,
            limit_bytes=self.workload.memory_limit if self.workload.device == "cpu" else None,
            utilisation=self.utilisation,
            margin=self.margin,
        )

    @property
    def python(self) -> str:
        return f"{self.venv}/bin/python"


def probe(wanted: Probe, *, refresh: bool = False, check_mode: bool = False) -> dict[str, object]:
    """The answer with its trials. In check mode an answer that is not remembered stays None.

    Raises GaudiError for bounds that hold no size, a missing venv, and whatever ends the search.
    """
    _check(wanted)
    environment = read_environment(wanted.environment_files)
    path = f"{wanted.state_directory}/probe/{key(wanted, environment)}.json"
    remembered = None if refresh else _remembered(path)
    if remembered is not None:
        return {"changed": False, "cached": True, "cache_file": path, **remembered}
    if check_mode:
        unknown: dict[str, object] = {"batch_size": None, "certified": False, "within": None, "why": "", "trials": []}
        return {"changed": True, "cached": False, "cache_file": path, **unknown}
    if not os.access(wanted.python, os.X_OK):
        raise GaudiError(f"{wanted.python} is missing; install the training stack first, or name its venv.")
    answer = as_dict(_search(wanted, environment))
    for change in pending([WantedFile(path, json.dumps({**answer, "probe": _described(wanted)}, indent=2) + "\n")]):
        write(change)
    return {"changed": True, "cached": False, "cache_file": path, **answer}


def parse_size(text: str) -> int:
    """Bytes meant by ``2GiB``, ``512 MiB`` or ``1073741824``."""
    match = SIZE.fullmatch(text.strip())
    if match is None:
        raise GaudiError(f"memory_limit is {text!r}; give bytes, or a number with KiB, MiB or GiB.")
    return int(float(match["number"]) * UNITS[match["unit"]])


def _check(wanted: Probe) -> None:
    module, _colon, function = wanted.workload.function.partition(":")
    if not module or not function:
        raise GaudiError(f"workload is {wanted.workload.function!r}; give module:function.")
    for option, value in (("steps", wanted.workload.steps), ("timeout", wanted.timeout)):
        if value < 1:
            raise GaudiError(f"{option} is {value}; give at least 1.")
    wanted.question.check()


def _search(wanted: Probe, environment: Mapping[str, str]) -> Search:
    def attempt(batch_size: int) -> Trial:
        return run_trial(
            wanted.workload,
            batch_size,
            python=wanted.python,
            timeout=wanted.timeout,
            environment={**os.environ, **environment},
        )

    return largest_batch(attempt, wanted.question)


def as_dict(search: Search) -> dict[str, object]:
    return {
        "batch_size": search.batch_size,
        "certified": search.answer.certified,
        "within": search.answer.within,
        "why": search.answer.why,
        "trials": [asdict(trial) for trial in search.trials],
    }


def read_environment(paths: tuple[str, ...]) -> dict[str, str]:
    """The variables of all files, the last one winning, as systemd reads them for a job."""
    variables: dict[str, str] = {}
    for path in paths:
        text = read_text(path.lstrip("-"))
        if text is None and not path.startswith("-"):
            raise GaudiError(f"environment_files: there is no {path} on this node; create it, or put a - before it.")
        variables.update(parse(text or "", path.lstrip("-")))
    return variables


def key(wanted: Probe, environment: Mapping[str, str]) -> str:
    """Names the answer by what it depends on: the question, the flags, and the versions in the venv."""
    text = json.dumps([_described(wanted), dict(environment), _versions(wanted.venv)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _described(wanted: Probe) -> dict[str, object]:
    return {
        "workload": wanted.workload.function,
        "workload_options": dict(wanted.workload.options),
        "steps": wanted.workload.steps,
        "device": wanted.workload.device,
        "memory_limit": wanted.workload.memory_limit,
        "maximum": wanted.maximum,
        "multiple_of": wanted.multiple_of,
        "minimum": wanted.minimum,
        "margin": wanted.margin,
        "utilisation": wanted.utilisation,
    }


def _versions(venv: str) -> list[str]:
    """The names of the packages' metadata directories, which hold their versions."""
    patterns = [f"lib/python*/site-packages/{package}-*.dist-info" for package in PACKAGES]
    return sorted(path.name for pattern in patterns for path in Path(venv).glob(pattern))


def _remembered(path: str) -> dict[str, object] | None:
    """The answer in ``path``; None where there is none that can be read: it is then found again and written anew."""
    try:
        data = json.loads(read_text(path) or "")
        within = data["within"]
        return {
            "batch_size": int(data["batch_size"]),
            "certified": bool(data["certified"]),
            "within": None if within is None else float(within),
            "why": str(data["why"]),
            "trials": list(data["trials"]),
        }
    except (ValueError, KeyError, TypeError):
        return None
