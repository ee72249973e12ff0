# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What a person sees of a run over many hosts: counts while it goes on, each trouble once, a table at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible has it
from ansible_collections.gaudi3.scale.plugins.module_utils._node.pages import ADDRESS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.final_table import (
    OUT,
    numbered,
    pages,
    table,
    title,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.fleet import Fleet
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.host_names import compact, in_order, shortened
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.live_line import LiveLine
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.order import name_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.tally import Tally, Trouble
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fleet.text_width import columns_of, cut, wrapped

_INDENT, _MORE = " " * 4, " " * 8
# A kind of trouble is told whole when its first host has it; of more kinds in one task the counts say enough.
_MOST_AT_ONCE, _MOST_LINES_OF_ONE = 5, 8
_MOST_KINDS_OF_TASK = 10
_MOST_PAGES = 3
# Columns of the hosts before what they share.
_MOST_NAMES = 40


class Screen:
    """Prints through Ansible's display, which also writes the log.

    ``is_live``: on a terminal that rewrites a line. ``is_silent``: another one shows the run, and this the table alone.
    """

    def __init__(self, display: Any, *, is_live: bool, is_silent: bool) -> None:
        self.fleet = Fleet()
        self._is_silent = is_silent
        self._display = display
        self._tallies: dict[str, Tally] = {}
        self._live = LiveLine(display, self._head_open) if is_live else None
        self._print = self._live.print if self._live else display.display

    def play(self, name: str, hosts: Sequence[str], everywhere: int, words: str) -> None:
        """A play begins, or its next batch of the hosts that it is for."""
        self.close()
        number = (f"{len(hosts)} of " if len(hosts) < everywhere else "") + numbered(everywhere)
        out = [host for host in hosts if host in self.fleet.troubles]
        tail = f": {number}{words}" + (f", {len(out)} of them out" if out else "")
        self._line("")
        self._line(cut(f"PLAY {name}", self._width - len(tail)) + tail, C.COLOR_HIGHLIGHT)

    def task(self, uuid: str, tally: Tally, *, is_alone: bool) -> None:
        """A task begins. ``is_alone``: the one before it has ended, as it has not where no host waits for others."""
        if uuid in self._tallies:
            return
        if is_alone:
            self.close()
        self._tallies[uuid] = tally
        if self._live is None:
            self._head(tally)
        self.draw(tally)

    def tally(self, task: Any) -> Tally:
        """The counts of a task; of one that has no line, as an include that cannot be read, new ones."""
        found = self._tallies.get(task._uuid)
        if found is None:
            found = self._tallies[task._uuid] = Tally(name_of(task))
        return found

    def trouble(self, tally: Tally, host: str, trouble: Trouble) -> None:
        """A host is out; the first of a kind is told at once and whole."""
        if tally.trouble(host, trouble) and len(tally.troubles) <= _MOST_AT_ONCE:
            self._head(tally)
            text = f"{_INDENT}{trouble.state} {host}: {trouble.reason}"
            for line in wrapped(text, self._width, _MORE, _MOST_LINES_OF_ONE):
                self._line(line, _color(trouble.state))
        self.draw(tally)

    def draw(self, tally: Tally) -> None:
        """The live line: who is out, what runs, what comes next."""
        if self._live is None:
            return
        parts = [self.fleet.out(), f"{tally.name}: {tally.progress()}", f"next: {tally.following}"]
        self._live.write("; ".join(parts[not parts[0] : 2 + bool(tally.following)]))

    def close(self) -> None:
        """All open tasks have ended: what their hosts share, once, and the counts."""
        tallies, self._tallies = self._tallies, {}
        for tally in tallies.values():
            self._close(tally, is_alone=len(tallies) == 1)
        if self._live is not None:
            self._live.erase()

    def say(self, text: str) -> None:
        """A line of its own."""
        self.close()
        self._line(text)

    def end(self, counts: Mapping[str, Mapping[str, int]], words: str) -> None:
        """The table. ``counts``: of each host that ran a task, those of Ansible's own recap."""
        self.close()
        ended = self.fleet.ended(counts)
        self._print("")
        self._print(cut(title(ended, words), self._width), color=C.COLOR_HIGHLIGHT)
        for state, text in table(ended, self._width):
            self._print(text, color=_color(state))
        for page in pages(ended)[:_MOST_PAGES]:
            self._print(f"See {page} in {ADDRESS}")

    def _close(self, tally: Tally, *, is_alone: bool) -> None:
        if self._is_silent:
            return
        if tally.messages or tally.diffs or tally.troubles:
            self._head(tally)
        self._troubles(tally)
        self._messages(tally)
        for text, hosts in in_order(tally.diffs):
            self._line(f"{_INDENT}{self._names(tally, hosts)}:")
            self._line(text)
        for text, hosts in in_order(tally.warnings):
            self._display.warning(f"{compact(hosts)}: {text}")
        if tally.is_quiet:
            return
        # Below its own head a task needs no name.
        end = tally.outcome() if is_alone and tally.is_headed else f": {tally.outcome()}"
        before = _INDENT if is_alone and tally.is_headed else cut(tally.name, self._width - columns_of(end))
        self._line(cut(before + end, self._width), self._outcome_color(tally))

    def _troubles(self, tally: Tally) -> None:
        """Those of several hosts by their hosts, and those that were not told at once."""
        kinds = list(tally.troubles.values())
        untold = [(alike, place < _MOST_AT_ONCE) for place, alike in enumerate(kinds)]
        untold = [(alike, is_told) for alike, is_told in untold if len(alike) > 1 or not is_told]
        untold.sort(key=lambda one: -len(one[0]))
        for alike, is_told in untold[:_MOST_KINDS_OF_TASK]:
            _host, trouble = alike[0]
            names = self._names(tally, [host for host, _trouble in alike])
            why = "the same" if is_told else trouble.reason if len(alike) == 1 else trouble.alike
            self._line(cut(f"{_INDENT}{trouble.state} {names}: {why}", self._width), _color(trouble.state))
        more = [len(alike) for alike, _is_told in untold[_MOST_KINDS_OF_TASK:]]
        if more:
            self._line(f"{_INDENT}and {len(more)} more kinds on {sum(more)} hosts", C.COLOR_ERROR)

    def _messages(self, tally: Tally) -> None:
        said = in_order(tally.messages)
        for text, hosts in said[:_MOST_KINDS_OF_TASK]:
            first, *more = text.split("\n")
            self._line(f"{_INDENT}{self._names(tally, hosts)}: {first}")
            for line in more:
                self._line(_MORE + line)
        if said[_MOST_KINDS_OF_TASK:]:
            others = sum(len(hosts) for _text, hosts in said[_MOST_KINDS_OF_TASK:])
            self._line(f"{_INDENT}and other words of {others} more hosts; -v shows them")

    def _names(self, tally: Tally, hosts: Sequence[str]) -> str:
        """All that the task ran on in one word; else their names, and how many they are."""
        if len(hosts) > 1 and len(hosts) == tally.hosts:
            return f"all {len(hosts)} hosts"
        names = shortened(compact(hosts), _MOST_NAMES)
        return names if len(hosts) == 1 else f"{names} ({len(hosts)} hosts)"

    def _head_open(self) -> None:
        for tally in list(self._tallies.values()):
            self._head(tally)

    def _head(self, tally: Tally) -> None:
        # What others print comes from a thread of Ansible's, too.
        with self._display._lock:
            if tally.is_headed:
                return
            tally.is_headed = True
            following = f" (next: {tally.following})" if tally.following else ""
            self._line(cut(tally.name + following, self._width))

    def _line(self, text: str, color: str | None = None) -> None:
        if self._is_silent:
            return
        if self._live is not None:
            self._live.erase()
        self._print(text, color=color)

    @property
    def _width(self) -> int:
        # One column less than a terminal has, and 79 without one.
        return int(self._display.columns)

    def _outcome_color(self, tally: Tally) -> str:
        if any(state in tally.counts for state in OUT):
            return str(C.COLOR_ERROR)
        return str(C.COLOR_CHANGED if "changed" in tally.counts else C.COLOR_OK)


def _color(state: str) -> str:
    colors = {"UNREACHABLE": C.COLOR_UNREACHABLE, "FAILED": C.COLOR_ERROR, "STOPPED": C.COLOR_WARN}
    return str(colors.get(state, C.COLOR_CHANGED if state == "changed" else C.COLOR_OK))
