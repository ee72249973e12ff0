# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A result as one HTML file that needs nothing beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Mapping, Sequence

from ansible_collections.gaudi3.scale.plugins.module_utils._cost.bar_chart import Amount, bar_chart
from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import one_line
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_marks import Mark
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_numbers import bar_of, drawable, points_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.content_policy import content_policy
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.curves_chart import curves_chart
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.heat_map import Cell, heat_map
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.interval_chart import Bar, interval_chart
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.line_chart import line_chart
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.stacked_chart import Series, stacked_chart
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.text_table import cell_text
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

_PAGE = "page.html.j2"
_NUMBER = re.compile(r"[-+]?([0-9]{1,3}(,[0-9]{3})+|[0-9]+)(\.[0-9]+)?( ?%)?")
_LONGEST_NAME, _LONGEST_WORD = 40, 28
# A table of more columns is printed on paper that lies.
_UPRIGHT_COLUMNS = 8

# Words that open a cell of a verdict; anything else is left in plain ink.
_TONES = {
    "ok": "good",
    "succeeded": "good",
    "compatible": "good",
    "upgraded": "good",
    "downgraded": "good",
    "installed": "good",
    "unchanged": "good",
    "written": "good",
    "rolled_back": "bad",
    "refused": "bad",
    "drained": "bad",
    "failed": "bad",
    "fail": "bad",
    "pass": "good",
    "not": "bad",
    "incompatible": "bad",
    "unreachable": "bad",
    "unreadable": "bad",
    "power": "bad",  # power cycle needed
    "outlier": "bad",
    "slow": "bad",
    "rank_failed": "bad",
    "node_lost": "bad",
    "hang": "bad",
    "straggler": "bad",
    "checkpoint_failed": "bad",
    "helps": "good",
    "hurts": "bad",
    "changes": "bad",  # changes the loss
    "out_of_memory": "bad",
}


def report_page(
    title: str,
    *,
    subtitle: str,
    rows: Sequence[Mapping[str, object]],
    columns: Sequence[str],
    notes: Sequence[str] = (),
    charts: Sequence[Mapping[str, Any]] = (),
    intervals: Sequence[Mapping[str, Any]] = (),
    bars: Sequence[Mapping[str, Any]] = (),
    heat_maps: Sequence[Mapping[str, Any]] = (),
    sections: Sequence[Mapping[str, Any]] = (),
    figures: str = "",
) -> str:
    """HTML of a table of ``rows``, the ``notes`` and the ``charts`` below it.

    A chart is {title, x_label, y_label, points}, and if wanted marks, dots, from_zero and y_from_zero; or with
    ``series`` ({label, points}) instead of points, which are stacked, or with ``stacked`` False a line each.
    ``bars`` are {title, x_label, parts, amounts} as of ``bar_chart``.
    A heat map is {title, names, cells}, whose cells are those of ``heat_map.Cell``.
    ``sections`` ({title, columns, rows, notes}) are further tables with a heading each.
    ``figures`` is a page of HTML that was made elsewhere, as plots of other libraries. It may have any script in it, so
    it is shown in a frame that reaches neither this page nor the network.
    """
    pages = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined)
    pages.filters["marked"] = _marked
    page = pages.get_template(_PAGE).render(
        title=title,
        subtitle=subtitle,
        policy=_policy(figures),
        paper=_paper([columns, *(section["columns"] for section in sections)]),
        main=_table(rows, columns),
        notes=[one_line(note) for note in notes],
        charts=[{"title": chart["title"], "drawing": _chart(chart)} for chart in charts],
        intervals=[{"title": chart["title"], "drawing": _intervals(chart)} for chart in intervals],
        bars=[{"title": chart["title"], "drawing": _bars(chart)} for chart in bars],
        heat_maps=[{"title": one["title"], "drawing": _heat_map(one)} for one in heat_maps],
        figures=figures,
        sections=[
            {
                "title": section["title"],
                "table": _table(section["rows"], section["columns"]),
                "notes": [one_line(note) for note in section["notes"]],
            }
            for section in sections
        ],
    )
    return f"{page}\n"


def _paper(tables: Sequence[Sequence[str]]) -> str:
    return "A4" if max(map(len, tables)) <= _UPRIGHT_COLUMNS else "A4 landscape"


