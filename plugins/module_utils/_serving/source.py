# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The model of an instance: found in the registry or in its directory, and brought to the node. No byte is trusted."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._model import registry
from .._model.names import is_whole_version
from .._model.record import RECORD
from .._model.store import Store, folder_of
from .._node.account_directory import remove
from .._node.commands import Run
from .._node.json_file import parse_object
from .._node.regular_file import read_bounded
from .instance import Instance
from .model_check import check_files, read_record

CONFIG = "config.json"
_MOST_CONFIG = 1 << 22
# A copy that no instance names and that nobody has asked for so long is gone when the next one is brought.
KEPT_S = 30 * 86400


@dataclass(frozen=True)
class Source:
    """``directory`` is where the engine reads it; ``version`` its record's digest. ``published`` is what has still to
    be copied there from ``store``; None: it is there.
    """

    directory: str
    version: str
    config: Mapping[str, Any]
    weight_bytes: int
    store: Store | None = None
    published: registry.Published | None = None


def find_source(instance: Instance, place: str, fingerprint: str, models: str, run: Run) -> Source:
    """GaudiError for a model without a record, and for one whose record does not fit."""
    model = instance.model
    if model.directory:
        recorded = read_record(model.directory)
        config = _config(model.directory, _read(f"{model.directory}/{CONFIG}"))
        return Source(model.directory, recorded.version, config, recorded.weight_bytes)
    store = registry.open_store(place)
    version = registry.find_version(store, model.name, model.version)
    found = registry.examine(store, model.name, version, fingerprint, run)
    folder = folder_of(model.name, version)
    config = _config(store.address(folder), store.read(f"{folder}/{CONFIG}", _MOST_CONFIG))
    weights = sum(one.bytes for name, one in found.record.files.items() if name.endswith((".safetensors", ".bin")))
    directory = f"{models}/{version}"
    is_there = Path(directory, RECORD).is_file()
    return Source(directory, version, config, weights, *(() if is_there else (store, found)))


def check_source(source: Source) -> None:
    """Every byte of one that is there, before an engine is started with it."""
    if source.published is None:
        check_files(source.directory, source.version)


def bring(source: Source, models: str, named: Collection[str]) -> None:
    """Copy it, verified on its way; ``named`` are the directories of all instances."""
    if source.published is not None and source.store is not None:
        _remove_unused(models, {*named, source.directory})
        registry.fetch(source.store, source.published, source.directory)
    if source.directory.startswith(f"{models}/"):
        with suppress(OSError):
            os.utime(source.directory)


def _remove_unused(models: str, named: Collection[str]) -> None:
    with suppress(FileNotFoundError):
        for path in sorted(Path(models).iterdir()):
            is_old = time.time() - path.lstat().st_mtime > KEPT_S
            if is_whole_version(path.name) and str(path) not in named and is_old:
                remove([str(path)])


def _read(path: str) -> bytes | None:
    try:
        return read_bounded(path, _MOST_CONFIG)
    except OSError:
        return None


def _config(place: str, text: bytes | None) -> Mapping[str, Any]:
    if text is None:
        raise GaudiError(
            f"model {place} has no {CONFIG}, so vLLM cannot know its architecture; a checkpoint is no model: export it "
            "with `gaudi3_scale export`."
        )
    try:
        return parse_object(text, _MOST_CONFIG)
    except ValueError as error:
        raise GaudiError(f"model {place} has a {CONFIG} that cannot be read: {error}; export it again.") from error
