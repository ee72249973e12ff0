# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a node may go on working, also while a job has its cards: ``python -m gaudi3_scale.verify``."""
