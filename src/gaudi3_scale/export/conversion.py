# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What each exported weight has to be, worked out of the checkpoint anew wherever it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.export.architecture import Architecture, Origin, transposed
from gaudi3_scale.export.weights import Weights, name_of, same_bits


@dataclass(frozen=True)
class Conversion:
    """``names`` are the checkpoint's of each weight of the trained model; ``dtype`` is the type of all that are none of
    the architecture's buffers."""

    weights: Weights
    architecture: Architecture
    names: Mapping[str, str]
    dtype: torch.dtype

    def trained(self, name: str) -> torch.Tensor:
        """A weight of the trained model, in the type that is exported."""
        source = self.names[name]
        tensor = self.weights.one(source)
        if name in self.architecture.buffers or not tensor.is_floating_point():
            return tensor
        return self._converted(source, tensor)

    def exported(self, names: Iterable[str]) -> dict[str, torch.Tensor]:
        """Weights of the exported model. Raises GaudiError for one that training has made infinite or NaN."""
        made: dict[str, torch.Tensor] = {}
        places: set[int] = set()
        for name in names:
            tensor = self._made(self.architecture.origins[name])
            # Two weights that a file keeps in one place, and that config.json does not tie, are two: safetensors
            # refuses them otherwise.
            made[name] = tensor.clone() if tensor.data_ptr() in places else tensor
            places.add(tensor.data_ptr())
        return made

    def _made(self, origin: Origin) -> torch.Tensor:
        return transposed(self.trained(origin.name), origin).contiguous()

    def bytes_of(self, name: str) -> int:
        origin = self.architecture.origins[name]
        about = self.weights.tensors[self.names[origin.name]]
        kept = origin.name in self.architecture.buffers or not about.dtype.is_floating_point
        return about.bytes if kept else about.bytes // about.dtype.itemsize * self.dtype.itemsize

    def require_tied(self) -> None:
        """Weights that are one in the exported model have to be one in the checkpoint, where it has both."""
        for alias, name in self.architecture.tied.items():
            here, there = self.names.get(alias), self.names[name]
            if here is None or here == there or same_bits(self.weights.one(here), self.weights.one(there)):
                continue
            raise GaudiError(
                f"{self.weights.where}: {alias} is another than {name}, and config.json says that they are one "
                "(tie_word_embeddings); set it to false there if they were trained apart."
            )

    def _converted(self, source: str, tensor: torch.Tensor) -> torch.Tensor:
        converted = tensor.to(self.dtype)
        if not bool(torch.isfinite(converted).all()):
            if bool(torch.isfinite(tensor).all()):
                raise GaudiError(
                    f"{self.weights.where}: {source} has numbers beyond {name_of(self.dtype)}; choose bfloat16 or "
                    "float32 with --dtype."
                )
            raise GaudiError(
                f"{self.weights.where}: {source} has numbers that are infinite or NaN: its training diverged; export "
                "an earlier checkpoint."
            )
        return converted
