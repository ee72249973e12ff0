# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether each card computes rightly, and how fast: ``python -m gaudi3_scale.compute``."""
