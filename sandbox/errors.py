# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The one exception of the sandbox."""

from __future__ import annotations


class SandboxError(Exception):
    """Something the user has to know or do: one sentence that names the object and the remedy."""
