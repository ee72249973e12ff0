# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The file ``.metadata`` of torch.distributed.checkpoint, read as data.

It is a pickle, and PyTorch's own reader does whatever a pickle says. Here the names in it stand for nothing but records
of their arguments. What they add up to is held against the form that PyTorch writes, and PyTorch's objects are made of
the plain numbers and words in it.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, Callable, Mapping

import torch
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)

from gaudi3_scale.checkpoints.manifest import FileRecord

_DCP = "torch.distributed.checkpoint.metadata"
_RECORDS = {
    *((_DCP, name) for name in ("Metadata", "TensorStorageMetadata", "TensorProperties", "ChunkStorageMetadata")),
    *((_DCP, name) for name in ("BytesStorageMetadata", "MetadataIndex", "StorageMeta", "_MEM_FORMAT_ENCODING")),
    ("torch.distributed.checkpoint.filesystem", "_StorageInfo"),
    ("torch", "Size"),
    ("torch.serialization", "_get_layout"),
    # Some releases of Python (3.11.2) pickle a member of an enumeration as getattr(class, name), and all name the
    # module as Python 2 did in protocols that it reads.
    ("builtins", "getattr"),
    ("__builtin__", "getattr"),
    # checkpoint_id, the folder in which it was written. The module is another one in Python 3.13.
    ("pathlib", "PosixPath"),
    ("pathlib._local", "PosixPath"),
}
_MEMORY_FORMATS = ("TORCH_CONTIGUOUS_FORMAT", "TORCH_CHANNELS_LAST", "TORCH_PRESERVE_FORMAT")
_MOST_DIMENSIONS = 64


def read_metadata(content: bytes, files: Mapping[str, FileRecord]) -> Metadata:
    """``files`` are those of the checkpoint: nothing else is ever to be read. Raises ValueError with what is wrong."""
    try:
        reported = _Records(io.BytesIO(content)).load()
    except Exception as error:
        # A pickle can make its reader raise anything.
        raise ValueError(f"it is not what torch.distributed.checkpoint writes: {error}") from error
    fields = _fields(reported, "Metadata")
    return Metadata(
        state_dict_metadata={
            _word(name, "a name"): _entry(about) for name, about in _dict(fields, "state_dict_metadata").items()
        },
        planner_data={_word(name, "a name"): _path(path) for name, path in _dict(fields, "planner_data").items()},
        storage_data=dict(_stored(at, where, files) for at, where in _dict(fields, "storage_data").items()),
        storage_meta=StorageMeta(),
    )


class _Record:
    """What a pickle says is to be made of a class or a function; nothing is."""

    arguments: tuple[Any, ...]
    state: object

    def __new__(cls, *arguments: object) -> _Record:
        # Not __init__: what a pickle makes with NEWOBJ never gets there.
        made = super().__new__(cls)
        made.arguments, made.state = arguments, None
        return made

    def __setstate__(self, state: object) -> None:
        self.state = state


