# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What was written to the cards of this node, on disk: so that none is written twice, nor blindly after a cut."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Mapping, Sequence

from .._errors import GaudiError
from .._node.json_file import parse_json
from .._node.rendered_files import FileChange, WantedFile, read_text, write
from .spi import FAILED, WRITING, WRITTEN, FlashCard, Spi, Written, parse_spi

FILE = "var/lib/gaudi3_scale/firmware.json"


@dataclass(frozen=True)
class Note:
    """When, since which boot, and with which log something was done to a card."""

    time: str
    boot_id: str
    log: str


@dataclass(frozen=True)
class Record:
    """``cards`` by serial number. ``modules``: what a run that has not come to its end has to load again, in order."""

    cards: Mapping[str, Written] = field(default_factory=dict)
    modules: tuple[str, ...] = ()

    @property
    def interrupted(self) -> bool:
        """Whether a run did not come to its end."""
        return bool(self.modules) or any(entry.state == WRITING for entry in self.cards.values())

    def name_of(self, card: FlashCard) -> str | None:
        """What ``card`` is known by: its serial number, or its place where no driver told the number, now or then."""
        if card.serial in self.cards:
            return card.serial
        here = {name: entry for name, entry in self.cards.items() if entry.pci_address == card.pci_address}
        names = [name for name, entry in here.items() if card.serial is None or entry.serial is None]
        return max(names, key=lambda name: here[name].time, default=None)

    def of(self, card: FlashCard) -> Written | None:
        """The entry of ``card``."""
        return self.cards.get(self.name_of(card) or "")


def unfinished(root: str = "/") -> str | None:
    """Why no driver is to be loaded now, as a clause; None where no card's firmware is half written."""
    if not read_record(root).interrupted:
        return None
    file = Path(root, FILE)
    return f"writing the cards' firmware is not finished ({file}): run upgrade_firmware.yml again first"


def read_record(root: str = "/") -> Record:
    """The node's record. Raises :class:`GaudiError` for one that is not ours."""
    file = str(Path(root, FILE))
    text = read_text(file)
    if text is None:
        return Record()
    try:
        data = parse_json(text)
        cards = {str(name): Written(**entry) for name, entry in data["cards"].items()}
        wrong = [entry.state for entry in cards.values() if entry.state not in (WRITING, WRITTEN, FAILED)]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is not a state of a card")
        return Record(cards, tuple(map(str, data["modules"])))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise GaudiError(
            f"{file}, which records what was written to the cards, cannot be read ({error}); see what the cards "
            "show, then remove the file.",
            file=file,
        ) from error


def keep(record: Record, root: str = "/") -> Record:
    """Put the record on disk, before what it tells of is done; returns it."""
    data = {"modules": list(record.modules), "cards": {name: asdict(entry) for name, entry in record.cards.items()}}
    file = WantedFile(str(Path(root, FILE)), json.dumps(data, indent=2) + "\n")
    write(FileChange(file, None, None))
    return record


def with_card(record: Record, card: FlashCard, target: Spi, state: str, note: Note) -> Record:
    """The record with what happens to ``card`` now."""
    known = record.name_of(card)
    serial = card.serial or (record.cards[known].serial if known else None)
    entry = Written(card.pci_address, str(target), str(card.have), note.time, note.boot_id, state, serial, note.log)
    others = {name: one for name, one in record.cards.items() if name != known}
    return replace(record, cards={**others, serial or card.pci_address: entry})


def with_logs(record: Record) -> Record:
    """The record after a cut: a card whose log says that the tool finished was written, whoever was there to see it."""
    ended = {name: replace(entry, state=WRITTEN) for name, entry in record.cards.items() if _finished(entry)}
    return replace(record, cards={**record.cards, **ended})


def _finished(entry: Written) -> bool:
    return entry.state == WRITING and bool(entry.log) and says_done(read_text(entry.log) or "")


def says_done(text: str) -> bool:
    """Whether the tool said that it finished (intel/intel-technology-enabling-for-openshift quotes the line)."""
    return re.search(r"Finished sending firmware:\s*OK\b", text) is not None


def at_rest(record: Record, cards: Sequence[FlashCard]) -> Record:
    """The record of a node on which nothing is left to do: what was being written and shows its target was written."""
    entries = dict(record.cards)
    for card in cards:
        name = record.name_of(card)
        if name is not None and entries[name].state != WRITTEN and parse_spi(entries[name].target) == card.have:
            entries[name] = replace(entries[name], state=WRITTEN)
    return Record(entries)
