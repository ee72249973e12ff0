# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What is known of the instances that serve models on this node, for all who have to leave them what they use.

Their control files are root's (_serving/control.py, which rests on these packages).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .json_file import read_json

INSTANCES = "/etc/gaudi3_scale/serving"


def control_of(name: str, directory: str = INSTANCES) -> dict[str, Any]:
    """An empty one where there is none."""
    return read_json(str(Path(directory, f"{name}.json"))) or {}


def are_any(directory: str = INSTANCES) -> bool:
    """Whether some are set up, so that systemd is asked for them."""
    return any(Path(directory).glob("*.json"))


def runtimes(directory: str = INSTANCES) -> set[str]:
    """The virtual environments and images that they run in, as their control files name them."""
    return {str(control_of(path.stem, directory).get("runtime")) for path in Path(directory).glob("*.json")}
