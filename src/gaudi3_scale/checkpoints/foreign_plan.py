# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What each node lacks of the checkpoints that another program wrote, and what is cut off and set aside; pure.

A folder with a number in its name (``checkpoint-40``, ``step_40``, ``global_step40``) is a checkpoint, and those whose
names are alike but for numbers are one series, of which the newest whole one is wanted. It is the union of what the
nodes have of it: some libraries write all of it on rank 0, others each rank's part on its own node. All other files are
wanted too, since they are written over (``last.ckpt``, ``latest``); of those in a series not what is hours old.

Of two versions of one file the one counts that ranks have written since they were last started; a node keeps what its
own ranks wrote then, though another's differs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gaudi3_scale.checkpoints.foreign_files import Found, Inventory
from gaudi3_scale.checkpoints.foreign_format import DCP_METADATA, DCP_SUFFIX

_NUMBER = re.compile(r"[0-9]+")
_SAME_SAVE_NS = 3600 * 10**9
"""Files of one series that are further apart are not parts of one save."""


@dataclass(frozen=True)
class Copy:
    """The file goes from node ``source`` to ``receivers``; nodes are indexes into the inventories."""

    path: str
    source: int
    receivers: tuple[int, ...]


@dataclass(frozen=True)
class SetAside:
    """A checkpoint, or a file, that is cut off, on the nodes that have some of it. ``used``: what is used instead."""

    path: str
    nodes: tuple[int, ...]
    reason: str
    used: str = ""


