# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node learns once that its vault is a bundle, registers what the bundle has, and leaves when it is none any more."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils.bundle import repository as bundle_repository
from ansible_collections.gaudi3.scale.plugins.module_utils.bundle.bundle_site import ask, recorded
from ansible_collections.gaudi3.scale.plugins.module_utils.bundle.plan import KEY, SITE
from ansible_collections.gaudi3.scale.plugins.module_utils.bundle.repository import SiteOptions, with_bundle
from ansible_collections.gaudi3.scale.plugins.module_utils.errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils.node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils.packages.openpgp import armoured, fingerprints
from ansible_collections.gaudi3.scale.plugins.module_utils.packages.vault_repository import VaultOptions

# A version 4 public key packet; apt is not run here, so its content is of no matter.
PACKET = bytes([0x99, 0x00, 0x08, 0x04, 0, 0, 0, 1, 22, 1, 2])
DOCUMENT = {
    "format": 1,
    "release": "1.24.1-482",
    "releases": ["1.24.1-482", "1.23.0-695"],
    "key": KEY,
    "distribution": "gaudi3_scale/distribution",
    "suites": {"jammy": "aa"},
    "index": "api/pypi/gaudi-python/simple",
    "pytorch": {"gaudi-pt-modules/x.tgz": "cc"},
}


class Node:
    """A node's /etc and record in ``base``, and a vault beside them. ``refreshes`` counts how often apt read lists."""

    def __init__(self, base: Path) -> None:
        self.base, self.etc, self.record = base, base / "etc", str(base / "var/vault.json")
        self.vault, self.refreshes, self.apt_rc = base / "vault", 0, 0
        self.publish(DOCUMENT)

    def publish(self, document: Mapping[str, object] | None) -> None:
        path = self.vault / SITE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if document is not None:
            path.write_text(json.dumps(document))
            (self.vault / KEY).write_text(armoured(PACKET))

    def run(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        self.refreshes += "update" in argv
        return CommandResult(self.apt_rc, "", "E: broken\n" if self.apt_rc else "")

    def converge(self, check_mode: bool = False, **more: Any) -> dict[str, Any]:
        given = {"vault_url": f"file://{self.vault}", "suite": "jammy", **more}
        return bundle_repository.converge(SiteOptions(**given), self.run, check_mode, str(self.etc), self.record)

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.etc.rglob("*") if path.is_file()}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_the_distributions_packages_are_registered_with_their_own_key(node: Node) -> None:
    result = node.converge()
    assert (result["changed"], result["bundle"], result["release"]) == (True, True, "1.24.1-482")
    files = node.files()
    assert sorted(files) == ["gaudi3_scale-bundle", "gaudi3_scale-bundle.asc", "gaudi3_scale-bundle.sources"]
    assert f"URIs: file://{node.vault}/gaudi3_scale/distribution\n" in files["gaudi3_scale-bundle.sources"]
    assert f"Signed-By: {node.etc}/apt/keyrings/gaudi3_scale-bundle.asc\n" in files["gaudi3_scale-bundle.sources"]
    assert "Pin-Priority: 990" in files["gaudi3_scale-bundle"]
    assert result["index_url"] == f"file://{node.vault}/api/pypi/gaudi-python/simple"
    assert node.refreshes == 1


def test_a_second_run_uses_no_network(node: Node) -> None:
    node.converge()
    node.publish(None)
    result = node.converge()
    assert (result["changed"], result["bundle"], node.refreshes) == (False, True, 1)


def test_a_bundle_that_was_built_again_is_read_again_when_asked_for(node: Node) -> None:
    node.converge()
    node.publish({**DOCUMENT, "suites": {"jammy": "bb"}})
    assert node.converge()["release"] and node.refreshes == 1
    result = node.converge(ask=True)
    assert (result["changed"], node.refreshes) == (False, 2)


