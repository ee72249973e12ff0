# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""OpenPGP public keys as text, without a program that may be missing on a fresh node."""

from __future__ import annotations

import base64
import hashlib
from typing import Iterator

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


def binary(text: str) -> bytes:
    """What :func:`armoured` wraps: the key as gpgv reads it. Several blocks after each other become one keyring."""
    key, body, inside = b"", "", False
    for line in text.splitlines():
        if line.startswith("-----"):
            inside = line.startswith("-----BEGIN")
            key, body = key + base64.b64decode(body), ""
        elif inside and ":" not in line and not line.startswith("="):
            body += line.strip()
    return key


def fingerprints(key: bytes) -> list[str]:
    """The fingerprints of the public keys in binary ``key``, subkeys included, as gpg prints them without spaces."""
    found = []
    for kind, body in _packets(key):
        if kind in (6, 14) and body[:1] == b"\x04":  # RFC 9580 section 5.5.4.2
            found.append(hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body).hexdigest().upper())
        elif kind in (6, 14) and body[:1] == b"\x06":  # section 5.5.4.3
            found.append(hashlib.sha256(b"\x9b" + len(body).to_bytes(4, "big") + body).hexdigest().upper())
    return found


def _packets(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and body of each packet (RFC 9580 section 4.2); ends at the first header that is none."""
    while len(data) > 1 and data[0] & 0x80:
        if data[0] & 0x40:
            kind, first = data[0] & 0x3F, data[1]
            size = 1 if first < 192 else 2 if first < 224 else 5
            number = first if size == 1 else ((first - 192) << 8) + data[2] + 192 if size == 2 else _number(data[2:6])
        else:
            kind, size = data[0] >> 2 & 0x0F, 1 << (data[0] & 3)
            number = _number(data[1 : 1 + size])
        yield kind, data[1 + size : 1 + size + number]
        data = data[1 + size + number :]


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _crc24(data: bytes) -> int:
    """The checksum of OpenPGP's armour (RFC 9580 section 6.1.1); gpgv of older systems insists on it."""
    crc = 0xB704CE
    for byte in data:
        crc ^= byte << 16
        for _bit in range(8):
            crc = (crc << 1) ^ (0x1864CFB if crc & 0x800000 else 0)
    return crc & 0xFFFFFF
