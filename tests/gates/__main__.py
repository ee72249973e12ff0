# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.gates [NAME...]``: all gates, or the named ones, in the table's order.

``molecule`` names all gates that begin with ``molecule-``.
"""

from __future__ import annotations

import sys

from .runner import run
from .table import GATES


def main(names: list[str]) -> int:
    unknown = [name for name in names if not any(is_named(gate.name, name) for gate in GATES)]
    if unknown:
        known = ", ".join(gate.name for gate in GATES)
        print(f"There is no gate named {', '.join(unknown)}; the gates are {known}.", file=sys.stderr)
        return 2
    chosen = [gate for gate in GATES if not names or any(is_named(gate.name, name) for name in names)]
    return 0 if run(chosen) else 1


def is_named(gate: str, name: str) -> bool:
    return gate == name or gate.startswith(f"{name}-")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
