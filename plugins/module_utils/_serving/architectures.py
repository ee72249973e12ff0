# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Architectures of models that generate text and that vLLM has (vllm/model_executor/models/registry.py)."""

from __future__ import annotations

KNOWN = frozenset(
    f"{name}ForCausalLM"
    for name in (
        *(
            "Afmoe",
            "Apertus",
            "Aquila",
            "Arcee",
            "Arctic",
            "BaiChuan",
            "Baichuan",
            "BailingMoe",
            "BailingMoeV2",
            "Bamba",
        ),
        *("Bloom", "Cohere", "Cohere2", "Cwm", "Dbrx", "DeciLM", "Deepseek", "DeepseekV2", "DeepseekV3", "DeepseekV32"),
        *("Dots1", "Ernie4_5", "Ernie4_5_Moe", "Exaone", "Exaone4", "Falcon", "FalconMamba", "FalconH1", "FlexOlmo"),
        *("Gemma", "Gemma2", "Gemma3", "Gemma3n", "Glm", "Glm4", "Glm4Moe", "GptOss", "GPTBigCode", "GPTJ", "GPTNeoX"),
        *(
            "Granite",
            "GraniteMoe",
            "GraniteMoeHybrid",
            "GraniteMoeShared",
            "HunYuanMoEV1",
            "HunYuanDenseV1",
            "InternLM",
        ),
        *("InternLM2", "InternLM3", "Jais2", "Jamba", "KimiLinear", "Lfm2", "Lfm2Moe", "Llama", "Llama4", "LLaMA"),
        *("LongcatFlash", "Mamba", "Mamba2", "MiniCPM", "MiniCPM3", "MiniMax", "MiniMaxText01", "MiniMaxM1"),
        *("MiniMaxM2", "Mistral", "MistralLarge3", "Mixtral", "Mpt", "MPT", "MiMo", "MiMoV2Flash", "Nemotron"),
        *("NemotronH", "Olmo", "Olmo2", "Olmo3", "Olmoe", "OPT", "Orion", "Ouro", "Persimmon", "Phi", "Phi3", "PhiMoE"),
        *("Plamo2", "Plamo3", "Qwen2", "Qwen2Moe", "Qwen3", "Qwen3Moe", "Qwen3Next", "RW", "SeedOss", "StableLMEpoch"),
        *("StableLm", "Starcoder2", "Solar", "Step3Text", "TeleChat", "TeleChat2", "TeleFLM", "Xverse", "Zamba2"),
    )
) | {"GPT2LMHeadModel", "QWenLMHeadModel", "JAISLMHeadModel", "ChatGLMModel", "GritLM"}
