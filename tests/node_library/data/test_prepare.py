# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``gaudi3_scale data prepare`` and what the trainer makes of it, with the bytes of text as tokens."""

from __future__ import annotations

import os
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pytest

from gaudi3_scale import __version__
from gaudi3_scale.__main__ import main
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.prepare import plan_parts, prepare
from gaudi3_scale.data.token_files import read_manifest
from gaudi3_scale.data.training_data import open_data, require_same_data
from job_runs import losses

PART = 4000


@pytest.fixture
def prepared(text, tmp_path):
    """``prepared()`` prepares the text into ``tmp_path``/tokens."""

    def run(processes: int = 2, out: str = "tokens", paths: list[Path] | None = None):
        return prepare(paths or [text], tmp_path / out, "bytes", processes, PART, lambda *_: None)

    return run


def tokens_in(directory: Path) -> bytes:
    return b"".join((directory / file.name).read_bytes() for file in read_manifest(directory).files)


def state(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in directory.iterdir()}


def test_the_tokens_are_the_bytes_whoever_made_which_part(prepared, text, tmp_path):
    one, two = prepared(1, "one"), prepared(2, "two")
    assert len(one.manifest.files) == 3
    assert tokens_in(tmp_path / "one") == tokens_in(tmp_path / "two") == text.read_bytes()
    assert one.manifest == two.manifest
    assert (one.manifest.tokens, one.manifest.vocabulary, one.manifest.dtype) == (text.stat().st_size, 256, "<u1")


def test_parts_end_where_lines_end_and_hold_several_short_files(tmp_path):
    long, short = tmp_path / "long", [tmp_path / f"short{number}" for number in range(3)]
    long.write_bytes(b"12345678\n" * 5)
    for file in short:
        file.write_bytes(b"abc")
    parts = plan_parts([long, *short], 20, "bytes")
    spans = [[(piece.file.name, piece.start, piece.end) for piece in part.pieces] for part in parts]
    assert spans == [[("long", 0, 27)], [("long", 27, 45)], [(f"short{number}", 0, 3) for number in range(3)]]


def test_a_second_run_changes_nothing(prepared, tmp_path):
    assert prepared().made == 3
    before = state(tmp_path / "tokens")
    assert prepared().made == 0
    assert state(tmp_path / "tokens") == before


def test_an_interrupted_run_goes_on_with_the_parts_that_are_missing(prepared, tmp_path):
    whole = prepared().manifest
    folder = tmp_path / "tokens"
    (folder / "manifest.json").unlink()
    (folder / whole.files[1].name).unlink()
    (folder / f".{whole.files[1].name}.elsewhere-1").write_bytes(b"half")
    before = state(folder)
    again = prepared()
    assert (again.made, again.manifest) == (1, whole)
    after = state(folder)
    assert {name: after[name] for name in (whole.files[0].name, whole.files[2].name)}.items() <= before.items()
    assert sorted(after) == sorted([*(file.name for file in whole.files), "manifest.json"])


def test_a_part_that_was_cut_short_is_made_again(prepared, text, tmp_path):
    whole = prepared().manifest
    os.truncate(tmp_path / "tokens" / whole.files[1].name, 100)
    again = prepared()
    assert (again.made, again.manifest) == (1, whole)
    assert tokens_in(tmp_path / "tokens") == text.read_bytes()


def test_a_process_that_the_system_ends_is_one_sentence(prepared, tmp_path, monkeypatch):
    def ended(*_):
        raise BrokenProcessPool("A process in the process pool was terminated abruptly")

    monkeypatch.setattr("gaudi3_scale.data.prepare._make_all", ended)
    with pytest.raises(
        GaudiError, match=r"^--processes 2: the system ended one of them, most likely for want of memory; "
    ):
        prepared()


def test_text_that_changed_is_made_again_and_the_old_is_gone(prepared, text, tmp_path):
    old = prepared().manifest
    text.write_bytes(text.read_bytes() + b"One more line.\n")
    new = prepared()
    assert new.made == 3, "the file's date is part of what a part is made from"
    assert tokens_in(tmp_path / "tokens") == text.read_bytes()
    assert not any((tmp_path / "tokens" / file.name).exists() for file in old.files)


