# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is installed in an image, read from its files; and what of the vendor's may not change."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._image import packages
from ansible_collections.gaudi3.scale.plugins.module_utils._image.image_files import inside
from ansible_collections.gaudi3.scale.plugins.module_utils._image.packages import read_contents
from ansible_collections.gaudi3.scale.plugins.module_utils._image.sbom import package_url
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.tests.image_base import TORCH, metadata, vendors_packages, write_files

SITE = "usr/local/lib/python3.10/dist-packages"
STATUS = """Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.35-0ubuntu3
Description: GNU C Library
 with a second line

Package: gone
Status: deinstall ok config-files
Version: 1

Package: habanalabs-graph
Status: hold ok installed
Architecture: amd64
Version: 1.24.1-482
"""


@pytest.fixture
def root(tmp_path):
    """The vendor's image, as far as it is looked at."""
    image = tmp_path / "image"
    write_files(image / SITE, vendors_packages())
    write_files(
        image,
        {
            "usr/lib/os-release": 'ID=ubuntu\nVERSION_CODENAME="jammy"\n# a remark\n',
            "var/lib/dpkg/status": STATUS,
            f"{SITE}/numpy-1.26.4.dist-info/METADATA": metadata("numpy", "1.26.4")
            + "License-Expression: BSD-3-Clause\n",
            "usr/lib/python3/dist-packages/PyYAML-5.4.1.egg-info": metadata("PyYAML", "5.4.1"),
        },
    )
    (image / "etc").mkdir()
    (image / "etc/os-release").symlink_to("../usr/lib/os-release")
    return image


def test_both_databases_are_read(root):
    contents = read_contents(root)
    assert (contents.system["ID"], contents.system["VERSION_CODENAME"]) == ("ubuntu", "jammy")
    assert {(one.kind, one.name, one.version) for one in contents.packages} == {
        ("deb", "libc6", "2.35-0ubuntu3"),
        ("deb", "habanalabs-graph", "1.24.1-482"),
        ("pypi", "torch", TORCH),
        ("pypi", "habana-torch-plugin", "1.24.1.482"),
        ("pypi", "numpy", "1.26.4"),
        ("pypi", "pyyaml", "5.4.1"),
    }
    assert contents.torch == TORCH and contents.releases == {"1.24.1-482"}


def test_links_of_an_image_lead_nowhere_outside_of_it(root, tmp_path):
    (tmp_path / "outside").write_text("Package: stolen\nStatus: install ok installed\nVersion: 1\n")
    (root / "var/lib/dpkg/status").unlink()
    (root / "var/lib/dpkg/status").symlink_to("../../../../outside")
    (root / "around").symlink_to("around")
    (root / "absolute").symlink_to("/usr/lib/os-release")
    assert [one for one in read_contents(root).packages if one.kind == "deb"] == []
    assert inside(root, "around") is None
    assert inside(root, "absolute") == root / "usr/lib/os-release"


def test_the_vendors_image_of_the_release_is_fit(root):
    packages.refuse_unfit_base(read_contents(root), "base", find_release("1.24.1"))


@pytest.mark.parametrize(
    ("release", "sentence"),
    [
        ("1.23.0", r"is of release 1\.24\.1-482, and the nodes' driver is of 1\.23\.0-695; take the image of 1\.23\.0"),
        ("1.24.0", r"is of release 1\.24\.1-482, and the nodes' driver is of 1\.24\.0-1007"),
    ],
)
def test_an_image_of_another_release_is_refused_with_both(root, release, sentence):
    with pytest.raises(GaudiError, match=sentence):
        packages.refuse_unfit_base(read_contents(root), "base", find_release(release))


def test_an_image_that_is_not_the_vendors_is_refused(tmp_path):
    write_files(tmp_path / SITE, {"torch-2.11.0.dist-info/METADATA": metadata("torch", "2.11.0")})
    with pytest.raises(GaudiError, match=r"has none of the vendor's packages, so its release is unknown"):
        packages.refuse_unfit_base(read_contents(tmp_path), "base", find_release("1.24.1"))
    with pytest.raises(GaudiError, match=r"has no PyTorch"):
        packages.refuse_unfit_base(read_contents(tmp_path / "usr"), "base", find_release("1.24.1"))


def test_an_image_with_another_torch_than_its_release_is_refused(tmp_path):
    write_files(tmp_path / SITE, vendors_packages(torch="2.10.0+git1"))
    with pytest.raises(GaudiError, match=r"has PyTorch 2\.10\.0\+git1, and release 1\.24\.1-482 has 2\.11\.0"):
        packages.refuse_unfit_base(read_contents(tmp_path), "base", find_release("1.24.1"))


CHANGES = {
    "a second torch": (f"{SITE}/torch-9.9.0.dist-info/METADATA", metadata("torch", "9.9.0"), r"torch was 2\.11\.0a0\+"),
    "one of the distribution's": (
        "usr/lib/python3/dist-packages/torch-1.13.egg-info",
        metadata("torch", "1.13"),
        r"torch was 2\.11\.0a0\+gitdeadbee and is 2\.11\.0a0\+gitdeadbee and 1\.13",
    ),
    "what a dependency brings": (
        f"{SITE}/nvidia_nccl_cu12-2.dist-info/METADATA",
        metadata("nvidia-nccl-cu12", "2"),
        r"nvidia-nccl-cu12 was not there and is 2",
    ),
}


@pytest.mark.parametrize(("path", "text", "sentence"), CHANGES.values(), ids=CHANGES)
def test_a_build_that_changed_torch_is_refused_with_both_versions(root, path, text, sentence):
    before = read_contents(root)
    write_files(root, {path: text})
    with pytest.raises(GaudiError, match=sentence) as refused:
        packages.refuse_changes(before, read_contents(root))
    assert str(refused.value).endswith("The image was removed.")


def test_other_packages_may_change(root):
    before = read_contents(root)
    write_files(root / SITE, {"torchmetrics-1.0.dist-info/METADATA": metadata("torchmetrics", "1.0")})
    packages.refuse_changes(before, read_contents(root))


def test_pip_is_told_what_stays(root):
    text = packages.constraints(read_contents(root))
    assert text.splitlines()[1:] == ["habana-torch-plugin==1.24.1.482", f"torch=={TORCH}"]


def test_what_rpm_says_belongs_to_it(root):
    write_files(root, {"var/lib/rpm/rpmdb.sqlite": ""})
    assert packages.has_rpms(root)
    said = "glibc\t2.34-100.el9\tx86_64\tLGPLv2+\ngpg-pubkey\t1-2\t(none)\tpubkey\n"
    said += "habanalabs-graph\t1.24.1-482.el9\tx86_64\tx\n"
    contents = packages.with_rpms(read_contents(root), said)
    assert [(one.name, one.version) for one in contents.packages if one.kind == "rpm"] == [
        ("glibc", "2.34-100.el9"),
        ("habanalabs-graph", "1.24.1-482.el9"),
    ]
    assert contents.releases == {"1.24.1-482"}
    assert package_url(contents.packages[0], "rhel") == "pkg:rpm/rhel/glibc@2.34-100.el9?arch=x86_64"
