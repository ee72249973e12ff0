# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is done on a node before and after a job, or ``python -m gaudi3_scale …``: ``gaudi3_scale data
prepare|check|workers``, ``gaudi3_scale estimate``, ``gaudi3_scale export`` and ``gaudi3_scale profile``."""

from __future__ import annotations

import argparse
import sys
from typing import Sequence

from gaudi3_scale import __version__
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.pages import see_also
from gaudi3_scale.data.commands import add_data
from gaudi3_scale.estimate.commands import add_estimate
from gaudi3_scale.export.commands import add_export
from gaudi3_scale.options import ArgumentParser
from gaudi3_scale.profiler.commands import add_profile_command

# Where more is written of each command; of a line that names none, where they are.
PAGES = {
    "data": "docs/training.md",
    "estimate": "docs/estimate.md",
    "export": "docs/export.md",
    "profile": "docs/profile.md",
}
_BEGINNING = "docs/training.md"


def parse_command(arguments: Sequence[str]) -> argparse.Namespace:
    """The options, and as ``run`` the function that takes them and returns the exit status."""
    parser = ArgumentParser(prog="gaudi3_scale", description="What is done on a node before and after a training job.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subjects = parser.add_subparsers(required=True, metavar="data|estimate|export|profile")
    add_data(subjects.add_parser("data", help="the text to train on"))
    add_estimate(subjects.add_parser("estimate", help="whether a training fits into the cards' memory"))
    add_export(subjects.add_parser("export", help="a checkpoint as a model that can be served"))
    add_profile_command(subjects.add_parser("profile", help="why a training's steps take as long as they do"))
    return parser.parse_args(arguments)


def main() -> int:
    try:
        options = parse_command(sys.argv[1:])
        status: int = options.run(options)
        return status
    except GaudiError as error:
        page = PAGES.get("".join(sys.argv[1:2]), _BEGINNING)
        # Below the sentence, since programs that run this take that line alone.
        sys.stderr.write(f"gaudi3_scale: {error}\nSee {see_also(page)}\n")
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
