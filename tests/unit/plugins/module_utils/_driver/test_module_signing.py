# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Signing configuration, enrollment and signatures; the certificate is one that openssl 3 made."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Sequence

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.module_signing import (
    SigningOptions,
    certificate_serial,
    check_options,
    dkms_version,
    enroll,
    module_signature,
    module_signed,
    plan,
    render,
    signed_with,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._host.kernel.secure_boot import SecureBoot
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

# openssl req -new -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=t -outform DER
CERTIFICATE = base64.b64decode(
    "MIIBcDCCARWgAwIBAgIUajRH5PzkrYec4+6J+alnKIdYfXowCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBdDAgFw0yNjExMjExNDI0"
    "MzRaGA8yMTI2MTAyODE0MjQzNFowDDEKMAgGA1UEAwwBdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBA2v+AueJKVlwdSC2rg"
    "nTsxQez2SHl44ucTUZEM7TdfbRIFLA72+2nBsOqtB8ekNN99dMtmBWQynICwQmTPNUqjUzBRMB0GA1UdDgQWBBSQZNbXAzjgk82y"
    "pa4qd0Z1rmp3ETAfBgNVHSMEGDAWgBSQZNbXAzjgk82ypa4qd0Z1rmp3ETAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kA"
    "MEYCIQCX98foa9/bGlFlpbPE9t5Mv5bEbs2en9oKYsTxWlqkQAIhAL/zZ62RB9VFtTPJXlt3060WGQmM5wUJXafoKJi2RZVz"
)
SERIAL = "6A3447E4FCE4AD879CE3EE89F9A9672887587D7A"
OPTIONS = SigningOptions("/mok/m.key", "/mok/m.der", "/mok/hash")
STATE = SecureBoot(True, "/mok/m.key", "/mok/m.der", False, False)


@pytest.fixture
def root(tmp_path: Path) -> str:
    (tmp_path / "mok").mkdir()
    for name, content in (("m.key", b"key"), ("m.der", CERTIFICATE), ("hash", b"$6$x")):
        (tmp_path / "mok" / name).write_bytes(content)
        (tmp_path / "mok" / name).chmod(0o600)
    return str(tmp_path)


def test_good_options_pass_and_no_options_too(root: str) -> None:
    check_options(OPTIONS, root)
    check_options(SigningOptions(), root)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (SigningOptions(key="/mok/m.key"), "signing_key is given without signing_certificate"),
        (SigningOptions(certificate="/mok/m.der"), "signing_certificate is given without signing_key"),
        (SigningOptions("/mok/no.key", "/mok/m.der"), "/mok/no.key is not on the node"),
        (SigningOptions("/mok/$(reboot)", "/mok/m.der"), "not a plain absolute path"),
        (SigningOptions("/mok/m.key", "/mok/m.key"), "not in DER"),
    ],
)
def test_options_that_could_not_work_are_refused(root: str, options: SigningOptions, words: str) -> None:
    with pytest.raises(GaudiError, match=words.replace("$(", r"\$\(")):
        check_options(options, root)


def test_a_key_that_others_can_read_is_refused(root: str) -> None:
    Path(root, "mok/m.key").chmod(0o644)
    with pytest.raises(GaudiError, match=r"chmod 600 /mok/m\.key"):
        check_options(OPTIONS, root)


def test_dkms_3_is_given_a_drop_in_and_the_firmware_a_request() -> None:
    made = plan(OPTIONS, STATE, "3.0.10", "/r")
    assert [(file.path, file.content) for file in made.files] == [
        ("/r/etc/dkms/framework.conf.d/gaudi3_scale.conf", render(OPTIONS))
    ]
    assert render(OPTIONS).splitlines()[1:] == ['mok_signing_key="/mok/m.key"', 'mok_certificate="/mok/m.der"']
    assert made.enroll == "/mok/m.der"
    assert "Enroll MOK" in made.notes[0]


@pytest.mark.parametrize(
    ("state", "options"),
    [
        (SecureBoot(True, "/k", "/c", True, False), OPTIONS),
        (SecureBoot(True, "/k", "/c", False, True), OPTIONS),
        (SecureBoot(True, "/k", "/c", None, None), OPTIONS),
        (SecureBoot(False, "/k", "/c"), OPTIONS),
        (STATE, SigningOptions("/mok/m.key", "/mok/m.der")),
    ],
)
def test_nothing_is_asked_of_the_firmware_twice_or_for_nothing(state: SecureBoot, options: SigningOptions) -> None:
    assert plan(options, state, "3.0.10").enroll == ""


def test_dkms_2_gets_no_file_and_the_operator_a_sentence() -> None:
    made = plan(OPTIONS, SecureBoot(False), "2.8.7")
    assert made.files == ()
    assert "/var/lib/shim-signed/mok/MOK.priv" in made.notes[0]


@pytest.mark.parametrize(("said", "version"), [("dkms-3.0.10\n", "3.0.10"), ("dkms: 2.8.7\n", "2.8.7"), ("", "")])
def test_the_version_of_dkms(said: str, version: str) -> None:
    assert dkms_version(lambda *_argv, **_more: CommandResult(0, said, "")) == version


def test_a_request_that_fails_is_told_and_one_that_waits_already_is_fine() -> None:
    calls: list[list[str]] = []

    def run(argv: Sequence[str], **_more: Any) -> CommandResult:
        calls.append(list(argv))
        return CommandResult(1, "SKIP: m.der is already in the enrollment request\n" if len(calls) == 1 else "", "no\n")

    enroll("/mok/m.der", "/mok/hash", run)
    assert calls[0] == ["mokutil", "--import", "/mok/m.der", "--hash-file", "/mok/hash"]
    with pytest.raises(GaudiError, match=r"cannot ask for /mok/m.der .*--generate-hash"):
        enroll("/mok/m.der", "/mok/hash", run)


def modinfo(text: str) -> Any:
    return lambda *_argv, **_more: CommandResult(0, text, "")


def test_the_signature_of_a_module_is_told_by_the_certificates_serial(root: str) -> None:
    pairs = ":".join(SERIAL[place : place + 2] for place in range(0, len(SERIAL), 2))
    text = f"filename:  /x.ko\nsig_id:   PKCS#7\nsigner:   Gaudi driver\nsig_key:  {pairs}\n"
    signature = module_signature("/x.ko", modinfo(text))
    assert signature is not None
    assert signature.signer == "Gaudi driver"
    assert signed_with("/x.ko", "/mok/m.der", modinfo(text), root)
    assert not signed_with("/x.ko", "/mok/m.der", modinfo(text.replace(pairs, "01:02")), root)
    assert module_signed("/x.ko", modinfo(text))
    assert not module_signed("/x.ko", modinfo("filename:  /x.ko\n"))


def test_what_is_no_certificate_is_refused() -> None:
    assert certificate_serial(CERTIFICATE) == SERIAL
    with pytest.raises(GaudiError, match=r"not an X\.509 certificate"):
        certificate_serial(b"\x30\x02\x30\x00")
