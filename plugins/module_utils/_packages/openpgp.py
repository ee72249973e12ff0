# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""OpenPGP public keys: their armor, their packets and their fingerprints (RFC 9580, and RFC 4880 before it).

gpg is not asked for them: a key is judged before the node has a repository to install gnupg from. What apt brings is
gpgv, or sqv on newer systems, and neither shows a key. What vouches for anything is still their verification of a
signature; this says which key they are given.

All functions raise ValueError for what is no public key, with words that go on from "is no public key but".
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import Iterator

from .fingerprints import plain_fingerprint

ARMOR = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
_END = ARMOR.replace("BEGIN", "END")
# Packet types (RFC 9580 section 5).
_SECRET_KEY, _PUBLIC_KEY, _SECRET_SUBKEY, _MARKER, _PUBLIC_SUBKEY, _PADDING = 5, 6, 7, 10, 14, 21
# Version, time and algorithm (RFC 9580 section 5.5.2); what follows depends on the algorithm.
_KEY_HEAD = 6


@dataclass(frozen=True)
class Certificate:
    """One primary key with all that belongs to it: ``data`` are its packets, names, signatures and subkeys included.

    ``fingerprint`` is the primary key's, as gpg prints it without spaces. ``created`` is in seconds since 1970.
    """

    version: int
    created: int
    fingerprint: str
    data: bytes


def armored(key: bytes) -> str:
    """The key as ASCII armor, as apt reads it from a ``.asc`` file; mirrors often carry the binary form."""
    if key.lstrip().startswith(ARMOR.encode()):
        text = key.decode("utf-8", "replace").strip().replace("\r\n", "\n") + "\n"
        certificates(binary(text))
        return text
    # Every packet begins with this bit, and no text does.
    if not key or not key[0] & 0x80:
        raise ValueError(repr(key[:40].decode("ascii", "replace").split("\n")[0]))
    certificates(key)
    body = base64.b64encode(key).decode("ascii")
    lines = [body[start : start + 64] for start in range(0, len(body), 64)]
    check = base64.b64encode(_crc24(key).to_bytes(3, "big")).decode("ascii")
    return "\n".join([ARMOR, "", *lines, f"={check}", _END, ""])


def binary(text: str) -> bytes:
    """What :func:`armored` wraps: the key as gpgv reads it. Several blocks after each other become one keyring.

    The checksum is not looked at, as RFC 9580 section 6.1 demands.
    """
    key, body, inside = b"", "", False
    for line in map(str.rstrip, text.splitlines()):
        if line.startswith("-----BEGIN "):
            if inside or line != ARMOR:
                raise ValueError(f"one that continues with {line[:50]}")
            inside = True
        elif line.startswith("-----"):
            if not inside or line != _END:
                raise ValueError(f"one that continues with {line[:50]}")
            key, body, inside = key + _decoded(body), "", False
        elif inside and ":" not in line and not line.startswith("="):
            body += line
    if inside or not key:
        raise ValueError("one whose armor has no end" if inside else "a text without one")
    return key


def _decoded(body: str) -> bytes:
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error:
        raise ValueError("one whose armor is not base64") from None


def is_key(text: str) -> bool:
    """Whether ``text`` is what :func:`armored` returns: whole, in armor, and of public keys alone."""
    try:
        return text.startswith(ARMOR) and bool(certificates(binary(text)))
    except ValueError:
        return False


def certificates(key: bytes) -> list[Certificate]:
    """Every key in binary ``key``, in its order; at least one."""
    found: list[Certificate] = []
    start = 0
    head = b""
    for kind, body, offset in _packets(key):
        if kind in (_SECRET_KEY, _SECRET_SUBKEY):
            raise ValueError("a private key, which belongs nowhere but with its owner")
        if kind == _PUBLIC_KEY:
            if head:
                found.append(_certificate(head, key[start:offset]))
            start, head = offset, body
        elif not head and kind not in (_MARKER, _PADDING):
            raise ValueError(f"data that begin with an OpenPGP packet of type {kind}")
    if not head:
        raise ValueError("an answer without any key")
    return [*found, _certificate(head, key[start:])]


