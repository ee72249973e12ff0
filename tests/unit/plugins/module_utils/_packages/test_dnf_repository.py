# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The package repository as a dnf repository. What dnf says was captured from dnf 4.14 (fixtures/dnf)."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._node.os_release import package_manager
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.dnf_command import complaints
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.dnf_repository import (
    explain,
    parse_listing,
    refresh,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.openpgp import armored
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.package_repository import (
    RepositoryOptions,
    converge,
    plan_dnf,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.repository_keys import rpm_labels

SAID = Path(__file__).parents[3] / "fixtures" / "dnf"
RHEL = 'ID="rhel"\nID_LIKE="fedora"\nVERSION_ID="9.6"\n'
NEW = "1.24.1-482"


def said(name: str, rc: int = 1) -> CommandResult:
    return CommandResult(rc, (SAID / f"{name}.txt").read_text(), "")


def options(repository: str = "https://vault.habana.ai/artifactory/", **more: Any) -> RepositoryOptions:
    given = {"packages_url": repository, "release": "1.24.1", "kernels": ["5.14.0-570.el9_6.x86_64"]}
    return RepositoryOptions(**{**given, "plain_http_hosts": ["127.0.0.1"], **more})


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text(RHEL)
    return tmp_path / "etc"


@pytest.mark.parametrize(
    ("text", "manager"),
    [
        (RHEL, "dnf"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "dnf"),
        ("ID=ubuntu\nID_LIKE=debian\n", "apt"),
        ("ID=debian\n", "apt"),
        ("", "apt"),
    ],
)
def test_the_distribution_says_whose_repository_it_is(tmp_path: Path, text: str, manager: str) -> None:
    (tmp_path / "os-release").write_text(text)
    assert package_manager(str(tmp_path)) == manager


def test_the_vendors_url_shapes_follow_the_minor_release(etc: Path) -> None:
    repository = plan_dnf(options(), str(etc))
    assert repository.uri == "https://vault.habana.ai/artifactory/rhel/9/9.6"
    assert repository.key_url == "https://vault.habana.ai/artifactory/rhel/9/9.6/repodata/repomd.xml.key"
    assert repository.package_key_url == "https://vault.habana.ai/artifactory/gaudi-general/keyPairs/primary/public"
    assert plan_dnf(options(suite="rhel/9/9.4"), str(etc)).uri.endswith("/artifactory/rhel/9/9.4")


def test_a_system_without_a_minor_release_has_to_name_the_directory(etc: Path) -> None:
    (etc / "os-release").write_text('ID="centos"\nVERSION_ID="9"\n')
    with pytest.raises(GaudiError, match=r"VERSION_ID is '9'.*set suite to the repository's directory.*rhel/9/9\.6"):
        plan_dnf(options(), str(etc))
    assert plan_dnf(options(repository_url="https://mirror/gaudi"), str(etc)).uri == "https://mirror/gaudi"


@pytest.mark.parametrize("name", ["packages_url", "key_url", "package_key_url", "repository_url"])
def test_what_is_no_url_is_refused_by_name(etc: Path, name: str) -> None:
    with pytest.raises(GaudiError, match=f"^{name} must be a URL"):
        plan_dnf(options(**({"repository": "here"} if name == "packages_url" else {name: "here"})), str(etc))


def test_both_signatures_are_checked_with_both_keys(etc: Path) -> None:
    lines = plan_dnf(options(), str(etc)).render().splitlines()
    assert {"gpgcheck=1", "repo_gpgcheck=1", "enabled=1"} <= set(lines)
    keys = [line.rpartition("file://")[2] for line in lines if "file://" in line]
    assert [Path(key).name for key in keys] == [
        "RPM-GPG-KEY-gaudi3_scale-repository-metadata",
        "RPM-GPG-KEY-gaudi3_scale-repository-packages",
    ]


def test_a_listing_is_names_and_plain_versions() -> None:
    offered = parse_listing(said("list").stdout, "gaudi3_scale-repository")
    assert offered["habanalabs"] == {"1.23.0-695", NEW}
    assert len(offered) == 10
    broken = "Available Packages\nhabanalabs-a-very-long-name.x86_64\n     1:1.24.1-482.el9   gaudi3_scale-repository\n"
    assert parse_listing(broken, "gaudi3_scale-repository") == {"habanalabs-a-very-long-name": {NEW}}
    assert parse_listing(said("list").stdout, "another") == {}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("refused", "cannot be reached; check this node's DNS, route and proxy"),
        ("unknown_host", "cannot be reached; check this node's DNS, route and proxy"),
        (
            "not_found",
            "does not exist: https://.*/rhel/9/9.6/repodata/repomd.xml is not there; correct packages_url.*suite",
        ),
        (
            "wrong_signature",
            "is not signed by the key in .*-metadata .from https://.*repomd.xml.key.*; check the clock",
        ),
        ("unsigned", "is not signed: https://.*/repomd.xml.asc is not there; have the mirror carry it"),
        ("login_page", "does not return a package repository; look at https://.*/repodata/repomd.xml"),
        ("damaged", "is in the middle of an update or damaged; try again later"),
        ("certificate", "is served with a certificate that this node does not trust; install the site's CA"),
        ("forbidden", "refuses this node; let it through there"),
        ("server_error", "is unavailable: its server returns an error; try again later"),
    ],
)
def test_what_dnf_says_becomes_one_sentence(etc: Path, name: str, sentence: str) -> None:
    repository = plan_dnf(options(), str(etc))
    with pytest.raises(GaudiError, match=rf"^The package repository https://\S+ {sentence}") as raised:
        refresh(repository, lambda _argv, **_more: said(name), 0)
    assert str(raised.value).endswith(".")
    assert raised.value.facts["dnf"] == complaints(said(name))


