# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The kernel module programs of a simulated node: files and dependencies are real, loading is simulated."""
