# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The certificates by which the nodes of one study know each other: of the node that keeps it, and of those that work.

The authority that signs both loses its key at once, so nobody makes a third one. ``openssl`` of the system makes them
(3.0 or newer, as all supported systems have).
"""

from __future__ import annotations

import ipaddress
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.commands import CommandResult, last_line, run_process

AUTHORITY = "authority.pem"
SERVER, SERVER_KEY = "server.pem", "server.key"
WORKER, WORKER_KEY = "worker.pem", "worker.key"
FILES = (AUTHORITY, SERVER, SERVER_KEY, WORKER, WORKER_KEY)
# Beyond the study's own time: for a study that was cut off and goes on, and for clocks that differ.
SPARE_DAYS = 7
# A study of more years is none, and a year has four digits in a certificate.
MOST_DAYS = 3650
DAY_S = 86400
# RFC 1123; nothing else goes into the file that openssl reads.
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_CONFIGURATION = """\
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign
[server]
basicConstraints = critical, CA:FALSE
extendedKeyUsage = serverAuth
subjectAltName = {place}
[worker]
basicConstraints = critical, CA:FALSE
extendedKeyUsage = clientAuth
"""


@dataclass(frozen=True)
class Credentials:
    """One side's certificate and key, and the authority that the other side's has to be signed by; PEM."""

    authority: bytes
    certificate: bytes
    key: bytes


def read_credentials(directory: Path, certificate: str, key: str) -> Credentials:
    """Raises GaudiError where a file is missing or may not be read."""
    try:
        return Credentials(*((directory / name).read_bytes() for name in (AUTHORITY, certificate, key)))
    except OSError as error:
        raise GaudiError(
            f"{error.filename} cannot be read ({error.strerror}); run playbooks/tune_training.yml, which puts it there."
        ) from error


def make_credentials(directory: Path, address: str, seconds: float, owner: str | None = None) -> bool:
    """Make those that are not in ``directory``, are for another address, or end within ``seconds``; returns whether.

    ``address`` is that of the node that keeps the study, by which the others reach it. The files can be read by
    ``owner`` alone. Raises GaudiError where that cannot be.
    """
    place = _alternative_name(address)
    if _are_good(directory, address, seconds):
        return False
    days = min(int(seconds / DAY_S) + 1 + SPARE_DAYS, MOST_DAYS)
    # Of this very directory, so that each is renamed into its place.
    with tempfile.TemporaryDirectory(prefix=".new-", dir=directory) as work:
        made = Path(work)
        (made / "openssl.cnf").write_text(_CONFIGURATION.format(place=place))
        _certificate(made, "authority", days, [])
        for side in ("server", "worker"):
            _certificate(made, side, days, ["-CA", str(made / AUTHORITY), "-CAkey", str(made / "authority.key")])
        for name in FILES:
            # In a directory that this has made, and nobody else may enter.
            (made / name).chmod(0o600)
            if owner:
                shutil.chown(made / name, owner)
            (made / name).replace(directory / name)
    return True


def _certificate(directory: Path, side: str, days: int, signed_by: Sequence[str]) -> None:
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256"]
    name = ["-subj", f"/O=gaudi3.scale/CN=study {side}", "-extensions", side, "-days", str(days)]
    files = {"-config": "openssl.cnf", "-keyout": f"{side}.key", "-out": f"{side}.pem"}
    written = [word for option, file in files.items() for word in (option, str(directory / file))]
    _done(["req", "-x509", *kind, *name, *written, *signed_by])


def _are_good(directory: Path, address: str, seconds: float) -> bool:
    if not all((directory / name).is_file() for name in FILES):
        return False
    host = "-checkip" if _is_ip(address) else "-checkhost"
    server = ["x509", "-noout", "-in", str(directory / SERVER)]
    # Whether a name matches is said, and is no exit status.
    if "does match" not in _openssl([*server, host, address]).stdout:
        return False
    ends = _openssl([*server, "-checkend", str(min(int(seconds), MOST_DAYS * DAY_S))])
    pair = [str(directory / SERVER), str(directory / WORKER)]
    return ends.rc == 0 and _openssl(["verify", "-CAfile", str(directory / AUTHORITY), *pair]).rc == 0


def _alternative_name(address: str) -> str:
    if _is_ip(address):
        return f"IP:{address}"
    if not _HOST_NAME.fullmatch(address):
        raise GaudiError(f"ansible_host {address!r} is neither an address nor a host's name; correct the inventory.")
    return f"DNS:{address}"


def _is_ip(address: str) -> bool:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


def _done(words: Sequence[str]) -> None:
    result = _openssl(words)
    if result.rc:
        raise GaudiError(
            f"openssl cannot make the study's certificates ({last_line(result.stderr)}); install the package openssl, "
            "3.0 or newer, then run again."
        )


def _openssl(words: Sequence[str]) -> CommandResult:
    return run_process(["openssl", *words], timeout=60)
