# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Wheels of a few Python files that need nothing: what the package repository has that nobody published."""

from __future__ import annotations

from collections.abc import Mapping

from plugins.plugin_utils import _pure_wheel as writer


def pure_wheel(project: str, version: str, summary: str, files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """File name and content of the wheel; ``files`` maps a path in site-packages to what it holds."""
    metadata = f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\nSummary: {summary}\nLicense: Apache-2.0\n"
    return writer.pure_wheel(project, version, metadata, files)
