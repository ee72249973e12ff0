# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Wheels of a few Python files, written without a build backend, the same bytes every time."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping


def pure_wheel(project: str, version: str, summary: str, files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """File name and content of the wheel; ``files`` maps a path in site-packages to what it holds."""
    information = f"{project}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\nSummary: {summary}\nLicense: Apache-2.0\n"
    described = {
        **files,
        f"{information}/METADATA": metadata.encode(),
        f"{information}/WHEEL": b"Wheel-Version: 1.0\nGenerator: sandbox\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},sha256={_hash(content)},{len(content)}\n" for name, content in described.items())
    described[f"{information}/RECORD"] = f"{record}{information}/RECORD,,\n".encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as wheel:
        for name, content in described.items():
            wheel.writestr(zipfile.ZipInfo(name), content)
    return f"{project}-{version}-py3-none-any.whl", buffer.getvalue()


def _hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
