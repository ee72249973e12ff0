# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""apt's words, as apt 2.4 and 2.6 print them, become one sentence with a remedy; its lock is waited for."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.apt_repository import (
    AptRepository,
    explain,
    offered_versions,
    refresh,
    render_sources,
)

REPOSITORY = AptRepository(
    uri="https://vault.example.com/debian",
    suite="jammy",
    components=("main",),
    architectures=("amd64",),
    key_url="https://vault.example.com/key",
    key_path="/etc/apt/keyrings/vault.asc",
    sources_path="/etc/apt/sources.list.d/repository.sources",
)
LOCK = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 4711 (apt-get)\n"


def test_the_sources_file_is_deb822_and_remembers_where_the_key_is_from() -> None:
    assert render_sources(REPOSITORY).splitlines() == [
        "# Written by gaudi3.scale. The key is from https://vault.example.com/key",
        "Types: deb",
        "URIs: https://vault.example.com/debian",
        "Suites: jammy",
        "Components: main",
        "Architectures: amd64",
        "Signed-By: /etc/apt/keyrings/vault.asc",
    ]


@pytest.mark.parametrize(
    ("complaint", "cause", "remedy"),
    [
        (
            (
                "W: Failed to fetch https://vault.example.com/debian/dists/jammy/InRelease  "
                "Could not resolve 'vault.example.com'"
            ),
            "cannot be reached",
            "DNS",
        ),
        (
            (
                "W: Failed to fetch http://v/debian/dists/jammy/InRelease  Could not connect to v:80 (10.0.0.9). "
                "- connect (111: Connection refused)"
            ),
            "cannot be reached",
            "proxy",
        ),
        (
            "E: The repository 'https://vault.example.com/debian jammy Release' does not have a Release file.",
            "https://vault.example.com/debian/dists/jammy/Release is not there",
            "correct packages_url, repository_url or suite",
        ),
        (
            (
                "W: GPG error: https://vault.example.com/debian jammy InRelease: The following signatures couldn't be "
                "verified because the public key is not available: NO_PUBKEY 9D7C1D3A85EB2859"
            ),
            "not signed by the key in /etc/apt/keyrings/vault.asc (from https://vault.example.com/key)",
            "remove /etc/apt/keyrings/vault.asc",
        ),
        ("E: The repository 'http://v/debian jammy Release' is not signed.", "not signed by the key", "key_url"),
        (
            (
                "E: Release file for http://v/dists/jammy/InRelease is not valid yet (invalid for another 2h 3min 1s). "
                "Updates for this repository will not be applied."
            ),
            "not valid at this node's time of day",
            "clock",
        ),
        (
            (
                "W: Failed to fetch https://v/debian/dists/jammy/InRelease  Certificate verification failed: The "
                "certificate is NOT trusted. The certificate issuer is unknown."
            ),
            "certificate that this node does not trust",
            "ca-certificates",
        ),
        ("E: Failed to fetch http://v/debian/dists/jammy/InRelease  403  Forbidden [IP: 1 80]", "refuses", "auth.conf"),
        (
            "E: Failed to fetch http://v/debian/dists/jammy/InRelease  503  Service Unavailable [IP: 1 80]",
            "is unavailable",
            "later",
        ),
        (
            (
                "E: Failed to fetch http://v/dists/jammy/InRelease  Clearsigned file isn't valid, got 'NOSPLIT' "
                "(does the network require authentication?)"
            ),
            "does not return a package repository",
            "login page",
        ),
        ("E: Failed to fetch http://v/dists/main/Packages.gz  File has unexpected size", "damaged", "synchronized"),
        (LOCK.strip(), "another package manager", "lock_timeout"),
        (
            (
                "E: Conflicting values set for option Signed-By regarding source "
                "https://vault.habana.ai/artifactory/debian/ jammy: /etc/apt/keyrings/habanalabs.gpg != "
                "/etc/apt/keyrings/gaudi3_scale-repository.asc"
            ),
            "two entries of https://vault.habana.ai/artifactory/debian jammy differ in Signed-By",
            "leave one of them",
        ),
        # microsoft/linux-package-repositories#69: one has no key.
        (
            (
                "E: Conflicting values set for option Signed-By regarding source "
                "https://packages.microsoft.com/repos/edge/ stable: /usr/share/keyrings/microsoft.gpg != "
            ),
            "two entries of https://packages.microsoft.com/repos/edge stable differ in Signed-By",
            "/etc/apt/sources.list",
        ),
        # ansible/ansible#86243: a key in the stanza itself, of which apt's first line has the beginning.
        (
            (
                "E: Conflicting values set for option Signed-By regarding source "
                "https://ppa.launchpadcontent.net/seahawk1986-hotmail/vdr-2.7.7/ubuntu/ resolute: "
                "/etc/apt/keyrings/x.asc != -----BEGIN PGP PUBLIC KEY BLOCK-----"
            ),
            "seahawk1986-hotmail/vdr-2.7.7/ubuntu resolute differ in Signed-By",
            "leave one",
        ),
        # free-pmx/free-pmx-no-subscription#15: apt 2.9 and newer.
        (
            (
                "Error: Conflicting values set for option Signed-By regarding source "
                "http://download.proxmox.com/debian/pve/ trixie: /usr/share/keyrings/a.gpg != /etc/apt/keyrings/b.gpg"
            ),
            "two entries of http://download.proxmox.com/debian/pve trixie differ in Signed-By",
            "leave one",
        ),
        # NVIDIA/libnvidia-container#194: a directory without suites.
        (
            (
                "E: Conflicting values set for option Signed-By regarding source "
                "https://nvidia.github.io/libnvidia-container/stable/ubuntu18.04/amd64/ /: /usr/share/keyrings/x.gpg !="
            ),
            "ubuntu18.04/amd64 / differ in Signed-By",
            "leave one",
        ),
        (
            "E: Conflicting values set for option Trusted regarding source https://vault.example.com/debian/ jammy",
            "https://vault.example.com/debian jammy differ in Trusted",
            "leave one",
        ),
    ],
)
def test_a_complaint_becomes_a_cause_and_a_remedy(complaint: str, cause: str, remedy: str) -> None:
    sentence = explain(REPOSITORY, [complaint])
    assert sentence.startswith("The package repository https://vault.example.com/debian jammy main ")
    assert cause in sentence
    assert remedy in sentence.split(";", 1)[1]


