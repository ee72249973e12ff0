# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether a certificate that a node has told is its own, and nobody else's.

All of them stand in one file of those that are believed, where one that has another node's name, or that may sign
others, would let its node answer for another one.
"""

from __future__ import annotations

import ipaddress
import re
import tempfile
from collections.abc import Collection
from pathlib import Path

from .commands import Run
from .tls_identity import SIGNS_NONE

_LARGEST = 16384
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]+\n-----END CERTIFICATE-----")
# As openssl prints the names of a certificate (x509v3_config(5), Subject Alternative Name).
_NAMES = re.compile(r"(?:DNS|IP Address):([^,\s]+)")


def disbelief(text: str, own: Collection[str], others: Collection[str], run: Run) -> str:
    """Why it is not believed, as a clause; empty where it is.

    ``own`` are the names and addresses of the node that told it, ``others`` those of all other nodes.
    """
    if len(text) > _LARGEST or not _PEM.fullmatch(text.strip()):
        return "is not one certificate in PEM"
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "told.pem")
        path.write_text(text, encoding="ascii")
        asked = run(["openssl", "x509", "-noout", "-in", str(path), "-ext", "basicConstraints,subjectAltName"])
    if asked.rc != 0:
        return "cannot be read by openssl"
    if SIGNS_NONE not in asked.stdout:
        return "may sign other certificates"
    named = {_plain(name) for name in _NAMES.findall(asked.stdout)}
    theirs = {_plain(other) for other in others}
    foreign = sorted(name for name in named if name in theirs or "*" in name)
    if foreign:
        return f"is for {foreign[0]} as well"
    return "" if named & {_plain(name) for name in own} else "is not for this node"


def _plain(name: str) -> str:
    """As it compares: openssl writes addresses of version 6 at their full length."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name.lower()
