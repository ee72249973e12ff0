# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Run the node's plan: ``python -m gaudi3_scale.qualify``, as root. Exit code 0: healthy; 1: unhealthy; 2: nobody
could tell.
"""

from __future__ import annotations

import argparse
import sys

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.commands import run_process
from gaudi3_scale.core._node.kernel_modules import find_holders
from gaudi3_scale.core._node.kernel_tree import kernel_tree
from gaudi3_scale.core._qualify.files import DIRECTORY, Files
from gaudi3_scale.core._qualify.results import EXIT_CODES, INCONCLUSIVE
from gaudi3_scale.options import ArgumentParser
from gaudi3_scale.qualify.run import run_plan


def main() -> int:
    options = _parse()
    files = Files(options.directory)
    try:
        holders = [one for one in find_holders(kernel_tree()) if one.computes] if options.unless_held else []
        if holders:
            sys.stderr.write(f"gaudi3_scale.qualify: left out, since the cards are held by {holders[0]}.\n")
            return EXIT_CODES[INCONCLUSIVE]
        if options.again:
            files.forget(files.results, files.current, files.verdict)
        state = run_plan(files, run_process, kernel_tree())
    except GaudiError as error:
        sys.stderr.write(f"gaudi3_scale.qualify: {error}\n")
        return EXIT_CODES[INCONCLUSIVE]
    for reason in files.read(files.verdict).get("reasons", ()):
        sys.stdout.write(f"{reason}\n")
    return EXIT_CODES[state]


def _parse() -> argparse.Namespace:
    parser = ArgumentParser(prog="gaudi3_scale.qualify", description="Run this node's plan of tests.")
    parser.add_argument("--directory", default=DIRECTORY, help="of the plan and the results (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="run also what has a result")
    parser.add_argument("--unless-held", action="store_true", help="do nothing while a process has a card open")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
