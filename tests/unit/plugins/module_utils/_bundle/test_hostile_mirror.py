# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A mirror that changes what it serves: every field of every file, one at a time, and whole files for others.

The files are those of a bundle that was built by real apt, gpg and dpkg-deb, and the changes are made from what is in
them, so a new field is attacked the day it is born. A node has to refuse before a file of a package manager is written;
where it takes nothing of the changed file, apt and pip have to refuse that file when they want it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.bundle_site import Site, recorded
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.layout import KEY, MANIFEST, SIGNATURE, SUMS
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.manifest_schema import parse
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.downloads import download
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.plan import VenvOptions, render_wheels_page
from ansible_collections.gaudi3.scale.tests.long_rows import each, rows_of
from ansible_collections.gaudi3.scale.tests.unit.json_places import Place, with_value
from ansible_collections.gaudi3.scale.tests.unit.small_bundle import PYTORCH, WHEEL, SmallBundle, SmallNode

# Read by people and by older pips alone; a node takes nothing of them.
UNREAD = (SUMS, "api/pypi/gaudi-python/simple/")


def leaves(data: object, at: Place = ()) -> Iterator[tuple[Place, object]]:
    """Every value of a JSON document that holds no other, with the way to it."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from leaves(value, (*at, name))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from leaves(value, (*at, number))
    else:
        yield at, data


def other(value: object) -> object:
    """Something of the same type and look."""
    if isinstance(value, int):
        return value + 1
    text = str(value)
    return text[:-1] + ("b" if text[-1:] == "a" else "a")


def refused(node: SmallNode, fingerprint: str) -> str:
    """The sentence with which the node refuses; nothing was written, and no package manager was started for it."""
    with pytest.raises(GaudiError) as caught:
        node.converge(fingerprint)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert (node.files, node.state) == ({}, []), sentence
    assert not any("update" in command for command in node.commands), sentence
    return sentence


def field_changes(path: str, content: bytes) -> Iterator[bytes]:
    """One file with each of its fields changed: lines of Release and Packages, words of them; else bytes."""
    if path.rpartition("/")[2] in ("InRelease", "Release", "Packages"):
        lines = content.decode().split("\n")
        for number, line in enumerate(lines):
            if line.strip():
                yield "\n".join([*lines[:number], str(other(line)), *lines[number + 1 :]]).encode()
                yield "\n".join([*lines[:number], *lines[number + 1 :]]).encode()
                yield "\n".join([*lines[:number], line, "Trusted: yes", *lines[number + 1 :]]).encode()
    for offset in sorted({0, len(content) // 3, len(content) // 2, len(content) - 2}):
        yield content[:offset] + bytes([content[offset] ^ 1]) + content[offset + 1 :]
    yield content[:-1]
    yield content + b"\n"
    yield b""


@each(7)
def test_every_value_of_the_manifest_changed_without_a_signature_is_refused(
    node: SmallNode, small_bundle: SmallBundle, nth: int
) -> None:
    """The attack that once gave a repository the line ``Trusted: yes``, on every value there is."""
    manifest = small_bundle.manifest
    attacks = [(at, new) for at, value in leaves(manifest) for new in (other(value), f"{value}\nTrusted: yes")]
    assert len(attacks) > 2 * 7 * len(manifest["files"])
    for at, new in rows_of(attacks, nth):
        (node.www / MANIFEST).write_text(json.dumps(with_value(manifest, at, new), indent=1, sort_keys=True))
        assert "does not match its signature" in refused(node, small_bundle.fingerprint), at


HOSTILE = (
    "jammy\nTrusted: yes",
    "jammy\r",
    "a b",
    "",
    "../../etc/cron.d/x",
    "/etc/passwd",
    "$(id)",
    "\x1b[31m",
    "ä",
    -1,
    1e400,
    10**400,
    True,
    None,
    [],
    {},
    "x" * 5000,
)
# What is refused there is not what stands there: people read source and vouched, in one line.
FREE = ("source", "vouched")
LEGITIMATE = {"license": {""}, "part": {""}}


def test_every_value_of_the_manifest_is_on_a_white_list_with_a_good_signature_too(small_bundle: SmallBundle) -> None:
    """Whoever signs may have been deceived; 'Infinity' and new lines in a bundle's file reach no node."""
    manifest = small_bundle.manifest
    parse(json.dumps(manifest), "the manifest")
    for at, _value in leaves({**manifest, "files": manifest["files"][:3]}):
        name = next(str(step) for step in reversed(at) if isinstance(step, str))
        for new in HOSTILE:
            harmless = (
                name in FREE and isinstance(new, str) and len(new) <= 2000 and new.isascii() and new.isprintable()
            )
            if harmless or (isinstance(new, str) and new in LEGITIMATE.get(name, set())):
                continue
            with pytest.raises(GaudiError, match=r"^the manifest is not a bundle's manifest \(.*\); copy") as caught:
                parse(json.dumps(with_value(manifest, at, new)), "the manifest")
                pytest.fail(f"{new!r} was accepted in {at}")
            assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_fields_that_are_missing_or_new_or_twice_are_refused(small_bundle: SmallBundle) -> None:
    manifest = small_bundle.manifest
    texts = [json.dumps({name: value for name, value in manifest.items() if name != lost}) for lost in manifest]
    for number, row in enumerate(manifest["files"][:2]):
        texts += [
            json.dumps(with_value(manifest, ("files", number), {name: row[name] for name in row if name != lost}))
            for lost in row
        ]
    texts += [
        json.dumps({**manifest, "trusted": "yes"}),
        json.dumps({**manifest, "files": [*manifest["files"], manifest["files"][0]]}),
        json.dumps(manifest).replace("{", '{"format": 2, ', 1),
        "[" * 200_000,
        '{"format": ' + "9" * 5000 + "}",
    ]
    for text in texts:
        with pytest.raises(GaudiError, match="is not a bundle's manifest"):
            parse(text, "the manifest")


