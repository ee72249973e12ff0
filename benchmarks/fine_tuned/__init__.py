# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``gaudi3_scale.fine_tune`` beside upstream's trainers alone: ``python -m benchmarks.fine_tuned``."""
