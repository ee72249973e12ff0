# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How far this rank has come, in a line beside the error file that torchrun gave it: whoever waits for it can tell a
rank that still loads its libraries from one that hangs.

Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Mapping

from gaudi3_scale.core._job.reached import MEASURING, MET, NAME, STARTED

__all__ = ["MEASURING", "MET", "STARTED", "tell"]
_ERROR_FILE = "TORCHELASTIC_ERROR_FILE"


def tell(stage: str, environment: Mapping[str, str] | None = None) -> None:
    """``stage`` is reached. Without torchrun nobody asks, and where it cannot be written a job does not end for it."""
    error_file = (os.environ if environment is None else environment).get(_ERROR_FILE)
    if not error_file:
        return
    line = json.dumps({"stage": stage, "time": round(time.time(), 3)}) + "\n"
    with contextlib.suppress(OSError), Path(error_file).with_name(NAME).open("a", encoding="ascii") as stream:
        stream.write(line)
