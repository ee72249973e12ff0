# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a rank wrote last: of a program that tells nothing else, the only words of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._job.paths import JobPaths
from .._job.rank_logs import attempt_directory
from .._node.regular_file import read_end
from .._node.screen_text import one_line

MOST_BYTES = 1 << 14
MOST_LINES = 10
WIDTH = 300


def rank_log(paths: JobPaths) -> dict[str, Any]:
    """The last lines of this node's first rank: {path, lines}; of its two files the one that was written last."""
    attempt = attempt_directory(paths.ranks)
    written = {}
    for path in Path(attempt, "0").glob("std*.log") if attempt else ():
        found = path.lstat()
        if found.st_size:
            written[str(path)] = found.st_mtime
    if not written:
        return {}
    newest = max(written, key=written.__getitem__)
    # A progress bar writes over its own line.
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in (read_end(newest, MOST_BYTES) or "").split("\n")]
    reported = [shown for shown in (one_line(line).strip()[:WIDTH] for line in lines) if shown]
    return {"path": newest, "lines": reported[-MOST_LINES:]}
