# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Fine-tuning with Hugging Face's own trainers: ``python -m gaudi3_scale.fine_tune`` (docs/optimum_habana.md)."""
