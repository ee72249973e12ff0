# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``gaudi3_scale data prepare`` and what the trainer makes of it, with the bytes of text as tokens."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pytest

from gaudi3_scale import __version__
from gaudi3_scale.__main__ import main
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.indexed_dataset import beside, read_index
from gaudi3_scale.data.prepare import plan_parts, prepare
from gaudi3_scale.data.training_data import open_data, require_same_data
from job_runs import losses

PART = 4000


class InterruptedByTestError(Exception):
    pass


@pytest.fixture
def prefix(tmp_path) -> Path:
    return tmp_path / "tokens" / "license"


@pytest.fixture
def prepared(text, prefix):
    """``prepared()`` prepares the text at ``prefix``; with ``parts`` it is interrupted after so many."""

    def run(processes: int = 2, out: str = "license", paths: list[Path] | None = None, parts: int = 0):
        def reported(done, _all):
            if done == parts:
                raise InterruptedByTestError

        return prepare(paths or [text], prefix.with_name(out), "bytes", processes, PART, reported)

    return run


def tokens_of(prefix: Path) -> bytes:
    return beside(prefix, "bin").read_bytes()


def state(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in directory.iterdir()}


def test_the_tokens_are_the_bytes_whoever_made_which_part(prepared, text, prefix):
    one, two = prepared(1, "one"), prepared(2, "two")
    assert (one.made, two.made) == (3, 3)
    assert tokens_of(prefix.with_name("one")) == tokens_of(prefix.with_name("two")) == text.read_bytes()
    assert one.manifest == two.manifest
    assert (one.manifest.tokens, one.manifest.vocabulary) == (text.stat().st_size, 256)
    assert read_index(prefix.with_name("one"), "--data").dtype == "<u1"


def test_parts_end_where_lines_end_and_hold_several_short_files(tmp_path):
    long, short = tmp_path / "long", [tmp_path / f"short{number}" for number in range(3)]
    long.write_bytes(b"12345678\n" * 5)
    for file in short:
        file.write_bytes(b"abc")
    parts = plan_parts([long, *short], 20)
    spans = [[(piece.file.name, piece.start, piece.end) for piece in part] for part in parts]
    assert spans == [[("long", 0, 27)], [("long", 27, 45)], [(f"short{number}", 0, 3) for number in range(3)]]


def test_a_line_without_an_end_is_cut(prepared, text, prefix):
    text.write_bytes(b"x" * (3 * PART))
    assert [[(piece.start, piece.end) for piece in part] for part in plan_parts([text], PART)] == [
        [(0, 2 * PART - 1)],
        [(2 * PART - 1, 3 * PART)],
    ]
    assert prepared().manifest.tokens == 3 * PART
    assert tokens_of(prefix) == text.read_bytes()


def test_a_second_run_changes_nothing(prepared, prefix):
    assert prepared().made == 3
    before = state(prefix.parent)
    assert sorted(before) == ["license.bin", "license.idx", "license.manifest.json"]
    assert prepared().made == 0
    assert state(prefix.parent) == before


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_an_interrupted_run_goes_on_with_the_parts_that_are_missing(prepared, prefix, parts):
    whole = prepared(out="whole").manifest
    with pytest.raises(InterruptedByTestError):
        prepared(parts=parts)
    with pytest.raises(GaudiError, match=r"there is no .*license"):
        open_data(None, prefix, 32)
    again = prepared()
    assert (again.made, again.manifest) == (3 - parts, whole)
    assert tokens_of(prefix) == tokens_of(prefix.with_name("whole"))
    assert sorted(path.name for path in prefix.parent.glob("license*")) == [
        "license.bin",
        "license.idx",
        "license.manifest.json",
    ]


