# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A bundle from the connected host node2, and node1, which can reach that host and nothing else.

The tests run in file order: the node is installed by the last ones, from a bundle that was damaged and mended before.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.long_rows import named_rows
from tests.sandbox_nodes import hosts

from .bundle import BUNDLE, PORT, Play, cut_off, fingerprint, play, served_from

SEE = " See docs/bundle.md in https://github.com/gaudi3-scale/gaudi3.scale."
VERSION = "1.24.1-482"
PACKAGES = "dpkg-query -W -f '${Package} ${Version} ${Status}\\n'"
# A package of the vendor's, and one of the distribution's that it depends on.
VENDOR = f"debian/bookworm/pool/main/h/habanalabs-dkms_{VERSION}_all.deb"
pytestmark = pytest.mark.usefixtures("built")
LAYERS = ("driver", "containers", "venv")


@pytest.fixture(scope="module")
def nodes() -> dict[str, Host]:
    return hosts()


@pytest.fixture(scope="module")
def connected(nodes: dict[str, Host]) -> Host:
    return nodes["node2"]


@pytest.fixture(scope="module")
def node(nodes: dict[str, Host]) -> Host:
    """node1, without a way to the package repository, to the distribution's mirrors, or to any other place outside."""
    host = nodes["node1"]
    cut_off(host)
    return host


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runner")


def fetched(build: Play) -> dict[str, int]:
    """How many files each part fetched, those that fetched any; ``files`` has the checkout, which somebody may edit."""
    return {part: item["new_files"] for part, item in build.items.items() if item.get("new_files") and part != "files"}


@contextmanager
def kept(host: Host, *paths: str) -> Iterator[None]:
    """Whatever happens to these files of the bundle, they are back afterwards, with their times."""
    names = " ".join(f"'{path}'" for path in paths)
    host.check_output(f"cd {BUNDLE} && tar -cf /root/kept.tar {names}")
    try:
        yield
    finally:
        host.check_output(f"cd {BUNDLE} && tar -xf /root/kept.tar")


def flip(host: Host, path: str) -> None:
    """Another byte in the middle: neither the size nor the name tells."""
    host.check_output(f"printf x | dd of={BUNDLE}/{path} bs=1 seek=500 conv=notrunc status=none")


def dkms(host: Host) -> str:
    """The distribution's dkms below the bundle."""
    path: str = host.check_output(f"cd {BUNDLE} && ls gaudi3_scale/distribution/pool/bookworm/dkms_*.deb")
    return path


def site(connected: Host, **more: object) -> dict[str, object]:
    """What a site sets for node1."""
    return {**served_from(connected, "node2"), "gaudi_hosts": "node1", **more}


def written(host: Host) -> str:
    """The package managers' files of ours on the node, and what it knows of bundles."""
    # A virgin node has no directory of ours.
    found: str = host.run("find /etc/apt /var/lib/gaudi3_scale -name '*gaudi3_scale-*' -o -name '*.json'").stdout
    return found


@pytest.fixture(scope="module")
def built(scratch: Path) -> Play:
    result = play(scratch, "build_bundle")
    assert result.ok, result.output
    return result


def test_a_bundle_is_gathered_and_sound(built: Play, scratch: Path, connected: Host) -> None:
    assert min(built.items[part]["files"] for part in ("keys", "packages", "pytorch", "wheels", "files")) >= 1
    assert built.items["distribution"]["files"] > 100
    verified = play(scratch, "verify_bundle")
    assert verified.ok and verified.changed == 0, verified.output
    # As somebody checks it who has nothing of ours.
    assert connected.run(f"cd {BUNDLE} && sha256sum --check --quiet gaudi3_scale/SHA256SUMS").rc == 0


def test_no_wheel_of_ours_is_in_it(connected: Host) -> None:
    """The collection in it brings the node library."""
    assert connected.run(f"find {BUNDLE} -name 'gaudi3*.whl' | grep .").rc == 1


