# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.gates [NAME...]``: all gates, or the named ones, in the table's order."""

from __future__ import annotations

import sys

from .runner import run
from .table import GATES


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - {gate.name for gate in GATES})
    if unknown:
        known = ", ".join(gate.name for gate in GATES)
        print(f"There is no gate named {', '.join(unknown)}; the gates are {known}.", file=sys.stderr)
        return 2
    chosen = [gate for gate in GATES if not names or gate.name in names]
    return 0 if run(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
