# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The history of benchmarks: a file of the controller with one JSON line per figure, and the steps in it.

The key of a line says what a speed may depend on, and is of the software and the cards alone. Nothing in it is other
after a boot, so that a history goes on over one.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.bucket_url import bucket_and_prefix
from ansible_collections.gaudi3.scale.plugins.module_utils._node.json_file import parse_json
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.history_steps import Entry, find_steps
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import maybe, record, said, several

OPTION = "history"
KEY = ("release", "driver", "firmware", "flags", "versions", "hosts")
# What hpu_info says of a node, as far as it is in the key.
INFO = record(
    {
        "hpu": record(
            {
                "driver": record({"version": maybe(said)}, {"release": maybe(said)}),
                "firmware": record({"spi": several(said, 64)}),
            }
        )
    }
)
# Of a controller that benchmarks many workloads each night for years.
_LARGEST = 1 << 28


def key_of(infos: Mapping[str, Mapping[str, Any]], start: Mapping[str, Any]) -> dict[str, Any]:
    """``infos``: host -> as ``INFO`` has it, of the hosts of the case; ``start``: the metric line of its last run."""
    found = [info["hpu"] for info in infos.values()]
    releases = {info["driver"].get("release") for info in found}
    drivers = {info["driver"]["version"] for info in found}
    firmware = {version for info in found for version in info["firmware"]["spi"]}
    # The driver is told above, for all hosts.
    versions = {name: value for name, value in (start.get("versions") or {}).items() if name != "driver"}
    return {
        "release": sorted(filter(None, releases)),
        "driver": sorted(filter(None, drivers)),
        "firmware": sorted(firmware),
        "flags": dict(sorted((start.get("flags") or {}).items())),
        "versions": dict(sorted(versions.items())),
        "hosts": sorted(infos),
    }


def check_place(path: str) -> None:
    """Raises GaudiError where nothing could be appended; makes nothing."""
    if not path:
        return
    if bucket_and_prefix(path) is not None or "://" in path:
        raise GaudiError(f"{OPTION} is {path}, to which nothing can be appended; name a file of the controller.")
    file = Path(path).expanduser()
    there = next((one for one in (file, *file.absolute().parents) if os.path.lexists(one)), file)
    usable = os.access(there, os.W_OK) and (there.is_dir() if there != file else there.is_file())
    if not usable:
        raise GaudiError(f"{OPTION} is {path}, which cannot be written; name a file in a directory of yours.")
    read_lines(path)


def append(path: str, lines: Iterable[Mapping[str, Any]]) -> None:
    """All of them in one write under a lock, so that two benchmarks mix no lines and a cut one leaves whole ones."""
    file = Path(path).expanduser()
    text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab+") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX)
            # What a full disk has cut off stays a line of its own, which is refused by its number.
            end = opened.seek(0, os.SEEK_END)
            if end:
                opened.seek(end - 1)
                text = text if opened.read(1) == b"\n" else "\n" + text
            opened.write(text.encode("utf-8", "replace"))
            opened.flush()
            os.fsync(opened.fileno())
    except OSError as error:
        raise GaudiError(f"{OPTION} {path} could not be written ({error.strerror}); name another file.") from error


def read_lines(path: str) -> list[dict[str, Any]]:
    """The whole lines; none where there is no file. Raises GaudiError, with its number, for a line that is none."""
    try:
        text = Path(path).expanduser().read_bytes()[-_LARGEST:].decode("utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise GaudiError(f"{OPTION} {path} could not be read ({type(error).__name__}); name another file.") from error
    return [_line(path, number, one) for number, one in enumerate(text.splitlines(), 1) if one.strip()]


def _line(path: str, number: int, text: str) -> dict[str, Any]:
    try:
        line = parse_json(text)
        rates = [float(rate) for rate in line["rates"]]
        if len(rates) < 2 or min(rates) <= 0:
            raise ValueError("it has no two rates, and of one run there is no figure")
        return {
            **line,
            "case": dict(line["case"]),
            "key": _in_order(line["key"]),
            "rates": rates,
            "time": float(line["time"]),
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())[:100]
        raise GaudiError(
            f"{OPTION} {path}, line {number}, is no figure of a benchmark ({why}); remove the line, or name another "
            "file."
        ) from error


def _in_order(key: Mapping[str, Any]) -> dict[str, Any]:
    """The parts as a person reads them."""
    return {name: key[name] for name in dict.fromkeys((*KEY, *dict(key))) if name in key}


def steps_in(lines: Sequence[Mapping[str, Any]], cases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each case its figures over time, and where their level changed, by how much, and what changed with it."""
    return [_of_case(case, [line for line in lines if line["case"] == case]) for case in cases]


def _of_case(case: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    in_order = sorted(lines, key=lambda line: float(line["time"]))
    # Samples and tokens are not one measure; what the newest has is what is asked for.
    alike = [line for line in in_order if line.get("unit") == in_order[-1].get("unit")]
    entries = [Entry(tuple(line["rates"]), line["key"], line["time"]) for line in alike]
    steps = [
        {
            "time": entries[step.position].time,
            "position": step.position,
            "speed": asdict(step.speed),
            "cause": step.cause,
        }
        for step in find_steps(entries)
    ]
    return {"case": dict(case), "entries": [[entry.time, entry.rates] for entry in entries], "steps": steps}