@dataclass(frozen=True)
class Plan:
    """``times``: when each wanted folder was changed last. ``removed``: by node, copies that nothing needs any more."""

    copies: tuple[Copy, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    times: Mapping[str, int] | None = None
    removed: Mapping[int, tuple[str, ...]] | None = None


def checkpoint_of(path: str) -> str | None:
    """The checkpoint that a file is part of; None for one that is part of none."""
    parts = path.split("/")
    for count in range(1, len(parts)):
        if _NUMBER.search(parts[count - 1]):
            return "/".join(parts[:count])
    return None


def plan(nodes: Sequence[Inventory], names: Sequence[str]) -> Plan:
    """What is to be done before the ranks start; ``names`` are those of the nodes."""
    found = _Nodes(nodes, names)
    checkpoints: dict[str, list[str]] = {}
    others: list[str] = []
    for path in sorted({path for node in nodes for path in node.files}):
        checkpoint = checkpoint_of(path)
        if checkpoint is None:
            others.append(path)
        else:
            checkpoints.setdefault(checkpoint, []).append(path)
    wanted, aside = _of_checkpoints(found, checkpoints)
    singles, more_aside = _of_files(found, others)
    kept = {path for one in wanted for path in checkpoints[one]} | set(singles)
    copies = [copy for path in sorted(kept) if (copy := found.copy(path)) is not None]
    gone = {path for one in aside for path in checkpoints[one.path]}
    times = {
        folder: max(node.folders.get(folder, 0) for node in nodes)
        for folder in sorted({folder for node in nodes for folder in node.folders})
        if any(folder == one or folder.startswith(f"{one}/") for one in wanted)
    }
    removed = {node: paths for node in range(len(nodes)) if (paths := tuple(sorted(found.surplus(node, kept | gone))))}
    return Plan(tuple(copies), (*aside, *more_aside), times, removed)


class _Nodes:
    """The inventories, and which of two versions counts."""

    def __init__(self, nodes: Sequence[Inventory], names: Sequence[str]) -> None:
        self._nodes = nodes
        self.names = names
        self._turn = max((node.turn for node in nodes), default=0)

    def having(self, paths: Iterable[str]) -> tuple[int, ...]:
        """The nodes that have any of these."""
        wanted = set(paths)
        return tuple(number for number, node in enumerate(self._nodes) if wanted & node.files.keys())

    def found(self, node: int, path: str) -> Found:
        return self._nodes[node].files[path]

    def is_current(self, node: int) -> bool:
        """Whether it took part in the last start: another one's files may be of a time that the job has left behind."""
        return self._nodes[node].turn == self._turn

    def is_recent(self, path: str) -> bool:
        """Whether the ranks may have written it when they were ended."""
        return any(self.found(node, path).fresh or not self.is_current(node) for node in self.having([path]))

    def is_fresh(self, paths: Iterable[str]) -> bool:
        """Whether the ranks that were last started have written any of these."""
        return any(self._rank(node, path) == 2 for path in paths for node in self.having([path]))

    def source(self, path: str) -> int | None:
        """The node whose version counts; None where it is cut off on all."""
        whole = [node for node in self.having([path]) if not self.found(node, path).wrong]
        # Of those that took part in the last start the first one, which has rank 0; else the newest, by clocks that
        # the launch has compared.
        return max(whole, key=lambda node: (self._rank(node, path), self._age(node, path), -node), default=None)

    def copy(self, path: str) -> Copy | None:
        """To whom the file has to go; None where nobody needs it."""
        source = self.source(path)
        if source is None:
            return None
        receivers = tuple(number for number in range(len(self._nodes)) if self._needs(number, path, source))
        return Copy(path, source, receivers) if receivers else None

    def surplus(self, node: int, kept: set[str]) -> set[str]:
        """The copies that are not wanted and whose original is gone: who wrote it has removed it."""
        copies = {path for path in self._nodes[node].copies if not self.found(node, path).fresh} - kept
        return {path for path in copies if not any(self._is_original(other, path) for other in self.having([path]))}

    def _is_original(self, node: int, path: str) -> bool:
        return path not in self._nodes[node].copies or self.found(node, path).fresh

    def _needs(self, node: int, path: str, source: int) -> bool:
        own = self._nodes[node].files.get(path)
        if node == source or (own and own.version == self.found(source, path).version and not own.wrong):
            return False
        if own is None or own.wrong:
            return True
        rank = self._rank(node, path)
        return rank < self._rank(source, path) or rank == 0

    def _rank(self, node: int, path: str) -> int:
        if not self.is_current(node):
            return 0
        return 2 if self.found(node, path).fresh else 1

    def _age(self, node: int, path: str) -> int:
        return 0 if self.is_current(node) else self.found(node, path).written


def _of_checkpoints(found: _Nodes, checkpoints: Mapping[str, list[str]]) -> tuple[set[str], list[SetAside]]:
    """Those that are wanted, and those that are cut off and newer than them."""
    wanted: set[str] = set()
    aside: list[SetAside] = []
    for series in _by_series(checkpoints).values():
        newest_first = sorted(series, key=_numbers, reverse=True)
        cut: dict[str, str] = {}
        for place, one in enumerate(newest_first):
            before = next(iter(newest_first[place + 1 :]), None)
            reason = _cut(found, one, checkpoints, before)
            if not reason:
                wanted.add(one)
                aside += [SetAside(path, found.having(checkpoints[path]), why, one) for path, why in cut.items()]
                break
            cut[one] = reason
        else:
            aside += [SetAside(path, found.having(checkpoints[path]), why) for path, why in cut.items()]
        # Some programs look for the one that was written last.
        last = max(newest_first, key=lambda one: _written(found, checkpoints[one]))
        if last not in cut and not _cut(found, last, checkpoints, None):
            wanted.add(last)
    return wanted, aside


def _cut(found: _Nodes, checkpoint: str, checkpoints: Mapping[str, list[str]], before: str | None) -> str:
    """Why it is not whole, or nothing. ``before``: the one before it in its series."""
    paths = checkpoints[checkpoint]
    inside = _inside(checkpoint, paths)
    if _holds_checkpoints(inside):
        return ""
    torn = _torn(found, paths) or _without_a_part(found, set(paths))
    if torn or before is None or not any(found.is_recent(path) for path in paths):
        return torn
    earlier = _inside(before, checkpoints[before])
    if _holds_checkpoints(earlier):
        return ""
    # Written by as many ranks, both have as many files of each kind; by fewer, files of each kind.
    as_many = found.is_fresh(paths) and found.is_fresh(checkpoints[before])
    missing = _fewer(inside, earlier, as_many=as_many)
    return f"it has fewer files than {before}, which has {missing}" if missing else ""


def _inside(checkpoint: str, paths: Iterable[str]) -> list[str]:
    return [path[len(checkpoint) + 1 :] for path in paths]


def _torn(found: _Nodes, paths: Sequence[str]) -> str:
    for path in paths:
        if found.source(path) is None:
            node = found.having([path])[0]
            return f"{path} on {found.names[node]}: {found.found(node, path).wrong}"
    return ""


def _without_a_part(found: _Nodes, paths: set[str]) -> str:
    """``paths`` are whole on some node each."""
    for path in sorted(paths):
        folder = path.rpartition("/")[0]
        source = found.source(path)
        needs = () if source is None else found.found(source, path).needs
        missing = next((name for name in needs if f"{folder}/{name}" not in paths), None)
        if missing:
            return f"{folder}/{missing} is on no node, and {path} names it"
        if path.endswith(DCP_SUFFIX) and f"{folder}/{DCP_METADATA}" not in paths:
            return f"{folder}/{DCP_METADATA}, which is written last, is on no node"
    return ""


def _fewer(inside: Sequence[str], earlier: Sequence[str], *, as_many: bool) -> str:
    """A file of which there are fewer of its kind than earlier, or none; empty where there is no such."""
    kinds, kinds_before = Counter(map(_kind, inside)), Counter(map(_kind, earlier))
    short = [name for name in earlier if kinds[_kind(name)] < (kinds_before[_kind(name)] if as_many else 1)]
    return min(short, default="")


def _of_files(found: _Nodes, paths: Sequence[str]) -> tuple[list[str], list[SetAside]]:
    """Those that are part of no checkpoint and are wanted, and those that are cut off."""
    wanted: list[str] = []
    aside: list[SetAside] = []
    for series in _by_series(paths).values():
        newest = _written(found, series)
        for path in series:
            whole = found.source(path)
            cut = [node for node in found.having([path]) if found.found(node, path).wrong and found.is_recent(path)]
            if cut:
                used = f"the one of {found.names[whole]}" if whole is not None else ""
                aside.append(SetAside(path, tuple(cut), found.found(cut[0], path).wrong, used))
            if whole is not None and newest - found.found(whole, path).written <= _SAME_SAVE_NS:
                wanted.append(path)
    return wanted, aside


def _by_series(paths: Iterable[str]) -> dict[str, list[str]]:
    series: dict[str, list[str]] = {}
    for path in paths:
        series.setdefault(_kind(path), []).append(path)
    return series


def _kind(path: str) -> str:
    """The same for names that differ in numbers alone."""
    return _NUMBER.sub("#", path)


def _numbers(path: str) -> tuple[int, ...]:
    return tuple(int(number) for number in _NUMBER.findall(path))


def _written(found: _Nodes, paths: Iterable[str]) -> int:
    return max((found.found(node, path).written for path in paths for node in found.having([path])), default=0)


def _holds_checkpoints(inside: Iterable[str]) -> bool:
    """Whether it is rather a folder of checkpoints (``run1/checkpoint-20``): what is whole in it is not known."""
    folders = {path.split("/")[0] for path in inside if "/" in path and _NUMBER.search(path.split("/")[0])}
    return any(count > 1 for count in Counter(map(_kind, folders)).values())
