# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a training takes of a card's memory, worked out from the shapes of its tensors before anything is started."""
