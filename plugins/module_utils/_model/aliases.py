# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Aliases of a model, such as ``candidate`` and ``production``: an entry for each move, of which the last one is so.

A move is the entry with the next number, which only one of all who try at once can create: who was slower is told who
was first, and every entry names the one before, so no move is lost and none goes unseen.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from .._errors import GaudiError
from .._node.json_file import parse_object
from .names import NOTHING, is_whole_version
from .store import Store, alias_folder

MOST_ENTRY_BYTES = 4096
LAST = 99_999_999
_ENTRY = re.compile(r"(\d{8})\.json")


@dataclass(frozen=True)
class Move:
    """``before`` is empty for the first; ``by`` and ``time`` (UTC) are what the mover said."""

    version: str
    before: str
    by: str
    time: str

    def text(self) -> bytes:
        return (json.dumps(vars(self), sort_keys=True) + "\n").encode()


@dataclass(frozen=True)
class Alias:
    """What it was at the moment it was read; ``number`` 0 and no ``move``: nobody has set it."""

    name: str
    number: int
    move: Move | None

    @property
    def version(self) -> str:
        return self.move.version if self.move else ""


def read_alias(store: Store, name: str, alias: str) -> Alias:
    """The alias as it is now."""
    numbers = numbers_of(store, name, alias)
    if not numbers:
        return Alias(alias, 0, None)
    return Alias(alias, numbers[-1], read_move(store, name, alias, numbers[-1]))


def numbers_of(store: Store, name: str, alias: str) -> list[int]:
    """Those of all its moves, in order."""
    found = (_ENTRY.fullmatch(one) for one in store.names(alias_folder(name, alias)))
    return sorted(int(one[1]) for one in found if one)


def read_move(store: Store, name: str, alias: str, number: int) -> Move:
    key = _key(name, alias, number)
    content = store.read(key, MOST_ENTRY_BYTES)
    try:
        told = parse_object(content or b"")
        move = Move(**{field: str(told[field]) for field in ("version", "before", "by", "time")})
        if not is_whole_version(move.version):
            raise ValueError("it names no version")
        if not all(text.isprintable() for text in vars(move).values()):
            raise ValueError("it is not printable")
    except (ValueError, LookupError) as error:
        raise GaudiError(
            f"{store.address(key)} is no entry of an alias; somebody else wrote it: look at it, and remove it."
        ) from error
    return move


def move_alias(store: Store, name: str, before: Alias, move: Move) -> bool:
    """Set the alias from what it was to ``move.version``; False where it is so already.

    GaudiError where somebody moved it since ``before`` was read.
    """
    if before.version == move.version:
        return False
    if before.number >= LAST:
        raise GaudiError(f"{store.address(alias_folder(name, before.name))} has no number left; remove its last entry.")
    if store.create(_key(name, before.name, before.number + 1), move.text()):
        return True
    raise moved_meanwhile(name, read_alias(store, name, before.name))


def moved_meanwhile(name: str, now: Alias) -> GaudiError:
    """What is said of an alias that is not what the mover takes it for."""
    if now.move is None:
        return GaudiError(
            f"The alias {now.name} of {name} is not set, so it was not moved; if it is to be new, set expected to "
            f"{NOTHING}."
        )
    return GaudiError(
        f"The alias {now.name} of {name} was moved meanwhile: it names {now.version[:12]} since {now.move.time}, by "
        f"{now.move.by}, so it was left there; look at that version, and move it from there (expected: "
        f"{now.version[:12]}) if it still has to be.",
        version=now.version,
    )


def _key(name: str, alias: str, number: int) -> str:
    return f"{alias_folder(name, alias)}/{number:08d}.json"
