# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Signed driver modules: DKMS's signing configuration, the request to enroll its key, and who signed a module file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .._errors import GaudiError
from .._host.kernel.secure_boot import UBUNTU_CERTIFICATE, UBUNTU_KEY, SecureBoot, below, certificate_bytes
from .._node.commands import Run, last_line
from .._node.rendered_files import WantedFile

# Read by dkms 3 after framework.conf, in the order of the names.
DROP_IN = "etc/dkms/framework.conf.d/gaudi3_scale.conf"
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9._/+@:-]+")


@dataclass(frozen=True)
class SigningOptions:
    """Files on the node. ``key`` and ``certificate`` (DER) go together; empty leaves DKMS's own.

    ``hash_file`` holds what ``mokutil --generate-hash`` printed for the password that the console will ask for.
    """

    key: str = ""
    certificate: str = ""
    hash_file: str = ""


@dataclass(frozen=True)
class SigningPlan:
    """``files`` to write, the certificate to ``enroll`` ("" for none), and sentences for the operator."""

    files: tuple[WantedFile, ...] = ()
    enroll: str = ""
    notes: tuple[str, ...] = ()


def check_options(options: SigningOptions, root: str = "/") -> None:
    """Refuse what could not work, before anything is changed."""
    if bool(options.key) != bool(options.certificate):
        given, lacks = ("signing_key", "signing_certificate") if options.key else ("signing_certificate", "signing_key")
        raise GaudiError(f"{given} is given without {lacks}: DKMS signs with both; give the two files of one pair.")
    for name, path in vars(options).items():
        if path and not _PLAIN_PATH.fullmatch(path):
            raise GaudiError(f"signing {name}: {path!r} is not a plain absolute path, which DKMS's shell could read.")
        if path and not below(root, path).is_file():
            raise GaudiError(f"signing {name}: {path} is not on the node; put it there or correct the path.", file=path)
    if options.key and below(root, options.key).stat().st_mode & 0o077:
        raise GaudiError(
            f"The signing key {options.key} can be read by users other than root, who could sign modules with it; run "
            f"`chmod 600 {options.key}`.",
            file=options.key,
        )
    if options.certificate and not below(root, options.certificate).read_bytes().startswith(b"\x30\x82"):
        raise GaudiError(
            f"The certificate {options.certificate} is not in DER, which mokutil needs; convert it with `openssl x509 "
            f"-in {options.certificate} -outform DER -out FILE`.",
            file=options.certificate,
        )


def plan(options: SigningOptions, state: SecureBoot, dkms_version: str, root: str = "/") -> SigningPlan:
    """What leads to signed modules and a trusted key; ``state`` is read with the same key and certificate. Pure."""
    files: tuple[WantedFile, ...] = ()
    notes: list[str] = []
    if options.key and _is_dkms_2(dkms_version):
        notes += _notes_for_dkms_2(options, dkms_version)
    elif options.key:
        files = (WantedFile(str(Path(root, DROP_IN)), render(options)),)
    enroll = state.certificate or ""
    if not (state.enabled and state.enrolled is False and not state.pending and options.hash_file):
        enroll = ""
    if enroll or (state.enabled and state.pending):
        notes.append(
            "The next start of this node stops at shim's blue screen for about ten seconds: choose 'Enroll MOK' on the "
            f"console (or the BMC's) and give the password, so that the firmware trusts {state.certificate}."
        )
    return SigningPlan(files, enroll, tuple(notes))


def render(options: SigningOptions) -> str:
    """The drop-in for DKMS, which its shell reads."""
    return (
        "# Written by gaudi3.scale: the machine owner's key that DKMS signs modules with.\n"
        f'mok_signing_key="{options.key}"\n'
        f'mok_certificate="{options.certificate}"\n'
    )


def _is_dkms_2(version: str) -> bool:
    return version.startswith("2.")


def _notes_for_dkms_2(options: SigningOptions, version: str) -> list[str]:
    """Ubuntu 22.04 has dkms 2.8.7, whose Ubuntu patch signs with this one pair. UNVERIFIED: not tried."""
    if (options.key, options.certificate) == (UBUNTU_KEY, UBUNTU_CERTIFICATE):
        return []
    note = (
        f"dkms {version} cannot be told which key to sign with: put the pair at {UBUNTU_KEY} and {UBUNTU_CERTIFICATE}, "
        "where Ubuntu's dkms 2 looks, or install dkms 3."
    )
    return [note]


def dkms_version(run: Run) -> str:
    """``3.0.10`` of dkms 3's ``dkms-3.0.10`` and dkms 2's ``dkms: 2.8.7``; empty where it is not installed."""
    found = re.search(r"\d+(?:\.\d+)+", run(["dkms", "--version"]).stdout)
    return found.group() if found else ""


def enroll(certificate: str, hash_file: str, run: Run) -> None:
    """Ask the firmware to ask the person at the console; changes a firmware variable, takes effect at the next boot."""
    done = run(["mokutil", "--import", certificate, "--hash-file", hash_file])
    said = (done.stdout + done.stderr).strip()
    if done.rc != 0 and "already" not in said:
        raise GaudiError(
            f"mokutil cannot ask for {certificate} to be enrolled ({last_line(said)}); make {hash_file} with `mokutil "
            "--generate-hash` and see whether the node was started with UEFI.",
            file=certificate,
        )


@dataclass(frozen=True)
class Signature:
    """Who signed a module file: the certificate's name, and its serial number as ``modinfo`` writes it (``7C:49``)."""

    signer: str
    serial: str


def module_signature(file: str, run: Run) -> Signature | None:
    """The signature at the end of a module file; None where it has none."""
    text = run(["modinfo", file]).stdout
    fields = {name: value.strip() for name, _colon, value in (line.partition(":") for line in text.splitlines())}
    if "sig_id" not in fields:
        return None
    return Signature(fields.get("signer", ""), fields.get("sig_key", ""))


def module_signed(file: str, run: Run) -> bool:
    """Whether a module file carries a signature, whoever made it."""
    return module_signature(file, run) is not None


def signed_with(file: str, certificate: str, run: Run, root: str = "/") -> bool:
    """Whether a module file carries a signature of this certificate, told by the serial number."""
    signature = module_signature(file, run)
    serial = certificate_serial(below(root, certificate).read_bytes())
    return signature is not None and signature.serial.replace(":", "").lstrip("0") == serial.lstrip("0")


def certificate_serial(content: bytes) -> str:
    """The serial number of an X.509 certificate in hexadecimal (RFC 5280, section 4.1)."""
    body = _value(_value(certificate_bytes(content)))
    # The version is optional and comes first, tagged [0].
    if body[:1] == b"\xa0":
        body = body[_total(body) :]
    if body[:1] != b"\x02":
        raise GaudiError("The signing certificate is not an X.509 certificate; make it with `openssl req -x509`.")
    return _value(body).hex().upper()


def _value(encoded: bytes) -> bytes:
    start, length = _header(encoded)
    return encoded[start : start + length]


def _total(encoded: bytes) -> int:
    return sum(_header(encoded))


def _header(encoded: bytes) -> tuple[int, int]:
    """Length of tag and length field, and length of the value, of the first DER element."""
    if len(encoded) < 2:
        return len(encoded), 0
    if encoded[1] < 0x80:
        return 2, encoded[1]
    count = encoded[1] & 0x7F
    return 2 + count, int.from_bytes(encoded[2 : 2 + count], "big")
