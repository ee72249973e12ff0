# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated engine: wheels ``vllm`` and ``vllm-gaudi`` by the real ones' names, with a server that says so."""
