# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""When each gate of the long run last held, and on which files: ``proved.json``, which those gates' green runs write.

What a gate covers is one digest of paths and contents, by git's names for contents: any commit has one, and a record
needs no commit's name.
"""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path

from .gate import Gate

RECORD = Path(__file__).with_name("proved.json")
PATH, TABLE = "tests/gates/proved.json", "tests/gates/table.py"
# So many commits of the branch a gate may be behind what it covers; a merge is one, whatever it brings.
MOST_COMMITS = 10
DIGEST_LENGTH = 16


@dataclass(frozen=True)
class Proof:
    """``digest`` of the files that the gate held on, at ``date`` (UTC), in ``seconds``; ``covers`` is where they lay:
    what is renamed since has another place in the table.
    """

    digest: str
    date: str
    seconds: int
    covers: tuple[str, ...] = ()


def read(path: Path = RECORD) -> dict[str, Proof]:
    """The proofs by their gates' names; none where there is no record yet."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {name: Proof(**{**proof, "covers": tuple(proof.get("covers", ()))}) for name, proof in kept.items()}


def write(name: str, proof: Proof, path: Path = RECORD) -> None:
    """Put ``proof`` into the record and leave the others as they are."""
    proofs = {**read(path), name: proof}
    text = json.dumps({name: asdict(proofs[name]) for name in sorted(proofs)}, indent=2)
    path.write_text(f"{text}\n", encoding="utf-8")


def made_now(digest: str, seconds: float, covers: Sequence[str]) -> Proof:
    return Proof(digest, datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M"), round(seconds), tuple(covers))


def of_files(checkout: Path, covers: Sequence[str]) -> str:
    """The digest of the checkout's files as they lie there, committed or not; empty outside of a repository."""
    listed = _git(checkout, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *covers)
    paths = sorted(path for path in set(listed.split("\0")) if path and (checkout / path).is_file())
    if not paths:
        return ""
    names = _git(checkout, "hash-object", "--stdin-paths", text_in="".join(f"{path}\n" for path in paths)).split()
    return _digest(zip(paths, names))


def of_commits(checkout: Path, covers: Sequence[str], number: int = MOST_COMMITS) -> Iterator[str]:
    """The digests of the last ``number`` commits of the branch, and then of those that their merges brought."""
    branch = _branch(checkout, number)
    brought = _git(checkout, "rev-list", "HEAD", f"^{branch[-1]}").split() if branch else []
    for commit in dict.fromkeys([*branch, *brought]):
        yield _of_commit(checkout, commit, covers)


def _branch(checkout: Path, number: int) -> list[str]:
    """Newest first; fewer where the history is shorter."""
    return _git(checkout, "rev-list", "--first-parent", f"--max-count={number}", "HEAD").split()


def _of_commit(checkout: Path, commit: str, covers: Sequence[str]) -> str:
    # git ls-tree knows no pathspec but plain paths, and no more is wanted here.
    inside = [(path, name) for path, name in _files(checkout, commit) if any(_is_below(path, one) for one in covers)]
    return _digest(sorted(inside)) if inside else ""


@functools.cache
def _files(checkout: Path, commit: str) -> list[tuple[str, str]]:
    """The path and git's name of each file's content; a commit never changes, and each gate asks for it."""
    listed = [line.partition("\t") for line in _git(checkout, "ls-tree", "-r", "-z", commit).split("\0") if line]
    return [(path, about.split()[2]) for about, _tab, path in listed]


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def _digest(named: Iterable[tuple[str, str]]) -> str:
    text = "".join(f"{name} {path}\n" for path, name in named)
    return sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


def _git(checkout: Path, *arguments: str, text_in: str = "") -> str:
    done = subprocess.run(["git", *arguments], cwd=checkout, input=text_in, text=True, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else ""


@dataclass(frozen=True)
class Standing:
    """How a gate stands to its record. ``is_overdue``: changed under, and not held for the last commits."""

    gate: Gate
    proof: Proof | None
    is_changed: bool
    is_overdue: bool

    def row(self) -> str:
        if self.proof is None:
            return f"{self.gate.name:<16} {'never':<16} {'':<16} "
        changed = "changed since" if self.is_changed else "unchanged"
        late = f", for {MOST_COMMITS} commits or more" if self.is_overdue else ""
        return f"{self.gate.name:<16} {self.proof.date:<16} {self.proof.digest:<16} {changed}{late}"


def standing(checkout: Path, gate: Gate, proofs: Mapping[str, Proof]) -> Standing:
    proof, now = proofs.get(gate.name), of_files(checkout, gate.covers)
    is_changed = proof is None or proof.digest != now
    if not is_changed:
        return Standing(gate, proof, False, False)
    # A shallow clone cannot tell, and neither can a history in which the record was just begun.
    if len(_branch(checkout, MOST_COMMITS)) < MOST_COMMITS:
        return Standing(gate, proof, True, False)
    if proof is None:
        is_late = _was_begun(checkout, MOST_COMMITS - 1) and not _is_new(checkout, gate.name, MOST_COMMITS - 1)
        return Standing(gate, proof, True, is_late)
    return Standing(gate, proof, True, proof.digest not in of_commits(checkout, proof.covers or gate.covers))


def _is_new(checkout: Path, name: str, commits_ago: int) -> bool:
    """Whether the table of then has no such gate, which so has as many commits to hold as one that was changed."""
    text = _git(checkout, "show", f"HEAD~{commits_ago}:{TABLE}")
    return bool(text) and f'"{name}"' not in text


def _was_begun(checkout: Path, commits_ago: int) -> bool:
    """Whether the record had an entry of any gate then."""
    text = _git(checkout, "show", f"HEAD~{commits_ago}:{PATH}")
    return bool(text) and bool(json.loads(text))
