# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m scripts.unpack_collections WHEEL TARGET``: the collections that requirements/collections.txt names."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from zipfile import ZipFile

WANTED = Path(__file__).resolve().parents[1] / "requirements" / "collections.txt"


def main(wheel: str, target: str) -> int:
    named = re.findall(r"^# collections: (.+)$", WANTED.read_text(encoding="utf-8"), re.MULTILINE)
    folders = tuple(f"ansible_collections/{name.replace('.', '/')}/" for name in " ".join(named).split())
    with ZipFile(wheel) as archive:
        archive.extractall(target, [name for name in archive.namelist() if name.startswith(folders)])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