def test_an_unknown_complaint_is_passed_on_in_apts_words() -> None:
    assert explain(REPOSITORY, ["E: Malformed entry 1"]).endswith("cannot be read: Malformed entry 1")


class Apt:
    """An apt-get that fails with the first answers, and then does not."""

    def __init__(self, *failures: str) -> None:
        self.failures = list(failures)
        self.commands: list[list[str]] = []

    def __call__(self, argv: Any, **_more: Any) -> CommandResult:
        self.commands.append(list(argv))
        return CommandResult(100, "", self.failures.pop(0)) if self.failures else CommandResult(0, "", "")


def test_only_this_repository_is_read() -> None:
    apt = Apt()
    refresh(REPOSITORY, apt, 0)
    assert f"Dir::Etc::sourcelist={REPOSITORY.sources_path}" in apt.commands[0]
    assert "Dir::Etc::sourceparts=-" in apt.commands[0]
    assert "APT::Get::List-Cleanup=0" in apt.commands[0]


def test_the_lock_of_another_apt_is_waited_for() -> None:
    apt, slept = Apt(LOCK, LOCK), []
    refresh(REPOSITORY, apt, 60, sleep=slept.append)
    assert len(apt.commands) == 3
    assert len(slept) == 2


def test_a_lock_held_too_long_is_an_error() -> None:
    with pytest.raises(GaudiError, match="another package manager holds apt's lock"):
        refresh(REPOSITORY, Apt(LOCK), 0, sleep=lambda _seconds: None)


def test_offered_versions_come_from_the_lists_on_the_node(tmp_path: Any) -> None:
    plain = tmp_path / "v_dists_jammy_main_binary-amd64_Packages"
    plain.write_text("Package: habanalabs-dkms\nVersion: 1.23.0-695\n\nPackage: habanalabs-dkms\nVersion: 1.24.1-482\n")
    packed = tmp_path / "v_dists_jammy_main_binary-amd64_Packages.lz4"

    def run(argv: Any, **_more: Any) -> CommandResult:
        if argv[:2] == ["apt-get", "indextargets"]:
            return CommandResult(0, f"{plain}\n{packed}\n", "")
        assert list(argv) == ["/usr/lib/apt/apt-helper", "cat-file", str(packed)]
        return CommandResult(0, "Package: habanalabs-qual\nVersion: 1.24.1-482\n", "")

    assert offered_versions(REPOSITORY, run) == {
        "habanalabs-dkms": {"1.23.0-695", "1.24.1-482"},
        "habanalabs-qual": {"1.24.1-482"},
    }
