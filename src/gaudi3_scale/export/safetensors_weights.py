# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Weights in safetensors files: one, or shards with an index, as Transformers writes them and this package does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from gaudi3_scale.checkpoints.foreign_format import wrong_with
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.json_file import parse_object
from gaudi3_scale.export.weights import TensorInfo, Weights

ONE_FILE = "model.safetensors"
INDEX = f"{ONE_FILE}.index.json"
_MOST_INDEX_BYTES = 1 << 28


class SafetensorsWeights(Weights):
    """All tensors of ``files``. Where ``shards`` says which file has which, that has to be so."""

    def __init__(self, where: Path, files: Iterable[Path], shards: Mapping[str, str] | None = None) -> None:
        self.where = str(where)
        self._file_of: dict[str, Path] = {}
        tensors: dict[str, TensorInfo] = {}
        for path in files:
            for name, about in _tensors_in(path):
                if name in tensors:
                    raise GaudiError(
                        f"{where} cannot be exported: {name} is in {self._file_of[name].name} and in {path.name}; "
                        "save the model again."
                    )
                tensors[name], self._file_of[name] = about, path
        self.tensors = tensors
        if shards is not None:
            self._require_index(shards)

    def read(self, names: Iterable[str]) -> dict[str, torch.Tensor]:
        found: dict[str, torch.Tensor] = {}
        by_file: dict[Path, list[str]] = {}
        for name in names:
            by_file.setdefault(self._file_of[name], []).append(name)
        for path, of_file in by_file.items():
            with _opened(path) as file:
                found |= {name: file.get_tensor(name) for name in of_file}
        return found

    def _require_index(self, shards: Mapping[str, str]) -> None:
        for name in sorted({*shards, *self.tensors}):
            named = shards.get(name)
            real = self._file_of[name].name if name in self.tensors else None
            if named != real:
                said = f"names {name} in {named}" if named else f"does not name {name}"
                has = f"it is in {real}" if real else "no file has it"
                raise GaudiError(f"{self.where} cannot be exported: {INDEX} {said}, and {has}; save the model again.")


def open_sharded(directory: Path) -> SafetensorsWeights:
    """The model in a directory. Raises GaudiError where a file that its index names is not there or not whole."""
    index = directory / INDEX
    if not index.is_file():
        return SafetensorsWeights(directory, [directory / ONE_FILE])
    shards = shards_of(index)
    return SafetensorsWeights(directory, [directory / name for name in sorted(set(shards.values()))], shards)


def shards_of(index: Path) -> dict[str, str]:
    """Which file beside an index has which tensor. Raises GaudiError where it does not say so."""
    try:
        shards = parse_object(index.read_bytes(), _MOST_INDEX_BYTES)["weight_map"]
        if not all(isinstance(name, str) and "/" not in name for name in shards.values()):
            raise ValueError("it names files elsewhere")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise GaudiError(f"{index} does not say which file has which weight: {error}; save the model again.") from error
    return dict(shards)


def _tensors_in(path: Path) -> list[tuple[str, TensorInfo]]:
    with _opened(path) as file:
        names = list(file.keys())
        slices = {name: file.get_slice(name) for name in names}
        return [
            (name, TensorInfo(_dtype(path, one.get_dtype()), tuple(one.get_shape()))) for name, one in slices.items()
        ]


def _dtype(path: Path, name: str) -> torch.dtype:
    dtype = _DTYPES.get(name)
    if dtype is None:
        raise GaudiError(f"{path} has weights of type {name}, which cannot be exported; save the model in another.")
    return dtype


_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


def _opened(path: Path) -> Any:
    from safetensors import SafetensorError, safe_open

    try:
        wrong = wrong_with(path, path.stat().st_size)
        if not wrong:
            return safe_open(path, framework="pt", device="cpu")
    except OSError as error:
        wrong = error.strerror or str(error)
    except SafetensorError as error:
        wrong = str(error)
    raise GaudiError(f"{path} cannot be read: {wrong}; copy or save the model again.")
