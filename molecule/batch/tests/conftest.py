# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What this scenario shares with others: the nodes as ``site.yml`` left them, runs of playbooks, and their reports."""

from __future__ import annotations

from tests.small_trainings import nodes, play, reports

__all__ = ["nodes", "play", "reports"]
