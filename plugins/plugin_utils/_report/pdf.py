# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A page as PDF, by WeasyPrint where the controller has it."""

from __future__ import annotations

import re
from importlib.util import find_spec

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

# Pages are for a screen of any width and either light; paper is white and has edges.
_PAPER = """
@page { @bottom-right { content: counter(page) " / " counter(pages); font-size: 8pt } }
"""

# WeasyPrint gives a drawing nothing of its page's style: the same in light, with no variables.
_COLORS = ("#d9a300", "#4a9ad4", "#0068b5", "#3a9a6b", "#c2577a", "#b4bec8")
_DRAWING = "\n".join(
    [
        "text { font-family: sans-serif; font-size: 12px; fill: #5c6b7a } .grid { stroke: #dde3e9 }",
        *(f".c{number} {{ fill: {color} }}" for number, color in enumerate(_COLORS)),
        ".curve, .line { fill: none; stroke: #0068b5; stroke-width: 2 } .dot, .heat { fill: #0068b5 }",
        *(f".curve.c{number} {{ fill: none; stroke: {color} }}" for number, color in enumerate(_COLORS)),
        ".interval line, .mark { stroke: #5c6b7a; stroke-width: 2 } .interval circle { fill: #5c6b7a }",
        ".mark { stroke-dasharray: 5 4 }",
    ]
)
_OPENED = re.compile(r"<svg\b[^>]*>")


def require_pdf() -> None:
    """GaudiError where this controller cannot make one."""
    if find_spec("weasyprint") is None:
        raise GaudiError(
            "pdf is true, and the Python that runs Ansible here has no WeasyPrint; install it there (pip install "
            "weasyprint), or print the page from a browser."
        )


def pdf_of(page: str) -> bytes:
    """Of an HTML page that needs nothing beside it: nothing is fetched."""
    from weasyprint import CSS, HTML
    from weasyprint.urls import URLFetcher

    drawn = _OPENED.sub(lambda svg: f"{svg[0]}<style>{_DRAWING}</style>", page)
    nothing = URLFetcher(allowed_protocols=())
    made: bytes = HTML(string=drawn, url_fetcher=nothing).write_pdf(stylesheets=[CSS(string=_PAPER)])
    return made
