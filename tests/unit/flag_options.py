# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What an operator asks of a node's flags, with all its files below a directory of the test's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._flags.profiles import EnvironmentOptions


def options(root: Path, **more: Any) -> EnvironmentOptions:
    places = {
        "path": str(root / "etc" / "environment"),
        "recipe_cache": str(root / "recipes"),
        "log_directory": str(root / "logs"),
        "unit_directory": str(root / "units"),
        "venv": "",
    }
    return EnvironmentOptions(**{"release": "1.24.1", **places, **more})
