# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""ASCII armour of a public key, compared with what gpg writes for the same bytes."""

from __future__ import annotations

import base64
import shutil
import textwrap

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils.node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils.packages import gnupg
from ansible_collections.gaudi3.scale.plugins.module_utils.packages.openpgp import armoured, binary, fingerprints

KEY = bytes.fromhex("9833046500")


def test_the_checksum_is_the_one_that_gpg_writes() -> None:
    """`printf '\\x98\\x33\\x04\\x65\\x00' | gpg --enarmor` ends in these two lines."""
    assert armoured(KEY).splitlines()[2:4] == ["mDMEZQA=", "=NjGr"]


def test_armour_that_is_armour_is_only_tidied() -> None:
    text = "-----BEGIN PGP PUBLIC KEY BLOCK-----\r\n\r\nabcd\r\n=1234\r\n-----END PGP PUBLIC KEY BLOCK-----\r\n\r\n"
    assert armoured(text.encode()) == text.replace("\r\n", "\n").rstrip() + "\n"


def test_lines_are_as_long_as_the_standard_allows() -> None:
    first, blank, *body, check, last = armoured(KEY * 30).splitlines()
    assert (first, blank, last) == (
        "-----BEGIN PGP PUBLIC KEY BLOCK-----",
        "",
        "-----END PGP PUBLIC KEY BLOCK-----",
    )
    assert body == textwrap.wrap(base64.b64encode(KEY * 30).decode(), 64)
    assert len(check) == len("=NjGr")


@pytest.mark.parametrize("answer", [b"", b"<html>please log in", b"\x1f\x8b\x08", b"-----BEGIN PGP MESSAGE-----"])
def test_what_is_no_public_key_is_refused(answer: bytes) -> None:
    with pytest.raises(ValueError, match=r"^'"):
        armoured(answer)


def test_the_binary_form_is_what_was_wrapped() -> None:
    assert binary(armoured(KEY * 30)) == KEY * 30
    assert binary(armoured(KEY) + armoured(KEY * 2)) == KEY * 3


@pytest.mark.skipif(not shutil.which("gpg"), reason="needs gpg")
@pytest.mark.parametrize("algorithm", ["rsa3072", "ed25519"])
def test_the_fingerprint_is_the_one_that_gpg_prints(algorithm: str) -> None:
    with gnupg.home(run_process) as home:
        generate = ("--passphrase", "", "--quick-generate-key", "t <t@localhost>", algorithm, "sign", "never")
        gnupg.gpg(home, run_process, *generate)
        listed = gnupg.gpg(home, run_process, "--with-colons", "--list-keys")
        key = gnupg.public_key(home, run_process)
    expected = [line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:")]
    assert expected and fingerprints(binary(key)) == expected


@pytest.mark.parametrize("damaged", [b"", b"\x00", b"\x99", b"\x99\xff\xff\x04", b"\xc6\xff"])
def test_what_is_no_whole_key_does_not_break_anything(damaged: bytes) -> None:
    assert isinstance(fingerprints(damaged), list)
