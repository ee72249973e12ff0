# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m gaudi3_scale.verify``, as Slurm's HealthCheckProgram runs it.

Exit code 0: healthy; 1: not, with a line for each reason; 2: nobody could tell, which takes no node out of service.
"""

from __future__ import annotations

import argparse
import sys
import syslog

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.commands import run_process
from gaudi3_scale.core._node.kernel_tree import kernel_tree
from gaudi3_scale.core._qualify.files import DIRECTORY, Files
from gaudi3_scale.core._qualify.results import EXIT_CODES, HEALTHY, INCONCLUSIVE, UNHEALTHY
from gaudi3_scale.options import ArgumentParser, positive
from gaudi3_scale.verify.checks import problems
from gaudi3_scale.verify.service import give_back, take_out


def main() -> int:
    options = _parse()
    try:
        found = problems(options.release, options.cards, run_process, kernel_tree(), Files(options.directory))
        sys.stdout.write("".join(f"{reason}\n" for reason in found))
        _say(_act(options, found))
    except GaudiError as error:
        _say(str(error))
        return EXIT_CODES[INCONCLUSIVE]
    return EXIT_CODES[UNHEALTHY if found else HEALTHY]


def _act(options: argparse.Namespace, found: list[str]) -> str:
    if found and options.drain:
        return take_out(options.node, found[0], options.share, run_process)
    return give_back(options.node, run_process) if options.resume and not found else ""


def _say(sentence: str) -> None:
    """Slurm keeps nothing of what its program prints."""
    if sentence:
        sys.stdout.write(f"{sentence}\n")
        syslog.openlog("gaudi3_scale.verify")
        syslog.syslog(syslog.LOG_WARNING, sentence)


def _parse() -> argparse.Namespace:
    parser = ArgumentParser(prog="gaudi3_scale.verify", description="Whether a node may stay in service.")
    parser.add_argument("--release", required=True, help="the release that has to be running")
    parser.add_argument("--cards", type=positive, required=True, help="how many cards it has to have")
    parser.add_argument("--node", default="", help="the node's name in Slurm")
    parser.add_argument(
        "--drain", action=argparse.BooleanOptionalAction, default=False, help="take an unhealthy node out"
    )
    parser.add_argument("--resume", action=argparse.BooleanOptionalAction, default=False, help="lift our own drain")
    parser.add_argument("--share", type=float, default=0.1, help="of the nodes that may be out, and always one")
    parser.add_argument("--directory", default=DIRECTORY, help="of the last qualification (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
