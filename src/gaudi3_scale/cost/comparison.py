# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A comparison of what the same tokens cost, as rows, as a picture, and as a page or PDF."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gaudi3_scale.core._cost.bar_chart import Amount, bar_chart
from gaudi3_scale.core._cost.platforms import Share
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.quantities import quantity

_COLUMNS = ("platform", "hours", "nodes", "energy", "total", "per million tokens", "source")
_STYLE = """
@page { size: A4; margin: 16mm 14mm }
body { font: 10pt sans-serif; color: #1b2430; background: #fff; max-width: 60rem; margin: 2rem auto }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .4rem .8rem .4rem 0 }
td, th { border-bottom: 1px solid #dde3e9; vertical-align: top; font-variant-numeric: tabular-nums }
p, li, th { color: #5c6b7a } svg { width: 100%; height: auto } .c0 { background: #4a9ad4 } .c1 { background: #d9a300 }
.legend { list-style: none; padding: 0 } .legend li { display: inline-block; margin-right: 1.2em }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .45em }
"""
_DRAWING = """
text { font-family: sans-serif; font-size: 12px; fill: #5c6b7a } .grid { stroke: #dde3e9 }
.c0 { fill: #4a9ad4 } .c1 { fill: #d9a300 }
"""


@dataclass(frozen=True)
class CostComparison:
    """``shares`` are in the order in which the platforms were asked for; money is in ``currency``."""

    tokens: float
    model_size: str
    currency: str
    shares: tuple[Share, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary a platform: hours, money for nodes and energy, the total, and the total of a million tokens.

        ``energy`` is None where it is in no figure, or in that of the nodes.
        """
        return [
            {
                "platform": share.platform.name,
                "hours": share.hours,
                "nodes": share.nodes,
                "energy": share.energy,
                "total": share.total,
                "per million tokens": share.total / self.tokens * 1e6,
                "source": share.platform.source,
            }
            for share in self.shares
        ]

    def plot_tco_breakdown(self, path: str | Path | None = None) -> str:
        """An SVG with a bar a platform, its nodes and its energy; written to ``path`` where one is given."""
        drawing = self._chart()
        if not drawing:
            asked = ", ".join(share.platform.name for share in self.shares) or "none"
            raise GaudiError(
                f"platforms has {asked}, at 0 {self.currency} in all, of which no bar can be drawn; give one whose "
                "node_hour, capital or kwh is above 0."
            )
        picture = drawing[: drawing.index("</svg>") + len("</svg>")]
        if path is not None:
            Path(path).write_text(picture, encoding="utf-8")
        return picture

    def generate_report(self, path: str | Path) -> Path:
        """A page of it: HTML, or PDF where ``path`` ends so and WeasyPrint is installed."""
        place = Path(path)
        if place.suffix.lower() != ".pdf":
            place.write_text(self._page(), encoding="utf-8")
            return place
        if find_spec("weasyprint") is None:
            raise GaudiError(
                f"path is {place.name}, and WeasyPrint is not installed; install it, or end path in .html."
            )
        from weasyprint import HTML
        from weasyprint.urls import URLFetcher

        # It needs nothing beside it.
        HTML(string=self._page(), url_fetcher=URLFetcher(allowed_protocols=())).write_pdf(str(place))
        return place

    def _chart(self) -> str:
        amounts = [
            Amount(share.platform.name, [share.nodes, share.energy or 0.0], self._money(share.total))
            for share in self.shares
        ]
        chart = bar_chart(amounts, parts=("nodes", "energy"), x_label=self.currency)
        # Also by itself, and in a PDF, where a drawing gets nothing of its page's style.
        alone = chart.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
        return alone.replace(">", f"><style>{_DRAWING}</style>", 1)

    def _page(self) -> str:
        title = f"What {self.tokens:,.0f} tokens cost" + (f", {self.model_size}" if self.model_size else "")
        heads = "".join(f'<th scope="col">{column}</th>' for column in _COLUMNS)
        told = [share.no_energy if share.energy is None else share.energy for share in self.shares]
        rows = [{**row, "energy": energy} for row, energy in zip(self.rows(), told)]
        cells = "".join(
            "<tr>" + "".join(f"<td>{escape(self._cell(row[column]))}</td>" for column in _COLUMNS) + "</tr>"
            for row in rows
        )
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
            f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
            f"<table><thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table>{self._chart()}"
            f"<p>Money in {escape(self.currency)}. Rates and powers are those that were entered, with their source.</p>"
            "</body></html>\n"
        )

    def _cell(self, value: Any) -> str:
        if value is None:
            return "-"
        return (
            quantity(value)
            if isinstance(value, float) and abs(value) < 1
            else (f"{value:,.2f}" if isinstance(value, float) else str(value))
        )

    def _money(self, amount: float) -> str:
        return f"{amount:,.0f} {self.currency}"
