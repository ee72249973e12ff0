# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from html.parser import HTMLParser

from ansible_collections.gaudi3.scale.plugins.module_utils.report.page import report_page


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]

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


def test_what_a_node_says_cannot_become_markup():
    page = read(rows=[{"node": "<script>alert(1)</script>"}], columns=["node"])
    assert "script" not in page.tags


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
