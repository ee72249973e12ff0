# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Files of pip's with addresses in them: an address may say who logs in there, and with what."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from .._node.rendered_files import WantedFile
from .._node.secret_words import without_credentials


def own_if_secret(path: str, text: str) -> WantedFile:
    """A file that every account of the node reads, but where it has credentials: then it is its owner's alone."""
    return WantedFile(path, text, mode=0o644 if without_credentials(text) == text else 0o600)


def write_private(path: Path, lines: Sequence[str]) -> None:
    """For its owner alone: what pip is to install, say, where the words of its command would be everybody's to read."""
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
