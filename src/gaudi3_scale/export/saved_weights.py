# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Weights in files of torch.save: Lightning's, a program's own, and Transformers' before safetensors.

They are read as data (``weights_only``), and mapped: what is not looked at is not read.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from gaudi3_scale.checkpoints.foreign_format import wrong_with
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.export.weights import TensorInfo, Weights


class SavedWeights(Weights):
    """All tensors of the files, by their path in what was saved: ``state_dict.model.norm.weight``."""

    def __init__(self, where: Path, files: Iterable[Path]) -> None:
        self.where = str(where)
        self._tensors: dict[str, torch.Tensor] = {}
        for path in files:
            for name, tensor in _tensors_in(_loaded(path), ""):
                if name in self._tensors:
                    raise GaudiError(f"{where} cannot be exported: two files have {name}; save the model again.")
                self._tensors[name] = tensor
        self.tensors = {name: TensorInfo(tensor.dtype, tuple(tensor.shape)) for name, tensor in self._tensors.items()}

    def read(self, names: Iterable[str]) -> dict[str, torch.Tensor]:
        return {name: self._tensors[name] for name in names}


def _loaded(path: Path) -> Any:
    try:
        wrong = wrong_with(path, path.stat().st_size)
        if not wrong:
            return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except OSError as error:
        wrong = error.strerror or str(error)
    except pickle.UnpicklingError:
        # PyTorch's own words advise to run it.
        wrong = "a value in it is not plain data; save its state_dict alone"
    except RuntimeError as error:
        if "_use_new_zipfile_serialization" not in str(error):
            wrong = str(error).strip().splitlines()[0].rstrip(".")
        else:
            wrong = "it has the format of PyTorch before 1.6"
    raise GaudiError(f"{path} cannot be read: {wrong}; save the model again.")


def _tensors_in(value: Any, prefix: str) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield prefix, value.detach()
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _tensors_in(one, f"{prefix}.{name}" if prefix else str(name))
