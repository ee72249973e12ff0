# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""OpenPGP public keys as text, without a program that may be missing on a fresh node."""

from __future__ import annotations

import base64

ARMOUR = "-----BEGIN PGP PUBLIC KEY BLOCK-----"


def armoured(key: bytes) -> str:
    """The key as ASCII armour, as apt reads it from a ``.asc`` file; mirrors often carry the binary form.

    Raises ValueError with the beginning of what is no public key.
    """
    if key.lstrip().startswith(ARMOUR.encode()):
        return key.decode("utf-8", "replace").strip().replace("\r\n", "\n") + "\n"
    # RFC 9580 section 4.2: bit 7 marks a packet; type 6 is a public key, in the old header format or the new one.
    if not key or not (key[0] & 0xFC == 0x98 or key[0] == 0xC6):
        raise ValueError(repr(key[:40].decode("ascii", "replace").split("\n")[0]))
    body = base64.b64encode(key).decode("ascii")
    lines = [body[start : start + 64] for start in range(0, len(body), 64)]
    check = base64.b64encode(_crc24(key).to_bytes(3, "big")).decode("ascii")
    return "\n".join([ARMOUR, "", *lines, f"={check}", ARMOUR.replace("BEGIN", "END"), ""])


def _crc24(data: bytes) -> int:
    """The checksum of OpenPGP's armour (RFC 9580 section 6.1.1); gpgv of older systems insists on it."""
    crc = 0xB704CE
    for byte in data:
        crc ^= byte << 16
        for _bit in range(8):
            crc = (crc << 1) ^ (0x1864CFB if crc & 0x800000 else 0)
    return crc & 0xFFFFFF