@pytest.mark.parametrize(
    ("harm", "made"),
    [
        (lambda tokens, lines: os.truncate(tokens, tokens.stat().st_size - 1), 2),
        (lambda tokens, lines: os.truncate(lines, lines.stat().st_size - 1), 2),
        (lambda tokens, lines: tokens.write_bytes(tokens.read_bytes() + b"half a part"), 1),
        (lambda tokens, lines: lines.write_bytes(lines.read_bytes() + b"[12"), 1),
        (lambda tokens, lines: lines.write_bytes(b"x" + lines.read_bytes()[1:]), 3),
        (lambda tokens, lines: lines.unlink(), 3),
        (lambda tokens, lines: tokens.unlink(), 3),
    ],
)
def test_what_an_interruption_cut_off_is_made_again(prepared, text, prefix, harm, made):
    with pytest.raises(InterruptedByTestError):
        prepared(parts=2)
    harm(beside(prefix, "bin.unfinished"), beside(prefix, "idx.unfinished"))
    assert prepared().made == made
    assert tokens_of(prefix) == text.read_bytes()


def test_tokens_that_were_cut_short_are_made_again(prepared, text, prefix):
    whole = prepared().manifest
    os.truncate(beside(prefix, "bin"), 100)
    again = prepared()
    assert (again.made, again.manifest) == (3, whole)
    assert tokens_of(prefix) == text.read_bytes()


def test_an_interruption_while_the_pair_is_put_in_place_is_mended(prepared, text, prefix):
    """The manifest and the index go first and come last."""
    whole = prepared().manifest
    beside(prefix, "idx").unlink()
    beside(prefix, "manifest.json").unlink()
    beside(prefix, "idx.unfinished").write_text(f"{whole.source}\n[4000]\n")
    assert prepared().manifest == whole
    assert tokens_of(prefix) == text.read_bytes()


def test_two_at_once_do_not_write_into_each_other(prepared, prefix):
    def reported(done, _all):
        with pytest.raises(
            GaudiError, match=r"^--out .*license: another data prepare is writing it; let that finish\.$"
        ):
            prepared()

    prepare([Path(__file__)], prefix, "bytes", 1, 1 << 20, reported)
    assert tokens_of(prefix) == Path(__file__).read_bytes()


def test_a_process_that_the_system_ends_is_one_sentence(prepared, monkeypatch):
    def ended(*_):
        raise BrokenProcessPool("A process in the process pool was terminated abruptly")

    monkeypatch.setattr("gaudi3_scale.data.prepare._make_all", ended)
    with pytest.raises(
        GaudiError, match=r"^--processes 2: the system ended one of them, most likely for want of memory; "
    ):
        prepared()


def test_text_that_changed_is_made_again_and_the_old_is_gone(prepared, text, prefix):
    prepared()
    text.write_bytes(text.read_bytes() + b"One more line.\n")
    with pytest.raises(InterruptedByTestError):
        prepared(parts=1)
    assert open_data(None, prefix, 32).vocabulary == 256, "until it is made, the old stays"
    text.write_bytes(text.read_bytes() + b"And one more.\n")
    new = prepared()
    assert new.made == 3, "the file's date is part of what a part is made from"
    assert tokens_of(prefix) == text.read_bytes()
    assert len(state(prefix.parent)) == 3


@pytest.mark.parametrize("suffix", ["bin", "idx"])
def test_a_pair_of_others_is_left_alone(prepared, prefix, suffix):
    prefix.parent.mkdir()
    beside(prefix, suffix).write_text("mine")
    with pytest.raises(
        GaudiError, match=rf"^--out .*: license\.{suffix} is there already; give a path where no such file is\.$"
    ):
        prepared()
    assert list(prefix.parent.iterdir()) == [beside(prefix, suffix)]
    assert beside(prefix, suffix).read_text() == "mine"


def test_what_cannot_be_read_or_written_is_one_sentence(prepared, tmp_path):
    (tmp_path / "tokens").write_text("x")
    with pytest.raises(GaudiError, match=r"^--out .*/license: .*; name a path that this user can write\.$"):
        prepared()
    with pytest.raises(GaudiError, match=r"^--text .*/nothing: there is no such file or directory on this node\.$"):
        prepared(paths=[tmp_path / "nothing"])
    with pytest.raises(GaudiError, match="no text is there"):
        (tmp_path / "empty").write_text("")
        prepared(paths=[tmp_path / "empty"])


