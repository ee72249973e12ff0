# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node believes what its bundle's owner signed, registers that, and leaves when it is a bundle no more."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle import bundle_age
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.asking import fresh
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.bundle_site import recorded
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.layout import DISTRIBUTION, MANIFEST
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.tests.unit.small_bundle import PYTORCH, WHEEL, SmallBundle, SmallNode

REPOSITORY_FILES = {"gaudi3_scale-repository.asc", "gaudi3_scale-repository.sources"}
BUNDLE_FILES = {"gaudi3_scale-bundle", "gaudi3_scale-bundle.asc", "gaudi3_scale-bundle.sources"}


def a_minute_after(bundle: SmallBundle) -> str:
    form = "%Y-%m-%dT%H:%M:%SZ"
    return (datetime.strptime(bundle.manifest["created"], form) + timedelta(minutes=1)).strftime(form)


def updates(node: SmallNode) -> int:
    return sum("update" in command for command in node.commands)


def test_both_repositories_are_registered_and_offer_their_packages(node: SmallNode, small_bundle: SmallBundle) -> None:
    result = node.converge(small_bundle.fingerprint)
    assert (result["changed"], result["bundle"], result["available"]) == (True, True, True)
    assert set(node.files) == REPOSITORY_FILES | BUNDLE_FILES
    assert f"URIs: file://{node.www}/gaudi3_scale/distribution\n" in node.files["gaudi3_scale-bundle.sources"]
    assert "Pin-Priority: 990" in node.files["gaudi3_scale-bundle"]
    assert result["index_url"] == f"file://{node.www}/api/pypi/gaudi-python/simple"
    assert node.state == ["bundles_seen.json", "repository.json"]
    for package in ("habanalabs-dkms", "compiler"):
        assert node.take(package).rc == 0


def test_a_second_run_changes_nothing_and_uses_no_network(node: SmallNode, small_bundle: SmallBundle) -> None:
    node.converge(small_bundle.fingerprint)
    node.www.rename(node.www.with_name("away"))
    result = node.converge(small_bundle.fingerprint)
    assert (result["changed"], result["bundle"], updates(node)) == (False, True, 0)


def test_a_lost_file_is_mended_with_what_the_repository_says_now(node: SmallNode, small_bundle: SmallBundle) -> None:
    node.converge(small_bundle.fingerprint)
    for name in ("gaudi3_scale-repository.asc", "gaudi3_scale-bundle.asc"):
        before, key = node.files, node.etc / "apt/keyrings" / name
        key.write_text(key.read_text()[:200])
        assert node.converge(small_bundle.fingerprint)["changed"] and node.files == before


def test_leaving_a_bundle_takes_its_files_away_and_remembers_it(node: SmallNode, small_bundle: SmallBundle) -> None:
    node.converge(small_bundle.fingerprint)
    (node.www / MANIFEST).unlink()
    plain = node.www.rename(node.www.with_name("plain"))
    result = node.converge("", packages_url=f"file://{plain}")
    assert (result["changed"], result["bundle"], set(node.files)) == (True, False, REPOSITORY_FILES)
    assert json.loads(Path(node.seen).read_text()) == {small_bundle.fingerprint: small_bundle.manifest["created"]}


def test_removed_the_node_has_what_others_wrote_and_nothing_of_ours(node: SmallNode, small_bundle: SmallBundle) -> None:
    """Of the vendor's repository and of the distribution's packages in the bundle alike."""
    place = node.etc / "apt/sources.list.d"
    place.mkdir()
    uris = [f"file:{node.www}/debian", f"file:{node.www}/{DISTRIBUTION}"]
    text = "".join(f"deb [trusted=yes] {uri} jammy main\n" for uri in uris)
    (place / "zz-site.list").write_text(text)
    node.converge(small_bundle.fingerprint)
    owners = [line.split(":")[0] for line in (place / "zz-site.list").read_text().splitlines()]
    assert owners == ["# gaudi3_scale-repository", "# gaudi3_scale-bundle"]
    assert not node.converge(small_bundle.fingerprint)["changed"]
    shown = node.remove(check_mode=True)
    assert shown["changed"] and len(node.files) == 5 and node.state == ["bundles_seen.json", "repository.json"]
    assert node.remove()["changed"]
    assert node.files == {} and node.state == ["bundles_seen.json"]
    assert (place / "zz-site.list").read_text() == text
    assert not node.remove()["changed"]


def test_check_mode_asks_nothing_and_takes_nothing_away(node: SmallNode, small_bundle: SmallBundle) -> None:
    assert node.converge(small_bundle.fingerprint, check_mode=True)["changed"]
    assert (node.files, node.state, updates(node)) == ({}, [], 0)
    node.converge(small_bundle.fingerprint)
    before = node.files
    assert not node.converge(small_bundle.fingerprint, check_mode=True)["changed"]
    node.converge("", check_mode=True, packages_url="file:///elsewhere")
    assert node.files == before


def test_a_bundle_that_nobody_named_is_refused(node: SmallNode) -> None:
    with pytest.raises(GaudiError, match=r"is a bundle of an unknown signer; set bundle_fingerprint .*build_bundle"):
        node.converge("")
    assert (node.files, node.state) == ({}, [])


