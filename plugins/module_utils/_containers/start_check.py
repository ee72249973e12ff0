# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Start containers in which hl-smi counts the cards; again only when something that matters has changed."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from .._errors import GaudiError
from .._node.commands import CommandResult, Run, last_line
from .._node.json_file import parse_json
from .._node.rendered_files import FileChange, WantedFile, read_text, write
from . import cdi, vendor_settings
from .container_start import (
    BY_CDI,
    BY_RUNTIME,
    COUNT_ON_NODE,
    NAME,
    OWN_IMAGE,
    Start,
    StartOptions,
    addresses,
    complaint,
    not_started,
    refuse_bad_options,
    starts,
)
from .engines import DAEMONS, DOCKER, reads_cdi, version
from .state import CONFIGURATIONS, Place

RECORD = "var/lib/gaudi3_scale/container_check.json"
# Where the programs lie on every system with a merged /usr; elsewhere the directories themselves are mounted.
_TOP = ("bin", "sbin", "lib", "lib32", "lib64")
_EMPTY = ("dev", "etc", "opt", "proc", "run", "sys", "tmp", "usr", "var")
_PROGRAMS = ("/usr/bin/habana-container-runtime", "/usr/bin/hl-smi", "/usr/sbin/runc", "/usr/bin/runc")
_REMOVAL_SECONDS = 60


def check(options: StartOptions, run: Run, check_mode: bool, place: Place, root: str = "/") -> dict[str, object]:
    """Start the containers that are due and compare what they see; returns what an Ansible module returns.

    Raises :class:`GaudiError` where one sees other cards than the node's own hl-smi. ``root`` is where the record is.
    """
    refuse_bad_options(options)
    cards = addresses(run(COUNT_ON_NODE, timeout=90).stdout) if place.installed("hl-smi") else frozenset()
    if not cards:
        return _result("hl-smi shows no card on the node, so no container was started.", cards)
    ways, unchecked = _ways(options, place, run)
    mark = _fingerprint(options, ways, cards, place)
    record = _read_record(root)
    if record.get("fingerprint") == mark:
        return {**_result(f"Nothing has changed since {record['time']}.", cards, unchecked), "counts": record["counts"]}
    planned = starts(options, ways, _own_mounts(root))
    if check_mode or not planned:
        return _result(f"{len(planned)} containers to start.", cards, unchecked)
    outcomes = [(start, _started(start, options, run, root)) for start in planned]
    counts: dict[str, dict[str, int]] = {start.engine: {} for start in planned}
    for start, result in outcomes:
        counts[start.engine][start.way] = len(addresses(result.stdout))
    wrong = [complaint(start, result, cards, options.seconds) for start, result in outcomes]
    sentences = [sentence for sentence in wrong if sentence]
    if sentences:
        raise GaudiError(" ".join(sentences), counts=counts, cards=len(cards), not_checked=unchecked)
    _keep_record(mark, counts, root)
    ways_of = [f"{start.engine} with {start.means}" for start in planned]
    said = f"hl-smi counts {len(cards)} cards in a container of {' and of '.join(ways_of)}."
    return {**_result(said, cards, unchecked), "counts": counts, "started": len(planned)}


def _result(said: str, cards: frozenset[str], unchecked: Sequence[str] = ()) -> dict[str, object]:
    """The same keys always."""
    return {
        "changed": False,
        "msg": said,
        "cards": len(cards),
        "counts": {},
        "started": 0,
        "not_checked": list(unchecked),
    }


def _ways(options: StartOptions, place: Place, run: Run) -> tuple[dict[str, list[str]], list[str]]:
    """By engine, how its containers get the cards; and a sentence for each that is not started."""
    ways: dict[str, list[str]] = {}
    unchecked: list[str] = []
    vendors = str(Path(place.etc, vendor_settings.CONFIGURATION))
    no_cards = vendor_settings.why_no_cards(read_text(vendors), vendors)
    for engine in options.engines:
        why = not_started(engine)
        if why is None and not place.installed(DAEMONS[engine]):
            why = f"{engine} is not installed, so no container of it was started."
        if why is not None:
            unchecked.append(why)
            continue
        if no_cards is None:
            ways.setdefault(engine, []).append(BY_RUNTIME)
        else:
            unchecked.append(f"{no_cards}, so the runtime passes no cards and was not started with {engine}.")
        if options.cdi:
            why = _why_no_cdi(engine, place, run)
            if why is None:
                ways.setdefault(engine, []).append(BY_CDI)
            else:
                unchecked.append(why)
    return ways, unchecked


