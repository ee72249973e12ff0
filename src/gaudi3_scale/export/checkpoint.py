# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is to be exported: a checkpoint of this trainer, of torch.distributed.checkpoint, Transformers, Lightning, or a
file of torch.save."""

from __future__ import annotations

import hashlib
import io
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from gaudi3_scale.checkpoints.files import damage, manifest_of, step_of, steps_in
from gaudi3_scale.checkpoints.manifest import MANIFEST, FileRecord
from gaudi3_scale.checkpoints.writer import METADATA
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.export.distributed_weights import DistributedWeights
from gaudi3_scale.export.safetensors_weights import INDEX, ONE_FILE, SafetensorsWeights, open_sharded, shards_of
from gaudi3_scale.export.saved_weights import SavedWeights
from gaudi3_scale.export.weights import Weights

_OLD_FILE = "pytorch_model.bin"
_OLD_INDEX = f"{_OLD_FILE}.index.json"
_NUMBERED = re.compile(r"(?:checkpoint|step|global_step)[-_]?([0-9]{1,12})")


@dataclass(frozen=True)
class Checkpoint:
    """``identity`` is another one where a file is. Of this trainer's own: ``shape`` is what the weights fit to,
    ``model`` the directory that was trained, and ``tokenizer`` what a token is
    (:class:`gaudi3_scale.data.manifest.Manifest`); each empty where nothing says so."""

    path: Path
    kind: str
    weights: Weights
    identity: str
    step: int | None = None
    shape: dict[str, Any] = field(default_factory=dict)
    model: Path | None = None
    tokenizer: str = ""


def open_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint that ``path`` is, or the newest one in it. Raises GaudiError where it is none, or is damaged."""
    try:
        path = newest_in(path)
        return _opened(path)
    except OSError as error:
        raise GaudiError(
            f"{error.filename or path} cannot be read: {error.strerror}; export as the account that "
            "wrote the checkpoint."
        ) from error


def newest_in(path: Path) -> Path:
    """``path`` itself where it has weights, else the checkpoint of the highest number in it or its ``checkpoints``."""
    if not path.exists():
        raise GaudiError(f"{path}: there is no such checkpoint; name a checkpoint, or a directory of some.")
    if path.is_file() or _has_weights(path):
        return path
    for directory in (path / "checkpoints", path):
        own = steps_in(directory)
        if own:
            return own[max(own)]
    numbered = {
        int(found[1]): entry
        for entry in path.iterdir()
        if (found := _NUMBERED.fullmatch(entry.name)) and entry.is_dir() and _has_weights(entry)
    }
    if not numbered:
        raise GaudiError(f"{path}: there is no checkpoint in it; name one, or a directory of some.")
    return numbered[max(numbered)]


def _has_weights(path: Path) -> bool:
    return any((path / name).is_file() for name in (MANIFEST, METADATA, ONE_FILE, INDEX, _OLD_FILE, _OLD_INDEX))


def _opened(path: Path) -> Checkpoint:
    if path.is_file():
        of_format = SafetensorsWeights if path.suffix == ".safetensors" else SavedWeights
        weights: Weights = of_format(path, [path])
        return Checkpoint(path, "file", weights, _stamp([path]))
    if (path / MANIFEST).is_file():
        return _of_trainer(path)
    if (path / METADATA).is_file():
        files = {entry.name: FileRecord(entry.stat().st_size, "") for entry in path.iterdir() if entry.is_file()}
        stamp = _stamp([path / name for name in files])
        return Checkpoint(path, "torch.distributed.checkpoint", DistributedWeights(path, files), stamp)
    return _of_transformers(path)


def _of_trainer(path: Path) -> Checkpoint:
    """Every byte has to be what this very save has written: a shard of another run is no part of it."""
    try:
        manifest = manifest_of(path)
        wrong = damage(path, manifest)
    except ValueError as error:
        wrong = str(error)
    if wrong:
        raise GaudiError(f"{path} is damaged: {wrong}; export another checkpoint.")
    weights = DistributedWeights(path, manifest.files)
    packed = weights.value("progress")
    try:
        module = torch.load(io.BytesIO(packed), map_location="cpu", weights_only=True)["module"]
        shape, origin = dict(module["model_shape"]), dict(module.get("origin", {}))
    except (KeyError, TypeError, ValueError, RuntimeError, EOFError) as error:
        raise GaudiError(f"{path} does not say which model it is of; export it with the trainer's release.") from error
    identity = hashlib.sha256((path / MANIFEST).read_bytes()).hexdigest()
    model = Path(origin["directory"]) if origin.get("directory") else None
    return Checkpoint(
        path, "gaudi3_scale", weights, identity, manifest.step, shape, model, str(origin.get("tokenizer", ""))
    )


def _of_transformers(path: Path) -> Checkpoint:
    if (path / ONE_FILE).is_file() or (path / INDEX).is_file():
        names = sorted(entry.name for entry in path.glob("*.safetensors*"))
        weights: Weights = open_sharded(path)
    else:
        index = path / _OLD_INDEX
        names = sorted(set(shards_of(index).values())) if index.is_file() else [_OLD_FILE]
        weights = SavedWeights(path, [path / name for name in names])
    return Checkpoint(path, "transformers", weights, _stamp([path / name for name in names]), step_of(path.name))


def _stamp(paths: list[Path]) -> str:
    """By size and time of the files, where no digests are kept."""
    about = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(paths)]
    return hashlib.sha256(repr(about).encode()).hexdigest()
