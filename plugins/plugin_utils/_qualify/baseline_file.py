# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The baseline as a file of the controller or in a bucket."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._kept_document import read_if_kept
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.baseline import taken_baseline

NAME = "qualification_baseline.json"


def read_baseline(path: str) -> dict[str, Any] | None:
    """The baseline; None where none was saved yet, or no path is given. Raises GaudiError where nobody can tell."""
    found = read_if_kept(path, "baseline", NAME) if path else None
    return None if found is None else taken_baseline(found, path)
