# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Variables of a launch that a play on localhost does not see, since only the nodes' group has them; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

_OF_LAUNCH = (
    "accumulation_steps",
    "allowed_networks",
    "arguments",
    "batch_size",
    "checkpoint_directory",
    "command",
    "data",
    "device",
    "environment",
    "environment_files",
    "global_batch_size",
    "image",
    "learning_rate",
    "max_restarts",
    "max_steps",
    "model",
    "modules",
    "mounts",
    "name",
    "precision",
    "processes_per_node",
    "rendezvous_port",
    "requirements",
    "stop_timeout",
    "text",
    "text_upload",
    "working_directory",
)
# Those that a manifest is made of, or that it would refuse; the first two are what a launch's defaults read.
DESCRIBING = ("gaudi_cards_per_node", "gaudi_device", *(f"gaudi_training_{name}" for name in _OF_LAUNCH))


def refuse_unseen(here: Mapping[str, Any], of_group: Mapping[str, Any], shipped: Mapping[str, Any]) -> None:
    """Raises GaudiError where ``of_group`` has a variable of a launch that is as ``shipped`` ``here``."""
    for name, value in of_group.items():
        default = shipped.get(name)
        if here.get(name, default) == default and value != default:
            raise GaudiError(
                f"{name} is set for the hosts of gaudi_hosts alone, and this play runs on localhost; set it in "
                f"group_vars/all.yml, or give it with -e."
            )
