# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``make build``: a release in dist/ that others can check. With ``SIGN_KEY=`` an OpenPGP key of gpg's signs it.

The tarball is the same, byte for byte, for the same sources. Beside it lie its bill of materials and the checksums of
both; with a key, detached signatures of the checksums, of the tarball, and of the tarball's MANIFEST.json, which is
what ``ansible-galaxy collection verify`` asks for.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

from plugins.module_utils._errors import GaudiError
from plugins.module_utils._node.commands import run_process
from plugins.module_utils._venv.pin_table import PINS
from plugins.plugin_utils._bundle.collection_archive import archive

from .release_contents import bill_of_materials

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = "MANIFEST.json"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="build_release", description="Build a release of the collection.")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="directory (default: dist)")
    parser.add_argument("--sign-key", default="", metavar="KEY", help="fingerprint or address of a key of gpg's")
    options = parser.parse_args(arguments)
    try:
        built = build(ROOT, options.output)
        signatures = sign(built, options.sign_key) if options.sign_key else []
    except GaudiError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for path in [*built, *signatures]:
        sys.stdout.write(f"{path}\n")
    if not signatures:
        sys.stdout.write("Not signed: SIGN_KEY= names no key.\n")
    return 0


def build(source: Path, output: Path) -> list[Path]:
    """The tarball, its bill of materials, the checksums of both, and the MANIFEST.json that is in it."""
    output.mkdir(parents=True, exist_ok=True)
    tarball = Path(archive(str(source), str(output), run_process))
    stem = tarball.name.removesuffix(".tar.gz")
    for old in output.glob(f"{stem}*.asc"):
        # Of what was built before: over these files it is none.
        old.unlink()
    manifest = output / f"{stem}.{MANIFEST}"
    manifest.write_bytes(_manifest(tarball))
    about: dict[str, Any] = json.loads(manifest.read_bytes())["collection_info"]
    bill = output / f"{stem}.cdx.json"
    bill.write_text(f"{json.dumps(bill_of_materials(about, _sha256(tarball), PINS), indent=2)}\n", encoding="utf-8")
    sums = output / f"{stem}.sha256"
    sums.write_text("".join(f"{_sha256(path)}  {path.name}\n" for path in (tarball, bill, manifest)), encoding="ascii")
    return [tarball, bill, manifest, sums]


def sign(built: list[Path], key: str) -> list[Path]:
    """Detached, armored signatures of the tarball, its manifest and the checksums. gpg may ask for a passphrase."""
    signatures = []
    for path in (built[0], *built[2:]):
        target = path.with_name(f"{path.name}.asc")
        done = run_process(
            [
                "gpg",
                "--batch",
                "--yes",
                "--armor",
                "--local-user",
                key,
                "--output",
                str(target),
                "--detach-sign",
                str(path),
            ]
        )
        if done.rc != 0:
            raise GaudiError(
                f"SIGN_KEY={key}: gpg cannot sign {path.name} with it: {done.stderr.strip()}; "
                "name a key that gpg --list-secret-keys shows."
            )
        signatures.append(target)
    return signatures


def _manifest(tarball: Path) -> bytes:
    with tarfile.open(tarball) as packed:
        member = packed.extractfile(MANIFEST)
        assert member
        return member.read()


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
