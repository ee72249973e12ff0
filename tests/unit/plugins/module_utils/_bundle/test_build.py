# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A bundle built by real apt, gpg and dpkg-deb from a repository on disk, and what becomes of it when it breaks."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle import build as package_bundle
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle import check as bundle_check
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.layout import MANIFEST, SUMS
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.plan import APT_KEY, BundleOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._packages import gnupg
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.apt_index import sha256_of
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.openpgp import binary, fingerprints
from ansible_collections.gaudi3.scale.tests.unit.small_repository import TOOLS, SmallRepository

pytestmark = pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason=f"needs {', '.join(TOOLS)}")
PARTS = ("keys", "packages", "distribution", "files", "manifest")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> SmallRepository:
    repository = SmallRepository(tmp_path_factory.mktemp("repository"))
    build(repository)
    return repository


@pytest.fixture
def repository(published: SmallRepository, tmp_path: Path) -> SmallRepository:
    """A copy that a test may damage, with a finished bundle; the paths inside the bundle are relative ones."""
    copy = SmallRepository.__new__(SmallRepository)
    shutil.copytree(published.base, tmp_path / "v")
    copy.base, copy.www, copy.bundle = tmp_path / "v", tmp_path / "v/www", tmp_path / "v/site/bundle"
    return copy


def build(repository: SmallRepository, parts: tuple[str, ...] = PARTS, **more: object) -> list[dict[str, Any]]:
    return [package_bundle.converge(repository.options(part, **more), run_process, False) for part in parts]


def files(repository: SmallRepository) -> set[str]:
    return {path.relative_to(repository.bundle).as_posix() for path in repository.bundle.rglob("*") if path.is_file()}


def examine(repository: SmallRepository, fingerprint: str = "") -> dict[str, Any]:
    return bundle_check.examine(str(repository.bundle), fingerprint, run_process)


def test_the_bundle_has_what_the_release_needs_and_nothing_else(repository: SmallRepository) -> None:
    names = {path.rpartition("/")[2] for path in files(repository) if path.endswith(".deb")}
    assert names == {
        "habanalabs-dkms_1.24.1-482_all.deb",
        "habanalabs-thunk_1.24.1-482_all.deb",
        "builder_1.0_all.deb",
        "compiler_12-1_all.deb",
        "headers-6.8_1_all.deb",
    }


def test_the_vendors_index_is_the_vendors_own(repository: SmallRepository) -> None:
    for name in ("InRelease", "main/binary-amd64/Packages", "main/binary-amd64/Packages.gz"):
        path = f"debian/dists/jammy/{name}"
        assert (repository.bundle / path).read_bytes() == (repository.www / path).read_bytes()


def test_releases_to_go_back_to_come_along(repository: SmallRepository) -> None:
    build(repository, ("packages", "distribution", "manifest"), rollback_releases=["1.23.0"])
    assert any("habanalabs-dkms_1.23.0-695" in path for path in files(repository))
    build(repository, ("packages", "distribution", "manifest"))
    assert not any("1.23.0-695" in path for path in files(repository))


def test_the_manifest_names_every_file_with_its_source(repository: SmallRepository) -> None:
    manifest = json.loads((repository.bundle / MANIFEST).read_text())
    by_path = {row["path"]: row for row in manifest["files"]}
    dkms = next(row for path, row in by_path.items() if "habanalabs-dkms" in path)
    assert dkms["source"].startswith("file://") and dkms["source"].endswith("habanalabs-dkms_1.24.1-482_all.deb")
    assert dkms["vouched"] == "the vendor's signed index"
    assert set(by_path) | {MANIFEST, f"{MANIFEST}.asc", SUMS} == files(repository)


def test_sums_can_be_checked_without_us(repository: SmallRepository) -> None:
    done = run_process(["sh", "-c", f"cd {repository.bundle} && sha256sum --check --quiet {SUMS}"])
    assert done.rc == 0, done.stderr


def test_the_secret_key_is_not_in_the_bundle_and_only_ours_to_read(repository: SmallRepository) -> None:
    assert not [path for path in files(repository) if b"PRIVATE KEY" in (repository.bundle / path).read_bytes()]
    assert (repository.base / "site-secret.asc").stat().st_mode & 0o777 == 0o600


def test_a_second_run_changes_nothing(published: SmallRepository) -> None:
    before = {path: (published.bundle / path).stat().st_mtime_ns for path in files(published)}
    assert [result["changed"] for result in build(published)] == [False] * len(PARTS)
    packages = [path for path in before if path.endswith(".deb") or path in (MANIFEST, SUMS)]
    assert packages and all((published.bundle / path).stat().st_mtime_ns == before[path] for path in packages)


