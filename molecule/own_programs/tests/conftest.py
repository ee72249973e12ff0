# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The installed collection, which is all that this scenario plays from."""

from __future__ import annotations

from tests.installed_collection import collections

__all__ = ["collections"]
