# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.gates [--long] [--again] [NAME...]``: all gates, or the named ones, in the table's order.

``molecule`` names all gates that begin with ``molecule-``. ``--long``: with every row of the long matrices, and the
gates and schedules that are too much for each change. ``--again``: a gate of which a few tests failed is run a second
time, and is ``unsteady`` where it holds then.
"""

from __future__ import annotations

import sys

from .runner import run
from .table import GATES, LONG_GATES

LONG, AGAIN = "--long", "--again"
# A server that runs the gates has a limit of its own.
AGAIN_WITHIN = 80 * 60.0
# pytest takes the last -m, and pyproject.toml's comes first.
EVERY_ROW = {"PYTEST_ADDOPTS": "-m 'long or not long'"}


def main(arguments: list[str]) -> int:
    long = LONG in arguments
    names = [name for name in arguments if name not in (LONG, AGAIN)]
    longer = {gate.name: gate for gate in LONG_GATES if long}
    gates = [longer.get(gate.name, gate) for gate in GATES]
    unknown = [name for name in names if not any(is_named(gate.name, name) for gate in gates)]
    if unknown:
        known = ", ".join(gate.name for gate in gates)
        print(f"There is no gate named {', '.join(unknown)}; the gates are {known}.", file=sys.stderr)
        return 2
    chosen = (
        [gate for gate in gates if any(is_named(gate.name, name) for name in names)]
        if names
        else [gate for gate in gates if long or not gate.is_long]
    )
    return 0 if run(chosen, EVERY_ROW if long else {}, AGAIN_WITHIN if AGAIN in arguments else 0.0) else 1


def is_named(gate: str, name: str) -> bool:
    return gate == name or gate.startswith(f"{name}-")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
