# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The end of a run: a line for all hosts that ended alike, those first that are out; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.host_names import compact, shortened
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.reasons import brief
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.tally import FAILED, STOPPED, UNREACHABLE, Trouble
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.text_width import columns_of, cut, plain

OUT = (UNREACHABLE, FAILED)
NOT_RUN = "not run"
STATES = (*OUT, STOPPED, NOT_RUN, "changed", "ok")
# Kinds of trouble that have a line of their own: with the others, the head and the healthy hosts a screen of 40 lines.
MOST_KINDS = 27
# Columns of the names at most; the reason needs the others.
_MOST_NAMES = 18
# Counts of Ansible's own recap that a line of healthy hosts has.
_ALWAYS, _IF_ANY = ("ok", "changed"), ("rescued", "ignored")


@dataclass(frozen=True)
class Ended:
    """How one host ended. ``counts`` are those of its line in Ansible's own recap."""

    host: str
    state: str
    counts: Mapping[str, int]
    trouble: Trouble | None = None


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    state: str
    hosts: Sequence[str]
    why: str


def title(ended: Sequence[Ended], words: str) -> str:
    """All hosts in one line."""
    counted = [(state, sum(one.state == state for one in ended)) for state in STATES]
    parts = ", ".join(f"{number} {state.lower()}" for state, number in counted if number)
    return f"RESULT of {numbered(len(ended))}{words}: {parts or 'nothing was run'}"


def numbered(hosts: int) -> str:
    """So many hosts."""
    return f"{hosts} host{'s' * (hosts != 1)}"


def table(ended: Sequence[Ended], width: int) -> list[tuple[str, str]]:
    """The lines as text, each with its state."""
    lines = lines_of(ended)
    shown, more = _most_common(lines)
    names = [shortened(plain(compact(line.hosts)), _MOST_NAMES) for line in shown]
    wide = max(map(columns_of, names), default=0)
    digits = max((len(str(len(line.hosts))) for line in shown), default=0)
    said = []
    for line, name in zip(shown, names):
        filled = name + " " * (wide - columns_of(name))
        text = f"{line.state:<11}  {len(line.hosts):>{digits}}  {filled}  {line.why}"
        said.append((line.state, cut(text.rstrip(), width)))
    if more:
        hosts = sum(len(line.hosts) for line in more)
        kinds = f"and {len(more)} more kind{'s' * (len(more) != 1)} on {numbered(hosts)}"
        said.insert(MOST_KINDS, ("", kinds))
    return said


def pages(ended: Sequence[Ended]) -> list[str]:
    """Those that say more about what the hosts are out for, that of most hosts first."""
    counted = Counter(one.trouble.page for one in ended if one.trouble and one.trouble.page and one.state in OUT)
    return [page for page, _hosts in counted.most_common()]


def lines_of(ended: Sequence[Ended]) -> list[Line]:
    """Hosts that are out by their trouble, the most common first; then the others by their state."""
    alike: dict[tuple[str, ...], list[Ended]] = {}
    for one in ended:
        key = one.trouble.kind if one.trouble and one.state in OUT else ()
        alike.setdefault((one.state, *key), []).append(one)
    order = {state: place for place, state in enumerate(STATES)}
    groups = sorted(
        alike.values(),
        key=lambda group: (
            # Both kinds of trouble by how many have it; the healthy as the states are.
            max(order[group[0].state], 1),
            -len(group),
            order[group[0].state],
        ),
    )
    return [Line(group[0].state, [one.host for one in group], _why(group)) for group in groups]


def _why(group: Sequence[Ended]) -> str:
    first = group[0]
    if first.state == NOT_RUN:
        return "the run ended before them"
    if first.trouble is None:
        return _counts(group)
    return brief(first.trouble.reason if len(group) == 1 else first.trouble.alike)


def _counts(group: Sequence[Ended]) -> str:
    """In Ansible's own notation, from the least to the most that a host of the group has."""
    parts = []
    for name in (*_ALWAYS, *_IF_ANY):
        found = [one.counts.get(name, 0) for one in group]
        least, most = min(found), max(found)
        if most or name in _ALWAYS:
            parts.append(f"{name}={least}" + f"-{most}" * (least != most))
    return " ".join(parts)


def _most_common(lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """The lines that are shown, and those of trouble that are too many."""
    out = [line for line in lines if line.state in OUT]
    healthy = [line for line in lines if line.state not in OUT]
    return [*out[:MOST_KINDS], *healthy], out[MOST_KINDS:]
