# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Python packages that bring a PyTorch of their own, or code for other cards, and what to do instead: data."""

from __future__ import annotations

import re
from typing import Mapping

_BASE = "comes with the base image; remove it"
_CUDA = "is compiled for CUDA"

# Name (PEP 503) to the rest of a sentence that begins with it.
REPLACING: Mapping[str, str] = {
    "torch": f"{_BASE}, and set release or base_image for another PyTorch",
    "torchvision": _BASE,
    "torchaudio": _BASE,
    "torchdata": _BASE,
    "torchtext": _BASE,
    "flash-attn": f"{_CUDA}; use the bridge's own fused attention (habana_frameworks.torch.hpex.kernels.FusedSDPA)",
    "flash-attn-3": f"{_CUDA}; use the bridge's own fused attention (habana_frameworks.torch.hpex.kernels.FusedSDPA)",
    "flashinfer-python": f"{_CUDA}; remove it",
    "xformers": f"{_CUDA} and wants its own PyTorch; use torch.nn.functional.scaled_dot_product_attention",
    "triton": "comes with CUDA's PyTorch; the vendor's graph compiler has its place",
    "transformer-engine": f"{_CUDA}; use intel-transformer-engine, the vendor's",
    "apex": f"{_CUDA}; use the bridge's fused optimizers (habana_frameworks.torch.hpex.optimizers)",
    "vllm": "wants the PyTorch that it was compiled with; use the vendor's vLLM image as base",
    "cupy-cuda12x": f"{_CUDA}; remove it",
}
# Beginnings of names.
_FAMILIES: Mapping[str, str] = {
    "nvidia-": f"{_CUDA}; remove it",
    "habana-": _BASE,
    "habanalabs-": _BASE,
}
# habana-media-loader and habana-pyhlml are of one release, too, and come with the base.
_PROTECTED = re.compile(r"(?:torch(?:vision|audio|data|text)?|torch-tb-profiler|habana-.+|lightning-habana)")


def why_not(name: str) -> str:
    """Why a requirement of that normalized name is refused, as the rest of a sentence; empty where it is not."""
    families = [reason for beginning, reason in _FAMILIES.items() if name.startswith(beginning)]
    return REPLACING.get(name) or (families[0] if families else "")


def is_protected(name: str) -> bool:
    """Whether what the base has under that normalized name has to stay as it is."""
    return _PROTECTED.fullmatch(name) is not None
