# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which jobs can run in a container: said before an image is fetched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._errors import GaudiError
from ..description import ANY, MPIRUN, NAMED, SLURM, TORCHRUN
from .mounts import check_mounts
from .reference import parse_reference

# Ansible's argument_spec of what decides it beside image and account.
JOB_ARGUMENTS: dict[str, dict[str, Any]] = {
    "mounts": {"type": "list", "elements": "str", "default": []},
    "engine": {"type": "str", "default": TORCHRUN},
    "nodes": {"type": "str", "default": NAMED},
    "device": {"type": "str", "default": "hpu"},
    "is_built_in": {"type": "bool", "default": False},
}


def check_container(
    image: str, mounts: Sequence[str], *, engine: str, nodes: str, device: str, user: str, is_built_in: bool
) -> None:
    """Raises GaudiError for a job that cannot, and for mounts without an image. ``nodes`` as Slurm's option has it."""
    if not image:
        if mounts:
            raise GaudiError("mounts is given without image; it says what a job's container sees of the node.")
        return
    parse_reference(image)
    check_mounts(mounts)
    if engine == MPIRUN:
        raise GaudiError(
            f"image is given with engine {MPIRUN}, which starts each rank alone, through ssh, and would need a server "
            f"in every container; choose engine {TORCHRUN} or {SLURM} (gaudi_training_engine), which start a node's "
            "ranks in one container, or leave image out."
        )
    if engine == SLURM and nodes == ANY:
        raise GaudiError(
            f"image is given with slurm.nodes: {ANY}, and a node that Slurm takes need not have the image; name the "
            "hosts."
        )
    if device == "cuda":
        raise GaudiError("image is given with device cuda, and only Gaudi cards are passed on; leave image out.")
    if is_built_in:
        raise GaudiError(
            "image is given for the built-in trainer, which runs in the training venv; give a command of your own, or "
            "leave image out."
        )
    if user == "root":
        raise GaudiError("image is given with user root, and containers are started without root; name an account.")
