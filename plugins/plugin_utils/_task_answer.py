# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What an action that speaks with nodes shows of itself, and what it returns where it fails."""

from __future__ import annotations

from typing import Any

from ansible.utils.display import Display
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_failure import module_failure
from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import lines_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literals


def failed(error: Exception) -> dict[str, Any]:
    """A result: nodes say what they like, and what they said may be in the error."""
    failure: dict[str, Any] = module_failure(error)
    return {"failed": True, **literals({**failure, "msg": lines_of(failure["msg"])})}


def show(line: str) -> None:
    """A line of progress on the controller's screen."""
    Display().display(f"  {lines_of(line)}")
