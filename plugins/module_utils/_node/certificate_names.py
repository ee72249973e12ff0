# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whom a certificate is for, and one form for each name, so that no two ways to write it are two names.

What compares in the end is Go's library in Prometheus: it takes ``::ffff:10.0.0.2`` and ``10.0.0.2`` for equal
(net.IP.Equal), names in any case, and one dot at the end of a name as none (crypto/x509, VerifyHostname).
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from .commands import Run

# As openssl-x509(1) prints it. A name in it may have any character, also line ends, so only what is this as a whole
# counts: `DNS:CA:FALSE` is a name, and no word of whether it signs. Go reads no extension of a certificate of version 1
# or 2, and lets it sign others.
_PRINTED = re.compile(
    r"Certificate:\n {4}Data:\n {8}Version: 3 \(0x2\)\n"
    r"(?:X509v3 Basic Constraints: (?:critical)?\n {4}(?P<signs>CA:FALSE|CA:TRUE(?:, pathlen:\d+)?)\n"
    r"|X509v3 Subject Alternative Name: (?:critical)?\n {4}(?P<names>[^\n]+)\n){2}"
)
_NAME = re.compile(r"(?:DNS|IP Address):(?P<name>[^,\s]+)")
_ASKED = (
    *("-noout", "-text", "-certopt"),
    "no_serial,no_signame,no_validity,no_subject,no_issuer,no_pubkey,no_sigdump,no_aux,no_extensions",
    *("-ext", "basicConstraints,subjectAltName"),
)
# As an address in another writing: 010.0.0.1, 0x0a000001, 167772161 (inet_aton(3)).
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9A-Fa-f]*)\.?")


@dataclass(frozen=True)
class CertificateNames:
    """``names``: each in its one form; ``unread``: the first that is neither a host's name nor an address."""

    names: frozenset[str]
    unread: str = ""
    signs_none: bool = True


def names_of(path: str, run: Run) -> CertificateNames | None:
    """Those in a certificate in PEM; None where openssl cannot read it, or it has none or is not as ours are."""
    asked = run(["openssl", "x509", "-in", path, *_ASKED])
    printed = _PRINTED.fullmatch(asked.stdout) if asked.rc == 0 else None
    if printed is None or not printed["signs"] or not printed["names"]:
        return None
    found = [(one, _NAME.fullmatch(one)) for one in printed["names"].split(", ")]
    names = frozenset(canonical(match["name"]) for _one, match in found if match)
    unread = next((one for one, match in found if not match), "")
    return CertificateNames(names, unread, printed["signs"] == "CA:FALSE")


def canonical(name: str) -> str:
    """The one form of a host's name or an address."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name.lower().removesuffix(".")
    return str(getattr(address, "ipv4_mapped", None) or address)


def is_address(text: str) -> bool:
    """Whether it is one, of either version."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    # A zone is of one node alone.
    return "%" not in text and not (":" not in text and _has_leading_zero(text))


def is_number(name: str) -> bool:
    """Whether programs may take it for an address though it is none by :func:`is_address`."""
    return _NUMBER.fullmatch(name) is not None and not is_address(name)


def _has_leading_zero(text: str) -> bool:
    """Which Python before 3.9.5 reads as decimal, and inet_aton(3) as octal."""
    return any(len(part) > 1 and part.startswith("0") for part in text.split("."))