@pytest.mark.parametrize(("release", "refreshes"), [("1.24.1-482", 1), ("1.23.0-695", 1), ("1.24.2-481", 2), ("", 1)])
def test_a_bundle_is_asked_again_for_a_release_that_it_did_not_have(node: Node, release: str, refreshes: int) -> None:
    node.converge()
    node.publish({**DOCUMENT, "releases": ["1.24.2-481"]})
    node.converge(release=release)
    assert node.refreshes == refreshes


def test_a_release_that_the_bundle_does_not_have_is_one_sentence(node: Node) -> None:
    with pytest.raises(GaudiError, match=r"has the packages of 1\.24\.1-482, 1\.23\.0-695, and none of 1\.24\.2-481;"):
        node.converge(release="1.24.2-481")
    assert node.files() == {} and recorded(f"file://{node.vault}", node.record) is None


@pytest.mark.parametrize("document", [None, {"format": 2}, ["a", "page"]])
def test_a_vault_that_is_no_bundle_changes_nothing_and_is_asked_once(node: Node, document: Any) -> None:
    node.publish(document)
    result = node.converge()
    assert (result["changed"], result["bundle"], result["index_url"], node.files()) == (False, False, "", {})
    known = recorded(f"file://{node.vault}/", node.record)
    assert known is not None and not known.is_bundle


def test_a_page_instead_of_the_document_is_no_bundle(node: Node) -> None:
    (node.vault / SITE).write_text("<html>not found</html>")
    assert not node.converge()["bundle"]


def test_the_vendors_own_vault_is_not_asked() -> None:
    assert not ask("https://vault.habana.ai/artifactory").is_bundle


def test_leaving_a_bundle_takes_its_files_away(node: Node) -> None:
    node.converge()
    result = node.converge(vault_url="https://vault.habana.ai/artifactory")
    assert (result["changed"], node.files()) == (True, {})


def test_a_distribution_that_the_bundle_does_not_have_is_not_registered(node: Node) -> None:
    result = node.converge(suite="noble")
    assert (result["bundle"], result["repository"], node.files()) == (True, "", {})


def test_check_mode_asks_nothing_and_takes_nothing_away(node: Node) -> None:
    result = node.converge(check_mode=True)
    assert (result["changed"], result["bundle"]) == (False, False)
    node.converge()
    before = node.files()
    assert not node.converge(check_mode=True)["changed"]
    assert node.converge(check_mode=True, vault_url="file:///elsewhere")["changed"] is False
    assert node.files() == before


def test_another_key_than_the_operators_is_refused_and_nothing_is_written(node: Node) -> None:
    with pytest.raises(GaudiError, match=r"is not the key BEEF; .* nothing was taken from it"):
        node.converge(fingerprint="beef")
    assert node.files() == {} and recorded(f"file://{node.vault}", node.record) is None
    assert node.converge(fingerprint=fingerprints(PACKET)[0])["changed"]
    with pytest.raises(GaudiError, match="is not the key BEEF"):
        node.converge(fingerprint="BE EF")


def test_of_several_keys_only_the_operators_reaches_the_node(node: Node) -> None:
    """apt takes what any key of the file has signed."""
    stranger = PACKET[:-1] + b"\x03"
    node.publish(DOCUMENT)
    (node.vault / KEY).write_text(armoured(stranger + PACKET))
    key = node.etc / "apt/keyrings/gaudi3_scale-bundle.asc"
    assert node.converge()["changed"] and key.read_text() == armoured(stranger + PACKET)
    trusted = fingerprints(PACKET)[0]
    assert node.converge(fingerprint=trusted)["changed"] and key.read_text() == armoured(PACKET)
    assert not node.converge(fingerprint=trusted)["changed"]


