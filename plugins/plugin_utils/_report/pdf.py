# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A page as PDF, by WeasyPrint where the controller has it."""

from __future__ import annotations

from importlib.util import find_spec

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

# Pages are for a screen of any width and either light; paper is white and has edges.
_PAPER = """
@page { size: A4; margin: 16mm 14mm; @bottom-right { content: counter(page) " / " counter(pages); font-size: 8pt } }
:root { color-scheme: light } body { margin: 0; padding: 0; max-width: none; font-size: 10pt }
h2, h3 { break-after: avoid } tr, svg, .legend { break-inside: avoid }
"""


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

    nothing = URLFetcher(allowed_protocols=())
    made: bytes = HTML(string=page, url_fetcher=nothing).write_pdf(stylesheets=[CSS(string=_PAPER)])
    return made
