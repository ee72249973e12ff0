# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the trials of a workload on a node depend on: as fields to compare, and as one short key.

Nodes with the same key are the same for a probe. The bounds and the objective are no part of it: they say which trials
are made, and not what a trial finds.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Mapping

from ..._cards.accel_sysfs import accel_devices, pci_cards
from ..._cards.hardware import board_of, generation_of
from ..._job.job_secrets import told_apart
from ..._node.venv_sites import sites_of, stack_of
from ..._releases.lookup import release_part
from ..._venv.plan import installed_distributions
from ..._venv.wheel_bundle import normalized
from ..trial import Workload

# The packages whose version changes what a step needs, beside the workload's own.
PACKAGES = ("torch", "habana-torch-plugin", "gaudi3-scale")
_LENGTH = 16
_NVIDIA = "proc/driver/nvidia"


def probe_fields(
    workload: Workload, environment: Mapping[str, str], venv: str, kernel_root: str = "/"
) -> dict[str, str]:
    """Field to value in the order in which a person asks; what is not there has no field. Only reads.

    They are shown, kept and sent, so secrets of the environment have no value in them.
    """
    fields = {
        "workload": workload.function,
        **{f"option {name}": json.dumps(value) for name, value in sorted(workload.options.items())},
        "steps": f"{workload.steps} after {workload.warm_up}",
        "processes": str(workload.processes),
        "device": workload.device,
        "memory limit": "" if workload.memory_limit is None else f"{workload.memory_limit} bytes",
        **_cards(workload.device, kernel_root),
        **_packages(venv, workload.function),
        "requirements": Path(venv).name if stack_of(venv) else "",
        **{f"variable {name}": value or '""' for name, value in sorted(told_apart(environment).items())},
    }
    return {name: value for name, value in fields.items() if value}


def card_memory(device: str, kernel_root: str = "/") -> int | None:
    """Bytes of a card by its kind, as the kernel shows it; None where that says nothing."""
    generations = [generation_of(one) for one in _ids(kernel_root)] if device == "hpu" else []
    return min((generation.hbm_mib << 20 for generation in generations if generation), default=None)


def probe_key(fields: Mapping[str, str]) -> str:
    """Sixteen hexadecimal digits; another one as soon as any field differs."""
    return digest(dict(fields))


def digest(value: object) -> str:
    """A short name for a value of JSON's types, the same wherever it is made."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:_LENGTH]


def _cards(device: str, kernel_root: str) -> dict[str, str]:
    """The cards by what the kernel shows, which takes milliseconds where the vendor's tools take seconds."""
    if device == "cuda":
        return _nvidia(Path(kernel_root, _NVIDIA))
    cards = pci_cards(kernel_root)
    generations = {generation.name: generation for generation in map(generation_of, _ids(kernel_root)) if generation}
    boards = {board.label for board in map(board_of, _ids(kernel_root)) if board}
    drivers = {release_part(one.driver_version) for one in accel_devices(kernel_root) if one.driver_version}
    return {
        "generation": ", ".join(sorted(generations)),
        "cards": str(len(cards)),
        "board": ", ".join(sorted(boards)),
        "HBM": ", ".join(sorted(f"{generation.hbm_mib} MiB" for generation in generations.values())),
        "driver": ", ".join(sorted(drivers)),
    }


def _ids(kernel_root: str) -> list[str]:
    return [card.pci_id for card in pci_cards(kernel_root)]


def _nvidia(directory: Path) -> dict[str, str]:
    """The models and the driver of another vendor's cards, as its driver tells them."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in directory.glob("gpus/*/information")]
    models = [match[1].strip() for match in (re.search(r"^Model:(.*)$", text, re.MULTILINE) for text in texts) if match]
    version = directory / "version"
    driver = re.search(r"\d+\.\d+(?:\.\d+)?", version.read_text(encoding="utf-8")) if version.exists() else None
    return {
        "cards": str(len(models)),
        "board": ", ".join(sorted(set(models))),
        "driver": driver[0] if driver else "",
    }


def _packages(venv: str, function: str) -> dict[str, str]:
    """Versions in the venv, from the names of the packages' metadata directories."""
    # What Python finds first counts last.
    entries = [entry.name for site in reversed(sites_of(venv)) for entry in site.iterdir()]
    found = installed_distributions(entries)
    own = normalized(function.partition(":")[0].partition(".")[0])
    return {f"package {name}": found.get(name, "") for name in dict.fromkeys((*PACKAGES, own))}