@pytest.mark.parametrize("text", ["", "<html>not found</html>"])
def test_a_page_instead_of_a_manifest_is_no_bundle(node: SmallNode, text: str) -> None:
    (node.www / MANIFEST).write_text(text)
    assert node.converge("")["bundle"] is False


def test_a_repository_that_should_be_a_bundle_and_is_none_is_refused(
    node: SmallNode, small_bundle: SmallBundle
) -> None:
    (node.www / MANIFEST).unlink()
    with pytest.raises(GaudiError, match=r"has no gaudi3_scale/bundle\.json, but bundle_fingerprint says"):
        node.converge(small_bundle.fingerprint)
    assert (node.files, node.state) == ({}, [])


def test_an_unreachable_repository_is_an_error_and_no_verdict(node: SmallNode, small_bundle: SmallBundle) -> None:
    for fingerprint in ("", small_bundle.fingerprint):
        with pytest.raises(GaudiError, match=r"cannot be fetched from http://127\.0\.0\.1:9/.*: connection refused"):
            node.converge(fingerprint, packages_url="http://127.0.0.1:9", plain_http_hosts=["127.0.0.1"])
    assert (node.files, node.state) == ({}, [])


def test_a_release_that_the_bundle_does_not_have_is_one_sentence(node: SmallNode, small_bundle: SmallBundle) -> None:
    with pytest.raises(GaudiError, match=r"has the packages of 1\.24\.1-482, but none of 1\.23\.0-695;"):
        node.converge(small_bundle.fingerprint, release="1.23.0")
    assert (node.files, node.state) == ({}, [])


def test_another_key_is_asked_about_anew(node: SmallNode, small_bundle: SmallBundle) -> None:
    node.converge(small_bundle.fingerprint)
    before = node.files
    with pytest.raises(GaudiError, match=f"is signed by the key {small_bundle.fingerprint}, not by {'A' * 40}"):
        node.converge("A" * 40)
    assert node.files == before


@pytest.mark.parametrize("fingerprint", ["beef", "beef\n", "g" * 40, "A" * 41, "A" * 39])
def test_a_part_of_a_fingerprint_is_none(node: SmallNode, fingerprint: str) -> None:
    with pytest.raises(GaudiError, match=r"^bundle_fingerprint must be a whole fingerprint, 40 hex digits"):
        node.converge(fingerprint)
    assert (node.files, node.state, node.commands) == ({}, [], [])


class TestAge:
    """Expiry, and bundles of before."""

    def test_an_older_bundle_is_refused_until_it_is_accepted(self, node: SmallNode, small_bundle: SmallBundle) -> None:
        newer = a_minute_after(small_bundle)
        small_bundle.serve(node.www, created=newer)
        node.converge(small_bundle.fingerprint)
        old = small_bundle.copy(node.base / "old")
        before = node.files
        with pytest.raises(GaudiError, match=rf"is of .*, and this node has seen the one of {newer}; .*allow_older"):
            node.converge(small_bundle.fingerprint, packages_url=f"file://{old}")
        assert node.files == before
        assert node.converge(small_bundle.fingerprint, packages_url=f"file://{old}", allow_older=True)["bundle"]
        assert node.converge(small_bundle.fingerprint, packages_url=f"file://{old}")["changed"] is False

    def test_an_expired_bundle_is_refused_until_it_is_accepted(
        self, node: SmallNode, small_bundle: SmallBundle
    ) -> None:
        small_bundle.serve(node.www, expires="2020-01-01T00:00:00Z")
        with pytest.raises(GaudiError, match=r"expired at 2020-01-01T00:00:00Z .*run build_bundle\.yml.*allow_expired"):
            node.converge(small_bundle.fingerprint)
        assert (node.files, node.state) == ({}, [])
        assert node.converge(small_bundle.fingerprint, allow_expired=True)["bundle"]
        # So does what installs later, which has no such option, as long as the operator does not take it back.
        site = fresh(f"file://{node.www}", node.run, node.record)
        assert site is not None and site.is_bundle
        assert not node.converge(small_bundle.fingerprint)["changed"]
        with pytest.raises(GaudiError, match="expired at"):
            fresh(f"file://{node.www}", node.run, node.record)

    def test_a_bundle_that_expires_on_a_node_is_not_taken_from_any_more(
        self, node: SmallNode, small_bundle: SmallBundle
    ) -> None:
        """A mirror that is held back would else keep a node on what it has for ever."""
        node.converge(small_bundle.fingerprint)
        small_bundle.serve(node.www, expires="2020-01-01T00:00:00Z")
        (node.etc / "apt/keyrings/gaudi3_scale-repository.asc").unlink()
        with pytest.raises(GaudiError, match="expired at"):
            node.converge(small_bundle.fingerprint)

    def test_a_record_of_what_was_seen_that_cannot_be_read_is_no_license(
        self, node: SmallNode, small_bundle: SmallBundle
    ) -> None:
        Path(node.seen).parent.mkdir()
        Path(node.seen).write_text("{")
        with pytest.raises(
            GaudiError,
            match=r"bundles_seen\.json is damaged, so it is unknown which bundles .*; "
            r"remove it",
        ):
            node.converge(small_bundle.fingerprint)
        assert node.files == {}

    def test_times_of_bundles_grow_also_where_the_clock_was_set_back(self) -> None:
        future = "2099-01-01T00:00:00Z"
        assert bundle_age.later(future) == "2099-01-01T00:00:01Z"
        assert bundle_age.end_of(future, 2) == "2099-01-03T00:00:00Z"


