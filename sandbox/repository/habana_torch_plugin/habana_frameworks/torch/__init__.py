# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated stand-in for the vendor's PyTorch bridge: it counts the sandbox's simulated cards and computes nothing.

It is not imported where the vendor's environment is missing, so a rank that was started without it is noticed.
"""

from . import core, hpu, libraries

libraries.load()

__all__ = ["core", "hpu"]
