# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The program by which faults are injected into a simulated node, and shown."""

from __future__ import annotations

import sys
from dataclasses import replace

from . import losses, wrong_products
from .faults import FaultError, parse
from .kernel_tree import refresh
from .node_state import locked, read, write


def main(arguments: list[str]) -> int:
    """``faults`` lists them, ``faults clear`` removes all, ``faults KEY=VALUE ...`` adds some."""
    try:
        added = {} if arguments in ([], ["clear"]) else parse(arguments)
    except FaultError as error:
        print(f"faults: {error}", file=sys.stderr)
        return 2
    with locked():
        node = read()
        if arguments:
            node = replace(node, faults={} if arguments == ["clear"] else {**node.faults, **added})
            write(node)
            refresh(node)
            losses.prepare(node.faults)
            wrong_products.prepare(node.faults)
    for name, value in node.faults.items():
        print(f"{name}={_as_text(value)}")
    return 0


def _as_text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value).lower()
