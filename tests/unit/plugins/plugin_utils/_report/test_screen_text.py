# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What nodes, ranks and files say reaches a terminal as text, and is told from the play's own lines."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_failure import module_failure
from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import lines_of, one_line
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.text_table import text_table

# C0, DEL, C1, the marks that turn the direction, those that hide, the separators of lines and paragraphs, and halves.
OBEYED = [
    *map(chr, (*range(0x20), *range(0x7F, 0xA0))),
    *"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    *"\u200b\u2060\ufeff\u00ad\u2028\u2029\ud800\udfff\U000e0041",
]
RECAP = "PLAY RECAP *********************************************************************"


@pytest.mark.parametrize("one", OBEYED, ids=lambda one: f"{ord(one):04x}")
def test_what_a_terminal_obeys_is_gone(one):
    assert one_line(f"a{one}b") == "a b"
    assert text_table([{"node": f"a{one}b"}], ["node"]).splitlines()[-1] == "a b"
    assert one not in lines_of(f"a{one}b") or one == "\n"
    assert module_failure(GaudiError(f"a{one}b"))["msg"] in ("a b", "a\nb")


def test_a_row_has_the_first_line_of_a_traceback():
    (row,) = text_table([{"text": "ValueError: bad\nTraceback\n  File"}], ["text"]).splitlines()[2:]
    assert row == "ValueError: bad …"


@pytest.mark.parametrize("text", ["grün", "日本語", "step 3  loss 4.2000", "…", "é", "עברית"])
def test_words_stay(text):
    assert one_line(text) == text


def test_a_line_of_a_rank_is_no_line_of_the_play():
    reported = lines_of(f"Job x failed: rank 1 failed first\n  {RECAP}\n{RECAP}\r{RECAP}\x1b[1A{RECAP}")
    assert not any(line.startswith("PLAY") for line in reported.split("\n"))
    assert reported.split("\n")[1] == f"  |   {RECAP}"


def test_a_line_has_an_end():
    assert len(one_line("x" * 10**7)) == 4000