def test_what_installs_later_asks_for_the_newest_manifest(node: SmallNode, small_bundle: SmallBundle) -> None:
    node.converge(small_bundle.fingerprint)
    url = f"file://{node.www}"
    known = recorded(url, node.record)
    assert known is not None
    assert list(known.wheels) == [f"{url}/api/pypi/gaudi-python/packages/{WHEEL}"]
    assert known.checksum(f"{url}/{PYTORCH}").startswith("sha256:")
    assert known.checksum(f"https://elsewhere/{PYTORCH}") == ""
    newer = a_minute_after(small_bundle)
    small_bundle.serve(node.www, created=newer, releases=["1.24.1-482", "1.23.0-695"])
    site = fresh(url, node.run, node.record)
    assert site == recorded(url, node.record) and site is not None
    assert site.releases == ["1.24.1-482", "1.23.0-695"]
    small_bundle.sign(node.www, (node.www / MANIFEST).read_bytes(), "stranger")
    with pytest.raises(GaudiError, match="does not match its signature"):
        fresh(url, node.run, node.record)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"packages_url": "file:///x"}', '{"packages_url": "file:///x", "manifest": "{}"}']
)
def test_a_record_that_cannot_be_read_is_no_record(tmp_path: Path, text: str) -> None:
    (tmp_path / "repository.json").write_text(text)
    assert recorded("file:///x", str(tmp_path / "repository.json")) is None


def test_a_repository_with_its_own_url_is_not_asked_for_a_bundle(node: SmallNode) -> None:
    result: dict[str, Any] = node.converge(
        "",
        packages_url="https://nowhere.invalid",
        repository_url=f"file://{node.www}/debian",
        key_url=f"file://{node.www}/api/gpg/key/public",
    )
    assert (result["bundle"], set(node.files)) == (False, REPOSITORY_FILES)


def test_a_repository_that_the_bundle_would_not_vouch_for_is_refused_beside_it(
    node: SmallNode, small_bundle: SmallBundle
) -> None:
    with pytest.raises(
        GaudiError, match=r"^repository_url 'file:///mirror' is not part of the bundle .*; leave one of the"
    ):
        node.converge(small_bundle.fingerprint, repository_url="file:///mirror")
    assert (node.files, node.commands) == ({}, [])


RPM_FILES = (
    "rhel/9/9.6/repodata/repomd.xml",
    "rhel/9/9.6/repodata/repomd.xml.asc",
    "rhel/9/9.6/repodata/repomd.xml.key",
    "rhel/9/9.6/repodata/primary.xml.gz",
    "gaudi-general/keyPairs/primary/public",
)


@pytest.mark.parametrize("changed", ["", *RPM_FILES])
def test_a_node_with_dnf_compares_metadata_and_keys_first(
    node: SmallNode, small_bundle: SmallBundle, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    (node.etc / "os-release").write_text('ID="rhel"\nVERSION_ID="9.6"\n')
    key = small_bundle.gpg("owner", "--armor", "--export")
    rows = []
    for path in RPM_FILES:
        target = node.www / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(key if path.endswith((".key", "public")) else path.encode())
        digest = hashlib.sha256(target.read_bytes()).hexdigest()
        rows.append(
            {**small_bundle.manifest["files"][0], "path": path, "sha256": digest, "size": target.stat().st_size}
        )
    small_bundle.serve(node.www, files=rows, keys=dict.fromkeys(RPM_FILES[-3::2], small_bundle.fingerprint), parts={})
    started: list[str] = []

    def run(argv: Any, **more: Any) -> CommandResult:
        started.append(argv[0])
        offered = "habanalabs.x86_64 1.24.1-482.el9 gaudi3_scale-repository\n" if "list" in argv else ""
        return run_process(argv, **more) if argv[0] == "gpgv" else CommandResult(argv[0] == "rpm", offered, "")

    monkeypatch.setattr(node, "run", run)
    if changed:
        (node.www / changed).write_bytes((node.www / changed).read_bytes() + b" ")
        with pytest.raises(GaudiError, match=f"{changed} has the sha256 .*: the file was changed"):
            node.converge(small_bundle.fingerprint)
        assert node.state == [] and "dnf" not in started
        assert not list(node.etc.rglob("*gaudi3_scale*"))
    else:
        with pytest.raises(GaudiError, match="rpm does not take the key"):  # There is no rpm here that would.
            node.converge(small_bundle.fingerprint)
        assert "dnf" in started and not list(node.etc.rglob("*gaudi3_scale*"))
