# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Of which release of the vendor's software an image is, and whether that fits a node's driver. Pure.

The vendor's names have the release twice: ``…/gaudi-docker/1.24.1/ubuntu24.04/habanalabs/pytorch-installer-2.11.0`` and
the tag ``1.24.1-482``. An image that was built on one of those has the vendor's packages, whose versions are
``1.24.1.482``. Public threads tell of 1.16.0 in a container on a driver 1.16.1 that fails, so only one release fits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .._errors import GaudiError
from .._releases.lookup import Release, find_release, release_part

# Those that images of ours have. Of the vendor's own images no label is published; their packages and names tell.
LABELS = ("scale.gaudi3.release",)
# The distributions that the vendor brings to Python, of the bridge first.
PACKAGES = ("habana-torch-plugin", "habana-torch-dataloader", "habana-media-loader")
_RELEASE = re.compile(r"(?P<release>\d+\.\d+\.\d+)(?:[.-]\d+)?(?:[-+.].*)?")
_IN_NAME = re.compile(r"/gaudi-docker/(?P<release>\d+\.\d+\.\d+)/|:(?P<tag>\d+\.\d+\.\d+)-\d+$")
VENDORS_REGISTRY = "vault.habana.ai/gaudi-docker"


@dataclass(frozen=True)
class ImageRelease:
    """``release`` "" for an image that does not tell; ``told_by`` says where it does."""

    release: str = ""
    told_by: str = ""


def release_of(labels: Mapping[str, str], packages: Mapping[str, str], name: str) -> ImageRelease:
    """By its labels, else by the vendor's packages in it (name to version), else by its name."""
    for label in LABELS:
        found = _RELEASE.fullmatch(labels.get(label, ""))
        if found:
            return ImageRelease(found["release"], f"its label {label}")
    for package in PACKAGES:
        found = _RELEASE.fullmatch(packages.get(package, ""))
        if found:
            return ImageRelease(found["release"], f"{package} {packages[package]} in it")
    found = _IN_NAME.search(name)
    return ImageRelease(found["release"] or found["tag"], "its name") if found else ImageRelease()


def refuse_unfit(image: str, of_image: ImageRelease, driver: str, system: str) -> None:
    """Raises GaudiError where the release of the image is known and another than that of the node's driver.

    ``driver`` is what the driver says of itself, ``system`` the node's ``<ID>-<VERSION_ID>`` of os-release.
    """
    release = release_part(driver)
    if not of_image.release or not release or of_image.release == release:
        return
    fitting = name_that_fits(release, system)
    raise GaudiError(
        f"image {image} is of release {of_image.release} ({of_image.told_by}), and the driver of this node of release "
        f"{release}; use an image of {release}{f', such as {fitting}' if fitting else ''}, or upgrade the driver "
        "(playbooks/upgrade_driver.yml)."
    )


def name_that_fits(release: str, system: str) -> str:
    """The vendor's own image of a release for a node's system; "" for a release or a system without one."""
    try:
        row = find_release(release)
    except GaudiError:
        return ""
    if system not in row.operating_systems:
        # Any will do, since an image brings its own system.
        system = next(iter(sorted(row.operating_systems, reverse=True)), "")
    return vendors_image(row, system_in_name(system)) if system else ""


def vendors_image(release: Release, system: str, registry: str = VENDORS_REGISTRY) -> str:
    """The vendor's name of its image of a release (Setup_and_Install, dockerfiles); ``system`` as ``ubuntu24.04``."""
    path = f"{release.version}/{system}/habanalabs/pytorch-installer-{release.pytorch}"
    return f"{registry}/{path}:{release.package_version}"


def system_in_name(system: str) -> str:
    """``<ID>-<VERSION_ID>`` of os-release as the vendor's names have it."""
    return system.replace("-", "", 1)


def unknown_remark(image: str) -> str:
    """What is said of an image whose release nothing tells."""
    return (
        f"image {image} says nothing of its release (no label, none of the vendor's packages, not in its name), so it "
        "was not compared with the node's driver."
    )
