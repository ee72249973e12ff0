# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Stands in for the bridge where tests import it: names and signatures after its source, computed on the CPU."""
