# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A curve of bus bandwidth by size for each network or collective."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MEBIBYTE = 1 << 20
# More curves than a person tells apart.
MOST_CURVES = 8


def curve(label: str, lines: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """One series; ``lines`` have ``bytes`` and ``busbw_gb_per_s``."""
    return {"label": label, "points": [[line["bytes"] / MEBIBYTE, line["busbw_gb_per_s"]] for line in lines]}


def bandwidth_charts(curves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The report's charts: one of at most ``MOST_CURVES``, or none where there is no curve."""
    about = {"title": "Bus bandwidth by size", "x_label": "MiB", "y_label": "GB/s"}
    look = {"stacked": False, "dots": True, "y_from_zero": True}
    return [{**about, **look, "series": curves[:MOST_CURVES]}] if curves else []
