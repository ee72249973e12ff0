# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How long it takes to judge every flag of the catalog in one go, and to read an installed bridge's list.

    .venv/bin/python -m benchmarks.flags

Judges all names at once, so that every gate, requirement and alias is looked at among all others, which is the dearest
case. Prints the median and the worst of some rounds; imports are paid once and stand apart.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

_STARTED = time.perf_counter()

from plugins.module_utils._flags.bridge import InstalledBridge, read_bridge  # noqa: E402
from plugins.module_utils._flags.catalog.catalog import FLAGS  # noqa: E402
from plugins.module_utils._flags.checks import check  # noqa: E402
from plugins.module_utils._flags.harms import Target  # noqa: E402
from plugins.module_utils._flags.judgment import judge_flags  # noqa: E402

_IMPORT_S = time.perf_counter() - _STARTED

GOAL_MS = 50.0
MODES = {"compile": ("eager", "compile"), "lazy": ("lazy",)}


def main() -> int:
    """Measure and print; returns 1 where a median misses the goal."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=20, metavar="N", help="rounds of each measurement")
    options.add_argument("--json", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    flags = {name: flag.choices[0] if flag.choices else flag.default or "1" for name, flag in FLAGS.items()}
    with tempfile.TemporaryDirectory() as directory:
        venv = simulated_venv(Path(directory))
        bridge = read_bridge(venv)
        work: dict[str, Callable[[], object]] = {"read the installed list": lambda: read_bridge(venv)}
        for mode, modes in MODES.items():
            for source in (None, bridge):
                work[f"check, {mode}, {judge(source)}"] = work_of(flags, modes, source)
        target = Target((1, 24), MODES["compile"], "training", "gaudi_ethernet", None, bridge)
        work["check and verdicts"] = lambda: judge_flags(flags, target)
        figures = [{"work": name, "flags": len(flags), **measure(one, arguments.rounds)} for name, one in work.items()]
    show(figures)
    if arguments.json:
        arguments.json.write_text(json.dumps({"import_ms": _IMPORT_S * 1e3, "figures": figures}, indent=2) + "\n")
    return int(any(float(str(figure["median_ms"])) > GOAL_MS for figure in figures))


def judge(bridge: InstalledBridge | None) -> str:
    """Who judges, in one word."""
    return "bridge" if bridge else "catalog"


def work_of(flags: dict[str, str], modes: tuple[str, ...], bridge: InstalledBridge | None) -> Callable[[], object]:
    """One check of all flags."""
    target = Target((1, 24), modes, "training", "gaudi_ethernet", None, bridge)
    return lambda: check(flags, target)


def simulated_venv(root: Path) -> str:
    """A virtual environment with a list of the bridge's flags as a real build writes it."""
    package = root / "lib/python3.10/site-packages/habana_frameworks/torch/internal"
    package.mkdir(parents=True)
    names = sorted(name.lower() for name, flag in FLAGS.items() if any("env_flags.yaml" in one for one in flag.sources))
    text = "".join(f"def get_{name}():\n    return bc.get_{name}()\n\n" for name in names)
    (package / "bridge_config.py").write_text(text)
    return str(root)


def measure(work: Callable[[], object], rounds: int) -> dict[str, float]:
    """Median and worst time of ``work`` in ms, and of its first call, which fills no cache that the others use."""
    times = []
    for _round in range(rounds):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1e3)
    return {"median_ms": statistics.median(times), "worst_ms": max(times), "first_ms": times[0]}


def show(figures: list[dict[str, object]]) -> None:
    """The figures as a table."""
    print(f"imports, once: {_IMPORT_S * 1e3:.0f} ms; goal for each line: {GOAL_MS:.0f} ms")
    for figure in figures:
        print(
            f"{figure['work']:<28} {figure['flags']:>4} flags  median {figure['median_ms']:6.1f} ms  "
            f"worst {figure['worst_ms']:6.1f} ms"
        )


if __name__ == "__main__":
    raise SystemExit(main())