def fingerprints(key: bytes) -> list[str]:
    """The fingerprints of the primary keys in binary ``key``.

    Not those of subkeys: anybody can put somebody else's subkey after a key of his own.
    """
    return [certificate.fingerprint for certificate in certificates(key)]


def with_fingerprint(text: str, fingerprint: str) -> str:
    """The keys in the armored ``text`` that have the fingerprint, all of them where it is empty; empty if none has it.

    A key that the operator named is taken without the keys beside it: for gpgv and apt any key of a file will do.
    """
    wanted, key = plain_fingerprint(fingerprint), binary(text)
    chosen = b"".join(found.data for found in certificates(key) if wanted in ("", found.fingerprint))
    return text if chosen == key else armored(chosen) if chosen else ""


def _certificate(body: bytes, data: bytes) -> Certificate:
    if len(body) <= _KEY_HEAD:
        raise ValueError("one that is cut short")
    version = body[0]
    if version == 4:  # RFC 9580 section 5.5.4.2
        if len(body) > 0xFFFF:
            raise ValueError("one that is longer than a key of version 4 can be")
        hashed = b"\x99" + len(body).to_bytes(2, "big") + body
        # It is how the format calls a key, and no signature: allowed where FIPS forbids SHA-1.
        digest = hashlib.sha1(hashed, usedforsecurity=False)
    elif version == 6:  # section 5.5.4.3
        digest = hashlib.sha256(b"\x9b" + len(body).to_bytes(4, "big") + body)
    else:
        raise ValueError(f"an OpenPGP key of version {version}; have one of version 4 or 6")
    return Certificate(version, int.from_bytes(body[1:5], "big"), digest.hexdigest().upper(), data)


def _packets(data: bytes) -> Iterator[tuple[int, bytes, int]]:
    """Type, body and offset of each packet (RFC 9580 section 4.2)."""
    offset = 0
    while offset < len(data):
        kind, start, length = _header(data, offset)
        if len(data) < start + length:
            raise ValueError("one that is cut short")
        yield kind, data[start : start + length], offset
        offset = start + length


def _header(data: bytes, offset: int) -> tuple[int, int, int]:
    """Type of the packet at ``offset``, where its body starts, and how long that is."""
    first = data[offset]
    if not first & 0x80:
        raise ValueError("data that is not OpenPGP packets")
    if first & 0x40:  # section 4.2.1
        kind, begin = first & 0x3F, offset + 1
        second = data[begin] if begin < len(data) else 255
        if second < 192:
            return kind, begin + 1, second
        if second < 224:
            return kind, begin + 2, _number(data, begin, 2) - (192 << 8) + 192
        if second < 255:
            raise ValueError("one in parts of unknown number, which a key may not be")
        return kind, begin + 5, _number(data, begin + 1, 4)
    if first & 3 == 3:  # section 4.2.2
        raise ValueError("one of unknown length, which a key may not be")
    size = 1 << (first & 3)
    return first >> 2 & 0x0F, offset + 1 + size, _number(data, offset + 1, size)


def _number(data: bytes, start: int, size: int) -> int:
    octets = data[start : start + size]
    if len(octets) < size:
        raise ValueError("one that is cut short")
    return int.from_bytes(octets, "big")


def _crc24(data: bytes) -> int:
    """The checksum of OpenPGP's armor (RFC 9580 section 6.1.1); gpgv of older systems insists on it."""
    crc = 0xB704CE
    for byte in data:
        crc ^= byte << 16
        for _bit in range(8):
            crc = (crc << 1) ^ (0x1864CFB if crc & 0x800000 else 0)
    return crc & 0xFFFFFF
