# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A release as ``make build`` makes it, checked as docs/verifying.md tells a site to, with a key of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = Path(__file__).resolve().parents[2]
OWNER = "releases@example.com"


def command(*words: object, **environment: object) -> subprocess.CompletedProcess[str]:
    reported = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": "/nonexistent", "ANSIBLE_NOCOLOR": "1"}
    reported.update((name, str(value)) for name, value in environment.items())
    return subprocess.run(list(map(str, words)), cwd=ROOT, env=reported, capture_output=True, text=True, check=False)


def built(output: Path, key: str = "", **environment: object) -> subprocess.CompletedProcess[str]:
    words = ["-m", "scripts.build_release", "--output", output, "--sign-key", key]
    return command(sys.executable, *words, **environment)


@pytest.fixture(scope="module")
def keys() -> Iterator[Path]:
    """A home of GnuPG with one key. Its path is short: a socket's may have 108 characters."""
    home = Path(tempfile.mkdtemp(prefix="gpg"))
    words = ["--batch", "--passphrase", "", "--quick-generate-key", OWNER, "rsa3072", "sign", "never"]
    made = command("gpg", *words, GNUPGHOME=home)
    assert made.returncode == 0, made.stderr
    yield home
    command("gpgconf", "--kill", "all", GNUPGHOME=home)
    shutil.rmtree(home)


@pytest.fixture(scope="module")
def release(keys: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with everything; the public key beside it, as a site got it by another way."""
    output = tmp_path_factory.mktemp("dist")
    done = built(output, OWNER, GNUPGHOME=keys)
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture
def copy(release: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(release, tmp_path / "dist"))


@pytest.fixture(scope="module")
def site(keys: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The home of a site that has the public key and no other."""
    home = Path(tempfile.mkdtemp(prefix="gpg"))
    public = tmp_path_factory.mktemp("key") / "gaudi3-scale.asc"
    assert command("gpg", "--armor", "--output", public, "--export", OWNER, GNUPGHOME=keys).returncode == 0
    assert command("gpg", "--import", public, GNUPGHOME=home).returncode == 0
    keyring = ["--no-default-keyring", "--keyring", home / "gaudi3-scale.kbx"]
    assert command("gpg", *keyring, "--import", public, GNUPGHOME=home).returncode == 0
    yield home
    command("gpgconf", "--kill", "all", GNUPGHOME=home)
    shutil.rmtree(home)


def one(folder: Path, ending: str) -> Path:
    (found,) = folder.glob(f"gaudi3-scale-*{ending}")
    return found


def is_signed(file: Path, site: Path) -> bool:
    return command("gpg", "--verify", f"{file}.asc", file, GNUPGHOME=site).returncode == 0


def sums_are_right(folder: Path) -> bool:
    words = ["sha256sum", "--check", "--strict", one(folder, ".sha256").name]
    return subprocess.run(words, cwd=folder, capture_output=True, check=False).returncode == 0


@pytest.mark.in_turn
def test_it_is_the_same_again(release: Path, tmp_path: Path) -> None:
    done = built(tmp_path)
    assert "Not signed: SIGN_KEY= names no key." in done.stdout
    assert not list(tmp_path.glob("*.asc"))
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (release / path.name).read_bytes(), path.name


@pytest.mark.parametrize("ending", [".tar.gz", ".MANIFEST.json", ".sha256"])
def test_the_signatures_are_the_keys(copy: Path, site: Path, ending: str) -> None:
    file = one(copy, ending)
    assert is_signed(file, site)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert not is_signed(file, site)


def test_the_checksums_are_of_tarball_and_bill(copy: Path) -> None:
    assert sums_are_right(copy)
    for ending in (".tar.gz", ".cdx.json"):
        file = one(copy, ending)
        before = file.read_bytes()
        file.write_bytes(before + b"\n")
        assert not sums_are_right(copy)
        file.write_bytes(before)


@pytest.mark.in_turn
def test_an_old_signature_does_not_stay(copy: Path) -> None:
    """Over other bytes it would be a bad one, and nobody would know why."""
    assert built(copy).returncode == 0
    assert not list(copy.glob("*.asc"))


@pytest.mark.in_turn
def test_a_key_that_is_not_there_is_named(keys: Path, tmp_path: Path) -> None:
    done = built(tmp_path, "nobody@example.com", GNUPGHOME=keys)
    assert done.returncode == 1
    assert done.stderr.startswith("SIGN_KEY=nobody@example.com: gpg cannot sign gaudi3-scale-")
    assert "Traceback" not in done.stderr


def test_the_bill_is_cyclonedx(release: Path) -> None:
    text = one(release, ".cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def test_the_bill_has_what_pip_takes(release: Path) -> None:
    """As the pins are in the tarball itself."""
    bill = json.loads(one(release, ".cdx.json").read_text())
    (digest,) = [row["content"] for row in bill["metadata"]["component"]["hashes"]]
    assert command("sha256sum", one(release, ".tar.gz")).stdout.split()[0] == digest
    boto3 = next(one for one in bill["components"] if one["name"] == "boto3")
    assert (boto3["purl"], boto3["scope"]) == (f"pkg:pypi/boto3@{boto3['version']}", "optional")
    table = command("tar", "-xzOf", one(release, ".tar.gz"), "plugins/module_utils/_venv/pin_table.py").stdout
    assert len(bill["components"]) == table.count("    Pin(")
    for component in bill["components"]:
        assert f'"{component["name"]}"' in table
        assert f'"{component["version"]}"' in table
        assert component["hashes"]
        assert all(row["content"] in table for row in component["hashes"])


@pytest.fixture
def installed(release: Path, tmp_path: Path) -> Path:
    words = ["collection", "install", "--offline", "--collections-path", tmp_path, one(release, ".tar.gz")]
    done = command("ansible-galaxy", *words)
    assert done.returncode == 0, done.stderr
    return tmp_path


def verified(installed: Path, release: Path, site: Path) -> subprocess.CompletedProcess[str]:
    signature = f"file://{one(release, '.MANIFEST.json.asc')}"
    words = ["--offline", "--collections-path", installed, "--keyring", site / "gaudi3-scale.kbx"]
    words += ["--required-valid-signature-count", "1", "--signature", signature]
    return command("ansible-galaxy", "collection", "verify", "gaudi3.scale", *words, GNUPGHOME=site)


def test_what_is_installed_is_what_was_signed(installed: Path, release: Path, site: Path) -> None:
    done = verified(installed, release, site)
    assert done.returncode == 0, done.stderr
    changed = installed / "ansible_collections" / "gaudi3" / "scale" / "plugins" / "modules" / "hpu_info.py"
    changed.write_text(changed.read_text() + "\n")
    done = verified(installed, release, site)
    assert done.returncode == 1
    assert "plugins/modules/hpu_info.py" in done.stdout


@pytest.mark.in_turn
def test_files_that_agree_with_another_manifest_are_not(installed: Path, release: Path, site: Path) -> None:
    manifest = installed / "ansible_collections" / "gaudi3" / "scale" / "MANIFEST.json"
    manifest.write_text(manifest.read_text() + "\n")
    assert verified(installed, release, site).returncode != 0
