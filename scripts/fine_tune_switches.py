# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m scripts.fine_tune_switches``: writes the tables of switches into docs/optimum_habana.md.

They are made from what ``gaudi3_scale.fine_tune`` itself answers.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from gaudi3_scale.fine_tune.switches import FUSED, GROUPS, SDPA, Switch

from .role_readmes import table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "optimum_habana.md"
BEGIN, END = "<!-- `make readmes` writes these tables. -->", "<!-- The end of the tables. -->"


def main() -> int:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    wanted = before + render() + rest.partition(END)[2]
    if text != wanted:
        PAGE.write_text(wanted, encoding="utf-8")
        sys.stdout.write(f"{PAGE.name} written\n")
    return 0


def render() -> str:
    """The part of the page from one mark to the other."""
    parts = [
        f"### {title}\n\n{table(('Switch', 'What it does here', 'Instead'), _rows(switches))}"
        for title, switches in GROUPS
    ]
    return "\n\n".join([BEGIN, *parts, f"`--attn_implementation {FUSED}` becomes `sdpa`: {_linked(SDPA)}.", END])


def _rows(switches: Iterable[Switch]) -> Iterable[tuple[str, str, str]]:
    """Neighbors with one answer share a row."""
    for (what, answer), group in groupby(switches, key=lambda switch: (_what(switch), switch.answer)):
        yield ", ".join(f"`--{switch.name}`" for switch in group), what, _linked(answer)


def _linked(answer: str) -> str:
    """Switches as code, and pages by links."""
    return re.sub(r"docs/(\w+)\.md", r"[\1](\1.md)", re.sub(r"(?<!`)(--[a-z_]+)", r"`\1`", answer)).replace("|", "\\|")


def _what(switch: Switch) -> str:
    if switch.new:
        return f"renamed to `--{switch.new}`"
    return "refused" if switch.refused else "no effect, told"


if __name__ == "__main__":
    sys.exit(main())
