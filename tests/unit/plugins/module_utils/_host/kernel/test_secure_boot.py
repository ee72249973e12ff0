# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Secure Boot from firmware variables below a root of its own, and what an operator is told."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Sequence

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._host.kernel.secure_boot import (
    SecureBoot,
    advice,
    certificate_bytes,
    read,
    signing_files,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

SHIM = "605dab50-e046-4300-abb6-3dd810dd8b23"
DER = b"\x30\x82\x00\x04cert"
KEY, CERTIFICATE = "/var/lib/dkms/mok.key", "/var/lib/dkms/mok.pub"


class Node:
    """A node's files; ``said`` is what its mokutil prints, None where it is not installed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.said: str | None = None

    def write(self, name: str, content: bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def variable(self, name: str, content: bytes, vendor: str = SHIM) -> None:
        self.write(f"sys/firmware/efi/efivars/{name}-{vendor}", b"\x07\0\0\0" + content)

    def secure(self, on: bool = True) -> None:
        self.variable("SecureBoot", b"\x01" if on else b"\0", "8be4df61-93ca-11d2-aa0d-00e098032b8c")

    def signing(self) -> None:
        self.write(KEY[1:], b"key")
        self.write(CERTIFICATE[1:], DER)

    def __call__(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        assert argv[0] == "mokutil"
        return CommandResult(127, "", "") if self.said is None else CommandResult(1, self.said, "")

    def read(self, **more: str) -> SecureBoot:
        return read(self, str(self.root), str(self.root), **more)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_a_node_that_a_bios_started_has_none(node: Node) -> None:
    assert node.read() == SecureBoot(False)
    assert advice(node.read()) is None


@pytest.mark.parametrize(
    ("on", "waived", "expected"), [(True, b"\0", True), (False, b"\0", False), (True, b"\1", False)]
)
def test_the_firmwares_variable_tells_unless_shim_waives_it(
    node: Node, on: bool, waived: bytes, expected: bool
) -> None:
    node.secure(on)
    node.variable("MokSBStateRT", waived)
    assert node.read().enabled is expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("SecureBoot enabled\n", True),
        ("SecureBoot disabled\n", False),
        ("SecureBoot enabled\nSecureBoot validation is disabled in shim\n", False),
        ("EFI variables are not supported on this system\n", None),
        (None, None),
    ],
)
def test_mokutil_is_asked_where_the_variable_is_not_there(node: Node, said: str | None, expected: bool | None) -> None:
    (node.root / "sys/firmware/efi").mkdir(parents=True)
    node.said = said
    assert node.read().enabled is expected


@pytest.mark.parametrize(
    ("trusted", "waiting", "expected"),
    [
        (b"list " + DER, b"", (True, False)),
        (b"list of others", b"", (False, False)),
        (b"list of others", b"new " + DER, (False, True)),
        (b"", b"", (None, None)),
    ],
)
def test_the_key_is_looked_for_in_the_machine_owners_list(
    node: Node, trusted: bytes, waiting: bytes, expected: tuple[bool | None, bool | None]
) -> None:
    node.secure()
    node.signing()
    node.variable("MokListRT", trusted)
    node.variable("MokNew", waiting)
    state = node.read()
    assert (state.key, state.certificate) == (KEY, CERTIFICATE)
    assert (state.enrolled, state.pending) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("SKIP: mok.pub is already enrolled\n", (True, False)),
        ("SKIP: mok.pub is already in the enrollment request\n", (False, True)),
        ("mok.pub is not enrolled\n", (False, False)),
        ("Failed to open\n", (None, None)),
    ],
)
def test_mokutils_words_count_and_not_its_code(
    node: Node, said: str, expected: tuple[bool | None, bool | None]
) -> None:
    node.secure()
    node.signing()
    node.said = said
    assert (node.read().enrolled, node.read().pending) == expected


def test_a_key_that_is_going_to_be_used_comes_before_the_one_that_is(node: Node) -> None:
    node.secure()
    node.signing()
    node.write("etc/mok/own.key", b"key")
    node.write("etc/mok/own.der", b"\x30\x82\x00\x03own")
    node.variable("MokListRT", b"\x30\x82\x00\x03own")
    state = node.read(key="/etc/mok/own.key", certificate="/etc/mok/own.der")
    assert (state.certificate, state.enrolled) == ("/etc/mok/own.der", True)


def test_dkmss_configuration_is_read_as_its_shell_reads_it(node: Node) -> None:
    assert signing_files(str(node.root)) == (KEY, CERTIFICATE)
    node.write("etc/os-release", b"NAME=Ubuntu\nID=ubuntu\n")
    assert signing_files(str(node.root))[0] == "/var/lib/shim-signed/mok/MOK.priv"
    node.write("etc/dkms/framework.conf", b"# mok_signing_key=/no\nmok_signing_key=/a.key\nmok_certificate=/a.der\n")
    assert signing_files(str(node.root)) == ("/a.key", "/a.der")
    node.write("etc/dkms/framework.conf.d/z.conf", b'mok_signing_key="/b.key"\n')
    assert signing_files(str(node.root)) == ("/b.key", "/a.der")


def test_a_certificate_in_pem_is_the_same() -> None:
    pem = b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(DER) + b"-----END CERTIFICATE-----\n"
    assert certificate_bytes(pem) == certificate_bytes(DER) == DER


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (SecureBoot(True), ["no key", "openssl req", "mokutil --import /var/lib/dkms/mok.pub", "Enroll MOK"]),
        (SecureBoot(True, KEY, CERTIFICATE, False, False), ["does not trust", "mokutil --import", "Enroll MOK"]),
        (SecureBoot(True, KEY, CERTIFICATE, False, True), ["waits to be enrolled", "console"]),
        (SecureBoot(True, KEY, CERTIFICATE), ["cannot be read", "mokutil --test-key"]),
        (SecureBoot(True, KEY, CERTIFICATE, True, False), None),
        (SecureBoot(False), None),
        (SecureBoot(None), None),
    ],
)
def test_what_is_in_the_way_is_told_with_the_steps(state: SecureBoot, words: list[str] | None) -> None:
    sentence = advice(state)
    assert (sentence is None) is (words is None)
    assert all(word in (sentence or "") for word in words or [])
