# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The program that runs on a node and writes files of metrics at each interval.

The cards and the rest are two processes of it: where ``hl-smi`` hangs, all else is still told, and there is one that
hangs and not one an interval.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .._job.paths import LOG_DIRECTORY, STATE_DIRECTORY
from .._node.commands import Run, run_process
from .._node.json_file import read_json
from .._node.kernel_tree import kernel_tree
from .._qualify.files import DIRECTORY
from .._quarantine.mark import PATH as QUARANTINE
from .card_events import CardEvents, event_families
from .card_families import card_families
from .card_readings import CardReading, read_cards
from .energy import Energy, after, from_data
from .energy_log import note
from .exposition import Family, Sample
from .held_families import held_families
from .job_families import job_families
from .job_readings import JobReading, read_jobs
from .node_families import node_families
from .port_families import port_families
from .probe_families import probe_families
from .server_families import server_families
from .server_readings import ServerReading, read_servers
from .serving_log import note as note_tokens
from .textfile import CARDS, REST, path_of, put, write_families

FLAGS = "/etc/gaudi3_scale/environment"


@dataclass(frozen=True)
class Known:
    """What one look at the node leaves to the next."""

    jobs: Sequence[JobReading] = ()
    servers: Sequence[ServerReading] = ()


NOTHING_KNOWN = Known()


def main(arguments: list[str], run: Run = run_process, sleep: Callable[[float], None] = time.sleep) -> int:
    """Write the file each interval until it is ended; or once, with 1 where the cards did not answer."""
    given = _parse(arguments)
    waits = given.events and given.about == CARDS and not given.once
    events = CardEvents(kernel_tree(), _say).start() if waits else None
    answered = True
    known = NOTHING_KNOWN
    if not path_of(given.directory, given.about).exists():
        # Else nobody would hear of a collector whose first look does not end.
        write_families(path_of(given.directory, given.about), _own(given, time.time()))
    while True:
        began = time.monotonic()
        before = answered
        answered, known = collect(given, run, time.time(), known, events.counts if events else {})
        if before and not answered:
            # Once, and not each interval.
            _say(f"hl-smi did not answer within {given.seconds:g} s; the metrics of the cards stay as they were")
        if answered and not before:
            _say("hl-smi answers again")
        if given.once:
            return 0 if answered else 1
        sleep(max(1.0, given.interval - (time.monotonic() - began)))


def collect(
    given: argparse.Namespace,
    run: Run,
    now: float,
    known: Known = NOTHING_KNOWN,
    events: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
) -> tuple[bool, Known]:
    """Whether the file was written: that of the cards stays as it is where they do not answer.

    And what was found, from which the next look goes on; ``known`` is that of the last.
    """
    if given.about == CARDS:
        families, answered = _cards(given, run, now, events)
    else:
        jobs = read_jobs(run, STATE_DIRECTORY, LOG_DIRECTORY, now, known.jobs)
        known = Known(jobs, read_servers(run, now, known.servers))
        note_tokens(Path(given.kept).parent / "serving", known.servers, now)
        families, answered = _rest(known), True
    if answered:
        write_families(path_of(given.directory, given.about), [*families, *_own(given, now)])
    return answered, known


def _own(given: argparse.Namespace, success: float) -> Sequence[Family]:
    about = {"about": given.about}
    last = "When this was last read; before the first read, when its reader started."
    return (
        Family("gaudi_collector_last_success_timestamp_seconds", last, (Sample(success, about),)),
        Family("gaudi_collector_interval_seconds", "How often it is read.", (Sample(given.interval, about),)),
    )


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()


def _cards(
    given: argparse.Namespace, run: Run, now: float, events: Mapping[str, Mapping[str, int]]
) -> tuple[Iterable[Family], bool]:
    readings, answered = read_cards(run, kernel_tree(), given.seconds, given.port_counters)
    # Without a driver there is nobody to ask.
    is_read = answered or not any(reading.has_driver for reading in readings)
    energy = _energy(Path(given.kept), readings, now, given.interval) if is_read else {}
    slots = {reading.pci_address: reading.slot for reading in readings}
    return (*card_families(readings, energy, given.cards), *event_families(events, slots)), is_read


def _energy(kept: Path, readings: Iterable[CardReading], now: float, interval: float) -> dict[str, Energy]:
    """Kept over boots, since a counter that begins anew is taken for energy that was spent."""
    before: Mapping[str, Any] = read_json(str(kept)) or {}
    after_it = {
        reading.pci_address: after(
            _before(before, reading.pci_address), reading.watts, now, interval, reading.energy_mj
        )
        for reading in readings
        if reading.has_driver
    }
    kept.parent.mkdir(parents=True, exist_ok=True)
    put(kept, json.dumps({**before, **{name: asdict(one) for name, one in after_it.items()}}).encode())
    note(kept.parent / "energy", after_it, now)
    return after_it


def _before(kept: Mapping[str, Any], address: str) -> Energy:
    found = kept.get(address)
    return from_data(found) if isinstance(found, dict) else Energy()


def _rest(known: Known) -> Iterable[Family]:
    root = kernel_tree()
    yield from port_families(root)
    yield from held_families(root)
    yield from node_families(root, FLAGS, DIRECTORY, QUARANTINE)
    yield from probe_families(f"{STATE_DIRECTORY}/probe")
    yield from job_families(known.jobs)
    yield from server_families(known.servers)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="gaudi-metrics", description="Writes metrics of this node for its node exporter."
    )
    parser.add_argument("about", choices=(CARDS, REST))
    parser.add_argument("--directory", required=True, help="the textfile collector's")
    parser.add_argument("--cards", type=int, required=True, help="how many this node is to have")
    parser.add_argument("--interval", type=float, required=True, help="seconds between polls")
    parser.add_argument("--once", action="store_true", help="poll once, then exit")
    parser.add_argument("--seconds", type=float, required=True, help="how long hl-smi may take")
    parser.add_argument("--port-counters", action="store_true", help="what external ports count, by HLML")
    parser.add_argument("--events", action="store_true", help="wait for events of the cards, by HLML")
    parser.add_argument("--kept", default=f"{STATE_DIRECTORY}/exporter/energy.json", help="energy so far")
    return parser.parse_args(arguments)
