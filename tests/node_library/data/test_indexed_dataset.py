# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Pairs of files that Megatron-LM's own module wrote are read, it reads ours, and hostile ones are refused."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import struct
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from gaudi3_scale.__main__ import main
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.indexed_dataset import beside, read_index
from gaudi3_scale.data.prepare import prepare
from gaudi3_scale.data.token_windows import StreamSampler, TrainingWindows
from gaudi3_scale.data.training_data import open_data
from job_runs import losses

DOCUMENTS = [[3, 1, 4, 1, 5], [9], [2, 6, 5, 3, 5, 8, 9, 7, 9]] * 20
ROW = list(itertools.chain(*DOCUMENTS))
KINDS = ["uint8", "int8", "int16", "int32", "int64", "uint16"]
HEADER = struct.Struct("<9sQBQQ")


OUTSIDER = """
import json, sys
import numpy
from megatron.core.datasets.indexed_dataset import IndexedDataset, IndexedDatasetBuilder
"""


def megatron(program: str, *arguments: object) -> str:
    """What a program with Megatron-LM's own classes prints, in a process of its own: torch loads more after it."""
    if importlib.util.find_spec("megatron") is None:
        pytest.skip("megatron-core is not installed")
    words = [sys.executable, "-W", "ignore", "-c", OUTSIDER + program, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def foreign(tmp_path_factory) -> Path:
    """A directory with a pair of each type that Megatron-LM writes for token ids, named after it."""
    directory = tmp_path_factory.mktemp("foreign")
    program = """
for name in sys.argv[3:]:
    builder = IndexedDatasetBuilder(f"{sys.argv[1]}/{name}.bin", dtype=getattr(numpy, name))
    for document in json.loads(sys.argv[2]):
        builder.add_document(document, [1, len(document) - 1] if len(document) > 1 else [1])
    builder.finalize(f"{sys.argv[1]}/{name}.idx")
"""
    megatron(program, directory, json.dumps(DOCUMENTS), *KINDS)
    return directory


@pytest.fixture
def prefix(tmp_path) -> Path:
    return tmp_path / "books_text_document"


def written(
    prefix: Path,
    lengths: list[int],
    pointers: list[int],
    documents: list[int],
    magic: bytes = b"MMIDIDX\0\0",
    version: int = 1,
    code: int = 8,
    counts: tuple[int, int] | None = None,
    more: bytes = b"",
    tokens: bytes = bytes(range(20)),
) -> Path:
    """A pair as the format says, or not: two bytes a token with ``code`` 8."""
    counted = counts or (len(lengths), len(documents))
    numbers = struct.pack(f"<{len(lengths)}i{len(pointers)}q{len(documents)}q", *lengths, *pointers, *documents)
    beside(prefix, "idx").write_bytes(HEADER.pack(magic, version, code, *counted) + numbers + more)
    beside(prefix, "bin").write_bytes(tokens)
    return prefix


@pytest.mark.in_turn
@pytest.mark.parametrize("kind", KINDS)
def test_what_megatron_wrote_is_read(foreign, kind):
    data = open_data(None, foreign / kind, 4)
    assert read_index(foreign / kind, "--data").dtype == np.dtype(kind).newbyteorder("<").str.replace("|", "<")
    assert (data.vocabulary, data.tokenizer, len(data.windows.tokens)) == (10, "", len(ROW))
    assert data.windows[[0, 7]].tolist() == [ROW[:5], ROW[28:33]]


@pytest.mark.in_turn
def test_megatron_reads_what_was_prepared(text, tmp_path, prefix):
    more = tmp_path / "text" / "more.txt"
    more.write_text("One line.\n" * 900)
    manifest = prepare([text, more], prefix, "bytes", 1, 4000, lambda *_: None).manifest
    program = """
found = IndexedDataset(sys.argv[1])
tokens = numpy.concatenate([found[number] for number in range(len(found))])
print(json.dumps([tokens.tolist(), found.sequence_lengths.tolist(), found.document_indices.tolist()]))
"""
    tokens, lengths, documents = json.loads(megatron(program, prefix))
    assert bytes(tokens) == text.read_bytes() + more.read_bytes()
    ends = [0, *itertools.accumulate(lengths)]
    assert [ends[number] for number in documents] == [0, text.stat().st_size, manifest.tokens]


@pytest.mark.long
def test_what_megatron_merged_is_read(text, prefix):
    """Its merge_datasets.py does this with two of ours."""
    ours = [prefix.with_name(name) for name in ("one", "two")]
    for one in ours:
        prepare([text], one, "bytes", 1, 4000, lambda *_: None)
    program = """
builder = IndexedDatasetBuilder(sys.argv[1] + ".bin", dtype=numpy.uint8)
for one in sys.argv[2:]:
    builder.add_index(one)
builder.finalize(sys.argv[1] + ".idx")
"""
    megatron(program, prefix, *ours)
    assert read_index(prefix, "--data").tokens == 2 * text.stat().st_size
    assert beside(prefix, "bin").read_bytes() == 2 * text.read_bytes()


def test_a_pair_as_the_format_says_is_read(prefix):
    index = read_index(written(prefix, [3, 0, 7], [0, 6, 6], [0, 1, 1, 3]), "--data")
    assert (index.dtype, index.tokens) == ("<u2", 10)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ({"magic": b"TNTIDX\0\0\0"}, "it does not begin as an index of Megatron-LM does"),
        ({"version": 2}, "it has version 2, and only 1 is known"),
        ({"code": 7}, "its tokens have type 7, and whole numbers have one of 1, 2, 3, 4, 5, 8"),
        ({"code": 0}, "its tokens have type 0"),
        ({"counts": (1 << 62, 3)}, "has 82 bytes, and claims 4611686018427387904 sequences and 3 documents"),
        ({"counts": (2, (1 << 64) - 1)}, "claims 2 sequences and 18446744073709551615 documents"),
        ({"counts": (1, 3)}, "it has 82 bytes, and claims 1 sequences"),
        ({"more": b"\0\0"}, "it has 84 bytes, and claims 2"),
        ({"lengths": [3, -7]}, "sequence 1, -7 tokens from byte 6 on, is out of place"),
        ({"lengths": [3, (1 << 31) - 1]}, "its sequences take 4294967300 bytes, and the .bin has 20"),
        ({"pointers": [0, 4]}, "sequence 1, 7 tokens from byte 4 on, is out of place"),
        ({"pointers": [0, -6]}, "sequence 1, 7 tokens from byte -6 on, is out of place"),
        ({"pointers": [0, 1 << 62]}, "sequence 1, 7 tokens from byte 4611686018427387904 on"),
        ({"pointers": [6, 0]}, "sequence 0, 3 tokens from byte 6 on, is out of place"),
        ({"tokens": b"x" * 19}, "its sequences take 20 bytes, and the .bin has 19"),
        ({"tokens": b"x" * 21}, "its sequences take 20 bytes, and the .bin has 21"),
        ({"tokens": b""}, "its sequences take 20 bytes, and the .bin has 0"),
    ],
)
def test_a_hostile_pair_is_one_sentence(prefix, harm, said):
    written(prefix, **{"lengths": [3, 7], "pointers": [0, 6], "documents": [0, 1, 2], **harm})
    with pytest.raises(GaudiError) as caught:
        open_data(None, prefix, 4)
    assert str(caught.value).startswith(f"--data {beside(prefix, 'idx')}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [*range(0, 82, 7), 81])
def test_an_index_that_was_cut_short_is_refused(prefix, size):
    written(prefix, [3, 7], [0, 6], [0, 1, 2])
    os.truncate(beside(prefix, "idx"), size)
    with pytest.raises(GaudiError, match=r"\.idx: it (does not begin as|has \d+ bytes, and claims)"):
        read_index(prefix, "--data")


@pytest.mark.parametrize("sequences", [1 << 33, 1 << 28])
def test_a_huge_index_takes_no_memory(prefix, sequences):
    """The files are sparse; an index of that length would be 103 or 3 GB."""
    written(prefix, [], [], [], counts=(sequences, 0))
    os.truncate(beside(prefix, "idx"), HEADER.size + 12 * sequences)
    with beside(prefix, "idx").open("r+b") as stream:
        stream.seek(HEADER.size)
        stream.write(struct.pack("<i", -1))
    tracemalloc.start()
    try:
        with pytest.raises(GaudiError, match=r"(claims 8589934592 sequences|sequence 0, -1 tokens)"):
            read_index(prefix, "--data")
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("suffix", ["bin", "idx"])
def test_what_is_no_file_is_refused(prefix, suffix):
    written(prefix, [3, 7], [0, 6], [0, 1, 2])
    beside(prefix, suffix).unlink()
    os.mkfifo(beside(prefix, suffix))
    with pytest.raises(
        GaudiError, match=rf"^--data .*\.{suffix}: it is not a regular file; give files that this user can"
    ):
        read_index(prefix, "--data")


@pytest.mark.parametrize(
    ("code", "token"), [(2, b"\xff"), (4, b"\0\0\0\x80"), (4, b"\0\0\0\x01"), (5, b"\0" * 7 + b"\x40")]
)
def test_numbers_that_are_no_tokens_are_refused(prefix, code, token):
    written(prefix, [100], [0], [0, 1], code=code, tokens=bytes(99 * len(token)) + token)
    with pytest.raises(GaudiError, match=r"^--data .*\.bin: it has the token -?\d+, and tokens go from 0 to 16777215;"):
        open_data(None, prefix, 4)


def test_a_pair_without_a_manifest_is_trained_on_and_said(prefix, train_here):
    row = np.arange(3000) % 97
    written(prefix, [3000], [0], [0, 1], code=4, tokens=row.astype("<i4").tobytes())
    lines = train_here("--max-steps", 3, source=["--data", prefix])
    (said,) = [line["message"] for line in lines if line["kind"] == "warning"]
    assert said.startswith(
        f"--data {prefix}: there is no {prefix.name}.manifest.json, so nothing says which tokenizer "
    )
    assert "the largest is 96" in said
    assert sorted(losses(lines)) == [1, 2, 3]


def test_one_command_describes_a_pair_of_others(prefix, train_here, monkeypatch, capfd):
    def check() -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["gaudi3_scale", "data", "check", "--data", str(prefix)])
        return main(), "".join(capfd.readouterr())

    row = np.arange(3000) % 97
    written(prefix, [3000], [0], [0, 1], tokens=row.astype("<u2").tobytes())
    before = open_data(None, prefix, 32)
    status, shown = check()
    assert (status, shown.count("\n")) == (0, 1)
    assert "3000 tokens, checksum " in shown
    assert json.loads(beside(prefix, "manifest.json").read_text())["vocabulary"] == 97
    after = open_data(None, prefix, 32)
    assert (after.checksum, after.vocabulary, after.caution) == (before.checksum, 97, "")
    assert check()[1].endswith(", as written\n")
    with pytest.raises(GaudiError, match=r"\.bin is there already"):
        prepare([Path(__file__)], prefix, "bytes", 1, 1 << 20, lambda *_: None)


def test_a_resumed_job_goes_on_at_the_next_window(prefix):
    written(prefix, [3000], [0], [0, 1], tokens=np.arange(3000, dtype="<u2").tobytes())
    windows = TrainingWindows(open_data(None, prefix, 32).windows)
    whole = [windows[numbers] for numbers in itertools.islice(StreamSampler(len(windows), 4, seed=3), 5)]
    resumed = [windows[numbers] for numbers in itertools.islice(StreamSampler(len(windows), 4, seed=3, position=12), 2)]
    assert [batch.tolist() for batch in whole[3:]] == [batch.tolist() for batch in resumed]