@each(7)
def test_every_file_that_a_node_registers_from_is_refused_when_any_of_it_is_changed(
    node: SmallNode, small_bundle: SmallBundle, nth: int
) -> None:
    paths = [row["path"] for row in small_bundle.manifest["files"]]
    registered = [path for path in paths if "/dists/" in path or path.endswith(("key.asc", "key/public"))]
    assert len(registered) >= 8
    for path in registered:
        content = (node.www / path).read_bytes()
        for new in rows_of(field_changes(path, content), nth):
            (node.www / path).write_bytes(new)
            sentence = refused(node, small_bundle.fingerprint)
            # Without the owner's key nothing else is looked at.
            assert path in sentence or path == KEY, sentence
        (node.www / path).unlink()
        assert path in refused(node, small_bundle.fingerprint)
        (node.www / path).write_bytes(content)
    assert node.converge(small_bundle.fingerprint)["available"]


def test_every_package_is_refused_by_apt_when_a_byte_of_it_is_changed(
    node: SmallNode, small_bundle: SmallBundle
) -> None:
    node.converge(small_bundle.fingerprint)
    packages = [row["path"] for row in small_bundle.manifest["files"] if row["path"].endswith(".deb")]
    assert len(packages) == 5
    for path in packages:
        name, content = path.rpartition("/")[2].partition("_")[0], (node.www / path).read_bytes()
        assert node.take(name).rc == 0
        for taken in node.base.glob("*.deb"):
            taken.unlink()
        for offset in (0, len(content) // 2, len(content) - 1):
            (node.www / path).write_bytes(content[:offset] + bytes([content[offset] ^ 1]) + content[offset + 1 :])
            done = node.take(name)
            assert done.rc != 0 and "Hash Sum mismatch" in done.stderr, (path, done)
            assert list(node.base.glob("*.deb")) == []


def pip(site: Site, base: Path) -> subprocess.CompletedProcess[str]:
    """Have pip take the bundle's wheel in the only way in which an environment of ours lets it."""
    options = VenvOptions(str(base), sys.executable, site.packages_url, "1.24.1", signed_wheels=site.wheels)
    page = base / "wheels.html"
    page.write_text(render_wheels_page(options))
    words = ["install", "--no-index", "--find-links", page.as_uri(), "--no-cache-dir", "--target", str(base / "lib")]
    command = [sys.executable, "-m", "pip", "--isolated", *words, "--only-binary", ":all:", "thing"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_wheel_and_pytorch_are_refused_when_a_byte_of_them_is_changed(
    node: SmallNode, small_bundle: SmallBundle
) -> None:
    node.converge(small_bundle.fingerprint)
    site = recorded(f"file://{node.www}", node.record)
    assert site is not None
    path = f"api/pypi/gaudi-python/packages/{WHEEL}"
    content = (node.www / path).read_bytes()
    for offset in (0, len(content) // 2, len(content) - 1):
        (node.www / path).write_bytes(content[:offset] + bytes([content[offset] ^ 1]) + content[offset + 1 :])
        done = pip(site, node.base)
        assert done.returncode != 0 and "DO NOT MATCH THE HASHES" in done.stderr
        assert not (node.base / "lib/thing").exists()
    (node.www / path).write_bytes(content)
    # A page of the mirror's own is not read.
    (node.www / "api/pypi/gaudi-python/simple/thing/index.html").write_text(
        "<a href='../../evil-9.0-py3-none-any.whl'>"
    )
    assert pip(site, node.base).returncode == 0 and (node.base / "lib/thing").is_dir()
    archive = (node.www / PYTORCH).read_bytes()
    (node.www / PYTORCH).write_bytes(archive[:-1] + bytes([archive[-1] ^ 1]))
    url = f"file://{node.www}/{PYTORCH}"
    with pytest.raises(GaudiError, match="the file was changed or cut short"):
        download(url, str(node.base / "pytorch"), "The PyTorch bundle", "packages_url", site.checksum(url))
    assert not (node.base / "pytorch").exists()


def test_every_file_of_a_bundle_is_attacked_here(small_bundle: SmallBundle) -> None:
    """What is in a bundle, and neither above nor read by no node, would be missed."""
    paths = [row["path"] for row in small_bundle.manifest["files"]]
    above = ("/dists/", ".deb", ".whl", PYTORCH, "key.asc", "key/public")
    assert [path for path in paths if not any(word in path for word in above) and not path.startswith(UNREAD)] == []


class TestSignatures:
    """The manifest as it should be, with a signature that it should not have."""

    def test_none(self, node: SmallNode, small_bundle: SmallBundle) -> None:
        (node.www / SIGNATURE).unlink()
        assert f"has no {SIGNATURE}" in refused(node, small_bundle.fingerprint)

    @pytest.mark.parametrize("text", ["", "-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----\n", "<html>"])
    def test_stripped(self, node: SmallNode, small_bundle: SmallBundle, text: str) -> None:
        (node.www / SIGNATURE).write_text(text)
        assert "does not match its signature" in refused(node, small_bundle.fingerprint)

    def test_a_strangers_beside_his_own_key_or_the_owners(self, node: SmallNode, small_bundle: SmallBundle) -> None:
        small_bundle.sign(node.www, (node.www / MANIFEST).read_bytes(), "stranger")
        assert "does not match its signature" in refused(node, small_bundle.fingerprint)
        owners, strangers = (node.www / KEY).read_bytes(), small_bundle.gpg("stranger", "--armor", "--export")
        (node.www / KEY).write_bytes(strangers)
        assert f"not by {small_bundle.fingerprint}" in refused(node, small_bundle.fingerprint)
        for both in (owners + strangers, strangers + owners):
            (node.www / KEY).write_bytes(both)
            assert "does not match its signature" in refused(node, small_bundle.fingerprint)

    def test_a_strangers_subkey_put_behind_the_owners_key(self, node: SmallNode, small_bundle: SmallBundle) -> None:
        """The fingerprint is the primary key's, the owner's; who signs is a subkey that he did not bind."""
        small_bundle.sign(node.www, (node.www / MANIFEST).read_bytes(), "stranger")
        stranger = small_bundle.gpg("stranger", "--export")
        length = stranger[1] + 2
        assert stranger[0] == 0x98  # A public key of one octet of length; as a subkey the same with another type.
        as_subkey = bytes([0xB8]) + stranger[1:length]
        (node.www / KEY).write_bytes(small_bundle.gpg("owner", "--export") + as_subkey)
        assert "does not match its signature" in refused(node, small_bundle.fingerprint)

    def test_of_another_file_by_the_owner(self, node: SmallNode, small_bundle: SmallBundle) -> None:
        suite = node.www / "gaudi3_scale/distribution/dists/jammy"
        (node.www / SIGNATURE).write_bytes((suite / "Release.gpg").read_bytes())
        assert "does not match its signature" in refused(node, small_bundle.fingerprint)
        (node.www / MANIFEST).write_bytes((suite / "Release").read_bytes())
        assert "is not a bundle's manifest" in refused(node, small_bundle.fingerprint)

    def test_of_an_older_manifest_of_the_owner(self, node: SmallNode, small_bundle: SmallBundle) -> None:
        small_bundle.serve(node.www, expires="2098-01-01T00:00:00Z")
        (node.www / MANIFEST).write_bytes((small_bundle.www / MANIFEST).read_bytes())
        assert "does not match its signature" in refused(node, small_bundle.fingerprint)

    def test_a_manifest_that_names_another_key(self, node: SmallNode, small_bundle: SmallBundle) -> None:
        small_bundle.serve(node.www, fingerprint="A" * 40)
        assert f"names the key {'A' * 40}" in refused(node, small_bundle.fingerprint)


def test_an_older_index_that_the_owner_signed_is_refused_after_the_look(
    node: SmallNode, small_bundle: SmallBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mirror may show the right index to us, and another one of the owner's to apt."""
    index = node.www / "gaudi3_scale/distribution/dists/jammy/InRelease"
    before = node.base / "Release"
    before.write_text(index.with_name("Release").read_text().replace("gaudi3.scale bundle", "gaudi3.scale bundle "))
    plain = node.run

    def run(argv: Any, **more: Any) -> Any:
        if "update" in argv and any("bundle.sources" in word for word in argv):
            small_bundle.gpg("owner", "--clearsign", "--output", str(index), str(before))
        return plain(argv, **more)

    monkeypatch.setattr(node, "run", run)
    with pytest.raises(GaudiError, match="is another one than the signed manifest names; somebody changed it since"):
        node.converge(small_bundle.fingerprint)
    assert not [name for name in node.files if "bundle" in name] and node.state == []