def _policy(figures: str) -> str:
    """Scripts of figures, which write programs for the graphics card, may do in their frame what this page may."""
    return f"{content_policy([figures])} 'unsafe-eval'" if figures else content_policy([])


def _table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> dict[str, Any]:
    """What each cell says and how it looks; ``named``: whether the first column has names, which stay in one line."""
    texts = [[cell_text(row.get(column), column) for column in columns] for row in rows]
    numbers = [_is_number([row[place] for row in texts]) for place in range(len(columns))]
    return {
        "named": all(len(row[0]) <= _LONGEST_NAME for row in texts if row),
        "heads": [{"text": column, "number": number} for column, number in zip(columns, numbers)],
        "rows": [
            [{"text": text, "look": "number" if number else _look(text)} for text, number in zip(row, numbers)]
            for row in texts
        ],
    }


def _look(text: str) -> str:
    """The tone of a verdict, and whether a word is so long that it has to be broken."""
    words = (_tone(text), "long" if any(len(word) > _LONGEST_WORD for word in re.split(r"[\s/]", text)) else "")
    return " ".join(filter(None, words))


def _is_number(texts: Sequence[str]) -> bool:
    """Whether a column has numbers and missing values only."""
    there = [text for text in texts if text != cell_text(None)]
    return bool(there) and all(map(_NUMBER.fullmatch, there))


def _marked(text: str) -> Markup:
    """With what stands between backticks, such as a command, as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return _breakable(text)
    said = (
        Markup("<code>{}</code>").format(_breakable(one)) if odd % 2 else _breakable(one)
        for odd, one in enumerate(parts)
    )
    return Markup("").join(said)


def _breakable(text: str) -> Markup:
    """Long paths may go on in the next line behind a slash."""
    has_long = any(len(word) > _LONGEST_WORD for word in text.split())
    return escape(text).replace("/", Markup("/<wbr>")) if has_long else escape(text)


def _tone(text: str) -> str:
    """``good``, ``bad`` or nothing."""
    first_word = text.split(" ", 1)[0]
    tone = _TONES.get(first_word.rstrip(":,").lower(), "")
    # "failed to load" is as bad as "failed", but "installed bridge 1.24.1" is no praise.
    return "" if tone == "good" and " " in text and first_word[-1] not in ":," else tone


def _chart(chart: Mapping[str, Any]) -> str:
    labels = {"x_label": chart["x_label"], "y_label": chart["y_label"]}
    values = [(one, drawable(one["value"])) for one in chart.get("marks", [])]
    marks = [Mark(one["axis"], value, one["label"], one["tone"]) for one, value in values if value is not None]
    if chart.get("series"):
        series = [Series(one["label"], points_of(one)) for one in chart["series"]]
        if chart.get("stacked", True):
            return stacked_chart(series, **labels, marks=marks)
        return curves_chart(series, **labels, marks=marks, y_from_zero=bool(chart.get("y_from_zero")))
    return line_chart(
        points_of(chart),
        **labels,
        marks=marks,
        dots=bool(chart.get("dots")),
        from_zero=bool(chart.get("from_zero")),
        y_from_zero=bool(chart.get("y_from_zero")),
    )


def _intervals(chart: Mapping[str, Any]) -> str:
    bars = [Bar(**{name: value for name, value in bar_of(one).items() if value is not None}) for one in chart["bars"]]
    return interval_chart(bars, x_label=chart["x_label"])


def _bars(chart: Mapping[str, Any]) -> str:
    amounts = [
        Amount(one_line(one["label"]), [drawable(part) or 0.0 for part in one["parts"]], one_line(one["text"]))
        for one in chart["amounts"]
    ]
    return bar_chart(amounts, parts=chart["parts"], x_label=chart["x_label"])


def _heat_map(one: Mapping[str, Any]) -> str:
    places = range(len(one["names"]))
    cells = [
        Cell(cell["row"], cell["column"], drawable(cell["value"]), cell["bad"], one_line(cell["note"]))
        for cell in one["cells"]
        if cell["row"] in places and cell["column"] in places and cell["row"] != cell["column"]
    ]
    return heat_map([one_line(name) for name in one["names"]], cells, label=one["title"])