def test_training_on_the_tokens_is_training_on_the_text(prepared, prefix, train_here):
    prepared()
    on_text = losses(train_here("--max-steps", 3, job="text"))
    assert losses(train_here("--max-steps", 3, job="data", source=["--data", prefix])) == on_text


def test_tokens_that_are_not_whole_are_refused(prepared, prefix):
    def refused(sentence: str) -> None:
        with pytest.raises(GaudiError, match=sentence) as caught:
            open_data(None, prefix, 32)
        assert "\n" not in str(caught.value)

    refused(
        r"^--data .*license: there is no .*license\.bin; give the path of a pair of files without its \.bin or \.idx"
    )
    manifest = prepared().manifest
    beside(prefix, "idx").rename(prefix)
    refused(r"^--data .*license: there is no .*license\.idx; give the path")
    prefix.rename(beside(prefix, "idx"))
    text = beside(prefix, "manifest.json").read_text()
    beside(prefix, "manifest.json").write_text(text.replace(str(manifest.tokens), "7"))
    refused(
        rf"there are {manifest.tokens} tokens instead of the 7 of license\.manifest\.json; copy all files again, or"
    )
    for harm in ({"files": 3}, {"tokens": "7"}, {"vocabulary": True}, {"vocabulary": 0}, {"vocabulary": 1 << 40}):
        beside(prefix, "manifest.json").write_text(json.dumps({**json.loads(text), **harm}))
        refused(r"license\.manifest\.json is not a manifest of prepared data; move it away, or give another path\.$")
    beside(prefix, "manifest.json").write_text("[" * 100_000)
    refused(r"license\.manifest\.json is not a manifest of prepared data")
    beside(prefix, "manifest.json").write_text(text)
    os.truncate(beside(prefix, "bin"), 100)
    refused(rf"license\.idx: its sequences take {manifest.tokens} bytes, and the \.bin has 100; copy it and the \.bin")


def test_ranks_with_other_tokens_are_named(prepared, text, prefix, monkeypatch):
    prepared()
    data = open_data(None, prefix, 32)
    prepared(out="other", paths=[text, text])
    other = open_data(None, prefix.with_name("other"), 32)
    assert data.checksum != other.checksum
    monkeypatch.setattr("gaudi3_scale.data.training_data.gather_numbers", lambda mine, *_: [mine, mine, [1, 2, 3, 4]])
    with pytest.raises(
        GaudiError, match=r"^--data: rank 2 read other tokens than rank 0; copy the same pair of files every"
    ):
        require_same_data(data, None)


@pytest.fixture
def command(monkeypatch, capfd):
    def run(*words: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["gaudi3_scale", "data", *map(str, words)])
        return main(), "".join(capfd.readouterr())

    return run


def test_the_command_shows_what_it_does(command, text, prefix):
    make = ["prepare", "--text", text, "--out", prefix, "--processes", 1]
    status, shown = command(*make)
    assert (status, shown.splitlines()[0].split(",")[0]) == (0, "1 of 1 parts")
    assert f"{text.stat().st_size} tokens, checksum " in shown
    assert command(*make)[1].endswith("nothing to do\n")
    assert command("check", "--data", prefix)[1].endswith("as written\n")
    changed = np.fromfile(beside(prefix, "bin"), np.uint8)
    changed[100] ^= 1
    changed.tofile(beside(prefix, "bin"))
    status, shown = command("check", "--data", prefix)
    # One sentence, and the page that says more.
    assert (status, shown.count("\n"), shown.splitlines()[1][:9]) == (1, 2, "See docs/")
    assert f"{prefix}: the .bin or the .idx has other bytes than were written; " in shown
    status, shown = command("workers", "--data", prefix, "--most", 1, "--pass-seconds", 1000)
    assert (status, shown.splitlines()[-1]) == (0, "--workers 0: they keep up with 0.0 batches/s")


def test_the_program_says_which_it_is(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["gaudi3_scale", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"gaudi3_scale {__version__}\n"
