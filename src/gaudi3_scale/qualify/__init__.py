# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a node measures of itself before it may work: ``python -m gaudi3_scale.qualify``, run by root."""
