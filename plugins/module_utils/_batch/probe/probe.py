# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A batch-size probe of a node as a value, and what cannot be meant by it."""

from __future__ import annotations

import contextlib
import os
import pwd
import re
from dataclasses import dataclass, field
from typing import Callable, Mapping

from ..._errors import GaudiError
from ..._job.environment_files import read_file
from ..._job.program_imports import IMPORTED, Looked, check_found
from ..._node.commands import Run
from ..._node.environment_file import parse
from ..._node.job_user import account, exists
from ..._node.kernel_tree import kernel_tree
from ..bounds import Bounds
from ..choice import LARGEST, GlobalBatch
from ..trial import Workload
from .key import card_memory

STATE_DIRECTORY = "/var/lib/gaudi3_scale"
SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>|KiB|MiB|GiB)")
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@dataclass(frozen=True)
class Probe:
    """``timeout`` is seconds a trial; an environment file may be missing where a dash is before it. The variables of
    ``environment`` win over those of all files.

    ``verify`` is a size that a node of the same kind found; if it runs here, it is the answer. ``share`` makes a wanted
    global batch of a size. Trials run as ``user``; None: as the caller.
    """

    workload: Workload
    maximum: int
    multiple_of: int
    timeout: float
    venv: str
    environment_files: tuple[str, ...] = ()
    state_directory: str = STATE_DIRECTORY
    minimum: int = 1
    margin: float = 0.01
    target_hpu_utilization: float = 1.0
    objective: str = LARGEST
    verify: int | None = None
    kernel_root: str = field(default_factory=kernel_tree)
    lock_timeout: float = 900
    user: str | None = None
    share: Callable[[int], GlobalBatch] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def bounds(self) -> Bounds:
        """Of the search. Only where the memory is simulated is the limit known before a trial tells it."""
        return Bounds(
            maximum=self.maximum,
            multiple_of=self.multiple_of,
            minimum=self.minimum,
            limit_bytes=self.workload.memory_limit if self.workload.device == "cpu" else None,
            target_hpu_utilization=self.target_hpu_utilization,
            margin=self.margin,
            card_bytes=card_memory(self.workload.device, self.kernel_root),
        )

    @property
    def search(self) -> str:
        """The search as the log names it."""
        return (
            f"{self.objective} of {self.minimum} to {self.maximum} by {self.multiple_of}, "
            f"margin {self.margin:g}, target_hpu_utilization {self.target_hpu_utilization:g}"
        )

    @property
    def python(self) -> str:
        return f"{self.venv}/bin/python"


def parse_size(text: str) -> int:
    """Bytes meant by ``2GiB``, ``512 MiB`` or ``1073741824``."""
    match = SIZE.fullmatch(text.strip())
    if match is None:
        raise GaudiError(f"memory_limit is {text!r}; give bytes, or a number with KiB, MiB or GiB.")
    return int(float(match["number"]) * UNITS[match["unit"]])


def check(wanted: Probe) -> None:
    """Raises GaudiError for what cannot be meant, before anything is touched."""
    module, _colon, function = wanted.workload.function.partition(":")
    if not module or not function:
        raise GaudiError(f"workload is {wanted.workload.function!r}; give module:function.")
    numbers = {"steps": wanted.workload.steps, "processes": wanted.workload.processes, "timeout": wanted.timeout}
    for option, value in numbers.items():
        if value < 1:
            raise GaudiError(f"{option} is {value:g}; give at least 1.")
    wanted.bounds.check()
    if wanted.verify is not None and not wanted.bounds.allows(wanted.verify):
        raise GaudiError(f"verify is {wanted.verify}, which the bounds and multiple_of do not allow; change them.")
    if wanted.share:
        # What no size up to the maximum can make, none that fits can.
        wanted.share(wanted.maximum)


def check_imports(
    workload: Workload, venv: str, user: str | None, environment: Mapping[str, str], variable: str, run: Run
) -> None:
    """Raises GaudiError where the workload's module cannot be found, or what it imports first, before any trial.

    ``variable`` of a role may name its folder. A venv or an account that is not there is said elsewhere.
    """
    if not os.access(f"{venv}/bin/python", os.X_OK) or (user is not None and not exists(user)):
        return
    module = workload.function.partition(":")[0]
    check_found(module, Looked(f"workload {workload.function}", variable, venv, user, IMPORTED), environment, run)


def read_environment(paths: tuple[str, ...], user: str | None) -> dict[str, str]:
    """The variables of all files, the last one winning, as a job of ``user`` (None: the caller) has them."""
    variables: dict[str, str] = {}
    owner = _account(user)
    for path in paths:
        file = read_file(path, owner)
        if file.refusal:
            raise file.refusal
        if file.text is None and not path.startswith("-"):
            raise GaudiError(
                f"environment_files: {path} does not exist on this node; create it, or put a - "
                "before it to make it optional."
            )
        variables.update(parse(file.text or "", file.path))
    return variables


def _account(user: str | None) -> pwd.struct_passwd:
    """One that is not there yet, which only a check meets, has changed no file."""
    with contextlib.suppress(GaudiError):
        if user:
            return account(user)
    return pwd.getpwuid(os.geteuid())
