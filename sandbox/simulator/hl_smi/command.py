# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``hl-smi``: its options, and which page each of them prints.

Exit codes of the real tool are not documented; this one uses 0 and 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from ..containers import with_devices
from ..node_state import read
from ..readings import CardReading, readings
from ..releases import RELEASES
from . import csv_query, firmware_versions, listing, ports, power, table, topology


class RefusalError(Exception):
    """What hl-smi says instead of a page."""


@dataclass(frozen=True)
class Versions:
    """What the headers show. ``nic_driver`` is None while the network driver is not loaded."""

    hl_smi: str
    driver: str
    nic_driver: str | None


def main(arguments: list[str]) -> int:
    """Print what is asked for; a refusal goes to standard error."""
    options = _parser().parse_args(arguments)
    package = RELEASES[os.environ["HABANALABS_PACKAGE"]]
    if options.version:
        print(f"hl-smi version: {package.hl_smi} (simulated by the sandbox of gaudi3.scale)")
        return 0
    try:
        while True:
            print(_page(options, package.hl_smi))
            if options.loop is None:
                return 0
            sys.stdout.flush()
            time.sleep(options.loop)
    except RefusalError as refusal:
        print(f"hl-smi: {refusal}", file=sys.stderr)
        return 1


def _page(options: argparse.Namespace, hl_smi: str) -> str:
    while "hl_smi_hangs" in (node := read()).faults:
        time.sleep(1)
    if node.driver is None:
        raise RefusalError("habanalabs driver is not loaded or no AIPs available, aborting...")
    found = with_devices(readings(node))
    if not found:
        raise RefusalError("no AIPs available, aborting...")
    nic_driver = node.modules.get("habanalabs_en")
    versions = Versions(hl_smi, RELEASES[node.driver].driver, RELEASES[nic_driver].nic_driver if nic_driver else None)
    chosen = _chosen(found, options.device)
    now = datetime.now(timezone.utc)
    if options.topology:
        return topology.page(found, os.cpu_count() or 1, numa=options.numa)
    if options.reset or options.power_max is not None:
        return _changed(options, chosen)
    if options.query_aip:
        return _csv(options, chosen, versions, now, nothing="hl_smi_tells_nothing" in node.faults)
    if options.nic:
        return _ports(options, chosen)
    if options.fw_versions:
        return firmware_versions.page(chosen)
    if options.list_aips or options.query or options.display:
        return listing.page(chosen, len(found), versions.driver, hl_smi, now, options.display)
    return table.page(chosen, hl_smi, versions.driver, versions.nic_driver)


def _changed(options: argparse.Namespace, chosen: Sequence[CardReading]) -> str:
    if options.reset:
        raise RefusalError("resetting a card is not simulated")
    if why := power.refusal(chosen, options.power_max):
        raise RefusalError(why)
    return power.set_limit(chosen, options.power_max)


def _chosen(found: Sequence[CardReading], device: str | None) -> Sequence[CardReading]:
    if device is None:
        return found
    chosen = [reading for reading in found if reading.card.pci_address == device]
    if not chosen:
        raise RefusalError(f"no AIP with the bus id {device}")
    return chosen


def _csv(
    options: argparse.Namespace, chosen: Sequence[CardReading], versions: Versions, now: datetime, *, nothing: bool
) -> str:
    words = (options.format or "").split(",")
    if words[0] != "csv" or not set(words[1:]) <= {"noheader", "nounits"}:
        raise RefusalError("--query-aip needs --format=csv[,noheader][,nounits]")
    fields = [name.strip() for name in options.query_aip.split(",")]
    unknown = [name for name in fields if name not in csv_query.FIELDS]
    if unknown:
        raise RefusalError(f'Field "{unknown[0]}" is not a valid field to query.')
    header, units = "noheader" not in words, "nounits" not in words
    if nothing:
        return csv_query.page_of_nothing(chosen, fields, header=header)
    return csv_query.page(chosen, fields, versions.driver, versions.nic_driver, now, header=header, units=units)


def _ports(options: argparse.Namespace, chosen: Sequence[CardReading]) -> str:
    if options.device is None:
        raise RefusalError("-n/--nic needs -i/--device <bus id>")
    pages = {"link": ports.links, "ports": ports.kinds, "stats": ports.statistics}
    return pages[options.nic](chosen[0], external=options.all_ports)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hl-smi",
        description="HABANA Labs System Management Interface, simulated by the sandbox of gaudi3.scale",
        epilog="hl-smi topo -c [-N]: CPU and NUMA affinity of every card",
    )
    parser.add_argument("topology", nargs="?", choices=["topo"], help=argparse.SUPPRESS)
    parser.add_argument("-L", "--list-aips", action="store_true", help="show every card in full")
    parser.add_argument("-i", "--device", metavar="BUS_ID", help="only this card")
    parser.add_argument("-q", "--query", action="store_true", help="show all readings")
    parser.add_argument("-d", "--display", type=lambda text: text.upper(), choices=sorted(listing.SECTIONS),
                        help="only this section of -q")  # fmt: skip
    parser.add_argument("-Q", "--query-aip", metavar="FIELD,...", help="these fields of every card")
    parser.add_argument("-f", "--format", metavar="csv[,noheader][,nounits]", help="format of --query-aip")
    parser.add_argument("-n", "--nic", choices=["ports", "link", "stats"], help="network ports of a card; needs -i")
    parser.add_argument("-P", dest="all_ports", action="store_true", help="with -n: external ports too")
    parser.add_argument("--fw-versions", action="store_true", help="firmware components of every card")
    parser.add_argument("-r", "--reset-aip", dest="reset", action="store_true", help="reset the card given by -i")
    parser.add_argument("-p", "--power-max", type=int, metavar="WATTS", help="set the power limit")
    parser.add_argument("-l", "--loop", nargs="?", type=float, const=5, metavar="SECONDS", help="repeat")
    parser.add_argument("-v", "--version", action="store_true", help="version of this tool")
    parser.add_argument("-c", dest="cpu", action="store_true", help="with topo: CPU affinity")
    parser.add_argument("-N", dest="numa", action="store_true", help="with topo: NUMA affinity")
    return parser
