# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""All hundred scripted failures."""

from __future__ import annotations

from tests.scripted_failures import ended, launched, raised

CASES = (*raised.CASES, *ended.CASES, *launched.CASES)
