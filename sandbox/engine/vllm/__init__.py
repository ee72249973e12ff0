# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated stand-in for vLLM: the server's endpoints, flags and log, over a model that Transformers computes."""

SIMULATED = True
