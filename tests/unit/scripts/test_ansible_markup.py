# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ansible's markup as Markdown, in cells of a table as Galaxy renders them."""

from __future__ import annotations

import pytest
from markdown import markdown as as_html

from scripts.ansible_markup import code, markdown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Below C(/dev/accel), see O(gaudi_driver_reload).", "Below `/dev/accel`, see `gaudi_driver_reload`."),
        ("V(false) with E(PATH)", "`false` with `PATH`"),
        ("O(slurm.nodes=hosts) and RV(checks)", "`slurm.nodes=hosts` and `checks`"),
        ("O(gaudi3.scale.report#module:path=/a) there", "`path=/a` there"),
        ("RV(gaudi3.scale.hpu_info#module:cards)", "`cards`"),
        (
            "M(gaudi3.scale.hpu_info), P(gaudi3.scale.clocks_apart#filter)",
            "`gaudi3.scale.hpu_info`, `gaudi3.scale.clocks_apart`",
        ),
        (r"V(PENDING (Resources\)) or V(a\\b)", r"`PENDING (Resources)` or `a\b`"),
        ("B(never), I(often), U(https://e.org)", "**never**, *often*, <https://e.org>"),
        ("L(the page, https://e.org/a) and R(words, ref_target)", "[the page](https://e.org/a) and words"),
        ("two\n  lines HORIZONTALLINE here", "two lines here"),
        ("a*b*c, <name>, [x] and a|b", r"a\*b\*c, &lt;name&gt;, \[x\] and a\|b"),
        ("NOTMARKUP(x) and (C) stay", "NOTMARKUP(x) and (C) stay"),
    ],
)
def test_markup_becomes_markdown(text: str, expected: str) -> None:
    assert markdown(text) == expected


@pytest.mark.parametrize("text", ["{{ a | default('b') }}", "a`b|c", "plain", "<i>&amp;"])
def test_code_in_a_cell_is_shown_as_it_is(text: str) -> None:
    """Galaxy renders READMEs by Python-Markdown with these extensions; elsewhere a bar ends the cell, too."""
    html = as_html(f"| a | b |\n| --- | --- |\n| {code(text)} | end |\n", extensions=["extra"])
    shown = html.partition("<td><code>")[2].partition("</code></td>")[0]
    for entity, character in (("&#124;", "|"), ("&#96;", "`"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        shown = shown.replace(entity, character)
    assert shown == text
    assert "<td>end</td>" in html
