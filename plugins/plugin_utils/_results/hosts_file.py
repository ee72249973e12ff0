# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The hosts of the next job as a file that ``launch_training.yml -e @`` takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NAME = "qualified_hosts.yml"


def hosts_file(
    hosts: Sequence[str], spares: Sequence[str], left_out: Mapping[str, str], heading: str
) -> dict[str, Any]:
    """One of the options ``files`` of the module ``report``. ``left_out``: node -> why."""
    left = [f"excluded: {name}: {why}" for name, why in left_out.items()]
    return {
        "name": NAME,
        "heading": "\n".join([heading, *left]),
        "variables": {"gaudi_training_hosts": list(hosts), "gaudi_training_spares": list(spares)},
        "label": "To launch on these hosts: launch_training.yml -e @",
    }
