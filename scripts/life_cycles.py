# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m scripts.life_cycles``: writes docs/life_cycles.md, the table of life cycles, from what the code reads.

The page has days and no ages: those are told where today's date is known.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._releases.life_cycle import (
    CARDS,
    CORE,
    ENGINE,
    KERNEL,
    KINDS,
    LIBRARY,
    OLD_AFTER_DAYS,
    RELEASE,
    SYSTEM,
    TORCH,
    LifeCycle,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.life_cycle_rows import LIFE_CYCLES

from .role_readmes import table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "life_cycles.md"
TITLES = {
    RELEASE: "Releases",
    CARDS: "Cards",
    KERNEL: "Kernels",
    SYSTEM: "Operating systems",
    TORCH: "PyTorch",
    ENGINE: "Engines: vLLM",
    CORE: "ansible-core",
    LIBRARY: "Libraries",
}
HEAD = f"""<!-- `make readmes` writes this file from plugins/module_utils/_releases/life_cycle_rows.py. Change that. -->

# What is supported until when

Each row has its source and the day on which it was read. What no source tells is `unknown`; nothing is guessed.
UNVERIFIED: the row rests on one weak source, or on our reading of it.

| Where | What it does with the table |
| --- | --- |
| `plan_upgrade.yml` | notes of the plan. The JSON has all parts of each group of nodes (`life_cycles`) |
| `preflight.yml` | one warning with what is no longer supported or has a known hole, never a failure |
| `audit_cluster.yml` | the item `life_cycles`: `watch`, or `fail` if it is in `gaudi_audit_required` |
| `venv.yml` | warns about a PyTorch with a known hole |
| `serving.yml` | refuses a vLLM with a known hole, unless `gaudi_serving_accept_holes` names it |

Of ansible-core and of libraries in the training environment, only the plan knows.

Data older than {OLD_AFTER_DAYS} days says so: as a note of the plan, in the warning of preflight, and the item of the
audit is then `unknown` instead of `pass`. A newer version of the collection has newer rows. Today's date is the node's,
and in the audit the controller's."""
HEADER = ("", "Supported until", "What is known", "Source", "Read on")


def main() -> int:
    text = render()
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        PAGE.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{PAGE.relative_to(ROOT)} written\n")
    return 0


def render() -> str:
    """The whole page."""
    parts = [HEAD]
    for kind in KINDS:
        rows = [row for row in LIFE_CYCLES if row.kind == kind]
        parts += [f"## {TITLES[kind]}", table(HEADER, (_row(row) for row in rows))]
    return "\n\n".join(parts) + "\n"


def _row(row: LifeCycle) -> tuple[str, ...]:
    source = f"{row.source} (UNVERIFIED)" if row.unverified else row.source
    read = sorted({row.read, *(hole.read for hole in row.holes)})
    return f"`{row.name}`", _until(row), "; ".join(_known(row)), source, ", ".join(read)


def _until(row: LifeCycle) -> str:
    if row.until:
        return row.until
    return {True: "supported, no date", False: "no longer supported", None: "unknown"}[row.kept]


def _known(row: LifeCycle) -> Iterable[str]:
    yield row.what
    if row.breaks:
        yield f"**{row.breaks}**"
    for hole in row.holes:
        before = f" before {hole.fixed}" if hole.fixed else ""
        yield f"**[{hole.name}]({hole.source})**{before}: {hole.what}"


if __name__ == "__main__":
    sys.exit(main())
