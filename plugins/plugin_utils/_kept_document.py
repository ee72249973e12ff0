# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""JSON that a playbook has kept before, as a file of the controller or in a bucket."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.json_file import parse_json
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import file_place, place

# Of 512 nodes of 8 cards, with each of their pairs.
_LARGEST = 1 << 28


def read_document(path: str, option: str, name: str) -> Any:
    """The JSON in it; raises GaudiError where there is none. ``name``: of the file, where only a directory is named."""
    where, file = file_place(path, name)
    text = place(where, option).read(file)
    try:
        return parse_json(text, _LARGEST)
    except ValueError as error:
        raise GaudiError(
            f"{option} {path} is not valid JSON: {error}; use another file, or create it again."
        ) from error


def read_if_kept(path: str, option: str, name: str) -> Any:
    """The same, and None where nothing was kept yet; raises GaudiError where nobody can tell."""
    try:
        return read_document(path, option, name)
    except GaudiError as error:
        if error.facts.get("absent"):
            return None
        raise
