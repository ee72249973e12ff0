# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Public keys read as gpg reads them: every header of RFC 9580, several keys, subkeys, damage and ill will."""

from __future__ import annotations

import base64
import hashlib
import random
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._packages import gnupg
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.openpgp import (
    ARMOR,
    armored,
    binary,
    certificates,
    fingerprints,
    is_key,
    with_fingerprint,
)

# RFC 9580 appendix A.3, with the fingerprint that is named there. No gpg reads keys of version 6.
VERSION_6 = """-----BEGIN PGP PUBLIC KEY BLOCK-----

xioGY4d/4xsAAAAg+U2nu0jWCmHlZ3BqZYfQMxmZu52JGggkLq2EVD34laPCsQYf
GwoAAABCBYJjh3/jAwsJBwUVCg4IDAIWAAKbAwIeCSIhBssYbE8GCaaX5NUt+mxy
KwwfHifBilZwj2Ul7Ce62azJBScJAgcCAAAAAK0oIBA+LX0ifsDm185Ecds2v8lw
gyU2kCcUmKfvBXbAf6rhRYWzuQOwEn7E/aLwIwRaLsdry0+VcallHhSu4RN6HWaE
QsiPlR4zxP/TP7mhfVEe7XWPxtnMUMtf15OyA51YBM4qBmOHf+MZAAAAIIaTJINn
+eUBXbki+PSAld2nhJh/LVmFsS+60WyvXkQ1wpsGGBsKAAAALAWCY4d/4wKbDCIh
BssYbE8GCaaX5NUt+mxyKwwfHifBilZwj2Ul7Ce62azJAAAAAAQBIKbpGG2dWTX8
j+VjFM21J0hqWlEg+bdiojWnKfA5AQpWUWtnNwDEM0g12vYxoWM8Y81W+bHBw805
I8kWVkXU6vFOi+HWvv/ira7ofJu16NnoUkhclkUrk0mXubZvyl4GBg==
-----END PGP PUBLIC KEY BLOCK-----
"""
FINGERPRINT_6 = "CB186C4F0609A697E4D52DFA6C722B0C1F1E27C18A56708F6525EC27BAD9ACC9"
# Version 4, made in 1970, of an algorithm that is followed by three octets.
BODY = bytes([4, 0, 0, 0, 1, 22, 1, 2, 3])


def old(kind: int, body: bytes, size: int) -> bytes:
    """A packet with a header of the old format, whose length takes 1, 2 or 4 octets."""
    return bytes([0x80 | kind << 2 | {1: 0, 2: 1, 4: 2}[size]]) + len(body).to_bytes(size, "big") + body


def new(kind: int, body: bytes, size: int) -> bytes:
    """A packet with a header of the new format, whose length takes 1, 2 or 5 octets."""
    number = len(body)
    if size == 2:
        length = bytes([(number - 192 >> 8) + 192, number - 192 & 0xFF])
    else:
        length = bytes([number]) if size == 1 else b"\xff" + number.to_bytes(4, "big")
    return bytes([0xC0 | kind]) + length + body


def by_hand(body: bytes) -> str:
    return hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body).hexdigest().upper()


@dataclass(frozen=True)
class Made:
    """Keys that gpg made: an RSA key, and one of Ed25519 with a subkey."""

    rsa: bytes
    curve: bytes
    home: str

    def gpg(self, *arguments: str) -> str:
        return gnupg.gpg(self.home, run_process, *arguments)

    def primary(self, key: bytes, path: Path) -> list[str]:
        """The fingerprints that gpg shows for the primary keys of ``key``."""
        path.write_bytes(key)
        lines = [line.split(":") for line in self.gpg("--with-colons", "--show-keys", str(path)).splitlines()]
        return [after[9] for line, after in zip(lines, lines[1:]) if line[0] == "pub" and after[0] == "fpr"]


@pytest.fixture(scope="module")
def made() -> Iterator[Made]:
    with gnupg.home(run_process) as home:

        def gpg(*arguments: str) -> str:
            return gnupg.gpg(home, run_process, "--passphrase", "", *arguments)

        for owner, algorithm in (("rsa@localhost", "rsa2048"), ("curve@localhost", "ed25519")):
            gpg("--quick-generate-key", owner, algorithm, "sign", "never")
        listed = gpg("--with-colons", "--list-keys", "curve@localhost").splitlines()
        gpg(
            "--quick-add-key", next(line.split(":")[9] for line in listed if line.startswith("fpr:")), "cv25519", "encr"
        )
        keys = [binary(gpg("--armor", "--export", f"{name}@localhost")) for name in ("rsa", "curve")]
        yield Made(*keys, home)


