# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The wheels of the simulated engine, as the sandbox's package repository serves them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from plugins.plugin_utils._pure_wheel import pure_wheel

HERE = Path(__file__).parent
# The versions that the vendor's table of compatibility names, of the releases that the sandbox has.
VERSIONS = ("0.11.2", "0.16.0", "0.17.1", "0.21.0", "0.24.0", "0.26.0")
NEEDS = ("torch", "transformers>=5,<6", "tokenizers>=0.22", "safetensors>=0.6")
PROGRAM = "[console_scripts]\nvllm = vllm.cli:main\n"
PLUGIN = "[vllm.platform_plugins]\nhpu = vllm_gaudi:register\n"


def engine_wheels() -> list[tuple[str, bytes]]:
    """File names and contents of all versions."""
    return [wheel for version in VERSIONS for wheel in (vllm(version), vllm_gaudi(version))]


def vllm(version: str) -> tuple[str, bytes]:
    """The server."""
    needed = "".join(f"Requires-Dist: {name}\n" for name in NEEDS)
    return pure_wheel("vllm", version, _metadata("vllm", version) + needed, _files("vllm"), PROGRAM)


def vllm_gaudi(version: str) -> tuple[str, bytes]:
    """The plug-in, without which the server finds no device."""
    return pure_wheel("vllm_gaudi", version, _metadata("vllm-gaudi", version), _files("vllm_gaudi"), PLUGIN)


def unpack(version: str, directory: Path) -> None:
    """Both as pip would lay them into ``directory``; there ``python -m vllm`` runs where PYTHONPATH names it."""
    for _name, content in (vllm(version), vllm_gaudi(version)):
        with zipfile.ZipFile(io.BytesIO(content)) as wheel:
            wheel.extractall(directory)


def _metadata(project: str, version: str) -> str:
    summary = "Simulated: the sandbox's stand-in, which computes on the CPU"
    return f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\nSummary: {summary}\nLicense: Apache-2.0\n"


def _files(package: str) -> dict[str, bytes]:
    return {str(path.relative_to(HERE)): path.read_bytes() for path in sorted((HERE / package).rglob("*.py"))}
