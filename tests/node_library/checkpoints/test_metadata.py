# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The metadata that PyTorch writes is read as PyTorch reads it, and no other pickle is."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path

import pytest
import torch
import torch.distributed.checkpoint as distributed_checkpoint
from torch.distributed.checkpoint.metadata import _MEM_FORMAT_ENCODING, Metadata

from gaudi3_scale.checkpoints.manifest import FileRecord
from gaudi3_scale.checkpoints.metadata import read_metadata

STATE = {
    "model": {"weight": torch.zeros(4, 3), "half": torch.zeros(2, dtype=torch.bfloat16), "scalar": torch.zeros(())},
    "optimizer": {"weight": {"step": torch.zeros(()), "nested": [1, "x"]}},
    "progress": b"packed",
}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> tuple[bytes, dict[str, FileRecord]]:
    folder: Path = tmp_path_factory.mktemp("checkpoint")
    distributed_checkpoint.save(STATE, storage_writer=distributed_checkpoint.FileSystemWriter(folder))
    files = {path.name: FileRecord(path.stat().st_size, "") for path in folder.iterdir()}
    return (folder / ".metadata").read_bytes(), files


def changed(content: bytes, change) -> bytes:
    metadata = pickle.loads(content)
    change(metadata)
    return pickle.dumps(metadata)


def test_it_says_what_pytorch_reads(written):
    content, files = written
    reported, wanted = read_metadata(content, files), pickle.loads(content)
    assert isinstance(reported, Metadata)
    assert reported.state_dict_metadata == wanted.state_dict_metadata
    assert reported.storage_data == wanted.storage_data
    assert reported.planner_data == wanted.planner_data
    assert {type(about.size) for about in reported.state_dict_metadata.values() if hasattr(about, "size")} == {
        torch.Size
    }


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_is_read(written, protocol):
    content, files = written
    again = pickle.dumps(pickle.loads(content), protocol)
    assert read_metadata(again, files).storage_data == pickle.loads(content).storage_data


def with_getattr(content: bytes, name: str) -> bytes:
    """A member of the enumeration as Python 3.11.2 pickles it."""

    class OfPython3112(pickle.Pickler):
        def reducer_override(self, value):
            return (getattr, (type(value), name)) if isinstance(value, _MEM_FORMAT_ENCODING) else NotImplemented

    stream = io.BytesIO()
    OfPython3112(stream).dump(pickle.loads(content))
    return stream.getvalue()


def test_a_member_may_be_written_as_getattr(written):
    content, files = written
    reported = read_metadata(with_getattr(content, "TORCH_CONTIGUOUS_FORMAT"), files)
    assert reported.state_dict_metadata == pickle.loads(content).state_dict_metadata


@pytest.mark.parametrize("name", ["__class__", "mro", "TORCH", "__subclasses__"])
def test_getattr_gets_nothing_else(written, name):
    content, files = written
    with pytest.raises(ValueError, match="a tensor has a memory format that PyTorch does not have"):
        read_metadata(with_getattr(content, name), files)


class Ran:
    def __init__(self, function, *arguments) -> None:
        self._made = function, arguments

    def __reduce__(self):
        return self._made


@pytest.mark.parametrize(
    "value",
    [
        Ran(os.mkdir, "planted"),
        Ran(eval, "open('planted', 'w')"),
        Ran(getattr, Path, "touch"),
        Ran(torch.load, "planted"),
        Ran(torch.save, 1, "planted"),
        Ran(Path.touch, Path("planted")),
        Path("planted"),
        bytearray(b"x"),
    ],
    ids=["mkdir", "eval", "getattr", "torch.load", "torch.save", "a path's method", "a path", "bytes"],
)
@pytest.mark.parametrize("where", ["whole", "planner_data", "state_dict_metadata", "storage_data"])
def test_nothing_else_is_made_or_run(written, tmp_path, monkeypatch, value, where):
    content, files = written
    monkeypatch.chdir(tmp_path)

    def plant(metadata: Metadata) -> None:
        getattr(metadata, where)["planted"] = value

    poisoned = pickle.dumps(value) if where == "whole" else changed(content, plant)
    with pytest.raises(ValueError, match=r"^\S"):
        read_metadata(poisoned, files)
    assert not any(tmp_path.iterdir())


def place_of(metadata: Metadata, name: str):
    return next(where for at, where in metadata.storage_data.items() if at.fqn == name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda at: setattr(at, "relative_path", "../../etc/shadow"),
            "names '../../etc/shadow', which is not a file of",
        ),
        (lambda at: setattr(at, "relative_path", "/etc/shadow"), "names '/etc/shadow', which is not a file of"),
        (lambda at: setattr(at, "relative_path", 7), "relative_path is not text"),
        (lambda at: setattr(at, "length", 1 << 40), "it reads beyond the end of __0_0.distcp"),
        (lambda at: setattr(at, "offset", -1), "offset is not a number"),
        (lambda at: setattr(at, "offset", True), "offset is not a number"),
        (lambda at: setattr(at, "transform_descriptors", ["zstd"]), "it names transformations"),
    ],
)
def test_only_the_checkpoints_own_files_are_read(written, change, said):
    content, files = written
    with pytest.raises(ValueError, match=said):
        read_metadata(changed(content, lambda metadata: change(place_of(metadata, "model.weight"))), files)


def test_a_part_lies_within_its_tensor(written):
    content, files = written

    def beyond(metadata: Metadata) -> None:
        metadata.state_dict_metadata["model.weight"].chunks[0].sizes = torch.Size([4, 1 << 40])

    with pytest.raises(ValueError, match="a part of a tensor is not within it"):
        read_metadata(changed(content, beyond), files)


def test_what_it_does_to_a_class_is_gone_with_it(written):
    """BUILD with a state for slots sets attributes of whatever it is given, a class as well."""
    content, files = written
    build = b"ctorch.distributed.checkpoint.metadata\nMetadata\n(N(dVversion\nVplanted\nstb."
    with pytest.raises(ValueError, match="it is not what"):
        read_metadata(build, files)
    assert Metadata.version is None
    read_metadata(content, files)


@pytest.mark.parametrize("length", [0, 1, 100, -1])
def test_half_of_it_is_nothing(written, length):
    content, files = written
    with pytest.raises(ValueError, match="it is not what"):
        read_metadata(content[:length], files)
