# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The baseline and the report that it is made of, as files of the controller or in a bucket."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.json_file import parse_json
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualification.baseline import taken_baseline
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import file_place, place

NAME = "qualification_baseline.json"
# Of 512 nodes of 8 cards, with each of their pairs.
_LARGEST = 1 << 28


def read_document(path: str, option: str, name: str) -> Any:
    """The JSON in it; raises GaudiError where there is none. ``name``: of the file, where only a directory is named."""
    return _parsed(_text(path, option, name), path, option)


def read_baseline(path: str) -> dict[str, Any] | None:
    """The baseline; None where none was saved yet, or no path is given."""
    try:
        text = _text(path, "baseline", NAME) if path else ""
    except GaudiError:
        return None
    return taken_baseline(_parsed(text, path, "baseline"), path) if path else None


def _text(path: str, option: str, name: str) -> str:
    where, file = file_place(path, name)
    return place(where, option).read(file)


def _parsed(text: str, path: str, option: str) -> Any:
    try:
        return parse_json(text, _LARGEST)
    except ValueError as error:
        raise GaudiError(f"{option} {path} is no JSON: {error}; name another file, or write it anew.") from error
