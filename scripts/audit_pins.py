#!/usr/bin/env python3
# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Holds all that pip takes for the node library against known holes: `make audit-pins`.

Each pin has to have a version and hashes, and no hole of requirements/known_holes.json. With --renew pip-audit asks the
advisory service that it knows by itself, and that file is written anew with the day; what was never asked says so.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._releases.known_holes import holes_of
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.table import RELEASES
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.pin_table import PINS
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.pins import Pin

KNOWN = Path(__file__).resolve().parents[1] / "requirements" / "known_holes.json"
_VERSION = re.compile(r"[0-9][0-9A-Za-z.!+_-]*")
_HASH = re.compile(r"[0-9a-f]{64}")
NEVER = "never audited: no run of `make audit-pins RENEW=1` has reached an advisory service yet"


def main(arguments: Sequence[str] | None = None) -> int:
    """1 where a pin is not whole or has a known hole, 2 where advisories were to be asked and were not reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--renew", action="store_true", help="ask pip-audit, and write requirements/known_holes.json")
    if parser.parse_args(arguments).renew:
        try:
            KNOWN.write_text(json.dumps(renewed(PINS, asked), indent=1, sort_keys=True) + "\n", encoding="utf-8")
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            said = f"pip-audit could not ask ({error}); install it, and run this where it reaches its advisory service."
            sys.stdout.write(f"{said}\n")
            return 2
    known = json.loads(KNOWN.read_text(encoding="utf-8"))
    wrong = [*not_whole(PINS), *with_holes(PINS, known)]
    sys.stdout.writelines(f"{line}\n" for line in [*wrong, *releases(), *state(PINS, known)])
    return 1 if wrong else 0


def not_whole(pins: Iterable[Pin]) -> list[str]:
    """A line for each pin without an exact version, or without hashes."""
    return [
        f"{pin.name} {pin.version}: no exact version or no sha256 of its files; run make pins."
        for pin in pins
        if not _VERSION.fullmatch(pin.version) or not pin.sha256 or not all(map(_HASH.fullmatch, pin.sha256))
    ]


def with_holes(pins: Iterable[Pin], known: dict[str, Any]) -> list[str]:
    """A line for each hole that is known of exactly the version of a pin."""
    return [
        f"{pin.name} {pin.version} has {hole['id']}: take {' or '.join(hole['fixed']) or 'another package'}."
        for pin in pins
        for hole in known["holes"].get(f"{pin.name}=={pin.version}", [])
    ]


def releases() -> list[str]:
    """A line for each release of the vendor whose torch has a known hole."""
    return [
        f"release {row.version}: torch {row.pytorch} has {hole.name} ({hole.source}, read {hole.read})"
        for row in RELEASES.values()
        for hole in holes_of("torch", row.pytorch)
    ]


def state(pins: Sequence[Pin], known: dict[str, Any]) -> list[str]:
    """When it was asked, and what has not been asked since it was pinned."""
    if not known["audited"]:
        return [f"{len(pins)} pins with hashes; {NEVER}."]
    asked_of = set(known["pins"])
    new = [pin.name for pin in pins if f"{pin.name}=={pin.version}" not in asked_of]
    said = f"{len(pins)} pins with hashes, audited on {known['audited']}"
    return [f"{said}; never audited: {', '.join(new)}." if new else f"{said}."]


def renewed(pins: Sequence[Pin], ask: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """What requirements/known_holes.json has to say; ``ask`` is what pip-audit answers of a file of requirements.

    Raises ValueError for an answer in another form, or one that leaves out a pin.
    """
    wanted = sorted(f"{pin.name}=={pin.version}" for pin in pins)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "requirements.txt")
        file.write_text("".join(f"{pin.name}=={pin.version} --hash=sha256:{pin.sha256[0]}\n" for pin in pins))
        answer = ask(file)
    found = {f"{one['name']}=={one.get('version', '')}": one for one in answer.get("dependencies", [])}
    left_out = sorted(set(wanted) - set(found))
    if left_out:
        raise ValueError(f"it left out {left_out[0]}")
    holes = {
        name: [{"id": hole["id"], "fixed": list(hole.get("fix_versions", []))} for hole in found[name]["vulns"]]
        for name in wanted
        if found[name].get("vulns")
    }
    return {"audited": datetime.datetime.now(datetime.timezone.utc).date().isoformat(), "holes": holes, "pins": wanted}


def asked(requirements: Path) -> dict[str, Any]:
    """pip-audit's answer; it ends with 1 where there are holes."""
    words = ["--requirement", str(requirements), "--no-deps", "--disable-pip", "--require-hashes", "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", *words], capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode not in (0, 1) or not done.stdout.strip():
        raise ValueError((done.stderr.strip().splitlines() or ["it printed nothing"])[-1])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


if __name__ == "__main__":
    sys.exit(main())
