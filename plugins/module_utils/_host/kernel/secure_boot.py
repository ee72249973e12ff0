# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Secure Boot on a node: whether it is on, which key DKMS signs with, and whether the firmware trusts that key.

A kernel that Secure Boot started loads no unsigned module. The key has to be in the machine owner's list (MOK), and
only a person at the console can put it there: mokutil asks for it, and the next boot asks the person. Read from the
firmware's variables (UEFI specification; shim's MokVars.txt), and with mokutil where they are not there.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from pathlib import Path

from ..._node.commands import Run
from ..._node.os_release import os_release
from ..._node.rendered_files import read_text

_VARIABLES = "sys/firmware/efi/efivars"
_GLOBAL = "8be4df61-93ca-11d2-aa0d-00e098032b8c"
_SHIM = "605dab50-e046-4300-abb6-3dd810dd8b23"
_DATABASE = "d719b2cb-3d3a-4596-a3bc-dad00e67656f"
# Every variable starts with four bytes of attributes.
_ATTRIBUTES = 4

# What dkms 3 takes where its configuration names no key, and makes where it finds none (prepare_signing).
DKMS_KEY, DKMS_CERTIFICATE = "/var/lib/dkms/mok.key", "/var/lib/dkms/mok.pub"
UBUNTU_KEY, UBUNTU_CERTIFICATE = "/var/lib/shim-signed/mok/MOK.priv", "/var/lib/shim-signed/mok/MOK.der"


@dataclass(frozen=True)
class SecureBoot:
    """``enabled`` None: the node does not tell. ``key`` and ``certificate`` are files that are there, else None.

    ``enrolled``: the firmware trusts the certificate; ``pending``: the next boot will ask at the console. Both are None
    where it cannot be known.
    """

    enabled: bool | None
    key: str | None = None
    certificate: str | None = None
    enrolled: bool | None = None
    pending: bool | None = None


def read(run: Run, root: str = "/", kernel_root: str = "/", key: str = "", certificate: str = "") -> SecureBoot:
    """See the node; ``key`` and ``certificate`` are what DKMS is going to be given, in place of what it has."""
    enabled = _enabled(run, kernel_root)
    configured = signing_files(root)
    key, certificate = (key, certificate) if certificate else configured
    known = [path if below(root, path).is_file() else None for path in (key, certificate)]
    if enabled is False or known[1] is None:
        return SecureBoot(enabled, known[0], known[1])
    der = certificate_bytes(below(root, certificate).read_bytes())
    enrolled, pending = _enrollment(der, kernel_root)
    if enrolled is None:
        enrolled, pending = _asked(str(below(root, certificate)), run)
    return SecureBoot(enabled, known[0], known[1], enrolled, pending)


def signing_files(root: str = "/") -> tuple[str, str]:
    """The private key and the certificate that DKMS is set to sign with, whether they are there or not."""
    directory = Path(root, "etc/dkms")
    found: dict[str, str] = {}
    for path in [directory / "framework.conf", *sorted(directory.glob("framework.conf.d/*.conf"))]:
        for line in (read_text(str(path)) or "").splitlines():
            match = re.match(r"\s*(mok_signing_key|mok_certificate)=[\"']?([^\"'#]*)", line)
            if match:
                found[match[1]] = match[2].strip()
    ubuntu = os_release(str(Path(root, "etc"))).get("ID", "").startswith("ubuntu")
    # Ubuntu's files are taken as a pair, and only where no key is named.
    if ubuntu and not found.get("mok_signing_key"):
        return UBUNTU_KEY, UBUNTU_CERTIFICATE
    return found.get("mok_signing_key") or DKMS_KEY, found.get("mok_certificate") or DKMS_CERTIFICATE


def certificate_bytes(content: bytes) -> bytes:
    """The certificate in DER, which the firmware's lists hold; a PEM file is decoded."""
    found = re.search(rb"-----BEGIN CERTIFICATE-----(.*?)-----END", content, re.DOTALL)
    return base64.b64decode(found.group(1)) if found else content


def advice(state: SecureBoot) -> str | None:
    """What to do so that this node loads the driver, in one sentence; None where nothing is in the way."""
    if not state.enabled or state.enrolled:
        return None
    off = "or switch Secure Boot off in the firmware's setup"
    console = "restart the node and choose 'Enroll MOK' on its console (or its BMC's) with the password of the import"
    if state.certificate is None or state.key is None:
        make = (
            f"make one with `openssl req -new -x509 -newkey rsa:2048 -nodes -days 36500 -subj '/CN=Gaudi driver' "
            f"-keyout {DKMS_KEY} -outform DER -out {DKMS_CERTIFICATE}`, run `mokutil --import {DKMS_CERTIFICATE}`"
        )
        return f"Secure Boot is on and DKMS has no key to sign the driver with: {make}, {console}; {off}."
    if state.pending:
        return f"Secure Boot is on and {state.certificate} waits to be enrolled: {console}; {off}."
    if state.enrolled is None:
        test = f"`mokutil --test-key {state.certificate}` tells"
        return f"Secure Boot is on and it cannot be read whether the firmware trusts {state.certificate}: {test}."
    imported = f"run `mokutil --import {state.certificate}`"
    return f"Secure Boot is on and the firmware does not trust {state.certificate}: {imported}, {console}; {off}."


def _enabled(run: Run, kernel_root: str) -> bool | None:
    if not Path(kernel_root, "sys/firmware/efi").is_dir():
        return False  # started by a BIOS
    secure = _variable("SecureBoot", _GLOBAL, kernel_root)
    if secure:
        # mokutil --disable-validation: shim and the kernel then behave as without Secure Boot.
        waived = _variable("MokSBStateRT", _SHIM, kernel_root)
        return secure[-1] == 1 and not (waived and waived[-1] == 1)
    said = run(["mokutil", "--sb-state"]).stdout
    if "SecureBoot enabled" in said:
        return "validation is disabled" not in said
    return False if "SecureBoot disabled" in said else None


def _enrollment(der: bytes, kernel_root: str) -> tuple[bool | None, bool | None]:
    trusted = [_variable("MokListRT", _SHIM, kernel_root), _variable("db", _DATABASE, kernel_root)]
    if not any(trusted):
        return None, None
    waiting = _variable("MokNew", _SHIM, kernel_root) or b""
    return any(der in content for content in trusted if content), der in waiting


def _variable(name: str, vendor: str, kernel_root: str) -> bytes | None:
    """A firmware variable without its attributes; None where it is not there or not for us to read."""
    try:
        content = Path(kernel_root, _VARIABLES, f"{name}-{vendor}").read_bytes()
    except OSError:
        return None
    return content[_ATTRIBUTES:]


def _asked(certificate: str, run: Run) -> tuple[bool | None, bool | None]:
    """mokutil's answer by its words: its exit code is the same for an enrolled key and for an error."""
    done = run(["mokutil", "--test-key", certificate])
    said = done.stdout + done.stderr
    if "already in the enrollment request" in said:
        return False, True
    if "is already" in said:
        return True, False
    return (False, False) if "is not enrolled" in said else (None, None)


def below(root: str, path: str) -> Path:
    """The file of a node whose root directory is ``root``."""
    return Path(root, path.lstrip("/"))
