# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What a site says of its controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Site:
    """Each is the option of the role gaudi_controller of that name."""

    organization: str
    prefix: str
    project: str
    scm_url: str
    scm_branch: str
    scm_credential: str
    inventory: str
    inventory_source: Mapping[str, Any]
    execution_environment: str
    execution_environment_image: str
    credentials: Sequence[str]
    variables: Mapping[str, Any]
    forks: int
    canary: str
    approval_timeout: int
    schedules: Mapping[str, str]
    notifications: Sequence[Mapping[str, Any]]
    notify_on: Sequence[str]
    survey_defaults: Mapping[str, Any]

    def named(self, title: str) -> str:
        """The name of a template or workflow on the controller."""
        return f"{self.prefix}{title}"