def test_a_key_that_is_damaged_on_the_node_is_fetched_again(node: Node) -> None:
    node.converge()
    key = node.etc / "apt/keyrings/gaudi3_scale-bundle.asc"
    whole = key.read_text()
    for damaged in ("", whole[: len(whole) // 2], whole.replace("m", "!", 1)):
        key.write_text(damaged)
        assert node.converge()["changed"]
        assert key.read_text() == whole


def registered(**more: object) -> dict[str, object]:
    result = {
        "changed": False,
        "diff": [],
        "files": ["/a"],
        "package_version": "1.24.1-482",
        "refreshed": True,
        "installed": False,
    }
    return {**result, **more}


def test_a_repository_with_its_own_url_is_not_asked_for_a_bundle(node: Node) -> None:
    options = VaultOptions("http://127.0.0.1:9/nothing", "1.24.1", repository_url="file:///mirror")
    result = with_bundle(options, "", registered(), node.run, False)
    assert (result["changed"], result["bundle"], result["index_url"], result["files"]) == (False, False, "", ["/a"])


def test_a_node_that_has_everything_and_no_record_needs_no_network(node: Node) -> None:
    """Its vault may be gone, and it was installed before anybody asked."""
    options = VaultOptions("http://127.0.0.1:9/nothing", "1.24.1")
    settled = registered(installed=True, refreshed=False)
    assert with_bundle(options, "", settled, node.run, False, node.record)["bundle"] is False
    with pytest.raises(GaudiError, match="What the vault has cannot be fetched"):
        with_bundle(options, "", registered(refreshed=False), node.run, False, node.record)


def test_what_the_bundle_adds_stands_beside_the_vaults_own(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[SiteOptions] = []

    def converge(options: SiteOptions, _run: object, _check_mode: bool, record: str) -> dict[str, object]:
        asked.append(options)
        return {"changed": True, "diff": [{"after": "b"}], "files": ["/b"], "bundle": True, "index_url": "http://i"}

    monkeypatch.setattr(bundle_repository, "converge", converge)
    monkeypatch.setattr(bundle_repository, "os_release", lambda: {"ID": "ubuntu", "VERSION_CODENAME": "noble"})
    # The vendor's suite is an older one: the distribution's packages are the node's own all the same.
    options = VaultOptions("http://v", "1.24.1", suite="jammy", package_manager="apt", architectures=("amd64",))
    result = with_bundle(options, "BEEF", registered(), node.run, False)
    assert (asked[0].suite, asked[0].release, asked[0].fingerprint, asked[0].ask) == (
        "noble",
        "1.24.1-482",
        "BEEF",
        True,
    )
    assert (result["changed"], result["files"], result["diff"]) == (True, ["/a", "/b"], [{"after": "b"}])
    assert (result["bundle"], result["index_url"], result["package_version"]) == (True, "http://i", "1.24.1-482")


def test_lists_that_cannot_be_read_leave_the_node_as_it_was(node: Node) -> None:
    node.apt_rc = 100
    with pytest.raises(GaudiError, match="package repository"):
        node.converge()
    assert node.files() == {} and not Path(node.record).exists()


def test_an_unreachable_vault_is_an_error_and_no_verdict(node: Node) -> None:
    with pytest.raises(GaudiError, match="What the vault has cannot be fetched"):
        node.converge(vault_url="http://127.0.0.1:9/nothing")
    assert not Path(node.record).exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"vault_url": "file:///x"}'])
def test_a_record_that_cannot_be_read_is_no_record(tmp_path: Path, text: str) -> None:
    (tmp_path / "vault.json").write_text(text)
    assert recorded("file:///x", str(tmp_path / "vault.json")) is None


def test_the_pytorch_archives_checksum_is_known_by_its_url(node: Node) -> None:
    node.converge()
    site = recorded(f"file://{node.vault}", node.record)
    assert site is not None
    assert site.checksum(f"file://{node.vault}/gaudi-pt-modules/x.tgz") == "sha256:cc"
    assert site.checksum("https://elsewhere/gaudi-pt-modules/x.tgz") == ""
