# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""A node's archive as a file to keep: bytes that nobody here unpacks, under a name that the controller gives."""

from __future__ import annotations

import base64
import binascii
from urllib.parse import quote

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._support.size import MOST_MIB
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import Document

_GZIP = b"\x1f\x8b"
# The texts' own size, for what cannot be compressed, and the frame around each.
_MOST_BYTES = (MOST_MIB + 8) << 20


def archive_name(host: str) -> str:
    """A file's name for any name of the inventory."""
    return f"support-{quote(host, safe='')}.tar.gz"


def archive_document(host: str, encoded: str) -> tuple[Document, int]:
    """The file, which its owner alone may read, and its size. Raises GaudiError for what is no archive of ours."""
    try:
        if len(encoded) > _MOST_BYTES * 4 // 3 + 4:
            raise ValueError
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        content = b""
    if not content.startswith(_GZIP):
        raise GaudiError(
            f"{host} returned no archive; find out who changed that node before you trust what else it says."
        )
    # Documents are text, and these bytes go through it as they are.
    return Document(archive_name(host), content.decode("utf-8", "surrogateescape"), mode=0o600), len(content)