def _why_no_cdi(engine: str, place: Place, run: Run) -> str | None:
    if not Path(place.etc, cdi.FILE).exists():
        return f"{Path(place.etc, cdi.FILE)} is not there, so {engine} was not started with it."
    have = version(engine, run)
    if not reads_cdi(engine, have):
        return f"{engine} is too old to read CDI specifications, so it was not started with one."
    if engine == DOCKER and "/" not in run(["docker", "info", "--format", "{{.CDISpecDirs}}"], timeout=30).stdout:
        return "docker has not read its CDI setting yet, so it was not started with it; restart docker."
    return None


def _started(start: Start, options: StartOptions, run: Run, root: str) -> CommandResult:
    """One container from its start to its removal; what an interrupted run left behind is removed before."""
    _remove(start.engine, run)
    try:
        with _image(start.engine, options.image, run, root):
            return run(start.argv, timeout=options.seconds)
    finally:
        _remove(start.engine, run)


def _remove(engine: str, run: Run) -> None:
    run([engine, "rm", "--force", NAME], timeout=_REMOVAL_SECONDS)


def _remove_image(engine: str, run: Run) -> None:
    run([engine, "rmi", "--force", OWN_IMAGE], timeout=_REMOVAL_SECONDS)


@contextmanager
def _image(engine: str, named: str, run: Run, root: str) -> Iterator[None]:
    """The image to start: the operator's, or one of empty directories that is gone afterwards."""
    if named:
        yield
        return
    _remove_image(engine, run)  # an interrupted run's would stay behind without its name
    with tempfile.TemporaryDirectory(prefix="gaudi3-scale-") as directory:
        archive = Path(directory, "root.tar")
        _write_root(archive, root)
        made = run([engine, "import", str(archive), OWN_IMAGE], timeout=_REMOVAL_SECONDS)
    if made.rc:
        raise GaudiError(f"{engine} cannot import an image: {last_line(made.stderr)}; see `{engine} info`.")
    try:
        yield
    finally:
        _remove_image(engine, run)


def _write_root(archive: Path, root: str) -> None:
    """A root of directories and of the node's own links into /usr; what is in them is mounted.

    The node's root itself will not do: the vendor's runtime writes into the container's (netinfo.go).
    """
    with tarfile.open(archive, "w") as tar:
        for name in (*_EMPTY, *_TOP):
            there = Path(root, name)
            entry = tarfile.TarInfo(name)
            entry.mode = 0o755
            entry.type = tarfile.DIRTYPE
            if there.is_symlink():
                entry.type, entry.linkname = tarfile.SYMTYPE, str(there.readlink())
            elif name in _TOP and not there.exists():
                continue
            tar.addfile(entry, io.BytesIO())


def _own_mounts(root: str) -> list[str]:
    """What hl-smi and its libraries need of the node."""
    tops = [f"/{name}" for name in _TOP if Path(root, name).is_dir() and not Path(root, name).is_symlink()]
    return ["/usr", *tops, *(path for path in ("/etc/ld.so.cache",) if Path(root, path[1:]).exists())]


def _fingerprint(options: StartOptions, ways: Mapping[str, Sequence[str]], cards: frozenset[str], place: Place) -> str:
    """What the outcome depends on: options, cards, configurations, and the programs as they lie on the disk."""
    files = [*(CONFIGURATIONS[engine] for engine in ways), vendor_settings.CONFIGURATION, cdi.FILE]
    engines = [shutil.which(engine) for engine in ways]
    seen = {
        "options": asdict(options),
        "ways": ways,
        "cards": sorted(cards),
        "files": [read_text(str(Path(place.etc, file))) for file in files],
        "programs": [_stamp(path) for path in (*engines, *_PROGRAMS) if path],
    }
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode(errors="surrogateescape")).hexdigest()


def _stamp(path: str) -> tuple[str, int, int] | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return path, found.st_size, found.st_mtime_ns


def _read_record(root: str) -> dict[str, object]:
    """The last success; a record that cannot be read is none, and costs a start."""
    try:
        record = parse_json(read_text(str(Path(root, RECORD))) or "{}")
    except ValueError:
        return {}
    return record if isinstance(record, dict) and {"time", "counts"} <= set(record) else {}


def _keep_record(mark: str, counts: Mapping[str, Mapping[str, int]], root: str) -> None:
    record = {"fingerprint": mark, "counts": counts, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    text = json.dumps(record, indent=2) + "\n"
    write(FileChange(WantedFile(str(Path(root, RECORD)), text), None, None))
