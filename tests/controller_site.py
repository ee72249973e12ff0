# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a site says of its controller where it sets no option."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from ansible_collections.gaudi3.scale.plugins.action.controller_objects import SITE
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.site import Site

_DEFAULTS = Path(__file__).resolve().parents[1] / "roles" / "gaudi_controller" / "defaults" / "main.yml"


def site(**given: Any) -> Site:
    """By the defaults of the role gaudi_controller, and by those of its module where the role has no such option."""
    of_role: dict[str, Any] = yaml.safe_load(_DEFAULTS.read_text(encoding="utf-8"))
    usual = {name: of_role.get(f"gaudi_controller_{name}", spec.get("default")) for name, spec in SITE.items()}
    return Site(**{**usual, **given})
