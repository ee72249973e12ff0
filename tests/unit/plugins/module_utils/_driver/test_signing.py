# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Secure Boot and the machine owner's key of a node: what is seen, what is prepared, and what it forbids."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Sequence

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.module_signing import DROP_IN, SigningOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.signing import (
    Signing,
    is_unsigned,
    look,
    prepare,
    require_signed,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

# The outermost of a certificate as DER has it, down to its serial number 2A17.
CERTIFICATE = b"\x30\x82\x00\x06\x30\x04\x02\x02\x2a\x17"
SHIM = "605dab50-e046-4300-abb6-3dd810dd8b23"
GLOBAL = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
KERNEL, NEXT = "6.8.0-45-generic", "6.8.0-48-generic"
NONE = SigningOptions()
PAIR = SigningOptions("/mok/m.key", "/mok/m.der")
ASKING = replace(PAIR, hash_file="/mok/hash")


class Node:
    """A node with Secure Boot on, a pair at /mok and a driver for each kernel of ``serials`` (signed with that key).

    ``changes`` are the commands that change something.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.dkms = "dkms-3.0.10\n"
        self.serials: dict[str, str] = {}
        self.changes: list[list[str]] = []
        self.mokutil = CommandResult(0, "", "")
        for name, content in (("m.key", b"key"), ("m.der", CERTIFICATE), ("hash", b"$6$x")):
            self.write(f"mok/{name}", content)
        self.variable("SecureBoot", b"\1", GLOBAL)
        self.variable("MokListRT", b"keys of others")

    def write(self, name: str, content: bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def variable(self, name: str, content: bytes, vendor: str = SHIM) -> None:
        self.write(f"kernel/sys/firmware/efi/efivars/{name}-{vendor}", b"\7\0\0\0" + content)

    def __call__(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        if argv[0] == "dkms":
            assert argv[1] == "--version"
            return CommandResult(0, self.dkms, "")
        if argv[0] == "modinfo":
            return CommandResult(0, self.modinfo(argv), "")
        if list(argv[:2]) == ["mokutil", "--import"]:
            self.changes.append(list(argv))
            return self.mokutil
        return CommandResult(1, "", "")

    def modinfo(self, argv: Sequence[str]) -> str:
        if argv[1] == "-k":
            return f"/lib/modules/{argv[2]}/updates/dkms/habanalabs.ko\n" if argv[2] in self.serials else ""
        serial = self.serials[argv[1].split("/")[3]]
        return f"sig_id:   PKCS#7\nsig_key:  {serial}\n" if serial else "license:  GPL\n"

    def look(self, options: SigningOptions, kernels: Sequence[str] = (KERNEL,)) -> Signing:
        return look(options, kernels, self, str(self.root), str(self.root / "kernel"))

    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file())


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_a_node_that_a_bios_started_and_that_signs_nothing_has_nothing_to_say(tmp_path: Path) -> None:
    asked: list[str] = []

    def run(argv: Sequence[str], **_more: Any) -> CommandResult:
        asked.append(argv[0])
        return CommandResult(127, "", "")

    assert look(NONE, [KERNEL], run, str(tmp_path), str(tmp_path)) == Signing()
    assert asked == []


def test_looking_changes_nothing(node: Node) -> None:
    before = node.files()
    node.serials = {KERNEL: ""}
    seen = node.look(ASKING)
    assert seen.preparations
    assert node.files() == before
    assert node.changes == []


def test_without_a_key_the_driver_would_not_be_loaded(node: Node) -> None:
    seen = node.look(NONE)
    assert "Secure Boot is on and DKMS has no key to sign the driver with" in seen.barrier
    assert (seen.preparations, seen.unsigned, seen.notes) == ((), (), ())


@pytest.mark.parametrize(
    ("trusted", "waiting", "barrier", "enroll", "notes"),
    [
        (b"", b"", "the firmware does not trust /mok/m.der", "/mok/m.der", 1),
        (b"", CERTIFICATE, "/mok/m.der waits to be enrolled", "", 1),
        (CERTIFICATE, b"", "", "", 0),
    ],
)
def test_a_key_is_a_barrier_until_the_firmware_trusts_it(
    node: Node, trusted: bytes, waiting: bytes, barrier: str, enroll: str, notes: int
) -> None:
    node.variable("MokListRT", b"keys of others" + trusted)
    node.variable("MokNew", waiting)
    seen = node.look(ASKING)
    assert barrier in seen.barrier
    assert bool(barrier) == bool(seen.barrier)
    assert seen.enroll == enroll
    assert len(seen.notes) == notes
    assert all("Enroll MOK" in note for note in seen.notes)


def test_a_key_of_which_nobody_knows_is_no_barrier(node: Node) -> None:
    """mokutil is not installed and the firmware's list cannot be read: the driver may well be loaded."""
    (node.root / f"kernel/sys/firmware/efi/efivars/MokListRT-{SHIM}").unlink()
    seen = node.look(ASKING)
    assert (seen.barrier, seen.enroll) == ("", "")


def test_secure_boot_that_is_off_is_no_barrier_and_asks_for_nothing(node: Node) -> None:
    node.variable("SecureBoot", b"\0", GLOBAL)
    seen = node.look(ASKING)
    assert (seen.barrier, seen.enroll, seen.notes) == ("", "", ())
    assert seen.preparations == (str(node.root / DROP_IN),)


def test_the_key_that_dkms_has_already_counts_where_none_is_given(node: Node) -> None:
    node.write("var/lib/dkms/mok.key", b"key")
    node.write("var/lib/dkms/mok.pub", CERTIFICATE)
    node.variable("MokListRT", CERTIFICATE)
    assert node.look(NONE) == Signing()


def test_settings_of_dkms_are_pending_until_they_are_as_wanted(node: Node) -> None:
    path = str(node.root / DROP_IN)
    assert [file.path for file in node.look(PAIR).files] == [path]
    prepare(node.look(PAIR), PAIR, node)
    assert 'mok_certificate="/mok/m.der"' in Path(path).read_text()
    assert node.look(PAIR).files == ()
    Path(path).write_text("mok_signing_key=/other\n")
    assert [file.path for file in node.look(PAIR).files] == [path]


def test_without_a_key_no_settings_are_written(node: Node) -> None:
    assert node.look(NONE).files == ()


def test_only_kernels_whose_driver_another_key_or_none_has_signed_are_unsigned(node: Node) -> None:
    node.serials = {"a": "", "b": "01:02", "c": "2A:17"}
    assert node.look(PAIR, ["a", "b", "c", "without a driver"]).unsigned == ("a", "b")
    assert node.look(NONE, ["a", "b", "c"]).unsigned == ()


def test_dkms_2_cannot_be_told_so_nothing_is_built_again_for_its_sake(node: Node) -> None:
    node.dkms = "dkms: 2.8.7\n"
    node.serials = {KERNEL: ""}
    seen = node.look(PAIR)
    assert (seen.files, seen.unsigned) == ((), ())
    assert "dkms 2.8.7 cannot be told which key to sign with" in seen.notes[0]
    require_signed(PAIR, KERNEL, node, str(node.root))
    assert not is_unsigned(PAIR, KERNEL, node, str(node.root))


def test_a_node_without_dkms_is_about_to_get_dkms_3(node: Node) -> None:
    node.dkms = ""
    assert node.look(PAIR).preparations == (str(node.root / DROP_IN),)


def test_preparing_writes_the_settings_and_asks_the_firmware_once(node: Node) -> None:
    seen = node.look(ASKING)
    assert seen.preparations == (str(node.root / DROP_IN), "/mok/m.der")
    prepare(seen, ASKING, node)
    assert (node.root / DROP_IN).is_file()
    assert node.changes == [["mokutil", "--import", "/mok/m.der", "--hash-file", "/mok/hash"]]
    node.variable("MokNew", CERTIFICATE)
    again = node.look(ASKING)
    assert again.preparations == ()
    prepare(again, ASKING, node)
    assert len(node.changes) == 1


def test_nothing_is_asked_of_the_firmware_without_a_password_for_it(node: Node) -> None:
    prepare(node.look(PAIR), PAIR, node)
    assert node.changes == []
    assert "mokutil --import /mok/m.der" in node.look(PAIR).barrier


def test_a_request_that_fails_ends_it(node: Node) -> None:
    node.mokutil = CommandResult(1, "", "EFI variables are not supported on this system\n")
    with pytest.raises(GaudiError, match=r"mokutil cannot ask for /mok/m\.der to be enrolled \(EFI variables"):
        prepare(node.look(ASKING), ASKING, node)


@pytest.mark.parametrize(("serial", "signed"), [("2A:17", True), ("00:2A:17", True), ("", False), ("17:2A", False)])
def test_a_build_has_to_be_signed_with_the_key(node: Node, serial: str, signed: bool) -> None:
    node.serials = {KERNEL: serial}
    assert is_unsigned(PAIR, KERNEL, node, str(node.root)) is not signed
    if signed:
        require_signed(PAIR, KERNEL, node, str(node.root))
        return
    with pytest.raises(GaudiError) as caught:
        require_signed(PAIR, KERNEL, node, str(node.root))
    assert f"DKMS did not sign the driver for kernel {KERNEL} with /mok/m.der" in str(caught.value)
    assert caught.value.facts == {"kernel": KERNEL}


def test_without_a_key_no_signature_is_required(node: Node) -> None:
    node.serials = {KERNEL: ""}
    require_signed(NONE, KERNEL, node, str(node.root))
    require_signed(PAIR, NEXT, node, str(node.root))