class _Records(pickle.Unpickler):
    """Classes of its own for each file: whatever a pickle does to them is gone with it."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream)
        self._kinds: dict[tuple[str, str], Any] = {}

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch" and isinstance(getattr(torch, name, None), torch.dtype):
            return getattr(torch, name)
        if (module, name) not in _RECORDS:
            raise ValueError(f"{module}.{name} is not part of a checkpoint")
        return self._kinds.setdefault((module, name), type(name, (_Record,), {}))


def _record(value: object, kind: str) -> _Record:
    if not isinstance(value, _Record) or type(value).__name__ != kind:
        raise ValueError(f"{kind} was expected")
    return value


def _fields(value: object, kind: str) -> dict[str, Any]:
    state = _record(value, kind).state
    if not isinstance(state, dict):
        raise ValueError(f"{kind} has no fields")
    return state


def _dict(fields: Mapping[str, Any], name: str) -> dict[Any, Any]:
    if not isinstance(fields.get(name), dict):
        raise ValueError(f"{name} is not a table")
    table: dict[Any, Any] = fields[name]
    return table


def _word(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{what} is not text")
    return value


def _number(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise ValueError(f"{what} is not a number")
    return value


def _entry(value: object) -> TensorStorageMetadata | BytesStorageMetadata:
    if type(value).__name__ == "BytesStorageMetadata":
        return BytesStorageMetadata()
    fields = _fields(value, "TensorStorageMetadata")
    size, chunks = _size(fields.get("size")), fields.get("chunks")
    if not isinstance(chunks, list):
        raise ValueError("chunks is not a list")
    return TensorStorageMetadata(_properties(fields.get("properties")), size, [_chunk(one, size) for one in chunks])


def _properties(value: object) -> TensorProperties:
    """The type of the elements; PyTorch calls the rest deprecated, and what it reads does not depend on it."""
    state = _record(value, "TensorProperties").state
    if not (isinstance(state, tuple) and len(state) == 5 and isinstance(state[0], torch.dtype)):
        raise ValueError("the properties of a tensor are not complete")
    _require_memory_format(state[3])
    return TensorProperties(dtype=state[0])


def _require_memory_format(value: object) -> None:
    """``_MEM_FORMAT_ENCODING(0)`` or ``getattr(_MEM_FORMAT_ENCODING, 'TORCH_CONTIGUOUS_FORMAT')``."""
    if type(value).__name__ == "_MEM_FORMAT_ENCODING":
        known = _record(value, "_MEM_FORMAT_ENCODING").arguments in ((0,), (1,), (2,))
    else:
        arguments = _record(value, "getattr").arguments
        known = len(arguments) == 2 and arguments[1] in _MEMORY_FORMATS and _is_memory_format_class(arguments[0])
    if not known:
        raise ValueError("a tensor has a memory format that PyTorch does not have")


def _is_memory_format_class(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, _Record) and value.__name__ == "_MEM_FORMAT_ENCODING"


def _chunk(value: object, whole: torch.Size) -> ChunkStorageMetadata:
    fields = _fields(value, "ChunkStorageMetadata")
    offsets, sizes = _size(fields.get("offsets")), _size(fields.get("sizes"))
    if not len(offsets) == len(sizes) == len(whole) or any(
        start + length > end for start, length, end in zip(offsets, sizes, whole)
    ):
        raise ValueError("a part of a tensor is not within it")
    return ChunkStorageMetadata(offsets, sizes)


def _size(value: object) -> torch.Size:
    arguments = _record(value, "Size").arguments
    if len(arguments) != 1 or not isinstance(arguments[0], tuple) or len(arguments[0]) > _MOST_DIMENSIONS:
        raise ValueError("a size is not a list of numbers")
    return torch.Size([_number(one, "a size") for one in arguments[0]])


def _path(value: object) -> tuple[str | int, ...]:
    if not isinstance(value, tuple) or any(type(part) not in (str, int) for part in value):
        raise ValueError("planner_data is not made of names and numbers")
    return value


def _stored(at: object, where: object, files: Mapping[str, FileRecord]) -> tuple[MetadataIndex, _StorageInfo]:
    index, place = _fields(at, "MetadataIndex"), _fields(where, "_StorageInfo")
    name = _word(place.get("relative_path"), "relative_path")
    if name not in files:
        raise ValueError(f"it names {name[:80]!r}, which is not a file of the checkpoint")
    begin, length = _number(place.get("offset"), "offset"), _number(place.get("length"), "length")
    if begin + length > files[name].bytes:
        raise ValueError(f"it reads beyond the end of {name}")
    if place.get("transform_descriptors"):
        raise ValueError("it names transformations, and the trainer writes none")
    offset, hint = (
        _optional(index.get("offset"), _size),
        _optional(index.get("index"), lambda one: _number(one, "index")),
    )
    return MetadataIndex(_word(index.get("fqn"), "a name"), offset, hint), _StorageInfo(name, begin, length)


def _optional(value: object, made: Callable[[object], Any]) -> Any:
    return None if value is None else made(value)
