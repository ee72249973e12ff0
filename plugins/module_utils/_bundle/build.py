# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Building a bundle for an air-gapped site, one part after the other, and checking one.

A part ends with a record of its files in the work directory. So an interrupted build goes on where it was, and a part
that is built again removes what it does not need any more.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Callable, Iterable

from .._cards.node_system import read_system
from .._errors import GaudiError
from .._node.commands import Run
from .._node.lock import alone
from .._node.rendered_files import read_text
from .._node.umask import readable_by_all
from . import distribution as bundle_distribution
from . import finish as bundle_finish
from . import vendor as bundle_vendor
from . import wheels as bundle_wheels
from .fetch import MIB, is_there, local_entry, require_space
from .layout import MANIFEST, OWN
from .manifest import Entry
from .manifest_schema import parse
from .plan import BundleOptions, check, local_path, part_name


def converge(options: BundleOptions, run: Run, check_mode: bool) -> dict[str, object]:
    """Build one part; the result's keys are always the same."""
    check(options)
    # The package repository names its directories after the system, without what stands between: ubuntu2204.
    system = read_system().os.replace("-", "").replace(".", "")
    options = replace(options, os_directory=options.os_directory or system)
    name = part_name(options)
    _refuse_foreign(options)
    # Web servers run as other users.
    with readable_by_all(), alone("bundle", options.work, check_mode=check_mode):
        return _converge(options, name, run, check_mode)


def _converge(options: BundleOptions, name: str, run: Run, check_mode: bool) -> dict[str, object]:
    before = _record(options, name)
    # Without what had to be fetched again.
    kept = dict(before)
    if check_mode:
        # Without the network it cannot be known what the part consists of, only whether it was finished.
        after = before
        changed = not before or any(not is_there(options, entry) for entry in before.values())
    else:
        Path(options.work).mkdir(parents=True, exist_ok=True)
        Path(options.path, OWN).mkdir(parents=True, exist_ok=True)
        after = {entry.path: replace(entry, part=options.part) for entry in _build(options, run, kept)}
        changed = after != kept
        _keep_record(options, name, before, after)
    fetched = [entry for path, entry in after.items() if kept.get(path) != entry]
    return {
        "changed": changed,
        "part": name,
        "path": options.path,
        "files": len(after),
        "mib": _mib(after.values()),
        "new_files": len(fetched),
        "new_mib": _mib(fetched),
    }


def _build(options: BundleOptions, run: Run, known: dict[str, Entry]) -> list[Entry]:
    parts: dict[str, Callable[[], list[Entry]]] = {
        "keys": lambda: bundle_vendor.keys(options),
        "packages": lambda: bundle_vendor.apt_packages(options, run, known),
        "rpms": lambda: bundle_vendor.rpm_packages(options, run, known),
        "distribution": lambda: bundle_distribution.build(options, run, known),
        "pytorch": lambda: bundle_wheels.pytorch(options, known),
        "wheels": lambda: bundle_wheels.wheels(options, run, known),
        "installer": lambda: bundle_wheels.installer(options, known),
        "files": lambda: _local_files(options),
        "manifest": lambda: bundle_finish.finish(options, _records(options), run),
    }
    return parts[options.part]()


def _mib(entries: Iterable[Entry]) -> float:
    return round(sum(entry.size for entry in entries) / MIB, 1)


def _refuse_foreign(options: BundleOptions) -> None:
    path = Path(options.path)
    if path.exists() and not (path.is_dir() and (Path(path, OWN).is_dir() or not any(path.iterdir()))):
        raise GaudiError(
            f"path '{options.path}' exists and is not a bundle; choose another path, or empty it.", option="path"
        )


def _records(options: BundleOptions) -> dict[str, dict[str, Entry]]:
    """Every part's entries by path: from the work directory, and from the manifest for those built elsewhere."""
    found: dict[str, dict[str, Entry]] = {}
    text = read_text(f"{options.path}/{MANIFEST}")
    if text:
        manifest = parse(text, f"{options.path}/{MANIFEST}")
        by_path = {entry.path: entry for entry in manifest.files}
        found = {name: {path: by_path[path] for path in paths} for name, paths in manifest.parts.items()}
    for file in sorted(Path(options.work, "parts").glob("*.json")):
        try:
            rows = json.loads(file.read_text(encoding="utf-8"))
            found[file.stem] = {row["path"]: Entry(**row) for row in rows}
        except (ValueError, TypeError, KeyError):
            # Cut short by a power loss: the part is built again, from the files that are there.
            found.pop(file.stem, None)
    return found


def _record(options: BundleOptions, name: str) -> dict[str, Entry]:
    return _records(options).get(name, {})


def _keep_record(options: BundleOptions, name: str, before: dict[str, Entry], after: dict[str, Entry]) -> None:
    """Write the record; then remove what the part had before and no part has any more."""
    directory = Path(options.work, "parts")
    directory.mkdir(parents=True, exist_ok=True)
    scratch = directory / f"{name}.new"
    scratch.write_text(json.dumps([asdict(entry) for entry in after.values()], indent=1), encoding="utf-8")
    scratch.replace(directory / f"{name}.json")
    wanted = {path for record in _records(options).values() for path in record}
    for path in set(before) - wanted:
        Path(options.path, path).unlink(missing_ok=True)


def _local_files(options: BundleOptions) -> list[Entry]:
    """The operator's own files: collections and wheels that no index has."""
    entries = []
    shutil.rmtree(options.own_wheels, ignore_errors=True)
    Path(options.own_wheels).mkdir(parents=True)
    for file in options.files:
        path, source = local_path(file), Path(file)
        target = Path(options.path, path)
        if not source.is_file():
            raise GaudiError(f"files has '{file}', which is not on this host; correct it.", option="files")
        require_space(options.path, source.stat().st_size)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        if source.suffix == ".whl":
            shutil.copyfile(source, Path(options.own_wheels, source.name))
        entries.append(local_entry(options, path, f"the operator's {source.name}", "the operator"))
    return entries