def test_fingerprints_are_those_that_gpg_shows(made: Made, tmp_path: Path) -> None:
    for key in (made.rsa, made.curve, made.rsa + made.curve):
        assert fingerprints(key) == made.primary(key, tmp_path / "key")
    assert [len(found.data) for found in certificates(made.rsa + made.curve)] == [len(made.rsa), len(made.curve)]


def test_binary_and_armor_are_those_of_gpg(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "key.asc"
    path.write_text(armored(made.rsa + made.curve))
    made.gpg("--output", str(tmp_path / "key"), "--dearmor", str(path))
    assert (tmp_path / "key").read_bytes() == made.rsa + made.curve == binary(path.read_text())
    assert binary(armored(made.rsa) + "text between\n" + armored(made.curve)) == made.rsa + made.curve


@pytest.mark.parametrize("size", [2, 4, 5])
def test_every_header_of_a_real_key_is_read_as_gpg_reads_it(made: Made, size: int, tmp_path: Path) -> None:
    body = made.rsa[3 : 3 + int.from_bytes(made.rsa[1:3], "big")]
    head = new(6, body, size) if size == 5 else old(6, body, size)
    keys = [head + made.rsa[3 + len(body) :]] + ([new(6, body, 2) + made.rsa[3 + len(body) :]] if size == 2 else [])
    for key in keys:
        assert fingerprints(key) == made.primary(key, tmp_path / "key") == [by_hand(body)]


@pytest.mark.parametrize("length", [9, 191, 192, 8383, 8384, 9005, 65535])
def test_lengths_of_all_forms_are_read(length: int) -> None:
    body = BODY + bytes(length - len(BODY))
    forms = [old(6, body, 4), new(6, body, 5)]
    forms += [old(6, body, 1), new(6, body, 1)] if length < 192 else []
    forms += [old(6, body, 2)] + ([new(6, body, 2)] if 192 <= length < 8384 else [])
    for key in forms:
        (found,) = certificates(key + new(13, b"name", 1))
        assert (found.version, found.created, found.fingerprint) == (4, 1, by_hand(body))


def test_a_key_of_version_6_has_the_fingerprint_of_the_standard() -> None:
    (found,) = certificates(binary(VERSION_6))
    assert (found.version, found.fingerprint) == (6, FINGERPRINT_6)


def test_a_subkey_is_no_key(made: Made) -> None:
    listed = made.gpg("--with-colons", "--with-subkey-fingerprint", "--list-keys", "curve@localhost").splitlines()
    primary, subkey = (line.split(":")[9] for line in listed if line.startswith("fpr:"))
    assert fingerprints(made.curve) == [primary]
    # Anybody can put it behind a key of his own, and its owner's signature is not needed for that.
    grafted = made.rsa + made.curve[made.curve.rindex(b"\xb8\x38") :]
    assert subkey not in fingerprints(grafted) and fingerprints(grafted) == fingerprints(made.rsa)
    with pytest.raises(ValueError, match="begin with an OpenPGP packet of type 14"):
        certificates(new(14, BODY, 1))


def test_only_the_key_of_the_fingerprint_is_taken(made: Made) -> None:
    rsa, curve = armored(made.rsa), armored(made.curve)
    both = rsa + curve
    (wanted,) = fingerprints(made.curve)
    spaced = " ".join(textwrap.wrap(wanted.lower(), 4))
    assert with_fingerprint(both, spaced) == curve
    assert with_fingerprint(curve, wanted) == curve
    assert with_fingerprint(both, "") == both
    assert with_fingerprint(rsa, wanted) == with_fingerprint(both, "BEEF") == ""


def test_the_checksum_is_the_one_that_gpg_writes(made: Made, tmp_path: Path) -> None:
    lines = made.gpg("--armor", "--export", "rsa@localhost").splitlines()
    assert armored(made.rsa).splitlines()[-2] == lines[-2]


def test_armor_that_is_armor_is_only_tidied(made: Made) -> None:
    text = armored(made.rsa)
    with_header = text.replace("\n\n", "\nVersion: GnuPG v2\n\n", 1)
    assert armored(f"\n{with_header}\n".replace("\n", "\r\n").encode()) == with_header


def test_lines_are_as_long_as_the_standard_allows(made: Made) -> None:
    first, blank, *body, check, last = armored(made.rsa).splitlines()
    assert (first, blank, last) == (ARMOR, "", ARMOR.replace("BEGIN", "END"))
    assert body == textwrap.wrap(base64.b64encode(made.rsa).decode(), 64)
    assert len(check) == len("=NjGr")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "''"),
        (b"<html>please log in\n</html>", "'<html>please log in'"),
        (b"-----BEGIN PGP MESSAGE-----", "'-----BEGIN PGP MESSAGE-----'"),
        (b"\xff" * 20, "type 63|cut short"),
        (b"\x80", "cut short"),
        (b"\xc6", "cut short"),
        (b"\xc6\xff", "cut short"),
        (b"\xc6\xff\xff\xff\xff\xff", "cut short"),
        (b"\x99\xff\xff\x04", "cut short"),
        (old(6, BODY, 1)[:-1], "cut short"),
        (old(6, BODY[:6], 1), "cut short"),
        (old(6, BODY, 1) + b"plain text", "not OpenPGP packets"),
        (b"\x9b" + BODY, "of unknown length"),
        (b"\xc6\xe1" + BODY, "in parts of unknown number"),
        (old(6, b"\x03" + BODY[1:], 1), "an OpenPGP key of version 3; have one of version 4 or 6"),
        (old(6, b"\x05" + BODY[1:], 1), "an OpenPGP key of version 5"),
        (old(6, BODY + bytes(70000), 4), "longer than a key of version 4 can be"),
        (new(5, BODY, 1), "a private key"),
        (old(6, BODY, 1) + new(7, BODY, 1), "a private key"),
        (new(10, b"PGP", 1), "an answer without any key"),
        (new(2, b"signature", 1), "type 2"),
        (f"{ARMOR}\n\nmAQG\n".encode(), "no end"),
        (f"{ARMOR}\n\nm!QG\n{ARMOR.replace('BEGIN', 'END')}\n".encode(), "not base64"),
        (f"{ARMOR}\n\n{ARMOR}\n".encode(), "continues with"),
        (
            armored(old(6, BODY, 1)).encode() + b"-----BEGIN PGP PRIVATE KEY BLOCK-----\n",
            "continues with .* PRIVATE KEY",
        ),
    ],
)
def test_what_is_no_public_key_is_refused_in_words(answer: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        armored(answer)
    assert not is_key(answer.decode("latin-1"))


def test_a_marker_and_padding_before_a_key_are_passed_over() -> None:
    """RFC 9580 sections 5.8 and 5.14."""
    assert fingerprints(new(10, b"PGP", 1) + new(21, b"xy", 1) + old(6, BODY, 1)) == [by_hand(BODY)]


def test_a_key_that_was_cut_anywhere_is_refused_or_a_shorter_key(made: Made) -> None:
    ends = {0}
    for end in range(1, len(made.curve)):
        try:
            assert fingerprints(made.curve[:end]) == fingerprints(made.curve)
            ends.add(end)
        except ValueError:
            continue
    # Only between packets: key, name, signature, subkey; its signature is the last.
    assert len(ends) == 5


def test_bytes_of_all_kinds_are_a_key_or_a_value_error(made: Made) -> None:
    chance = random.Random(9580)
    for _attempt in range(2000):
        key = bytearray(made.curve)
        for _change in range(chance.randint(1, 4)):
            key[chance.randrange(len(key))] = chance.randrange(256)
        try:
            certificates(bytes(key))
        except ValueError as refused:
            assert str(refused)


@pytest.mark.parametrize("packet", [new(13, b"", 1), old(6, BODY, 1), new(14, BODY, 1)])
def test_a_mebibyte_of_small_packets_takes_no_long(packet: bytes) -> None:
    """As large as an answer may be; where each packet copied the rest, this took minutes."""
    key = old(6, BODY, 1) + packet * ((1 << 20) // len(packet))
    started = time.process_time()
    assert certificates(key)
    assert time.process_time() - started < 20


def test_fingerprints_are_made_where_fips_forbids_sha_1(monkeypatch: pytest.MonkeyPatch) -> None:
    real = hashlib.sha1

    def sha1(data: bytes = b"", *, usedforsecurity: bool = True) -> Any:
        if usedforsecurity:
            raise ValueError("disabled for FIPS")
        return real(data)

    expected = by_hand(BODY)
    monkeypatch.setattr(hashlib, "sha1", sha1)
    assert fingerprints(old(6, BODY, 1)) == [expected]