def test_only_what_is_missing_is_fetched_again(published: SmallRepository) -> None:
    lost = next(published.bundle.rglob("habanalabs-dkms_*.deb"))
    kept = next(published.bundle.rglob("habanalabs-thunk_*.deb"))
    stamp = kept.stat().st_mtime_ns
    lost.unlink()
    assert [result["new_files"] for result in build(published)] == [0, 1, 0, 0, 0]
    assert lost.exists() and kept.stat().st_mtime_ns == stamp
    assert examine(published)["sound"]


@pytest.mark.parametrize(
    ("pattern", "part_of"), [("habanalabs-dkms_*.deb", "packages-jammy"), ("compiler_*.deb", "distribution-jammy")]
)
def test_a_file_that_was_damaged_without_changing_its_size_is_fetched_again(
    published: SmallRepository, pattern: str, part_of: str
) -> None:
    _flip(next(published.bundle.rglob(pattern)))
    results = {result["part"]: result for result in build(published)}
    assert {part for part, result in results.items() if result["changed"]} == {part_of}
    assert results[part_of]["new_files"] == 1
    assert examine(published)["sound"]


def test_a_bundle_whose_half_time_is_over_is_signed_anew(
    repository: SmallRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(repository, ("manifest",))  # The copy's repository is another one.
    before = json.loads((repository.bundle / MANIFEST).read_text())
    start, days = time.time(), 24 * 3600
    for passed, anew in ((180 * days, False), (190 * days, True)):
        monkeypatch.setattr(time, "time", lambda passed=passed: start + passed)
        build(repository, ("manifest",))
        after = json.loads((repository.bundle / MANIFEST).read_text())
        assert (after["created"] > before["created"]) is anew and after["created"] < after["expires"]
    assert {**after, "created": "", "expires": ""} == {**before, "created": "", "expires": ""}
    assert examine(repository)["sound"]


def test_a_bundle_that_changes_is_newer_than_before(repository: SmallRepository) -> None:
    build(repository, ("manifest",))
    before = json.loads((repository.bundle / MANIFEST).read_text())
    build(repository, ("manifest",), valid_days=30)
    after = json.loads((repository.bundle / MANIFEST).read_text())
    assert after["created"] > before["created"] and after["expires"] < before["expires"]


def test_an_expired_bundle_is_not_sound(repository: SmallRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    later = time.time() + 366 * 24 * 3600
    monkeypatch.setattr(time, "time", lambda: later)
    found = examine(repository)
    assert not found["sound"] and "expired at" in found["verdict"]


def test_check_mode_writes_nothing(repository: SmallRepository) -> None:
    next(repository.bundle.rglob("habanalabs-dkms_*.deb")).unlink()
    before = files(repository)
    results = [package_bundle.converge(repository.options(part), run_process, True) for part in ("keys", "packages")]
    assert [result["changed"] for result in results] == [False, True]
    assert files(repository) == before


def test_a_sound_bundle_is_called_so_by_its_own_fingerprint(repository: SmallRepository) -> None:
    found = examine(repository)
    assert (found["sound"], found["verdict"], found["release"]) == (True, "", "1.24.1-482")
    assert examine(repository, found["fingerprint"].lower())["sound"]


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _flip(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


@pytest.mark.parametrize(
    ("pattern", "damage", "words"),
    [
        ("*habanalabs-dkms_*", Path.unlink, ("habanalabs-dkms_1.24.1-482_all.deb is missing", "copy it again")),
        ("*compiler_*", _cut, ("compiler_12-1_all.deb is changed or cut short",)),
        ("*compiler_*", _flip, ("compiler_12-1_all.deb is changed or cut short",)),
        ("key.asc", lambda path: path.with_name("evil").touch(), ("gaudi3_scale/evil is not in the manifest",)),
        ("bundle.json", lambda path: path.write_text(path.read_text() + " "), ("does not match its signature",)),
        ("key.asc", Path.unlink, ("has no gaudi3_scale/key.asc",)),
        (
            "key.asc",
            lambda path: path.write_text("<html>"),
            ("key.asc is not a valid public key ('<html>'); copy the bundle again",),
        ),
        ("bundle.json.asc", Path.unlink, ("has no gaudi3_scale/bundle.json.asc", "copy it again")),
    ],
)
def test_damage_is_one_sentence(repository: SmallRepository, pattern: str, damage: Any, words: tuple[str, ...]) -> None:
    damage(next(repository.bundle.rglob(pattern)))
    found = examine(repository)
    assert not found["sound"]
    assert all(word in found["verdict"] for word in words), found["verdict"]
    assert "\n" not in found["verdict"]


@pytest.mark.parametrize("text", ["<html>", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nx\n-----END"])
def test_a_key_that_is_none_is_one_sentence_with_a_fingerprint_too(repository: SmallRepository, text: str) -> None:
    next(repository.bundle.rglob("key.asc")).write_text(text)
    assert "is not a valid public key" in str(examine(repository, "BE" * 20)["verdict"])


def test_a_manifest_that_somebody_signed_anew_is_refused_by_fingerprint(repository: SmallRepository) -> None:
    trusted = examine(repository)["fingerprint"]
    _flip(next(repository.bundle.rglob("compiler_*.deb")))
    # With the whole bundle in hand anybody can sign anew; only the fingerprint tells.
    shutil.rmtree(f"{repository.bundle}.work")
    manifest = json.loads((repository.bundle / MANIFEST).read_text())
    for row in manifest["files"]:
        row["sha256"] = sha256_of(repository.bundle / row["path"])
    (repository.bundle / MANIFEST).write_text(json.dumps(manifest))
    with gnupg.home(run_process) as home:
        gnupg.make_key(home, "a stranger <s@localhost>", run_process)
        stranger, key = gnupg.public_key(home, run_process), repository.bundle / "gaudi3_scale/key.asc"
        both = stranger + key.read_text()
        key.write_text(stranger)
        gnupg.sign_detached(home, str(repository.bundle / MANIFEST), f"{repository.bundle / MANIFEST}.asc", run_process)
    found = examine(repository, trusted)
    assert not found["sound"] and f"not by {trusted}" in found["verdict"]
    # Nor does the trusted key vouch for what a key beside it has signed.
    key.write_text(both)
    found = examine(repository, trusted)
    assert not found["sound"] and "does not match its signature" in found["verdict"]


def test_a_bundle_of_somebody_else_is_refused(repository: SmallRepository) -> None:
    found = examine(repository, "A" * 40)
    assert not found["sound"] and "not by AAAA" in found["verdict"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": 2, "files": [{}]}'])
def test_a_manifest_that_cannot_be_read_is_refused(repository: SmallRepository, text: str) -> None:
    (repository.bundle / MANIFEST).write_text(text)
    with pytest.raises(GaudiError, match=r"bundle\.json is not a bundle's manifest .*copy the bundle again"):
        examine(repository)


def test_a_place_without_a_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match="not a finished bundle"):
        bundle_check.examine(str(tmp_path), "", run_process)


def test_packages_that_the_vendor_did_not_sign_are_not_taken(repository: SmallRepository) -> None:
    signed = repository.www / "debian/dists/jammy/InRelease"
    signed.write_text(signed.read_text().replace("Codename: jammy", "Codename: tammy"))
    before = files(repository)
    with pytest.raises(GaudiError, match="is not signed by the key"):
        build(repository, ("packages",))
    assert files(repository) == before


def test_a_package_that_the_index_does_not_vouch_for_is_not_taken(repository: SmallRepository) -> None:
    shutil.rmtree(repository.bundle)
    shutil.rmtree(f"{repository.bundle}.work")
    path = next((repository.www / "debian").rglob("habanalabs-thunk_1.24.1*"))
    _flip(path)
    with pytest.raises(GaudiError, match=r"habanalabs-thunk_1\.24\.1.* does not have the sha256"):
        build(repository, ("keys", "packages"))
    assert not any("habanalabs-thunk" in path for path in files(repository))


def test_of_several_vendor_keys_only_the_operators_is_taken(repository: SmallRepository) -> None:
    path = repository.www / APT_KEY
    vendor = path.read_text()
    with gnupg.home(run_process) as home:
        gnupg.make_key(home, "a stranger <s@localhost>", run_process)
        path.write_text(gnupg.public_key(home, run_process) + vendor)
    build(repository, ("keys",), key_fingerprint=fingerprints(binary(vendor))[0])
    assert binary((repository.bundle / APT_KEY).read_text()) == binary(vendor)


def test_another_vendor_key_than_the_operators_is_refused(repository: SmallRepository) -> None:
    before = files(repository)
    with pytest.raises(GaudiError, match=r"has the fingerprint [0-9A-F]{40}.*, not BEEF; ask the vendor"):
        build(repository, ("keys",), key_fingerprint="beef")
    assert files(repository) == before


@pytest.mark.parametrize(
    ("more", "part", "words"),
    [
        ({"release": "9.9.9"}, "keys", "gaudi_release_overrides"),
        ({"release": "1.22.0"}, "packages", "does not offer habanalabs-dkms 1.22.0-740 in jammy .*1.23.0-695"),
        ({"path": "relative"}, "keys", "absolute path"),
        ({"path": "/srv"}, "keys", "dedicated directory"),
        ({"path": "/srv/my bundle"}, "keys", "without blanks"),
        ({"suite": ""}, "packages", "suite is empty"),
        ({"suite": "jammy\nTrusted: yes"}, "packages", "^suite must have"),
        ({"components": ["main universe"]}, "packages", "^components must have"),
        ({"packages_url": "http://a.example/repository"}, "keys", r"^packages_url uses plain http to a\.example"),
        ({"valid_days": 0}, "manifest", "valid_days must be between 1 and 3650, not 0"),
        ({"suite": "noble"}, "packages", "dists/noble/InRelease"),
        (
            {"kernels": ["6.9"]},
            "distribution",
            "headers-6.9 is not in the package sources of jammy; correct os_packages",
        ),
        (
            {"distribution_sources": "deb file:/nowhere jammy main\n"},
            "distribution",
            "apt cannot read the package sources",
        ),
        ({"rpm_repositories": ["../../etc"]}, "rpms", "outside of the bundle"),
        ({"files": ["/nowhere/a.whl"]}, "files", "is not on this host"),
        ({"files": ["/etc/passwd"]}, "files", "not a wheel"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(
    repository: SmallRepository, more: dict[str, object], part: str, words: str
) -> None:
    before = files(repository)
    with pytest.raises(GaudiError, match=words) as caught:
        build(repository, (part,), **more)
    assert "\n" not in str(caught.value)
    assert files(repository) == before


def test_a_directory_of_somebody_else_is_left_alone(repository: SmallRepository, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/thesis.tex").touch()
    with pytest.raises(GaudiError, match="is not a bundle; choose another path"):
        build(repository, ("keys",), path=str(tmp_path / "home"))
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["thesis.tex"]


def test_a_bundle_that_is_not_complete_is_not_finished(repository: SmallRepository) -> None:
    next(repository.bundle.rglob("compiler_*")).unlink()
    with pytest.raises(GaudiError, match=r"compiler_12-1_all\.deb of the part distribution is not there"):
        build(repository, ("manifest",))


def test_too_little_space_is_told_before_anything_is_fetched(
    repository: SmallRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(repository.bundle / "debian/pool")
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=1 << 20))
    with pytest.raises(GaudiError, match="has 1 MiB free, and this part needs"):
        build(repository, ("packages",))
    assert not (repository.bundle / "debian/pool").exists()


def test_a_record_cut_short_by_a_power_loss_costs_no_fetching(repository: SmallRepository) -> None:
    kept = next(repository.bundle.rglob("habanalabs-dkms_*.deb"))
    stamp = kept.stat().st_mtime_ns
    (Path(f"{repository.bundle}.work") / "parts/packages-jammy.json").write_text("[{")
    build(repository, ("packages", "manifest"))
    assert kept.stat().st_mtime_ns == stamp
    assert examine(repository)["sound"]


def test_a_bundle_without_its_work_directory_can_be_gone_on_with(repository: SmallRepository) -> None:
    """It came from another connected host, where another distribution's parts were built."""
    shutil.rmtree(f"{repository.bundle}.work")
    build(repository, ("manifest",))
    found = examine(repository)
    assert found["sound"] and found["files"] > 10


def test_a_distribution_that_another_key_signed_is_not_finished(repository: SmallRepository) -> None:
    """Nodes of that distribution would refuse it: they get one key, that of the bundle."""
    before = (repository.bundle / MANIFEST).read_bytes()
    with pytest.raises(GaudiError, match=r"dists/jammy/InRelease is signed by another key than .*other\.asc; copy"):
        build(repository, ("manifest",), signing_key=str(repository.base / "other.asc"))
    assert (repository.bundle / MANIFEST).read_bytes() == before
    build(repository, ("distribution", "manifest"), signing_key=str(repository.base / "other.asc"))
    assert examine(repository)["sound"]


def test_what_the_operator_adds_is_indexed_for_pip(repository: SmallRepository, tmp_path: Path) -> None:
    (tmp_path / "own_thing-1.0-py3-none-any.whl").write_bytes(b"wheel")
    (tmp_path / "gaudi3-scale-0.1.0.tar.gz").write_bytes(b"collection")
    build(repository, ("files", "manifest"), files=[str(path) for path in tmp_path.glob("*-*")])
    page = repository.bundle / "api/pypi/gaudi-python/simple/own-thing/index.html"
    assert "../../packages/own_thing-1.0-py3-none-any.whl#sha256=" in page.read_text()
    assert (repository.bundle / "gaudi3_scale/collections/gaudi3-scale-0.1.0.tar.gz").read_bytes() == b"collection"
    build(repository, ("files", "manifest"))
    assert not page.exists() and examine(repository)["sound"]


def test_the_work_directory_may_not_be_served(repository: SmallRepository) -> None:
    options: BundleOptions = replace(repository.options("keys"), work_path=f"{repository.bundle}/work")
    with pytest.raises(GaudiError, match="must be outside of path"):
        package_bundle.converge(options, run_process, False)
