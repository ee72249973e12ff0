# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""An image as an operator names it: in a registry, or in an archive on the nodes. Pure.

A tag may be moved at any time, so a job has a digest: of a registry's image that of its manifest, as
``registry.example.org/team/train@sha256:…``; of an archive's that of its configuration, which stays the same however
the layers are packed, as ``oci-archive:/srv/train.tar@sha256:…``. The forms are those of containers-transports(5).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..._errors import GaudiError

OPTION = "image"
ARCHIVES = ("oci-archive", "docker-archive")
REGISTRY = "docker"
# The grammar of distribution/reference, without hosts that are left to a default: what has no registry in its name
# would be looked for in whichever one a node's registries.conf names first.
_HOST = r"(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:))(?::[0-9]{1,5})?"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REGISTRY = re.compile(
    rf"(?P<host>{_HOST})/(?P<path>{_PART}(?:/{_PART})*)(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?"
)
_ARCHIVE = re.compile(r"(?P<path>/[A-Za-z0-9._+/=~-]+)(?::(?P<tag>[A-Za-z0-9._/-]+(?::[A-Za-z0-9._-]+)?))?")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LATEST = "latest"


@dataclass(frozen=True)
class Reference:
    """``name`` is all but tag and digest: the registry's host and the path in it, or the archive's path.

    ``transport`` is ``docker``, as skopeo calls a registry, or the kind of an archive. ``tag`` and ``digest`` "": none.
    """

    transport: str
    name: str
    tag: str = ""
    digest: str = ""

    @property
    def host(self) -> str:
        """The registry's host, with its port; "" of an archive."""
        return self.name.partition("/")[0] if self.transport == REGISTRY else ""

    @property
    def source(self) -> str:
        """What skopeo is asked for: with a digest where a registry has one, since it takes no tag beside it."""
        if self.transport != REGISTRY:
            return f"{self.transport}:{self.name}{f':{self.tag}' if self.tag else ''}"
        return f"{REGISTRY}://{self.name}{f'@{self.digest}' if self.digest else f':{self.tag}'}"

    @property
    def shown(self) -> str:
        """As the operator writes it."""
        return self.source.replace(f"{REGISTRY}://", "", 1)

    @property
    def pinned(self) -> str:
        """The form that a job keeps."""
        prefix = "" if self.transport == REGISTRY else f"{self.transport}:"
        tag = f":{self.tag}" if self.tag and self.transport != REGISTRY else ""
        return f"{prefix}{self.name}{tag}@{self.digest}"

    def with_digest(self, digest: str) -> Reference:
        return replace(self, digest=digest)


def parse_reference(text: str) -> Reference:
    """The reference, or GaudiError for what is none, for a tag that says nothing, and for a password in it."""
    if text.startswith("-"):
        raise GaudiError(
            f"{OPTION} is {text!r:.80}, which begins as an option does; give the image's name alone: no options are "
            "passed to podman, and the container of a job is never privileged."
        )
    if "://" in text:
        text = _without_docker(text)
    if re.match(r"[^/@]*:[^/@]*@(?!sha256:)", text):
        raise GaudiError(
            f"{OPTION} has a user and a password in it; remove them, and log in as the job's account on the nodes "
            "instead (skopeo login)."
        )
    named, _at, digest = text.partition("@")
    if _at and not _DIGEST.fullmatch(digest):
        raise GaudiError(f"{OPTION} has the digest {digest!r:.80}; give sha256: and 64 hexadecimal digits, or a tag.")
    transport, colon, path = named.partition(":")
    if colon and transport in ARCHIVES:
        found = _ARCHIVE.fullmatch(path)
        if not found or ".." in path.split("/"):
            raise GaudiError(
                f"{OPTION} has the archive {path!r:.80}; give its whole path on the nodes, as "
                f"{transport}:/srv/train.tar."
            )
        return Reference(transport, found["path"], found["tag"] or "", digest)
    return _of_registry(named, digest)


def _of_registry(named: str, digest: str) -> Reference:
    found = _REGISTRY.fullmatch(named)
    if not found:
        raise GaudiError(
            f"{OPTION} is {named!r:.120}; give it as REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST, or as "
            f"{' or '.join(f'{kind}:/PATH' for kind in ARCHIVES)}."
        )
    tag = found["tag"] or ""
    if not digest and tag in ("", _LATEST):
        said = f"the tag {_LATEST}" if tag else "no tag"
        raise GaudiError(
            f"{OPTION} {named} has {said}, which means another image from one day to the next; name a version, such as "
            f"{found['host']}/{found['path']}:1.24.1-482, or a digest."
        )
    return Reference(REGISTRY, f"{found['host']}/{found['path']}", "" if digest else tag, digest)


def _without_docker(text: str) -> str:
    scheme, _colon, rest = text.partition("://")
    if scheme != REGISTRY:
        # Not the rest, in which a password may be.
        raise GaudiError(f"{OPTION} begins with {scheme[:20]!r}; give the image's name without {scheme[:20]}://.")
    return rest


def parse_pinned(text: str) -> Reference:
    """The reference of a job; GaudiError as well for one without a digest."""
    reference = parse_reference(text)
    if not reference.digest:
        raise GaudiError(
            f"{OPTION} is {text}, which has no digest; give it as NAME@sha256:DIGEST. The role gaudi_training looks up "
            "the digest of a tag once for all nodes."
        )
    return reference


def tls_words(reference: Reference, plain_http_hosts: Sequence[str], option: str = "--tls-verify") -> tuple[str, ...]:
    """What skopeo is told of a registry without TLS: nothing, but for hosts that the operator named."""
    host = reference.host
    named = {name.lower() for name in plain_http_hosts}
    return (f"{option}=false",) if host and {host.lower(), host.rpartition(":")[0].lower()} & named else ()
