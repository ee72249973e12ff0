# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated card that computes wrongly: a rank on it gets a product of matrices of which one element is off by one.

Simulated cards compute on the CPU, which is right. So the node's training venv gets a file of its own by which Python,
as it starts, waits for PyTorch to be imported; torchrun's LOCAL_RANK N is the card of module N.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FAULT = "computes_wrongly"
VENV = "opt/gaudi3_scale/venv"
NAME = "gaudi_simulated_card"
MODULE = """\
# Put here by a fault of the sandbox, and taken away with it: a simulated card that computes wrongly.
import os
import sys

if os.environ.get("LOCAL_RANK") in {ranks!r}:
    from importlib.machinery import PathFinder

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name != "torch":
                return None
            sys.meta_path.remove(Finder)
            spec = PathFinder.find_spec(name, path)
            load = spec.loader.exec_module

            def exec_module(torch):
                load(torch)
                right = torch.matmul

                def matmul(left, other, **more):
                    product = right(left, other, **more)
                    product.view(-1)[0] += 1
                    return product

                torch.matmul = matmul

            spec.loader.exec_module = exec_module
            return spec

    sys.meta_path.insert(0, Finder)
"""


def prepare(faults: Mapping[str, object], root: Path = Path("/")) -> None:
    """Put the file into the venv, if there is one, or remove it."""
    cards = faults.get(FAULT)
    for packages in (root / VENV).glob("lib/python3*/site-packages"):
        module, start = packages / f"{NAME}.py", packages / f"{NAME}.pth"
        if isinstance(cards, list) and cards:
            module.write_text(MODULE.format(ranks=tuple(map(str, cards))), encoding="utf-8")
            start.write_text(f"import {NAME}\n", encoding="utf-8")
        else:
            start.unlink(missing_ok=True)
            module.unlink(missing_ok=True)
