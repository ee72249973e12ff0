# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Everything that a node says about itself for whoever helps with it: read, cut, without secrets. Only reads."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from .._errors import GaudiError
from .._job.paths import JobPaths, check_name, known_jobs
from .._node import environment_file
from .._node.commands import Run
from .._node.secret_words import is_secret
from .._upgrade import inventory
from .redaction import how_many_hidden, redacted
from .size import whole_lines
from .sources import FILES, FOLDERS, PROGRAMS, Folder, OneFile, Program, of_job
from .tails import Tail, tail_of, tails

INDEX, VERSIONS = "INDEX.txt", "versions.json"
NEWEST_JOBS = 3
# A file of variables; what is larger is none of ours.
_MOST_VARIABLES = 1 << 20


@dataclass(frozen=True)
class Item:
    """A file of the bundle, from ``source``. ``why`` it is not in it; ``hidden``: places at which a secret was."""

    name: str
    source: str
    text: str = ""
    cut: bool = False
    hidden: int = 0
    why: str = ""

    @property
    def bytes(self) -> int:
        return len(self.text.encode(errors="replace"))

    def as_dict(self) -> dict[str, object]:
        """As a module returns it, without the text."""
        return {
            "name": self.name,
            "source": self.source,
            "bytes": self.bytes,
            "cut": self.cut,
            "hidden": self.hidden,
            "why": self.why,
        }


@dataclass(frozen=True)
class Wanted:
    """``jobs`` by name, empty: the newest. ``most_bytes`` of text in all."""

    jobs: Sequence[str] = ()
    most_bytes: int = 16 << 20
    venv: str = ""
    state_directory: str = "/var/lib/gaudi3_scale"
    log_directory: str = "/var/log/gaudi3_scale"
    root: str = "/"
    kernel_root: str = "/"
    sources: Sequence[Program | OneFile | Folder] = field(default=(*PROGRAMS, *FILES, *FOLDERS))


def collected(wanted: Wanted, run: Run) -> list[Item]:
    """The bundle's files in the order of their worth, and those that are not in it with the reason.

    Raises GaudiError for what cannot name a job.
    """
    known = [_paths(wanted, name) for name in known_jobs(_paths(wanted, "any"))]
    jobs, unknown = _chosen(wanted.jobs, {job.name: job for job in known})
    # Of all jobs: what one has printed may stand in a log that is nobody's.
    secrets = _secrets(known)
    sources = [*wanted.sources, *(one for job in jobs for one in of_job(job))]
    left = wanted.most_bytes
    found = []
    for item in _items(wanted, sources, run):
        fitting = _within(_without_secrets(item, secrets), left)
        left -= fitting.bytes
        found.append(fitting)
    return [*found, *(Item(f"jobs/{name}", "the job", why="this node does not know it") for name in unknown)]


def texts_of(items: Sequence[Item], heading: str) -> dict[str, str]:
    """Name to text, the list of all first."""
    index = [heading, "", *(_line(item) for item in items)]
    return {INDEX: "\n".join(index) + "\n", **{item.name: item.text for item in items if not item.why}}


def _line(item: Item) -> str:
    if item.why:
        return f"{item.name}: not here ({item.why}); from {item.source}"
    cut = ", only the end" if item.cut else ""
    hidden = f", {item.hidden} secrets hidden" if item.hidden else ""
    return f"{item.name}: {item.bytes} bytes{cut}{hidden}; from {item.source}"


def _items(wanted: Wanted, sources: Iterable[Program | OneFile | Folder], run: Run) -> Iterator[Item]:
    versions = {
        **asdict(inventory.read(run, wanted.kernel_root, wanted.venv, wanted.root)),
        "distributions": inventory.distributions(wanted.venv),
    }
    yield Item(VERSIONS, "the node's inventory", json.dumps(versions, indent=1, sort_keys=True) + "\n")
    for source in sources:
        if isinstance(source, Program):
            yield _said(source, run)
        elif isinstance(source, OneFile):
            tail = tail_of(_rooted(wanted.root, source.path), source.most)
            if tail is not None:
                yield _of_tail(replace(tail, text=source.part(tail.text)), source.name, source.path)
        else:
            below = replace(source.below, directory=_rooted(wanted.root, source.below.directory))
            for tail in tails(below):
                name = f"{source.name}/{tail.name}".rstrip("/")
                yield _of_tail(tail, name, f"{source.below.directory}/{tail.name}".rstrip("/"))


def _rooted(root: str, path: str) -> str:
    return path if root == "/" or path.startswith(root) else root.rstrip("/") + path


def _said(source: Program, run: Run) -> Item:
    command = " ".join(source.argv)
    done = run(source.argv, timeout=source.timeout)
    if not done.stdout.strip():
        return Item(
            source.name, command, why=done.stderr.strip()[-200:] or f"it printed nothing and ended with {done.rc}"
        )
    text = source.part(done.stdout)
    if not text:
        return Item(source.name, command, why="none of its lines is about the cards")
    end = whole_lines(text[-source.most :], is_end=len(text) > source.most)
    failure = f"\n(exit code {done.rc}: {done.stderr.strip()[-500:]})\n" if done.rc else ""
    return Item(source.name, command, end + failure, cut=len(end) < len(text))


def _of_tail(tail: Tail, name: str, source: str) -> Item:
    return Item(name, source, tail.text, cut=tail.cut, why=tail.why)


def _without_secrets(item: Item, values: Collection[str]) -> Item:
    # What a file is called, and what a program complains about, its owner has chosen as well.
    text = redacted(item.text, item.name, values)
    return replace(item, text=text, hidden=how_many_hidden(text), why=redacted(item.why, "", values))


def _within(item: Item, left: int) -> Item:
    """As it is, or with its end alone, or not at all."""
    if item.bytes <= left:
        return item
    if left < 1 << 10:
        return replace(item, text="", cut=False, hidden=0, why="the bundle has its largest size without it")
    # A part of a character at the beginning becomes nothing.
    text = whole_lines(item.text.encode(errors="replace")[-left:].decode(errors="ignore"), is_end=True)
    return replace(item, text=text, cut=True, hidden=how_many_hidden(text))


def _paths(wanted: Wanted, name: str) -> JobPaths:
    return JobPaths(check_name(name), wanted.state_directory, wanted.log_directory)


def _chosen(names: Sequence[str], known: Mapping[str, JobPaths]) -> tuple[list[JobPaths], list[str]]:
    """The jobs of these names, or the newest, and the names that this node does not know."""
    # As a text they come with the blanks after its commas.
    named = [check_name(name) for name in dict.fromkeys(map(str.strip, names))]
    if named:
        return [known[name] for name in named if name in known], [name for name in named if name not in known]
    newest = sorted(known.values(), key=lambda job: _changed(job.description), reverse=True)
    return newest[:NEWEST_JOBS], []


def _changed(path: str) -> float:
    try:
        return Path(path).lstat().st_mtime
    except OSError:
        return 0.0


def _secrets(jobs: Iterable[JobPaths]) -> set[str]:
    """The values of the jobs' variables that sound like secrets: a program may have printed them in any form."""
    found: set[str] = set()
    for job in jobs:
        tail = tail_of(job.environment, _MOST_VARIABLES)
        if tail is None or tail.why:
            continue
        try:
            variables = environment_file.parse(tail.text, job.environment)
        except GaudiError:
            continue
        found |= {value for name, value in variables.items() if is_secret(name)}
    return found
