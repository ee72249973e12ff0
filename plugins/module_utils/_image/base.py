# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The image that another one is made from: the vendor's of a release, one of the site's, or an archive."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .._bundle.bundle_site import Site
from .._bundle.layout import IMAGES
from .._containers.image_reference import (
    ARCHIVES,
    DIGEST,
    LATEST,
    LOGIN,
    REGISTRY,
    SCHEME,
    NoReference,
    Reference,
    read_reference,
)
from .._containers.image_release import system_in_name, vendors_image
from .._errors import GaudiError
from .._node.digests import file_digest
from .._releases.lookup import Release
from .options import ImageOptions

# A version between what parts the words of a name: gaudi-docker/1.24.1/ubuntu22.04, :1.24.1-482.
_RELEASE = re.compile(r"(?<![0-9.])(1\.[0-9]{1,2}\.[0-9]{1,2})(?:-([0-9]{1,5}))?(?![0-9.])")
# What an operator does who gave something else than REGISTRY/NAME.
_REFUSALS = {
    SCHEME: (
        "{option} begins with {value}://; write REGISTRY/NAME without a scheme. A registry without TLS is named in "
        "plain_http_hosts (gaudi_plain_http_hosts)."
    ),
    # Not shown: what stands before an @ is most often a name and its password.
    LOGIN: (
        "{option} has an @ that no sha256: follows; log in with `podman login`, set authfile (gaudi_image_authfile), "
        "and give the name alone."
    ),
    DIGEST: "{option} has the digest {value!r:.80}; write sha256: and 64 hex digits.",
}
_IN_FULL = "{option} is {value!r:.120}; write it in full, as registry.example.org/team/image."


@dataclass(frozen=True)
class Base:
    """``source`` is for pull, ``image`` for FROM, ``digest`` says which one it is, ``name`` whose it is.

    ``registry`` is empty where it is an archive, which comes from ``url`` if that is not.
    """

    source: str
    image: str
    name: str
    digest: str
    registry: str = ""
    url: str = ""

    @property
    def file(self) -> str:
        """The archive on this host."""
        return self.source.partition(":")[2]


def parse_reference(text: str, option: str) -> Reference:
    """Taken apart. Raises :class:`GaudiError` for what is none, for a name that is not whole, and for an archive."""
    found = read_reference(text)
    if isinstance(found, Reference) and found.transport == REGISTRY:
        return found
    reason, value = (found.reason, found.value) if isinstance(found, NoReference) else ("", found.shown)
    said = _REFUSALS.get(reason, _IN_FULL).format(option=option, value=value)
    raise GaudiError(said, option=option.partition(" ")[0])


def name_of_vendors(options: ImageOptions, release: Release) -> str:
    """The vendor's name of its image of a release for the wanted system, without a digest."""
    known = sorted(map(system_in_name, release.operating_systems))
    if options.system not in known:
        raise GaudiError(
            f"system (gaudi_image_system) is {options.system!r:.80}; release {release.version} has images for "
            f"{', '.join(known)}.",
            option="system",
        )
    return vendors_image(release, options.system, options.registry.rstrip("/"))


def wanted_base(options: ImageOptions, release: Release, site: Site | None = None) -> Base:
    """What to begin with. Raises :class:`GaudiError` where it is not pinned, or is of another release by its name."""
    transport, _colon, path = options.base_image.partition(":")
    if transport in ARCHIVES and not path.startswith("/"):
        return _from_bundle(transport, path, options, site)
    if transport in ARCHIVES:
        return _archive(transport, path, options)
    option = "base_image (gaudi_image_base)"
    text = options.base_image or name_of_vendors(options, release)
    if options.base_digest and "@" not in text:
        text = f"{text}@{options.base_digest}"
    reference = parse_reference(text, option)
    if reference.tag == LATEST:
        raise GaudiError(
            f"{option} is {options.base_image!r:.120}: {LATEST!r} is another image tomorrow, so no two builds would "
            "agree; give the release's tag and a digest.",
            option="base_image",
        )
    name = reference.whole
    if not reference.digest:
        raise GaudiError(
            f"The base image {name} has no digest, so it could be another one tomorrow; set base_digest "
            f"(gaudi_image_base_digest) to the Digest that `skopeo inspect docker://{name}` prints, or base_image "
            "(gaudi_image_base) to an archive.",
            option="base_digest",
        )
    _refuse_other_release(name, release)
    return Base(reference.source, reference.pinned, name, reference.digest, reference.host)


def _archive(transport: str, path: str, options: ImageOptions) -> Base:
    if not Path(path).is_file():
        raise GaudiError(
            f"base_image (gaudi_image_base) is {options.base_image!r:.120}, and this host has no such file; copy the "
            "archive there, or correct the path.",
            option="base_image",
        )
    digits = file_digest(Path(path), "sha256")
    if options.base_digest and options.base_digest != f"sha256:{digits}":
        raise GaudiError(
            f"{path} has the checksum sha256:{digits}, and base_digest (gaudi_image_base_digest) says "
            f"{options.base_digest:.80}; copy the archive again, or correct the option.",
            option="base_digest",
        )
    return Base(f"{transport}:{path}", _name_here(digits), Path(path).name, f"sha256:{digits}")


def _from_bundle(transport: str, name: str, options: ImageOptions, site: Site | None) -> Base:
    """An archive by its name alone is one of the site's bundle, whose manifest has its checksum."""
    if site is None:
        raise GaudiError(
            f"base_image (gaudi_image_base) is {options.base_image!r:.120}, not a whole path, and no bundle is set; "
            "give the path, or set gaudi_packages_url and gaudi_bundle_fingerprint.",
            option="base_image",
        )
    url = site.url(f"{IMAGES}/{name}")
    checksum = site.checksum(url)
    if not checksum:
        raise GaudiError(
            f"The bundle {site.packages_url} has no {IMAGES}/{name}; build it with that archive in "
            "gaudi_bundle_files, or correct base_image (gaudi_image_base).",
            option="base_image",
        )
    file = f"{options.directory}/{name}"
    return Base(f"{transport}:{file}", _name_here(checksum.partition(":")[2]), name, checksum, url=url)


def _name_here(digits: str) -> str:
    return f"localhost/gaudi3_scale/base:{digits[:12]}"


def _refuse_other_release(text: str, release: Release) -> None:
    """The vendor has it in the path and in the tag; a site that copies the image often keeps one of them."""
    for found in _RELEASE.finditer(text.partition("@")[0]):
        if found[1] != release.version or (found[2] and found[2] != release.build):
            raise GaudiError(
                f"The base image {text.partition('@')[0]} is of release {found[0]}, and the nodes' driver is of "
                f"{release.package_version}; take the image of {release.version}, or set release (gaudi_release).",
                option="base_image",
                image_release=found[0],
                release=release.package_version,
            )
