# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a site's Slurm calls the cards: ``hpu``, ``gaudi``, ``gpu:hl225``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .._errors import GaudiError
from .configuration import Configuration, Line
from .host_lists import expand

OPTION = "gaudi_slurm_gres"
_WORD = re.compile(r"([A-Za-z0-9_]+)(?::([A-Za-z0-9_.-]+))?")
# Of a gres: name, type, whether it is consumed, and a number that may have K, M, G, T or P (slurm.conf(5), Gres).
_COUNT = re.compile(r"[0-9]+[KMGTP]?", re.IGNORECASE)
_NAMES = re.compile(r"hpu|gaudi[0-9]*", re.IGNORECASE)
# hl225, HL-325L, gaudi2, intel_gaudi3.
_TYPES = re.compile(r"(?:(?:intel|habana)[_.-]?)?(?:hpu|hl[-_]?[0-9]{3}[a-z]*|gaudi[-_]?[0-9]*[a-z]*)", re.IGNORECASE)
_DEVICE = re.compile(r"/dev/accel/accel[0-9]+")


@dataclass(frozen=True)
class Gres:
    """A kind of resource; ``type`` "" where there is one kind alone."""

    name: str = "hpu"
    type: str = ""

    def __str__(self) -> str:
        return f"{self.name}:{self.type}" if self.type else self.name

    @classmethod
    def parse(cls, text: str) -> Gres:
        """The name that an option gives; raises GaudiError for anything else."""
        match = _WORD.fullmatch(text)
        if match is None or (match[2] and _COUNT.fullmatch(match[2])):
            raise GaudiError(
                f"{OPTION} is {text!r:.60}; give the name of the cards in gres.conf without a number, as hpu or "
                "gpu:hl225."
            )
        return cls(match[1], match[2] or "")

    @property
    def is_gaudi(self) -> bool:
        """Whether name or type says that these are Gaudi cards."""
        return bool(_NAMES.fullmatch(self.name) or _TYPES.fullmatch(self.type))


HPU = Gres()


def gres_in(text: str) -> list[Gres]:
    """What ``Gres=`` or ``sinfo``'s %G lists: ``gpu:hl225:8(S:0-1),shm:no_consume:4``. ``(null)`` is none."""
    words = re.sub(r"\([^)]*\)", "", text).split(",")
    return [_one(word.strip()) for word in words if _WORD.match(word.strip())]


def cards_among(found: Iterable[Gres]) -> list[Gres]:
    """Those that are Gaudi cards, each once. A kind with and without its type is the one with it."""
    cards = list(dict.fromkeys(one for one in found if one.is_gaudi))
    typed = {one.name for one in cards if one.type}
    return [one for one in cards if one.type or one.name not in typed]


def site_gres(slurm: Configuration, cards: Configuration) -> Gres:
    """What the site's files call the cards, else ``hpu``; raises GaudiError where they have two names for them.

    The files of gres.conf tell best, since a card of ours can have any name and type there.
    """
    of_nodes = [one for entry in slurm.nodes() for one in gres_in(entry.options.get("gres", ""))]
    of_types = [Gres(word.strip()) for line in slurm.named("GresTypes") for word in line.value.split(",")]
    for found in (_of_files(cards), cards_among(of_nodes), cards_among(of_types)):
        if len(found) > 1:
            raise GaudiError(
                f"{slurm.path} and {cards.path} have {len(found)} names for cards, {', '.join(map(str, found))}; set "
                f"{OPTION} to the one that these nodes should have."
            )
        if found:
            return found[0]
    return HPU


def has_name(slurm: Configuration, gres: Gres) -> bool:
    """Whether ``GresTypes`` has it."""
    return any(gres.name in re.split(r"\s*,\s*", line.value) for line in slurm.named("GresTypes"))


def record(line: Line) -> dict[str, str]:
    """All settings of a line of gres.conf, which begins with ``NodeName=`` or with ``Name=``."""
    return {line.name: line.value, **line.options}


def _of_files(cards: Configuration) -> list[Gres]:
    found = []
    for line in [*cards.named("NodeName"), *cards.named("Name")]:
        given = record(line)
        files = given.get("file", "")
        if "name" in given and files and _DEVICE.fullmatch((expand(files) or [""])[0]):
            found.append(Gres(given["name"], given.get("type", "")))
    return list(dict.fromkeys(found))


def _one(word: str) -> Gres:
    name, *rest = word.split(":")
    kinds = [one for one in rest if one != "no_consume" and not _COUNT.fullmatch(one)]
    return Gres(name, kinds[0] if kinds else "")
