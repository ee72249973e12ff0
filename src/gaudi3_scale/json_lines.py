# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One JSON object a line, appended to a file that another process reads while it grows."""

from __future__ import annotations

import contextlib
import json
import math
import sys
import time
from pathlib import Path
from typing import Callable, Mapping, TextIO

from gaudi3_scale.core._errors import GaudiError

WriteLine = Callable[..., None]
# What a line has instead of a number that is none: JSON knows no such numbers.
NO_NUMBERS = ("nan", "inf", "-inf")


def line_writer(path: str | None) -> WriteLine:
    """A function ``write(kind, **fields)`` that appends one line with the time to ``path``, or to standard output.

    Raises GaudiError when the file cannot be written, before anything else is done.
    """
    stream: TextIO
    if path:
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            stream = Path(path).open("a", encoding="utf-8", buffering=1)  # noqa: SIM115
        except OSError as error:
            raise GaudiError(f"--metrics {path}: {error.strerror}; name a file that this user can write.") from error
    else:
        stream = sys.stdout

    def write(kind: str, **fields: object) -> None:
        # A full disk costs lines. It must not cost the training.
        with contextlib.suppress(OSError):
            stream.write(json.dumps(finite({"kind": kind, "time": round(time.time(), 3), **fields})) + "\n")
            stream.flush()

    return write


def finite(value: object) -> object:
    """``value`` as JSON can say it: a number that is none, as the loss of a training that diverged, by its name."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {name: finite(part) for name, part in value.items()}
    return [finite(part) for part in value] if isinstance(value, (list, tuple)) else value


def no_line(kind: str, **fields: object) -> None:
    """What every rank but the first writes."""
