# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What runs on a node beside PyTorch: the trainer, the probe trial and the all-reduce check of gaudi3.scale.

``gaudi3_scale.core`` is the standard-library core that the Ansible modules use as well.
"""

from __future__ import annotations

__version__ = "0.1.0"
