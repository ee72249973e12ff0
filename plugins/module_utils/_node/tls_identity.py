# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A service's key and its certificate, which signs itself: who talks to the service is given the certificate.

So no authority has to be kept, and no key ever leaves the machine that made it.
"""

from __future__ import annotations

import grp
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .._errors import GaudiError
from .account_directory import let_group_read
from .certificate_names import canonical, is_address, is_number, names_of
from .commands import Run, last_line
from .rendered_files import read_text

# Renewed by the first run within its last month; a run a year is enough.
DAYS, RENEWED_DAYS = 730, 30
DAY_S = 86400
KEY, CERTIFICATE = "key.pem", "certificate.pem"
# RFC 1123; beside addresses nothing else goes into what openssl reads.
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
# The one of the system has what it makes sign other certificates, also for names that are none of its own.
_CONFIGURATION = "[req]\ndistinguished_name = name\n[name]\n"


@dataclass(frozen=True)
class Identity:
    """``names`` are the names and addresses by which it is reached; ``group`` may read the key beside root."""

    directory: str
    names: tuple[str, ...]
    group: str = "root"

    @property
    def key(self) -> str:
        return str(Path(self.directory, KEY))

    @property
    def certificate(self) -> str:
        return str(Path(self.directory, CERTIFICATE))


def check_names(option: str, names: Sequence[str]) -> tuple[str, ...]:
    """Each once, or GaudiError for what is neither a name nor an address."""
    wrong = [name for name in names if is_number(name) or not (_NAME.fullmatch(name) or is_address(name))]
    if wrong or not names:
        shown = f"has {wrong[0]!r:.80}" if wrong else "is empty"
        raise GaudiError(f"{option} {shown}; give names of hosts and addresses by which the service is reached.")
    return tuple(dict.fromkeys(names))


def is_whole(identity: Identity, run: Run) -> bool:
    """Whether both are there, belong together, have these names alone, sign no other, and last for another month."""
    if not all(Path(path).is_file() for path in (identity.key, identity.certificate)):
        return False
    asked = ["openssl", "x509", "-noout", "-in", identity.certificate]
    lasts = run([*asked, "-checkend", str(RENEWED_DAYS * DAY_S)]).rc == 0
    public = run([*asked, "-pubkey"]).stdout
    belongs = public != "" and public == run(["openssl", "pkey", "-in", identity.key, "-pubout"]).stdout
    named = names_of(identity.certificate, run)
    is_for = named is not None and named.signs_none and named.names == set(map(canonical, identity.names))
    return lasts and belongs and is_for


def make(identity: Identity, run: Run) -> None:
    """A new key and a certificate for it, in the place of what is there."""
    place = Path(identity.directory)
    place.mkdir(parents=True, exist_ok=True)
    named = ",".join(f"{'IP' if is_address(name) else 'DNS'}:{name}" for name in identity.names)
    with tempfile.TemporaryDirectory(dir=place) as made:
        key, certificate, configuration = Path(made, KEY), Path(made, CERTIFICATE), Path(made, "openssl.cnf")
        configuration.write_text(_CONFIGURATION, encoding="ascii")
        done = run(
            [
                *("openssl", "req", "-x509", "-config", str(configuration), "-nodes"),
                *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
                *("-days", str(DAYS), "-subj", f"/CN={identity.names[0][:64]}", "-addext", f"subjectAltName={named}"),
                *("-addext", "extendedKeyUsage=serverAuth,clientAuth"),
                *("-addext", "basicConstraints=critical,CA:FALSE"),
                *("-keyout", str(key), "-out", str(certificate)),
            ]
        )
        if done.rc != 0:
            raise GaudiError(f"openssl could not make a certificate: {last_line(done.stderr)}; install openssl.")
        let_group_read(str(key), _group(identity.group), 0o640)
        certificate.chmod(0o644)
        key.replace(identity.key)
        certificate.replace(identity.certificate)


def _group(name: str) -> int:
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise GaudiError(f"there is no group {name}; install the package that creates it.") from None


def is_there(identity: Identity) -> bool:
    """Whether there is any of it."""
    return any(Path(path).exists() for path in (identity.key, identity.certificate))


def remove(identity: Identity) -> None:
    """Forget the key; who was given the certificate then trusts nobody by it."""
    for path in (identity.key, identity.certificate):
        Path(path).unlink(missing_ok=True)


def certificate_of(identity: Identity) -> str:
    """Its text; empty where there is none yet."""
    return read_text(identity.certificate) or ""
