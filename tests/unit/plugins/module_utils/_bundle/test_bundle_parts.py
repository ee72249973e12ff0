# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The decisions behind a bundle as values: what apt and pip name, what an index lists, and which paths are believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle import build as package_bundle
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle import distribution as bundle_distribution
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle import pip_index
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle import wheels as bundle_wheels
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.plan import (
    BundleOptions,
    check,
    part_name,
    safe_path,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.vendor import depends
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._packages import apt_index

OPTIONS = BundleOptions("/srv/bundle", "https://v", "1.24.1", "distribution", suite="jammy", os_directory="ubuntu2204")
DIGEST = "a" * 64


def test_apts_list_becomes_files_of_the_distribution_only() -> None:
    lines = [
        "Reading package lists...",
        f"'http://m/pool/g/g%2b%2b_4%3a12_amd64.deb' g++_4%3a12_amd64.deb 10 SHA256:{DIGEST}",
        f"'file:/srv/bundle/debian/pool/habanalabs-dkms_1_all.deb' habanalabs-dkms_1_all.deb 11 SHA256:{DIGEST}",
        f"'file:/mirror/make_1_amd64.deb' make_1_amd64.deb 12 SHA256:{DIGEST}",
    ]
    found = bundle_distribution.remote_files(lines, OPTIONS)
    assert [(file.url, file.path, file.size) for file in found] == [
        ("http://m/pool/g/g%2b%2b_4%3a12_amd64.deb", "gaudi3_scale/distribution/pool/jammy/g++_4:12_amd64.deb", 10),
        ("file:///mirror/make_1_amd64.deb", "gaudi3_scale/distribution/pool/jammy/make_1_amd64.deb", 12),
    ]


def test_a_package_without_a_checksum_is_refused() -> None:
    with pytest.raises(GaudiError, match="without a SHA-256"):
        bundle_distribution.remote_files(["'http://m/a.deb' a.deb 10 MD5Sum:00"], OPTIONS)


def test_pips_report_becomes_files_without_the_archives_own_wheels() -> None:
    report = {
        "install": [
            {"download_info": {"url": "file:///srv/bundle.work/pytorch/torch-2.whl", "archive_info": {}}},
            {
                "download_info": {
                    "url": "https://p/a%2B1.whl#sha256=x",
                    "archive_info": {"hashes": {"sha256": DIGEST}},
                }
            },
            {"download_info": {"url": "https://p/b.whl", "archive_info": {}}},
        ]
    }
    found = bundle_wheels.remote_files(report, "/srv/bundle.work/")
    assert [(file.path.rpartition("/")[2], file.sha256) for file in found] == [("a+1.whl", DIGEST), ("b.whl", "")]
    assert found[1].vouched == "no checksum of it is published"


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "", "a\\b", "."])
def test_a_path_that_leaves_the_bundle_is_refused(path: str) -> None:
    with pytest.raises(GaudiError, match="outside of the bundle"):
        safe_path(path, "an index")


def test_parts_of_two_distributions_stand_beside_each_other() -> None:
    assert part_name(OPTIONS) == "distribution-jammy"


def test_every_dependency_is_named_alternatives_too() -> None:
    row = {"Depends": "a (= 1), b:any | c (>= 2)", "Pre-Depends": "d"}
    assert depends(row) == ["d", "a", "b", "c"]


def test_a_release_file_read_back_is_what_was_written(tmp_path: Path) -> None:
    lists = tmp_path / "main/binary-amd64"
    assert apt_index.write_packages(str(lists), "Package: a\n")
    assert not apt_index.write_packages(str(lists), "Package: a\n")
    text = apt_index.release_text(str(tmp_path), {"Suite": "jammy"}, now=0)
    assert "Date: Thu, 01 Jan 1970 00:00:00 UTC\n" in text
    files = apt_index.release_files(text)
    assert files["main/binary-amd64/Packages"] == (11, apt_index.sha256_of(lists / "Packages"))
    assert apt_index.read_list(lists / "Packages.gz") == "Package: a\n"


def test_only_the_lists_of_our_architectures_are_taken() -> None:
    names = ("binary-amd64/Packages.gz", "binary-arm64/Packages.gz", "i18n/Translation-en.xz", "source/Sources")
    files = {f"main/{name}": apt_index.IndexedFile(1, DIGEST) for name in names}
    chosen = apt_index.list_files(files, ["main"], ["amd64"])
    assert sorted(chosen) == ["main/binary-amd64/Packages.gz", "main/i18n/Translation-en.xz"]


def test_stanzas_keep_lines_that_go_on() -> None:
    assert list(apt_index.stanzas("A: 1\nB: 2\n 3\n\nA: 4\n")) == [{"A": "1", "B": "2\n 3"}, {"A": "4"}]


def test_pip_takes_the_operators_own_wheels_too(tmp_path: Path) -> None:
    """They are on no index, so that pip could not resolve what needs them."""
    (tmp_path / "own.whl").write_bytes(b"wheel")
    options = replace(OPTIONS, path=str(tmp_path / "bundle"), files=[str(tmp_path / "own.whl")], part="files")
    calls: list[list[str]] = []

    def run(argv: Sequence[str], **_more: object) -> CommandResult:
        calls.append(list(argv))
        if "--report" in argv:
            Path(argv[argv.index("--report") + 1]).write_text('{"install": []}')
        return CommandResult(0, "3 12" if "-c" in argv else "pip 23.0 from x (python 3.12)", "")

    package_bundle.converge(options, run, False)
    wheels = replace(options, part="wheels", requirements=["own"])
    (tmp_path / "bundle.work/venv-ubuntu2204/bin").mkdir(parents=True)
    (tmp_path / "bundle.work/venv-ubuntu2204/bin/pip").touch()
    package_bundle.converge(wheels, run, False)
    install = next(call for call in calls if "--report" in call)
    links = Path(install[install.index("--find-links") + 1])
    assert [path.name for path in links.iterdir()] == ["own.whl"]
    asked = Path(install[install.index("-r") + 1]).read_text().splitlines()
    assert "lightning==2.6.6" in asked and not [line for line in asked if line.startswith("boto3")]
    package_bundle.converge(replace(options, files=[]), run, False)
    assert list(links.iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (
            {"requirements": ["gaudi3-scale[tune]==0.1.0"]},
            r"^requirements must not name gaudi3-scale \('gaudi3-scale\[",
        ),
        (
            {"extras": ["tunes"]},
            r"^extras has 'tunes', which the node library does not have; use of hf, pdf, s3, tensorboard",
        ),
    ],
)
def test_a_bundle_has_no_wheel_of_ours_and_no_extra_that_is_none(wrong: dict[str, list[str]], sentence: str) -> None:
    with pytest.raises(GaudiError, match=sentence):
        check(replace(OPTIONS, **wrong))


def test_pip_pages_link_every_wheel_with_its_hash(tmp_path: Path) -> None:
    files = tmp_path / "packages"
    files.mkdir()
    (files / "Some_Name-1.0+cpu-py3-none-any.whl").write_bytes(b"wheel")
    pip_index.write_simple_pages(str(tmp_path / "simple"), str(files))
    assert '<a href="some-name/">some-name</a>' in (tmp_path / "simple" / "index.html").read_text()
    page = (tmp_path / "simple" / "some-name" / "index.html").read_text()
    assert 'href="../../packages/Some_Name-1.0%2Bcpu-py3-none-any.whl#sha256=' in page
