# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A result as one HTML file that needs nothing beside it."""

from __future__ import annotations

from html import escape
from typing import Any, Mapping, Sequence

from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import one_line
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_marks import Mark
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_numbers import bar_of, drawable, points_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.content_policy import content_policy
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.curves_chart import curves_chart
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.interval_chart import Bar, interval_chart
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.line_chart import line_chart
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.stacked_chart import Series, stacked_chart
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.text_table import cell_text

STYLE = """
:root {
  color-scheme: light dark; --ink: #1b2430; --soft: #5c6b7a; --paper: #fff; --rule: #dde3e9;
  --line: #0068b5; --bad: #b3261e; --good: #1b7f4b;
  --c0: #d9a300; --c1: #4a9ad4; --c2: #0068b5; --c3: #3a9a6b; --c4: #c2577a; --c5: #b4bec8
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6ebf0; --soft: #9fb0c0; --paper: #12181f; --rule: #2c3742;
    --line: #5cb3f0; --bad: #ff8a80; --good: #6fd39f;
    --c0: #c99700; --c1: #6fb7ea; --c2: #2f7fc0; --c3: #3f9d72; --c4: #c9668a; --c5: #56636f
  }
}
body {
  font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 72rem; margin: 2.5rem auto; padding: 0 1.5rem
}
h1 { font-size: 1.5rem; margin-bottom: .2rem } h2 { font-size: 1.1rem; margin-top: 2.2rem } p, li { color: var(--soft) }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .45rem .8rem .45rem 0; border-bottom: 1px solid var(--rule); vertical-align: top }
th { font-weight: 600; color: var(--soft) } td:first-child { white-space: nowrap }
td { font-variant-numeric: tabular-nums }
.bad { color: var(--bad); font-weight: 600 } .good { color: var(--good); font-weight: 600 }
svg[role=img] { width: 100%; height: auto } svg[role=img] text { font-size: 12px; fill: var(--soft) }
.figures { width: 100%; height: 90vh; border: 0 }
.grid { stroke: var(--rule) } .line { fill: none; stroke: var(--line); stroke-width: 2; stroke-linejoin: round }
.interval line { stroke: var(--soft); stroke-width: 2 } .interval circle { fill: var(--soft) }
.interval.good line { stroke: var(--good) } .interval.good circle { fill: var(--good) }
.interval.bad line { stroke: var(--bad) } .interval.bad circle { fill: var(--bad) }
.charts { display: grid; gap: 0 2.5rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)) }
.charts section { min-width: 0 } .legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem }
.legend { margin: .3rem 0 0; padding: 0 0 0 3rem; font-size: .85rem }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .45em; border-radius: 2px }
.c0 { fill: var(--c0); background: var(--c0) } .c1 { fill: var(--c1); background: var(--c1) }
.c2 { fill: var(--c2); background: var(--c2) } .c3 { fill: var(--c3); background: var(--c3) }
.c4 { fill: var(--c4); background: var(--c4) } .c5 { fill: var(--c5); background: var(--c5) }
.curve { fill: none; background: none; stroke-width: 2; stroke-linejoin: round }
.curve.c0 { stroke: var(--c0) } .curve.c1 { stroke: var(--c1) } .curve.c2 { stroke: var(--c2) }
.curve.c3 { stroke: var(--c3) } .curve.c4 { stroke: var(--c4) } .curve.c5 { stroke: var(--c5) }
.dot { fill: var(--line) } .mark { stroke: var(--soft); stroke-dasharray: 5 4 }
.mark.bad { stroke: var(--bad) } .mark.good { stroke: var(--good) }
svg[role=img] text.bad { fill: var(--bad) } svg[role=img] text.good { fill: var(--good) }
svg[role=img] text:is(.plain, .bad, .good) { paint-order: stroke; stroke: var(--paper); stroke-width: 4px }
@media (min-width: 66rem) { .charts:has(section + section) svg[role=img] text { font-size: 14px } }
@media (max-width: 40rem) { body { margin: 1.2rem auto; padding: 0 .9rem } svg[role=img] text { font-size: 18px } }
"""

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
    sections: Sequence[Mapping[str, Any]] = (),
    figures: str = "",
) -> str:
    """HTML of a table of ``rows``, the ``notes`` and the ``charts`` below it.

    A chart is {title, x_label, y_label, points}, and if wanted marks, dots, from_zero and y_from_zero; or with
    ``series`` ({label, points}) instead of points, which are stacked, or with ``stacked`` False a line each.
    ``sections`` ({title, columns, rows, notes}) are further tables with a heading each.
    ``figures`` is a page of HTML that was made elsewhere, as plots of other libraries. It may have any script in it, so
    it is shown in a frame that reaches neither this page nor the network.
    """
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(figures)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1><p>{escape(subtitle)}</p>",
            _table(rows, columns),
            _notes(notes),
            _charts(charts),
            *(_intervals(chart) for chart in intervals),
            _framed(figures),
            *(_section(section) for section in sections),
            "</body></html>",
            "",
        ]
    )


def _policy(figures: str) -> str:
    """Scripts of figures, which write programs for the graphics card, may do in their frame what this page may."""
    return f"{content_policy([figures])} 'unsafe-eval'" if figures else content_policy([])


def _framed(figures: str) -> str:
    """Without ``allow-same-origin`` the frame has an origin of its own; the policy of this page holds in it, too."""
    if not figures:
        return ""
    return f'<iframe class="figures" title="Figures" sandbox="allow-scripts" srcdoc="{escape(figures)}"></iframe>'


def _table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(_cell(cell_text(row.get(column))) for column in columns) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(text: str) -> str:
    first_word = text.split(" ", 1)[0]
    tone = _TONES.get(first_word.rstrip(":,").lower())
    # "failed to load" is as bad as "failed", but "installed bridge 1.24.1" is no praise.
    if tone == "good" and " " in text and first_word[-1] not in ":,":
        tone = None
    return f'<td class="{tone}">{escape(text)}</td>' if tone else f"<td>{escape(text)}</td>"


def _charts(charts: Sequence[Mapping[str, Any]]) -> str:
    """Side by side where there is room."""
    drawn = "".join(f"<section><h2>{escape(chart['title'])}</h2>{_chart(chart)}</section>" for chart in charts)
    return f'<div class="charts">{drawn}</div>' if drawn else ""


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
    return f"<h2>{escape(chart['title'])}</h2>" + interval_chart(bars, x_label=chart["x_label"])


def _section(section: Mapping[str, Any]) -> str:
    table = _table(section["rows"], section["columns"])
    return f"<section><h2>{escape(section['title'])}</h2>{table}{_notes(section['notes'])}</section>"


def _notes(notes: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(one_line(note))}</li>" for note in notes) + "</ul>" if notes else ""
