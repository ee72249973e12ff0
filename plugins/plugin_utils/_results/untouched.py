# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the title of a report of check mode ends with."""

from __future__ import annotations

UNTOUCHED = " (check mode: nothing was changed)"
