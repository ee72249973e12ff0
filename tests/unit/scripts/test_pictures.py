# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The committed pictures are of what they say, which can be held without a browser."""

from __future__ import annotations

import json
from pathlib import Path
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


def test_of_the_demo_the_first_and_last_steps_and_the_verdict_are_shown():
    log = [
        "TASK [Something]",
        *(f"  step {number}/60  loss 4.0" for number in range(1, 61)),
        "\x1b[0;32mDemo (the cards are simulated)\x1b[0m",
        "node   verdict",
        "node1  ok",
        "Report: /place/demo.html",
        "ok: [node1]",
    ]
    assert shown_lines(log, Path("/place")) == [
        "$ make demo",
        "…",
        "  step 1/60  loss 4.0",
        "  step 2/60  loss 4.0",
        "…",
        "  step 59/60  loss 4.0",
        "  step 60/60  loss 4.0",
        "…",
        "Demo (the cards are simulated)",
        "node   verdict",
        "node1  ok",
        "Report: gaudi3_scale_reports/demo.html",
    ]


def test_what_is_missing_is_said(tmp_path, capsys, monkeypatch):
    assert main([str(tmp_path / "demo.log")]) == 1
    assert "run `make demo | tee demo.log` first" in capsys.readouterr().err
    (tmp_path / "demo.log").touch()
    (tmp_path / "training-demo.html").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main([str(tmp_path / "demo.log"), "--reports", str(tmp_path)]) == 1
    assert "apt install chromium" in capsys.readouterr().err
