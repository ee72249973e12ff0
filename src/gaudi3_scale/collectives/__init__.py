# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Collectives checked and timed: ``python -m gaudi3_scale.collectives``."""
