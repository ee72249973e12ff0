# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The Python that a node or an image has to have for what this collection runs there."""

from __future__ import annotations

OLDEST_PYTHON = (3, 9)
OLDEST_PYTHON_NAME = ".".join(map(str, OLDEST_PYTHON))