def test_a_directory_with_other_files_is_left_alone(prepared, tmp_path):
    (tmp_path / "tokens").mkdir()
    (tmp_path / "tokens" / "mine.txt").write_text("mine")
    with pytest.raises(GaudiError, match=r"^--out .*: mine\.txt is there already; name a new or an empty directory\.$"):
        prepared()
    assert [path.name for path in (tmp_path / "tokens").iterdir()] == ["mine.txt"]


def test_what_cannot_be_read_or_written_is_one_sentence(prepared, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(GaudiError, match=r"^--out .*/file: .*; name a directory that this user can write\.$"):
        prepared(out="file")
    with pytest.raises(GaudiError, match=r"^--text .*/nothing: there is no such file or directory on this node\.$"):
        prepared(paths=[tmp_path / "nothing"])
    with pytest.raises(GaudiError, match="no text is there"):
        (tmp_path / "empty").write_text("")
        prepared(paths=[tmp_path / "empty"])


def test_training_on_the_tokens_is_training_on_the_text(prepared, train_here, tmp_path, monkeypatch):
    prepared()
    on_text = losses(train_here("--max-steps", 3, job="text"))
    arguments = ["--data", tmp_path / "tokens"]
    assert losses(train_here("--max-steps", 3, job="data", source=arguments)) == on_text


def test_tokens_that_are_not_whole_are_refused(prepared, tmp_path):
    folder = tmp_path / "tokens"
    with pytest.raises(
        GaudiError, match=r"^--data .*: there is no manifest\.json; make it with gaudi3_scale data prep"
    ):
        open_data(None, folder, 32)
    first = prepared().manifest.files[0]
    os.truncate(folder / first.name, 100)
    with pytest.raises(
        GaudiError, match=rf"{first.name} has 100 bytes instead of {first.tokens}; run gaudi3_scale data"
    ):
        open_data(None, folder, 32)
    (folder / first.name).unlink()
    with pytest.raises(GaudiError, match=rf"{first.name} is missing; run gaudi3_scale data prepare once more"):
        open_data(None, folder, 32)
    (folder / "manifest.json").write_text('{"files": 3}')
    with pytest.raises(GaudiError, match="is not a manifest of prepared data"):
        open_data(None, folder, 32)


def test_ranks_with_other_tokens_are_named(prepared, text, tmp_path, monkeypatch):
    prepared()
    data = open_data(None, tmp_path / "tokens", 32)
    prepared(out="other", paths=[text, text])
    other = open_data(None, tmp_path / "other", 32)
    assert data.checksum != other.checksum
    monkeypatch.setattr("gaudi3_scale.data.training_data.gather_numbers", lambda mine, *_: [mine, mine, [1, 2, 3, 4]])
    with pytest.raises(
        GaudiError, match=r"^--data: rank 2 read other tokens than rank 0; copy the same directory every"
    ):
        require_same_data(data, None)


def test_the_command_shows_what_it_does(text, tmp_path, monkeypatch, capfd):
    def command(*words: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["gaudi3_scale", "data", *map(str, words)])
        return main(), "".join(capfd.readouterr())

    make = ["prepare", "--text", text, "--out", tmp_path / "tokens", "--processes", 1]
    status, shown = command(*make)
    assert (status, shown.splitlines()[0].split(",")[0]) == (0, "1 of 1 parts")
    assert f"{text.stat().st_size} tokens, checksum " in shown
    assert command(*make)[1].endswith("nothing to do\n")
    assert command("check", "--data", tmp_path / "tokens")[1].endswith("as written\n")
    (tokens,) = (tmp_path / "tokens").glob("*.tokens")
    changed = np.fromfile(tokens, np.uint8)
    changed[100] ^= 1
    changed.tofile(tokens)
    status, shown = command("check", "--data", tmp_path / "tokens")
    assert (status, shown.count("\n")) == (1, 1)
    assert f"{tokens.name} has other bytes than were written; " in shown
    status, shown = command("workers", "--data", tmp_path / "tokens", "--most", 1, "--pass-seconds", 1000)
    assert (status, shown.splitlines()[-1]) == (0, "--workers 0: they keep up with 0.0 batches/s")


def test_the_program_says_which_it_is(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["gaudi3_scale", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"gaudi3_scale {__version__}\n"
