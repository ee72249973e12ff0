# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Files that libraries write, whole and cut at many places."""

from __future__ import annotations

import json
import os
import pickle

import pytest

from gaudi3_scale.checkpoints.foreign_files import (
    Inventory,
    checked_path,
    inventory_from,
    inventory_of,
    keep_last_start,
)
from gaudi3_scale.checkpoints.foreign_format import needed_by, wrong_with

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")
TENSORS = {"weight": torch.arange(900.0), "bias": torch.zeros(3)}


def wrong(path):
    return wrong_with(path, path.stat().st_size)


def torch_file(path):
    torch.save(TENSORS, path)


def safetensors_file(path):
    safetensors.save_file(TENSORS, path, metadata={"format": "pt"})


def json_file(path):
    path.write_text(json.dumps({"steps": list(range(90)), "text": "ends in é"}, indent=2))


@pytest.mark.parametrize(
    ("name", "write"),
    [("m.pt", torch_file), ("m.ckpt", torch_file), ("m.safetensors", safetensors_file), ("s.json", json_file)],
)
def test_whole_and_cut(tmp_path, name, write):
    path = tmp_path / name
    write(path)
    assert wrong(path) == ""
    content = path.read_bytes()
    for size in {0, 5, len(content) // 3, len(content) // 2, len(content) - 9, len(content) - 1}:
        path.write_bytes(content[:size])
        assert wrong(path), size


def test_what_had_not_got_to_the_disk(tmp_path):
    for name, write in (("m.pt", torch_file), ("s.json", json_file)):
        write(tmp_path / name)
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[: len(content) // 2] + bytes(len(content) - len(content) // 2))
        assert wrong(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("log.json", b'{"step": 1}\n{"step": 2}\n'),
        ("settings.json", b'{\n  // of mine\n  "a": 1}'),
        ("nan.json", b'{"loss": NaN}'),
        ("state.pkl", pickle.dumps({"a": 1})),
        ("notes.txt", b""),
        ("anything", os.urandom(99)),
        (".metadata", b"x"),
    ],
)
def test_what_says_nothing_of_its_end_is_taken(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert wrong(tmp_path / name) == ""


def test_a_header_that_no_file_can_have(tmp_path):
    path = tmp_path / "m.safetensors"
    for header in (b"[]", b'{"a": 1}', b'{"a": {"data_offsets": ["x", "y"]}}', b"[" * 9999):
        path.write_bytes(len(header).to_bytes(8, "little") + header)
        assert wrong(path) == "its header cannot be read"
    path.write_bytes(b"\xff" * 99)
    assert wrong(path) == "it ends after 99 bytes, in its header"


def test_what_an_index_names(tmp_path):
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors", "c": "../x", "d": 1}}))
    assert needed_by(index, 99) == ("m-1.safetensors", "m-2.safetensors")
    for text in ("[]", '{"weight_map": 3}', "{"):
        index.write_text(text)
        assert needed_by(index, 99) == ()


def test_what_the_metadata_of_pytorch_names_without_being_loaded(tmp_path):
    dcp = pytest.importorskip("torch.distributed.checkpoint")
    dcp.save({"model": TENSORS}, checkpoint_id=tmp_path / "step-1", no_dist=True)
    metadata = tmp_path / "step-1" / ".metadata"
    assert needed_by(metadata, metadata.stat().st_size) == ("__0_0.distcp",)


def test_what_is_found(tmp_path):
    (tmp_path / "step_1").mkdir()
    torch_file(tmp_path / "step_1" / "m.pt")
    (tmp_path / "last").symlink_to("step_1/m.pt")
    (tmp_path / "away").symlink_to("/etc/passwd")
    (tmp_path / "up").symlink_to("../x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "fence.json").write_text("{}")
    (tmp_path / ".gaudi3_scale-a-00").touch()
    (tmp_path / os.fsdecode(b"caf\xe9")).touch()
    (tmp_path / ".gaudi3_scale").mkdir()
    found = inventory_of(tmp_path)
    assert sorted(found.files) == ["last", "step_1/m.pt"]
    assert found.files["last"].link == "step_1/m.pt"
    assert list(found.folders) == ["step_1"]
    assert inventory_from(json.loads(json.dumps(found.as_plain()))) == found


def test_what_was_written_since_the_last_start(tmp_path):
    (tmp_path / ".gaudi3_scale").mkdir()
    (tmp_path / "old.pt").write_text("x")
    (tmp_path / "over.pt").write_text("x")
    assert all(found.fresh for found in inventory_of(tmp_path).files.values())
    keep_last_start(tmp_path, 7, ("old.pt", "gone.pt"))
    while (tmp_path / "over.pt").stat().st_ctime_ns <= (tmp_path / ".gaudi3_scale/last_start.json").stat().st_ctime_ns:
        (tmp_path / "over.pt").write_text("y")
    # A clock that stands elsewhere changes nothing.
    os.utime(tmp_path / "over.pt", (1, 1))
    found = inventory_of(tmp_path)
    assert (found.turn, found.copies) == (7, ("old.pt",))
    assert {path: about.fresh for path, about in found.files.items()} == {"old.pt": False, "over.pt": True}


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../x", "a/../x", "a//b", "./a", "a\0b", ".gaudi3_scale/incoming/0", 3, None, ["a"]]
)
def test_a_path_that_leads_elsewhere_is_refused(path):
    with pytest.raises(ValueError, match="is not the path of a file below the directory"):
        checked_path(path)


@pytest.mark.parametrize(
    "reported",
    [
        None,
        [],
        {},
        {**Inventory().as_plain(), "files": {"../x": {"bytes": 1, "written": 1}}},
        {**Inventory().as_plain(), "files": {"x": {"size": 1}}},
        {**Inventory().as_plain(), "folders": {"../x": 1}},
        {**Inventory().as_plain(), "copies": ["/x"]},
        {**Inventory().as_plain(), "turn": "x"},
    ],
)
def test_an_inventory_that_is_none(reported):
    with pytest.raises(ValueError):
        inventory_from(reported)
