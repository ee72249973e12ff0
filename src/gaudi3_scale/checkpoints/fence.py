# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The fence of a directory of checkpoints: which generation of a job's ranks may write there. Standard library only.

A supervised job starts its ranks in generations, of which only one may write. A node that was frozen can wake up with
ranks of an old one, whose next act may be to publish or to remove a checkpoint. So each generation takes the fence when
it begins, and looks whether it still has it before either. ``fence.json`` says who has it, and which launches never
will again. Ranks without the variable (Slurm, mpirun, plain torchrun) know no generations, and have no fence.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.json_file import parse_object
from gaudi3_scale.core._node.regular_file import read_bounded

VARIABLE = "GAUDI3_SCALE_GENERATION"
FILE_NAME = "fence.json"
MOST_BYTES = 1 << 16
_LAUNCH = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_MOST_NUMBER = 10**15
# Of the launches before, so many are known to be over: with names of 64 characters still far below MOST_BYTES.
_MOST_EARLIER = 256


class FenceError(GaudiError):
    """This rank may not publish or remove checkpoints any more; ``message`` says who may."""


@dataclass(frozen=True)
class Generation:
    """``number`` counts the generations of ranks of one launch: of two, the higher one is the later."""

    launch: str
    number: int

    def __str__(self) -> str:
        return f"generation {self.number} of launch {self.launch}"


@dataclass(frozen=True)
class Holder:
    """Who has a fence, and the launches that had it before, the latest one last."""

    generation: Generation
    earlier: tuple[str, ...] = ()


def generation_from(environment: Mapping[str, str]) -> Generation | None:
    """This process's generation, ``LAUNCH:NUMBER`` in the variable; None where it is not set."""
    reported = environment.get(VARIABLE)
    if not reported:
        return None
    launch, _colon, number = reported.rpartition(":")
    if not (_LAUNCH.fullmatch(launch) and number.isascii() and number.isdecimal() and len(number) <= 15):
        raise GaudiError(
            f"${VARIABLE} is {reported[:80]!r}, but a generation is LAUNCH:NUMBER; do not set it yourself."
        )
    return Generation(launch, int(number))


def successor(found: Holder | None, mine: Generation, where: str) -> Holder:
    """What the fence says when ``mine`` has taken it; FenceError where a later generation had it already."""
    if found is None:
        return Holder(mine)
    held = found.generation
    if mine.launch in found.earlier or (mine.launch == held.launch and mine.number < held.number):
        raise _superseded(where, held, mine)
    if mine.launch == held.launch:
        return Holder(mine, found.earlier)
    return Holder(mine, (*found.earlier, held.launch)[-_MOST_EARLIER:])


def require_own(found: Holder | None, mine: Generation, where: str) -> None:
    """FenceError unless ``mine`` has the fence."""
    if found is None:
        raise FenceError(f"{where} is gone, so {mine} cannot know that it may still write there; launch again.")
    if found.generation != mine:
        raise _superseded(where, found.generation, mine)


def fence_text(holder: Holder) -> str:
    return json.dumps({**asdict(holder.generation), "earlier": holder.earlier})


def read_fence(text: str | bytes) -> Holder:
    """Raises ValueError with a clause that says what is wrong."""
    reported = parse_object(text, MOST_BYTES)
    if set(reported) != {"launch", "number", "earlier"}:
        raise ValueError("it must have launch, number and earlier, and nothing else")
    number, earlier = reported["number"], reported["earlier"]
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < _MOST_NUMBER:
        raise ValueError("its number is not a whole number of at least 0")
    if not isinstance(earlier, list) or not all(map(_is_launch, [reported["launch"], *earlier])):
        raise ValueError("a launch in it has an invalid name")
    return Holder(Generation(reported["launch"], number), tuple(earlier))


class Fence:
    """The fence of ``directory`` as a rank of generation ``mine`` sees it; with None nothing is fenced."""

    def __init__(self, directory: Path, mine: Generation | None) -> None:
        self._path = directory / FILE_NAME
        self._mine = mine

    def take(self) -> None:
        """Become the one that may write, for one rank of those that see the directory.

        Of two that take at the same time at most one does, whichever sleeps in between: each lays out its own file,
        then removes all others that are laid out, and only then reads who has the fence. What is read is so never
        older than what it is replaced by. FenceError where a later generation has it; GaudiError where it is no fence,
        or cannot be written.
        """
        if self._mine is None:
            return
        laid_out = self._path.with_name(f".{FILE_NAME}.{secrets.token_hex(8)}")
        try:
            descriptor = os.open(laid_out, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            with os.fdopen(descriptor, "w", encoding="ascii") as stream:
                for other in self._path.parent.glob(f".{FILE_NAME}.*"):
                    if other != laid_out:
                        other.unlink(missing_ok=True)
                stream.write(fence_text(successor(self._holder(), self._mine, str(self._path))))
                stream.flush()
                os.fsync(stream.fileno())
            laid_out.replace(self._path)
            _sync(self._path.parent)
        except OSError as error:
            raise GaudiError(
                f"{self._mine} cannot take {self._path}: {error.strerror}; make it writable, and do not start two "
                "generations at the same time."
            ) from error
        finally:
            laid_out.unlink(missing_ok=True)

    def require(self) -> None:
        """FenceError unless this rank's generation has the fence, read anew."""
        if self._mine is not None:
            require_own(self._holder(), self._mine, str(self._path))

    def _holder(self) -> Holder | None:
        try:
            return read_fence(read_bounded(str(self._path), MOST_BYTES))
        except FileNotFoundError:
            return None
        except OSError as error:
            reason = error.strerror or type(error).__name__
        except ValueError as error:
            reason = str(error)
        raise FenceError(
            f"{self._path} does not say which generation may write there: {reason}; remove it when no rank of the job "
            "runs, and launch again."
        )


def take_fence(directory: str | os.PathLike[str]) -> None:
    """Make this process's generation the one that may write checkpoints to ``directory``, which is made if missing.

    For one rank of those that see the directory, before any of them reads or writes there: call it, then let all ranks
    wait for it (a barrier). Raises GaudiError where a later generation of the job has it. Does nothing in a job that
    has no generations.
    """
    mine = generation_from(os.environ)
    if mine is not None:
        Path(directory).mkdir(parents=True, exist_ok=True)
        Fence(Path(directory), mine).take()


def holds_fence(directory: str | os.PathLike[str]) -> bool:
    """Whether this process's generation may still publish or remove checkpoints in ``directory``; to be asked
    immediately before either. True in a job that has no generations."""
    try:
        Fence(Path(directory), generation_from(os.environ)).require()
    except FenceError:
        return False
    return True


def _superseded(where: str, held: Generation, mine: Generation) -> FenceError:
    return FenceError(f"{where} is held by {held}, so {mine} is over: it writes and removes nothing there.")


def _is_launch(reported: Any) -> bool:
    return isinstance(reported, str) and _LAUNCH.fullmatch(reported) is not None


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
