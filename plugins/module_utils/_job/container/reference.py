# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The image of a job as an operator names it: in a registry, or in an archive on the nodes. Pure.

A tag may be moved at any time, so a job has a digest: of a registry's image that of its manifest, as
``registry.example.org/team/train@sha256:…``; of an archive's that of its configuration, which stays the same however
the layers are packed, as ``oci-archive:/srv/train.tar@sha256:…``.
"""

from __future__ import annotations

from dataclasses import replace

from ..._containers.image_reference import (
    ARCHIVES,
    DIGEST,
    FORM,
    LATEST,
    LOGIN,
    PATH,
    REGISTRY,
    SCHEME,
    NoReference,
    Reference,
    read_reference,
)
from ..._errors import GaudiError

OPTION = "image"
_REFUSALS = {
    # Not the rest, in which a password may be.
    SCHEME: "{option} begins with {value!r}; give the image's name without {value}://.",
    LOGIN: (
        "{option} has a user and a password in it; remove them, and log in as the job's account on the nodes instead "
        "(skopeo login)."
    ),
    DIGEST: "{option} has the digest {value!r:.80}; give sha256: and 64 hexadecimal digits, or a tag.",
    PATH: "{option} has the archive {value!r:.80}; give its whole path on the nodes, as {kind}:/srv/train.tar.",
    FORM: (
        "{option} is {value!r:.120}; give it as REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST, or as "
        f"{' or '.join(f'{kind}:/PATH' for kind in ARCHIVES)}."
    ),
}


def parse_reference(text: str) -> Reference:
    """The reference, or GaudiError for what is none, for a tag that says nothing, and for a password in it."""
    if text.startswith("-"):
        raise GaudiError(
            f"{OPTION} is {text!r:.80}, which begins as an option does; give the image's name alone: no options are "
            "passed to podman, and the container of a job is never privileged."
        )
    found = read_reference(text)
    if isinstance(found, NoReference):
        kind = found.value.partition(":")[0]
        raise GaudiError(_REFUSALS[found.reason].format(option=OPTION, value=found.value, kind=kind))
    if found.transport != REGISTRY:
        return found
    if not found.digest and found.tag in ("", LATEST):
        said = f"the tag {LATEST}" if found.tag else "no tag"
        raise GaudiError(
            f"{OPTION} {found.shown} has {said}, which means another image from one day to the next; name a version, "
            f"such as {found.name}:1.24.1-482, or a digest."
        )
    return replace(found, tag="") if found.digest else found


def parse_pinned(text: str) -> Reference:
    """The reference of a job; GaudiError as well for one without a digest."""
    reference = parse_reference(text)
    if not reference.digest:
        raise GaudiError(
            f"{OPTION} is {text}, which has no digest; give it as NAME@sha256:DIGEST. The role gaudi_training looks up "
            "the digest of a tag once for all nodes."
        )
    return reference
