# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.image_release import (
    ImageRelease,
    name_that_fits,
    refuse_unfit,
    release_of,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

OWN = "registry.example.org/team/train"


@pytest.mark.parametrize(
    ("labels", "packages", "name", "release", "told_by"),
    [
        ({"scale.gaudi3.release": "1.24.1-482"}, {"habana-torch-plugin": "1.23.0.695"}, OWN, "1.24.1", "its label"),
        ({}, {"habana-torch-plugin": "1.23.0.695"}, OWN, "1.23.0", "habana-torch-plugin 1.23.0.695 in it"),
        ({}, {"habana-torch-plugin": "", "habana-media-loader": "1.22.0.740+g1"}, OWN, "1.22.0", "habana-media-loader"),
        ({"release": "2"}, {}, f"{OWN}:1.24.0-1007", "1.24.0", "its name"),
        (
            {},
            {},
            "vault.habana.ai/gaudi-docker/1.23.0/ubuntu24.04/habanalabs/pytorch-installer-2.9.0",
            "1.23.0",
            "its name",
        ),
        # A version of one's own is none of the vendor's.
        ({"org.opencontainers.image.version": "1.24.1"}, {}, f"{OWN}:1.24.1", "", ""),
        ({}, {}, OWN, "", ""),
    ],
)
def test_what_says_of_which_release_it_is(labels, packages, name, release, told_by):
    found = release_of(labels, packages, name)
    assert found.release == release
    assert told_by in found.told_by


@pytest.mark.parametrize(
    ("release", "driver"), [("1.24.1", "1.24.1-b336d5e"), ("", "1.24.1-b336d5e"), ("1.24.1", ""), ("1.24.1", "1.24.1")]
)
def test_what_fits_or_is_not_known_is_taken(release, driver):
    refuse_unfit(OWN, ImageRelease(release, "its name"), driver, "ubuntu-24.04")


def test_an_image_of_another_release_is_refused_with_both_and_the_one_that_fits():
    with pytest.raises(GaudiError) as refused:
        refuse_unfit(OWN, ImageRelease("1.16.0", "its name"), "1.24.1-b336d5e", "ubuntu-24.04")
    assert str(refused.value) == (
        "image registry.example.org/team/train is of release 1.16.0 (its name), and the driver of this node of release "
        "1.24.1; use an image of 1.24.1, such as "
        "vault.habana.ai/gaudi-docker/1.24.1/ubuntu24.04/habanalabs/pytorch-installer-2.11.0:1.24.1-482, or upgrade "
        "the driver (playbooks/upgrade_driver.yml)."
    )


@pytest.mark.parametrize(
    ("release", "system", "place"),
    [("1.24.1", "ubuntu-22.04", "/ubuntu22.04/"), ("1.24.1", "debian-12", "/ubuntu24.04/"), ("9.9.9", "debian-12", "")],
)
def test_the_image_that_fits_is_for_the_nodes_system_where_there_is_one(release, system, place):
    assert place in name_that_fits(release, system)
    assert bool(name_that_fits(release, system)) is bool(place)
