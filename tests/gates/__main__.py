# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.gates [OPTION...] [NAME...]``: the gates of a run, or the named ones, in the table's order.

``molecule`` names all gates that begin with ``molecule-``. What a named one needs is brought along.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from functools import partial

from . import proved
from .choosing import UnknownGateError, long_forms, named, of_run
from .gate import FIRST, LONG_RUN, NODES_RUN, Outcome
from .processors import jiffies, spent_since
from .rotation import Queue, ordered
from .runner import LOGS, ROOT, Plan, run
from .seed import drawn
from .summary import announced, summary
from .table import BRING_NODES, GATES, NODES
from .unsteady import noted

# A server that runs the gates has a limit of its own.
AGAIN_WITHIN_S = 80 * 60.0


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    began, before = time.monotonic(), jiffies()
    try:
        gates = (
            named(GATES, options.names, BRING_NODES, long=options.run == LONG_RUN)
            if options.names
            else of_run(GATES, options.run)
        )
    except UnknownGateError as error:
        print(error, file=sys.stderr)
        return 2
    seed = drawn(options.seed)
    forms = long_forms(GATES)
    proofs = proved.read()
    standings = [proved.standing(ROOT, gate, proofs) for gate in forms]
    in_turn = Queue(ordered(standings, seed), NODES) if options.until else None
    plan = Plan(
        {"GATE_SEED": str(seed)},
        again_until=began + (AGAIN_WITHIN_S if options.again else 0.0),
        further=in_turn,
        further_until=began + 60 * options.until,
        ended=partial(_record, {gate.name: proved.of_files(ROOT, gate.covers) for gate in forms}),
    )
    print(announced(gates, "" if options.names else options.run, seed, options.until), flush=True)
    outcomes = run(gates, plan)
    proofs = proved.read()
    now = [proved.standing(ROOT, gate, proofs) for gate in forms]
    timing = f"{(time.monotonic() - began) / 60:.1f} min; {spent_since(before)}; SEED={seed}"
    text = summary(outcomes, timing, now, noted(outcomes), is_server=bool(options.until))
    (LOGS / "summary.txt").write_text(f"{text}\n", encoding="utf-8")
    print(text, flush=True)
    overdue = bool(options.until) and any(one.is_overdue for one in now)
    return 1 if overdue or any(outcome.is_fault for outcome in outcomes) else 0


def _record(digests: dict[str, str], outcome: Outcome) -> None:
    """Write down what held at once in its long form, where nobody has changed what it covers meanwhile."""
    gate = outcome.gate
    if gate.run == LONG_RUN and outcome.verdict == "ok" and proved.of_files(ROOT, gate.covers) == digests[gate.name]:
        proved.write(gate.name, proved.made_now(digests[gate.name], outcome.seconds, gate.covers))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.gates", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these gates, and what they need")
    parser.add_argument(
        "--run",
        choices=(FIRST, NODES_RUN, LONG_RUN),
        default=FIRST,
        help="first: who has just cloned; nodes: all gates in their short form; long: all with every row",
    )
    parser.add_argument("--long", dest="run", action="store_const", const=LONG_RUN, help="the same as --run long")
    parser.add_argument(
        "--again",
        action="store_true",
        help="a gate of which a few tests failed is run a second time, and is unsteady where it holds then",
    )
    parser.add_argument(
        "--until", type=float, default=0.0, metavar="MINUTES",
        help="afterwards gates of the long run, while they end within so many: first those that were changed under",
    )  # fmt: skip
    parser.add_argument(
        "--seed",
        type=int,
        default=os.environ.get("SEED") or None,
        help="which rows are drawn (default: others in each run)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
