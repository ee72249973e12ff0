# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The measuring half of the verdict: cards and their host, and what the training venv's torch sees."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._cards import hpu_facts
from .._cards.accel_sysfs import attribute
from .._cards.pcie import read_access_control, read_links
from .._errors import GaudiError
from .._fabric.chosen import chosen_network
from .._host.hugepages import DROP_IN, SETTING
from .._job.cards_in_use import Asker, claims
from .._node import environment_file, restart_due
from .._node.account_directory import account_of
from .._node.account_unit import run_as
from .._node.commands import CommandResult, Run
from .._node.json_file import parse_json
from .._node.lock import state_beside
from .._node.rendered_files import read_text
from .._node.root_program import PYTHON, WITH_VARIABLES, require_roots, root_python, sole_owner
from .._node.unit_hardening import FOREIGN_PROGRAM, capability_lines, device_lines
from .clock import read_clock
from .patience import Patience
from .slurm_memory import read_slurm_memory
from .verdict import Measurement, TorchReport

# The first import of torch on a node with a cold disk cache takes minutes, not seconds.
_TORCH_TIMEOUT_S = 300

_IMPORTS = {
    "cpu": "count = None",
    "cuda": "count = torch.cuda.device_count()",
    "hpu": "import habana_frameworks.torch.hpu as hpu; count = hpu.device_count()",
}
_PROGRAM = "import json, torch; {count}; print('\\n' + json.dumps({{'version': torch.__version__, 'devices': count}}))"


@dataclass(frozen=True)
class TrainingEnvironment:
    """Where jobs run: the venv, the kind of device (hpu, cuda, cpu), and the file with their flags, if it exists."""

    venv: str
    device: str
    flags: str


def measure(
    run: Run, kernel_root: str, training: TrainingEnvironment | None, etc: str = "/etc", *, clock: bool = False
) -> Measurement:
    """Read the node; without ``training`` torch is left out, and the clock without ``clock``."""
    patient = Patience(run)
    facts = hpu_facts.gather(patient, kernel_root, hlml=True)
    cards = [card.pci_address for card in facts.cards]
    return Measurement(
        facts,
        ask_torch(patient, training) if training else None,
        configured_hugepages(etc),
        links=read_links(kernel_root, cards),
        bridges=read_access_control(kernel_root, cards),
        clock=read_clock(run) if clock else None,
        slurm=read_slurm_memory(run),
        late=patient.late,
        restart=tuple(restart_due.due(state_beside(etc), kernel_root)),
        of_jobs=frozenset(
            module for claim in claims(Asker("", state_directory=state_beside(etc)), run) for module in claim.modules
        ),
        network=chosen_network(run, kernel_root, root=str(Path(etc).parent)).provider,
    )


def ask_torch(run: Run, training: TrainingEnvironment) -> TorchReport:
    """Import torch as a job would, and count the devices it sees."""
    try:
        flags = environment_file.parse(read_text(training.flags) or "", training.flags)
    except GaudiError as error:
        return TorchReport(problem=str(error).rstrip("."))
    words = ("-c", _PROGRAM.format(count=_IMPORTS[training.device]))
    try:
        done = _run_python(run, training, words, flags)
    except GaudiError as error:
        return TorchReport(problem=str(error).rstrip("."))
    # The bridge prints its configuration to standard output; the answer is the last line.
    last = (done.stdout.strip().splitlines() or [""])[-1]
    try:
        answer = parse_json(last)
        return TorchReport(str(answer["version"]), answer["devices"])
    except (ValueError, KeyError, TypeError):
        said = (done.stderr.strip() or done.stdout.strip()).splitlines() or [f"no output (exit code {done.rc})"]
        return TorchReport(problem=said[-1].rstrip("."))


def _run_python(
    run: Run, training: TrainingEnvironment, words: Sequence[str], flags: Mapping[str, str]
) -> CommandResult:
    """As root where the environment and the flags are root's alone, else as the account that the environment is of."""
    owner = sole_owner(training.venv)
    if owner is None:
        # In a sentence that names the place.
        root_python(training.venv)
    if not owner:
        require_roots(training.flags, "flags", WITH_VARIABLES)
        # Isolated: what is in a variable of the flags, or lies where this happens to be started, is no module.
        return run((root_python(training.venv), "-I", *words), timeout=_TORCH_TIMEOUT_S, env=flags)
    python = str(Path(os.path.realpath(training.venv), PYTHON))
    account, limits = account_of(owner, owner), torch_limits(training.device)
    return run_as(account, (python, *words), run, timeout=_TORCH_TIMEOUT_S, env=flags, limits=limits)


def torch_limits(device: str) -> list[str]:
    """What its unit may do: cards pin host memory."""
    return [*FOREIGN_PROGRAM, *capability_lines(), *device_lines(device), "LimitMEMLOCK=infinity"]


def configured_hugepages(etc: str = "/etc") -> int | None:
    """Pages that the host layer's sysctl drop-in reserves; None where it manages none."""
    text = attribute(Path(etc), DROP_IN) or ""
    values = re.findall(rf"^{re.escape(SETTING)}\s*=\s*(\d+)$", text, re.MULTILINE)
    return int(values[-1]) if values else None
