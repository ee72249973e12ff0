# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Wheels of Python files alone, written without a build backend, the same bytes every time and everywhere."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping

# What pip takes for the time of a file in a zip; an own one would make another wheel of the same files.
_TIME = (1980, 1, 1, 0, 0, 0)
_REGULAR = 0o100644


def pure_wheel(
    distribution: str, version: str, metadata: str, files: Mapping[str, bytes], entry_points: str = ""
) -> tuple[str, bytes]:
    """File name and content of the wheel; ``files`` maps a path in site-packages to what it holds.

    ``distribution`` is the name as file names have it (``gaudi3_scale``), ``metadata`` the text of METADATA. Nothing is
    compressed: another zlib packs the same files into other bytes, and the digest of the wheel is what tells two apart.
    """
    information = f"{distribution}-{version}.dist-info"
    described = dict(sorted(files.items()))
    described[f"{information}/METADATA"] = metadata.encode()
    described[f"{information}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: gaudi3.scale\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    if entry_points:
        described[f"{information}/entry_points.txt"] = entry_points.encode()
    record = "".join(f"{name},sha256={_hash(content)},{len(content)}\n" for name, content in described.items())
    described[f"{information}/RECORD"] = f"{record}{information}/RECORD,,\n".encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as wheel:
        for name, content in described.items():
            about = zipfile.ZipInfo(name, _TIME)
            # Else it says on which system it was made.
            about.create_system, about.external_attr = 3, _REGULAR << 16
            wheel.writestr(about, content)
    return f"{distribution}-{version}-py3-none-any.whl", buffer.getvalue()


def _hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
