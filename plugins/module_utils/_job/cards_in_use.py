# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Who has which card of this node: jobs and instances by what they noted when they were started, trials by a lock, all
others by the devices that they have open. Looked at and changed under one lock of the node, so that nobody takes what
another takes.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import re
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from .._cards.accel_sysfs import accel_devices, pci_cards
from .._cards.part import NodeCards, cards_of
from .._node.commands import Run
from .._node.instances import INSTANCES, are_any, control_of
from .._node.json_file import read_json
from .._node.kernel_modules import Holder, find_holders
from .._node.lock import exclusive
from .._node.systemd_units import active_units
from .binding.modules import modules_by_device
from .description import whole_numbers
from .paths import NAME, STATE_DIRECTORY, UNIT_START, UNITS, JobPaths, job_of_unit
from .processes import environment_of

# Longer than a start takes, which may have to stop a job first.
LOCK_SECONDS = 300.0
# Of a look at a trial's lock, which another one may take at the same time.
_LOOK_TRIES, _LOOK_SECONDS = 40, 0.05
_DEVICE = re.compile(r"accel(\d+)")
INSTANCE_UNIT = re.compile(r"gaudi3-scale-serving-([a-z0-9-]+)\.service")


@dataclass(frozen=True)
class Claim:
    """What a job whose unit is there was started with. ``stands_by``: it is a spare, which may never use the cards."""

    job: str
    modules: tuple[int, ...]
    port: int
    stands_by: bool


@dataclass(frozen=True)
class Asker:
    """Who asks: what is its own is not in its way. ``job`` "": none, as for a trial. ``stands_by``: its ranks may never
    run here, so that it shares cards with others that do. ``instances`` ask as ``job`` does.
    """

    host: str
    job: str = ""
    stands_by: bool = False
    state_directory: str = STATE_DIRECTORY
    instances: tuple[str, ...] = ()
    instance_directory: str = INSTANCES


def choosing(state_directory: str) -> AbstractContextManager[None]:
    """One choice of cards and ports on this node at a time, from looking to the note of what was taken."""
    return exclusive("cards", LOCK_SECONDS, directory=state_directory, remedy="wait for it to finish")


def node_cards(asker: Asker, run: Run, kernel_root: str = "/", proc: str = "/proc") -> NodeCards:
    """The cards of this node, and who has them; no modules where the driver shows none."""
    cards = cards_of(asker.host, pci_cards(kernel_root), accel_devices(kernel_root))
    if not cards.modules:
        return cards
    taken = dict(cards.taken)
    for claim in claims(asker, run):
        if not (claim.stands_by and asker.stands_by):
            whose = f"job {claim.job}, of which this is a spare" if claim.stands_by else f"job {claim.job}"
            taken.update(dict.fromkeys(claim.modules, f"held by {whose}"))
    for name, modules in _of_instances(asker, run):
        taken.update(dict.fromkeys(modules, f"held by instance {name}"))
    for module, who in _of_trials(asker.state_directory, cards.modules).items():
        taken.setdefault(module, f"held by {who}")
    for module, who in _open(asker, kernel_root, proc).items():
        taken.setdefault(module, f"held by {who}")
    return replace(cards, taken={module: taken[module] for module in cards.modules if module in taken})


def claims(asker: Asker, run: Run) -> list[Claim]:
    """What the other jobs have whose units are there; each ends with its unit."""
    others = sorted({job_of_unit(unit) for unit in active_units(run, UNITS)} - {asker.job})
    return [claim for name in others if (claim := _claim(JobPaths(name, asker.state_directory)))]


def _of_instances(asker: Asker, run: Run) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The modules of each other instance whose unit is there, or about to start again."""
    is_asked = are_any(asker.instance_directory)
    for unit in sorted(active_units(run, "gaudi3-scale-serving-*.service")) if is_asked else ():
        found = INSTANCE_UNIT.fullmatch(unit)
        if found and found[1] not in asker.instances:
            yield found[1], whole_numbers(control_of(found[1], asker.instance_directory).get("modules"))


def _claim(paths: JobPaths) -> Claim | None:
    begun = read_json(paths.started)
    if begun is None:
        return None
    modules, port = whole_numbers(begun.get("modules")), whole_numbers([begun.get("port")])
    return Claim(paths.name, modules, port[0] if port else 0, begun.get("stands_by") is True)


def _open(asker: Asker, kernel_root: str, proc: str) -> dict[int, str]:
    """By module, who has its device open; a device by which cards are only managed is nobody's alone."""
    modules = modules_by_device(kernel_root)
    found: dict[int, str] = {}
    for holder in find_holders(kernel_root, proc):
        who = _who(holder, Path(proc, str(holder.pid)))
        is_own = asker.job and who == f"job {asker.job}"
        if not is_own and who not in {f"instance {name}" for name in asker.instances}:
            numbers = (int(match[1]) for name in holder.devices if (match := _DEVICE.fullmatch(name)))
            found.update({modules[number]: who for number in numbers if number in modules})
    return found


def _who(holder: Holder, place: Path) -> str:
    """``job llama``, or ``python3 (process 41 of anna, Slurm's job 7)``."""
    if holder.unit.startswith(UNIT_START):
        return f"job {job_of_unit(holder.unit)}"
    if of_instance := INSTANCE_UNIT.fullmatch(holder.unit):
        return f"instance {of_instance[1]}"
    variables = environment_of(place / "environ")
    # Ranks that Slurm or ssh has started are in no unit of their job.
    job, slurm = variables.get("GAUDI3_SCALE_JOB", ""), variables.get("SLURM_JOB_ID", "")
    if NAME.fullmatch(job):
        return f"job {job}"
    of_slurm = f", Slurm's job {slurm}" if slurm.isdecimal() else ""
    return f"{holder.command} (process {holder.pid} of {_account(place)}{of_slurm})"


def _account(place: Path) -> str:
    try:
        uid = place.stat().st_uid
    except OSError:
        return "an account that has gone"
    with suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return f"account {uid}"


@contextmanager
def held(state_directory: str, modules: Collection[int], who: str) -> Iterator[None]:
    """Keep these modules for a trial of ours, as long as this process lives; under :func:`choosing`, they are free."""
    with ExitStack() as stack:
        for module in sorted(modules):
            file = _file(state_directory, module)
            file.parent.mkdir(parents=True, exist_ok=True)
            # Root's alone: whoever can open a file can hold its lock, for ever.
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            stack.callback(os.close, descriptor)
            _lock(descriptor)
            os.ftruncate(descriptor, 0)
            os.write(descriptor, who.encode())
        yield


def _lock(descriptor: int) -> None:
    """Whoever only looks has it for a moment."""
    for _try in range(_LOOK_TRIES):
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(_LOOK_SECONDS)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _of_trials(state_directory: str, modules: Sequence[int]) -> dict[int, str]:
    return {module: who for module in modules if (who := _trial_at(_file(state_directory, module)))}


def _trial_at(file: Path) -> str:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return ""
    with os.fdopen(descriptor, encoding="utf-8", errors="replace") as stream:
        try:
            # Shared, so that two who look are not in each other's way.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return stream.read(200) or "a trial"
    return ""


def _file(state_directory: str, module: int) -> Path:
    return Path(state_directory, "cards", f"module-{module}")