def test_the_collection_in_it_can_be_installed(connected: Host, tmp_path: Path) -> None:
    archive = tmp_path / "collection.tar.gz"
    path = connected.check_output(f"ls {BUNDLE}/gaudi3_scale/collections/gaudi3-scale-*.tar.gz")
    archive.write_bytes(connected.file(path).content)
    command = [
        "ansible-galaxy",
        "collection",
        "install",
        "--offline",
        "--force",
        str(archive),
        "-p",
        str(tmp_path / "here"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "here/ansible_collections/gaudi3/scale/playbooks/site.yml").is_file()


def test_a_wrong_checksum_is_one_sentence(scratch: Path, connected: Host) -> None:
    path = dkms(connected)
    with kept(connected, path):
        flip(connected, path)
        result = play(scratch, "verify_bundle")
    assert not result.ok and result.changed == 0
    assert result.said == (
        f"The bundle {BUNDLE} does not match its manifest: {path} is changed or cut short; copy it again, or run "
        f"build_bundle again.{SEE}"
    )


@pytest.mark.long
def test_a_missing_file_is_one_sentence(scratch: Path, connected: Host) -> None:
    with kept(connected, VENDOR):
        connected.check_output(f"rm {BUNDLE}/{VENDOR}")
        result = play(scratch, "verify_bundle")
    assert not result.ok and f"{VENDOR} is missing; copy it again" in result.said


def test_a_manifest_that_nobody_signed_is_one_sentence(scratch: Path, connected: Host) -> None:
    manifest = "gaudi3_scale/bundle.json"
    with kept(connected, manifest):
        connected.check_output(f"sed -i 's/debian12/debian11/' {BUNDLE}/{manifest}")
        result = play(scratch, "verify_bundle")
    assert not result.ok
    assert result.said == (
        f"{BUNDLE}/{manifest} does not match its signature, so it was changed or is damaged; copy it again.{SEE}"
    )


@pytest.mark.long
def test_a_manifest_of_another_key_is_refused_by_its_fingerprint(scratch: Path, connected: Host) -> None:
    trusted = fingerprint(connected)
    assert play(scratch, "verify_bundle", gaudi_bundle_fingerprint=trusted).ok
    manifest, key = "gaudi3_scale/bundle.json", "gaudi3_scale/key.asc"
    with kept(connected, manifest, f"{manifest}.asc", key):
        connected.check_output(
            "export GNUPGHOME=$(mktemp -d) && gpg -q --batch --passphrase '' --quick-generate-key stranger ed25519 "
            f"sign && cd {BUNDLE} && gpg -q --yes --armor --detach-sign -o {manifest}.asc {manifest} && gpg --armor "
            f"--export > {key} && gpgconf --kill all && rm -r $GNUPGHOME"
        )
        result = play(scratch, "verify_bundle", gaudi_bundle_fingerprint=trusted)
    assert not result.ok
    assert f"not by {trusted}; it is a different bundle, or it was changed." in result.said


@pytest.mark.long
def test_only_what_is_damaged_is_fetched_again(scratch: Path, connected: Host) -> None:
    flip(connected, dkms(connected))
    connected.check_output(f"rm {BUNDLE}/{VENDOR}")
    mended = play(scratch, "build_bundle")
    assert mended.ok, mended.output
    assert fetched(mended) == {"packages": 1, "distribution": 1}


@pytest.fixture(scope="module")
def served(scratch: Path, built: Play) -> Play:
    assert built.ok
    result = play(scratch, "serve_bundle")
    assert result.ok, result.output
    return result


SITE_REFUSES = {
    "nobody named the key": ({"gaudi_bundle_fingerprint": ""}, "", "is a bundle of an unknown signer"),
    "another key": ({"gaudi_bundle_fingerprint": "A" * 40}, "", f"not by {'A' * 40}"),
    "plain http": ({"gaudi_plain_http_hosts": []}, "", "uses plain http to node2"),
    "a new line": (
        {},
        r"sed -i 's/\"packages_url\": \"[^\"]*/&\\nTrusted: yes/' gaudi3_scale/bundle.json",
        "does not match its signature",
    ),
    "no signature": ({}, "rm gaudi3_scale/bundle.json.asc", "has no gaudi3_scale/bundle.json.asc"),
    "of another file": (
        {},
        "cp gaudi3_scale/distribution/dists/*/Release.gpg gaudi3_scale/bundle.json.asc",
        "does not match its signature",
    ),
    "another index": (
        {},
        "sed -i s/Date/date/ gaudi3_scale/distribution/dists/*/InRelease",
        "was changed or cut short",
    ),
}


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize(
    ("variables", "script", "sentence"), named_rows(SITE_REFUSES, {"nobody named the key", "a new line"})
)
def test_a_node_believes_nothing_but_the_signed_manifest(
    scratch: Path, connected: Host, node: Host, variables: dict[str, object], script: str, sentence: str
) -> None:
    before = written(node)
    with kept(connected, "gaudi3_scale/bundle.json", "gaudi3_scale/bundle.json.asc", "gaudi3_scale/distribution/dists"):
        if script:
            connected.check_output(f"cd {BUNDLE} && {script}")
        result = play(scratch, "driver", **site(connected, **variables))
    assert not result.ok and sentence in result.said and "\n" not in result.said, result.said
    assert written(node) == before


# Many who ask and never end asking; then what leads out of the bundle, byte for byte as it is here; then a file of it.
ATTACK = """
import socket, sys
def ask(path, wait=10):
    one = socket.create_connection(("HOST", PORT), wait)
    one.sendall(b"GET " + path + b" HTTP/1.0\\r\\n\\r\\n")
    answer = b""
    while part := one.recv(65536):
        answer += part
    return answer
held = [socket.create_connection(("HOST", PORT), 10) for _ in range(1500)]
for one in held:
    one.sendall(b"GET /gaudi3_scale/bundle.json HTTP/1.0\\r\\nX: ")
for path in b"/../../../etc/passwd /..%2f..%2f..%2fetc/passwd /%2e%2e/%2e%2e/etc/passwd //etc/passwd /out".split():
    assert b"root:x:" not in ask(path), path
print(ask(b"/gaudi3_scale/bundle.json", 30).decode().splitlines()[0])
"""


@pytest.mark.in_turn
@pytest.mark.usefixtures("served")
def test_the_server_under_attack_serves_the_bundle_and_nothing_else(connected: Host, node: Host) -> None:
    address = connected.check_output("hostname -I").split()[0]
    program = ATTACK.replace("HOST", address).replace("PORT", str(PORT))
    connected.check_output(f"ln -s /etc/passwd {BUNDLE}/out")
    try:
        said = node.check_output(f"ulimit -n 4096; python3 -c {shlex.quote(program)}")
    finally:
        connected.check_output(f"rm {BUNDLE}/out")
    assert said == "HTTP/1.0 200 OK"
    assert connected.check_output("systemctl show --property NRestarts --value gaudi3-scale-bundle.service") == "0"


@pytest.mark.long
@pytest.mark.usefixtures("served")
def test_a_node_refuses_a_damaged_package(scratch: Path, connected: Host, node: Host) -> None:
    before = node.check_output(PACKAGES)
    # In the order in which a node fetches: what is whole stays on it, and is not fetched again.
    with kept(connected, VENDOR):
        flip(connected, VENDOR)
        result = play(scratch, "driver", **site(connected))
    assert not result.ok and "habanalabs-dkms" in result.said and "\n" not in result.said, result.said
    assert node.check_output(PACKAGES) == before
    path = dkms(connected)
    with kept(connected, path):
        flip(connected, path)
        result = play(scratch, "driver", **site(connected))
    assert not result.ok and "Hash Sum mismatch" in result.said and "\n" not in result.said, result.said
    assert node.check_output(PACKAGES) == before


def test_a_node_that_reaches_nothing_else_is_installed(scratch: Path, connected: Host, node: Host) -> None:
    result = play(scratch, *LAYERS, **site(connected))
    assert result.ok and result.changed, result.output
    packages = node.check_output(PACKAGES)
    for name in ("habanalabs-dkms", "habanalabs-graph", "habanalabs-container-runtime"):
        assert f"{name} {VERSION} hold ok installed" in packages
    assert f"habanalabs/{VERSION}" in node.check_output("dkms status")
    assert "habanalabs" in node.check_output("lsmod")
    python = "/opt/gaudi3_scale/venv/bin/python"
    code = "import torch, lightning, gaudi3_scale.train; print(torch.__version__)"
    assert node.check_output(f"{python} -c '{code}'").startswith("2.13")
    conf = node.file("/opt/gaudi3_scale/venv/pip.conf").content_string
    assert "no-index = true\n" in conf and "index-url" not in conf
    page = node.file("/opt/gaudi3_scale/venv/gaudi3_scale_wheels.html").content_string
    assert f'<a href="http://node2:{PORT}/api/pypi/gaudi-python/packages/lightning-' in page


@pytest.mark.long
@pytest.mark.usefixtures("node")
def test_a_second_run_changes_nothing(scratch: Path, connected: Host) -> None:
    result = play(scratch, *LAYERS, **site(connected))
    assert result.ok and result.changed == 0, result.output


@pytest.mark.long
def test_a_node_refuses_the_bundle_of_before(scratch: Path, connected: Host, node: Host) -> None:
    """The mirror is set back to a bundle that is well signed, and older than the one that the node has."""
    seen = node.check_output("cat /var/lib/gaudi3_scale/bundles_seen.json")
    with kept(connected, "gaudi3_scale/bundle.json", "gaudi3_scale/bundle.json.asc"):
        newer = play(scratch, "build_bundle", gaudi_bundle_valid_days=30)
        assert newer.ok, newer.output
        # Another build is taken when something is installed again.
        node.check_output("rm /etc/apt/sources.list.d/gaudi3_scale-repository.sources")
        assert play(scratch, "driver", **site(connected)).ok
    assert node.check_output("cat /var/lib/gaudi3_scale/bundles_seen.json") != seen
    node.check_output("rm /etc/apt/sources.list.d/gaudi3_scale-repository.sources")
    result = play(scratch, "driver", **site(connected))
    assert not result.ok and "and this node has seen the one of" in result.said, result.said
    assert play(scratch, "driver", **site(connected, gaudi_allow_older_bundle=True)).ok


def test_the_server_is_taken_away(scratch: Path, connected: Host) -> None:
    assert play(scratch, "serve_bundle", gaudi_bundle_serve=False).ok
    assert connected.run("systemctl cat gaudi3-scale-bundle.service").rc != 0
