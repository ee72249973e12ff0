# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether a certificate that a node has told is its own, and nobody else's.

All of them are in one file of those that are believed, where one that has another name than its node's, or that may
sign others, would let its node answer for another one.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection
from pathlib import Path

from .certificate_names import canonical, names_of
from .commands import Run

_LARGEST = 16384
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]+\n-----END CERTIFICATE-----")


def disbelief(text: str, own: Collection[str], others: Collection[str], run: Run) -> str:
    """Why it is not believed, as a clause; empty where it is.

    ``own`` are the names and addresses of the node that told it, ``others`` those of all other nodes.
    """
    if len(text) > _LARGEST or not _PEM.fullmatch(text.strip()):
        return "is not one certificate in PEM"
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "told.pem")
        path.write_text(text, encoding="ascii")
        told = names_of(str(path), run)
    if told is None:
        return "is not one that the role gaudi_exporter makes"
    if not told.signs_none:
        return "may sign other certificates"
    if told.unread:
        return f"is for {told.unread!r:.80}, which is neither a name nor an address"
    known, theirs = set(map(canonical, own)), set(map(canonical, others))
    both = sorted(told.names & theirs)
    if both:
        return f"is for {both[0]} as well, which belongs to another node"
    further = sorted(told.names - known)
    return f"is for {further[0]!r:.80}, which the inventory does not give it" if further else ""
