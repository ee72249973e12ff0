# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What all tests share."""

from __future__ import annotations

from tests.long_rows import pytest_collection_modifyitems

__all__ = ["pytest_collection_modifyitems"]
