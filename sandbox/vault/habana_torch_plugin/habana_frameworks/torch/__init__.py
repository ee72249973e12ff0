# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated stand-in for the vendor's PyTorch bridge: it counts the sandbox's simulated cards and computes nothing."""

from . import core, hpu

__all__ = ["core", "hpu"]
