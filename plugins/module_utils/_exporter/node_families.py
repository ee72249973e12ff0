# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Metrics of the node itself: its driver, its qualification, its quarantine, its cache of recipes."""

from __future__ import annotations

import calendar
import os
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from .._cards.accel_sysfs import accel_devices, loaded_modules
from .._errors import GaudiError
from .._flags.catalog.values import recipe_cache
from .._node.account_directory import acting_as_owner
from .._node.environment_file import parse
from .._node.rendered_files import read_text
from .._qualify.files import Files
from .._quarantine.mark import read_mark
from .._releases.lookup import release_part
from .exposition import Family, Sample

# Directories and files of a cache of recipes that are looked at, at most: a second of a disk.
_MOST_FILES = 20_000
# Of st_blocks, whatever the disk has (stat(2)).
_BLOCK = 512


def node_families(kernel_root: str, flags: str, qualification: str, quarantine: str) -> Iterable[Family]:
    """``flags``, ``qualification`` and ``quarantine`` are the paths of what is read."""
    versions = sorted({device.driver_version for device in accel_devices(kernel_root) if device.driver_version})
    yield Family(
        "gaudi_node_driver_info",
        "1 for each version of the driver that a card of this node has.",
        tuple(Sample(1, {"version": version, "release": release_part(version)}) for version in versions),
    )
    yield Family(
        "gaudi_node_driver_modules",
        "How many of the driver's modules the kernel has.",
        (Sample(len(loaded_modules(kernel_root))),),
    )
    yield Family(
        "gaudi_node_quarantined",
        "1 if the node is in quarantine and gets no new training.",
        (Sample(_quarantined(quarantine)),),
    )
    yield from _qualification(Files(qualification))
    yield from _recipes(flags)


def _quarantined(path: str) -> bool:
    try:
        return bool(read_mark(path).since)
    except GaudiError:
        # Something is there, which is no file.
        return True


def _qualification(files: Files) -> Iterable[Family]:
    verdict = files.read(files.verdict)
    state, when = verdict.get("state"), verdict.get("time")
    if isinstance(state, str):
        yield Family(
            "gaudi_node_qualification_info", "1: how the node's last tests ended.", (Sample(1, {"state": state}),)
        )
    at = _unix(when) if isinstance(when, str) else None
    if at is not None:
        yield Family("gaudi_node_qualification_timestamp_seconds", "When the node's last tests ended.", (Sample(at),))


def _unix(text: str) -> float | None:
    try:
        return float(calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")))
    except ValueError:
        return None


def _recipes(flags: str) -> Iterable[Family]:
    """Each rank keeps compiled graphs in a directory, for which the vendor's flag has a limit."""
    try:
        text = read_text(flags)
        flag = parse(text, flags).get("PT_HPU_RECIPE_CACHE_CONFIG", "") if text else ""
        cache = recipe_cache(flag)
    except (GaudiError, ValueError):
        return
    if not cache.directory or not Path(cache.directory).is_dir():
        return
    with acting_as_owner(cache.directory):
        size = _size(cache.directory)
    yield Family("gaudi_recipe_cache_bytes", "Disk space used by the cache of compiled graphs.", (Sample(size),))
    limit = Sample(cache.size_mb * 1e6)
    yield Family("gaudi_recipe_cache_limit_bytes", "Size limit of each rank's cache; 0 means no limit.", (limit,))


def _size(directory: str) -> float:
    """Of the files below it, as the disk has them. Links are not followed."""
    total, left, places = 0, _MOST_FILES, [directory]
    while places and left > 0:
        try:
            with os.scandir(places.pop()) as entries:
                # One directory may have millions.
                for entry in islice(entries, left):
                    left -= 1
                    if entry.is_dir(follow_symlinks=False):
                        places.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
        except OSError:
            # A rank removed it meanwhile.
            continue
    return float(total)
