# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Where pip and apt of a build take packages from: files that are given to it as secrets, and are in no image."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.layout import KEY
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._image.base import wanted_base
from ansible_collections.gaudi3.scale.plugins.module_utils._image.options import ImageOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._image.package_sources import bundle_of, source_files
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release

OPTIONS = ImageOptions(name="llm", code="/code", release="1.24.1", os_packages=["libaio1"])
WHEEL = "http://server:8090/api/pypi/gaudi-python/packages/idna-3.10-py3-none-any.whl"


@dataclass(frozen=True)
class Bundle:
    """A bundle with packages of Ubuntu 22.04, as far as a build asks it."""

    packages_url: str
    wheels: dict[str, str] = field(default_factory=lambda: {WHEEL: "1" * 64})

    def has_distribution(self, suite):
        return suite == "jammy"

    def url(self, path):
        return f"{self.packages_url}/{path}"

    def checksum(self, url):
        return f"sha256:{'7' * 64}" if url == self.url("gaudi3_scale/images/base.tar") else ""


@pytest.fixture
def bundle(tmp_path):
    (tmp_path / KEY).parent.mkdir(parents=True)
    (tmp_path / KEY).write_text("-----BEGIN PGP PUBLIC KEY BLOCK-----\n")
    return Bundle(tmp_path.as_uri())


def test_without_an_index_and_a_bundle_the_base_image_decides():
    assert set(source_files(OPTIONS, None, "jammy").values()) == {""}
    assert bundle_of(OPTIONS, run_process) is None


@pytest.mark.parametrize(
    ("url", "lines"),
    [
        ("https://me:pw@pypi.example.org/simple", ["index-url = https://me:pw@pypi.example.org/simple"]),
        (
            "http://me:pw@pypi.example.org:8080/simple",
            ["index-url = http://me:pw@pypi.example.org:8080/simple", "trusted-host = pypi.example.org:8080"],
        ),
    ],
)
def test_an_index_of_the_site(url, lines):
    options = ImageOptions(name="llm", code="/code", release="1.24.1", index_url=url)
    assert source_files(options, None, "")["gaudi3_scale_pip"].splitlines() == ["[global]", *lines]


def test_a_bundle_gives_its_signed_wheels_and_its_packages(bundle):
    files = source_files(OPTIONS, bundle, "jammy")
    assert files["gaudi3_scale_pip"].splitlines() == [
        "[global]",
        "no-index = true",
        "find-links = file:///run/secrets/gaudi3_scale_wheels.html",
        "only-binary = :all:",
    ]
    assert f'href="{WHEEL}#sha256={"1" * 64}"' in files["gaudi3_scale_wheels.html"]
    assert files["gaudi3_scale_sources"] == (
        "deb [signed-by=/run/secrets/gaudi3_scale_key.asc] "
        f"{bundle.packages_url}/gaudi3_scale/distribution jammy main\n"
    )
    assert files["gaudi3_scale_key.asc"].startswith("-----BEGIN PGP")
    assert 'Dir::Etc::sourceparts "/dev/null";' in files["gaudi3_scale_apt"]


def test_a_bundle_of_another_system_is_refused_where_packages_are_wanted(bundle):
    with pytest.raises(
        GaudiError, match=r"has no packages of noble, so os_packages \(gaudi_image_os_packages\) cannot"
    ):
        source_files(OPTIONS, bundle, "noble")


def test_an_archive_by_its_name_alone_is_the_bundle_s(bundle):
    release = find_release("1.24.1")
    options = replace(OPTIONS, base_image="oci-archive:base.tar")
    base = wanted_base(options, release, bundle)
    assert (base.source, base.file) == (
        "oci-archive:/var/lib/gaudi3_scale/images/base.tar",
        "/var/lib/gaudi3_scale/images/base.tar",
    )
    assert (base.url, base.digest) == (f"{bundle.packages_url}/gaudi3_scale/images/base.tar", f"sha256:{'7' * 64}")
    with pytest.raises(
        GaudiError, match=r"has no gaudi3_scale/images/other\.tar; build it with that archive in gaudi_b"
    ):
        wanted_base(replace(options, base_image="oci-archive:other.tar"), release, bundle)
    with pytest.raises(GaudiError, match=r"not a whole path, and no bundle is set; give the path"):
        wanted_base(options, release)
