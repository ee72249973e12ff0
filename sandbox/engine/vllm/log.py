# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Log lines in the shape of vLLM's: level, time, file and line, and the process they come from."""

from __future__ import annotations

import os
import sys
import time


def say(message: str, source: str = "api_server.py:1", level: str = "INFO", process: str = "APIServer") -> None:
    """Write one line."""
    stamp = time.strftime("%m-%d %H:%M:%S")
    sys.stdout.write(f"({process} pid={os.getpid()}) {level} {stamp} [{source}] {message}\n")
    sys.stdout.flush()
