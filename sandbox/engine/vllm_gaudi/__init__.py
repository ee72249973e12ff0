# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated stand-in for vLLM's plug-in for Gaudi: without it the server finds no device, as the real one."""


def register() -> str:
    """What the entry point of the platform names."""
    return "vllm_gaudi.platform.HpuPlatform"
