# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The committed pictures are of what they say, which can be held without a browser."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from scripts import pictures
from scripts.pictures import MOST_BYTES, PAGE, SOURCE, TERMINAL, TEXT, TITLE, main, shown_lines, source_of, with_source
from scripts.terminal_picture import terminal_picture

SVG = "{http://www.w3.org/2000/svg}"
EMPTY_PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + bytes(17) + b"\0\0\0\0IEND" + bytes(4)


def test_the_terminal_is_drawn_from_the_text_beside_it():
    text = TEXT.read_text(encoding="utf-8")
    assert TERMINAL.read_text(encoding="utf-8") == terminal_picture(TITLE, text.splitlines())


def test_the_page_s_picture_carries_the_digest_of_its_page():
    assert source_of(PAGE.read_bytes()) == json.loads(SOURCE.read_text())["sha256"]


@pytest.mark.parametrize("path", [TERMINAL, PAGE], ids=lambda path: path.name)
def test_a_picture_is_small_and_says_that_its_nodes_are_simulated(path):
    assert path.stat().st_size < MOST_BYTES
    assert "simulated nodes" in TITLE and "simulated nodes" in pictures.BANNER


def test_each_line_is_text_as_it_was_printed():
    lines = ["TASK [a & b]", "ok: [n1]", "node  <verdict>  ok", "  two  blanks"]
    drawn = ElementTree.fromstring(terminal_picture("T", lines))
    texts = ["".join(one.itertext()) for one in drawn.iter(f"{SVG}text")]
    assert texts == ["T", *lines]


def test_a_picture_without_a_digest_has_none_and_keeps_the_one_it_gets():
    assert source_of(EMPTY_PNG) == ""
    assert source_of(with_source(EMPTY_PNG, "ab" * 32)) == "ab" * 32


LOG = """\
PLAY [Preflight] ****
Network benchmark
nodes         network   verdict
------------  --------  -------
node1, node2  ethernet  -
  GB/s are the bus bandwidth

Batch size 40 on 2 nodes
node   verdict
node1  ok

  step 1/60  loss 4.0
  step 2/60  loss 3.9
  step 3/60  loss 3.8  LONG
  step 4/60  loss 3.7
  step 59/60  loss 2.1
\x1b[0;32m  step 60/60  loss 2.0\x1b[0m
  The job succeeded: all ranks ended well.
  step 61/70  loss 2.0
PLAY RECAP ****
localhost : ok=2
node1 : ok=81
The playbooks took 12.7 minutes.

real 12m
"""


def test_of_the_demo_its_tables_steps_and_end_are_shown_as_they_were_printed():
    lines = LOG.replace("LONG", "slow " * 30).splitlines()
    assert shown_lines(lines) == [
        "$ make demo",
        "…",
        *lines[1:5],
        "  GB/s are the bus bandwidth",
        "…",
        "Batch size 40 on 2 nodes",
        "…",
        *("  step 1/60  loss 4.0", "  step 2/60  loss 3.9", "  step 4/60  loss 3.7"),
        "…",
        *("  step 59/60  loss 2.1", "  step 60/60  loss 2.0", "  The job succeeded: all ranks ended well."),
        "…",
        "PLAY RECAP ****",
        "node1 : ok=81",
        "The playbooks took 12.7 minutes.",
    ]


def test_what_is_missing_is_said(tmp_path, capsys, monkeypatch):
    assert main([str(tmp_path / "demo.log")]) == 1
    assert "run `make demo | tee demo.log` first" in capsys.readouterr().err
    (tmp_path / "demo.log").touch()
    (tmp_path / "training-demo.html").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main([str(tmp_path / "demo.log"), "--reports", str(tmp_path)]) == 1
    assert "apt install chromium" in capsys.readouterr().err