def test_an_unknown_error_keeps_dnfs_own_words(etc: Path) -> None:
    repository = plan_dnf(options(), str(etc))
    assert explain(repository, ["Error: Something new"]).endswith("cannot be read: Something new")


def test_rpm_calls_a_key_by_the_end_of_its_id_and_its_time() -> None:
    # As `rpm -qa gpg-pubkey` called it after the import.
    text = (SAID / "package_key.asc").read_text()
    assert rpm_labels(text) == ["gpg-pubkey-b4d755d7-6b018f23"]
    # A length of four octets, and a second key behind the first.
    long = bytes([0xC6, 0xFF, 0, 0, 0x23, 0x2D, 4, 0x65, 0, 0, 1]) + bytes(9000)
    assert [label[-8:] for label in rpm_labels(text + armored(long))] == ["6b018f23", "65000001"]
    with pytest.raises(ValueError, match="another version than 4"):
        rpm_labels(armored(bytes([0x98, 8, 6, 0, 0, 0, 1, 27, 0, 0])))


class Node:
    """rpm and dnf as far as the repository goes: keys that were imported, metadata that was read."""

    def __init__(self, etc: Path) -> None:
        self.etc = etc
        self.imported: list[str] = []
        self.makecache = CommandResult(0, "Metadata cache created.\n", "")
        self.cached = False
        self.calls: list[str] = []

    def run(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        self.calls.append(" ".join(argv))
        if "makecache" in argv:
            self.cached = self.makecache.rc == 0
            return self.makecache
        if "list" in argv:
            return said("list", 0) if self.cached else CommandResult(1, "", "Error: Cache-only enabled but no cache")
        if argv[:2] == ["rpm", "--import"]:
            self.imported += rpm_labels(Path(argv[2]).read_text())
        elif argv[:2] == ["rpm", "-q"]:
            return CommandResult(0 if set(argv[2:]) <= set(self.imported) else 1, "", "")
        return CommandResult(0, "", "")

    def converge(self, repository: str, check_mode: bool = False, **more: Any) -> Any:
        asked = {"packages": ["habanalabs-dkms"], "os_packages": ["dkms", "kernel-devel-{kernel}"], **more}
        return converge(options(repository, **asked), self.run, check_mode, str(self.etc))

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.etc.rglob("*gaudi3_scale*"))


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[str]:
    for place in ("rhel/9/9.6/repodata/repomd.xml.key", "gaudi-general/keyPairs/primary/public"):
        path = tmp_path / "www" / place
        path.parent.mkdir(parents=True)
        path.write_text((SAID / "package_key.asc").read_text())
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "www"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_first_run_registers_and_the_second_changes_nothing(etc: Path, repository: str) -> None:
    node = Node(etc)
    shown = node.converge(repository, check_mode=True)
    assert node.files == []
    assert [entry["after_header"] for entry in shown["diff"]][-1] == "packages of the transaction"
    first = node.converge(repository)
    assert first["changed"]
    assert first["packages"] == ["dkms", "kernel-devel-5.14.0-570.el9_6.x86_64", f"habanalabs-{NEW}.*"]
    assert node.imported == ["gpg-pubkey-b4d755d7-6b018f23"]
    assert len(node.files) == 3
    again = node.converge(repository)
    assert not again["changed"]
    assert again["available"]
    assert first.keys() == again.keys() == shown.keys()


def test_a_key_that_rpm_does_not_know_any_more_is_imported_again(etc: Path, repository: str) -> None:
    node = Node(etc)
    node.converge(repository)
    node.imported.clear()
    assert node.converge(repository, check_mode=True)["changed"]
    assert node.imported == []
    assert node.converge(repository)["changed"]
    assert not node.converge(repository)["changed"]


def test_a_failing_refresh_puts_everything_back(etc: Path, repository: str) -> None:
    node = Node(etc)
    node.makecache = said("wrong_signature")
    with pytest.raises(GaudiError, match="is not signed by the key"):
        node.converge(repository)
    assert node.files == []
    assert node.imported == []


def test_a_release_that_is_not_offered_tells_what_is(etc: Path, repository: str) -> None:
    node = Node(etc)
    with pytest.raises(
        GaudiError, match=r"does not offer habanalabs-dkms 1.22.0-740 \(it has 1.23.0-695, 1.24.1-482\)"
    ):
        node.converge(repository, release="1.22.0")
    assert node.files == []


def test_the_package_manager_can_be_named(etc: Path, repository: str) -> None:
    (etc / "os-release").write_text("ID=debian\n")
    node = Node(etc)
    assert node.converge(repository, package_manager="dnf", suite="rhel/9/9.6")["changed"]
    assert any(name.endswith(".repo") for name in node.files)
