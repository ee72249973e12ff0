# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Texts as one archive in memory: the same texts give the same bytes, and nothing of it lies on the node."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping


def packed(texts: Mapping[str, str], folder: str, time: int) -> bytes:
    """A tar.gz with each text as a file below ``folder``, all of root's and of ``time``."""
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, text in texts.items():
            content = text.encode(errors="replace")
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size, member.mtime, member.mode = len(content), time, 0o600
            archive.addfile(member, io.BytesIO(content))
    outer = io.BytesIO()
    with gzip.GzipFile(fileobj=outer, mode="wb", mtime=time) as stream:
        stream.write(inner.getvalue())
    return outer.getvalue()
