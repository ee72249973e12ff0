# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""An image's name: in a registry, or in an archive on this host. Pure.

The forms are those of containers-transports(5). What each option refuses beside them, and in which words, it says
itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

REGISTRY = "docker"
ARCHIVES = ("oci-archive", "docker-archive")
LATEST = "latest"
# The grammar of distribution/reference, without hosts that are left to a default: what has no registry in its name
# would be looked for in whichever one a host's registries.conf names first.
PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = (
    r"(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:)|\[[0-9A-Fa-f:.]+\])"
    r"(?::[0-9]{1,5})?"
)
_IN_REGISTRY = re.compile(rf"(?P<name>{_HOST}/{PART}(?:/{PART})*)(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?")
_IN_ARCHIVE = re.compile(r"(?P<path>/[A-Za-z0-9._+/=~-]+)(?::(?P<tag>[A-Za-z0-9._/-]+(?::[A-Za-z0-9._-]+)?))?")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# Either has a password before the @, or a host behind it.
_LOGIN = re.compile(r"[^/@]*:[^/@]*@(?!sha256:)|[^@]*@[^@]*/")

# Why a text names no image: its scheme; a user in it; its digest; an archive's path; anything else.
SCHEME, LOGIN, DIGEST, PATH, FORM = "scheme", "login", "digest", "path", "form"


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
            return f"{self.transport}:{self.name}{self._tagged}"
        return f"{REGISTRY}://{self.name}{f'@{self.digest}' if self.digest else self._tagged}"

    @property
    def shown(self) -> str:
        """As the operator writes it."""
        return self.source.replace(f"{REGISTRY}://", "", 1)

    @property
    def whole(self) -> str:
        """With all that it has, as it is kept in an image that is made from it."""
        return f"{self.name}{self._tagged}{f'@{self.digest}' if self.digest else ''}"

    @property
    def pinned(self) -> str:
        """By its digest, which alone decides."""
        if self.transport == REGISTRY:
            return f"{self.name}@{self.digest}"
        return f"{self.transport}:{self.name}{self._tagged}@{self.digest}"

    @property
    def _tagged(self) -> str:
        return f":{self.tag}" if self.tag else ""

    def with_digest(self, digest: str) -> Reference:
        return replace(self, digest=digest)


@dataclass(frozen=True)
class NoReference:
    """Why a text names no image, and the part of it that says so: never one with a password in it."""

    reason: str
    value: str


def read_reference(text: str) -> Reference | NoReference:
    """Taken apart, with ``docker://`` in front or without it. Tag and digest are as they are given."""
    scheme, parted, rest = text.partition("://")
    if parted and scheme != REGISTRY:
        return NoReference(SCHEME, scheme[:20])
    named = rest if parted else text
    if _LOGIN.match(named):
        return NoReference(LOGIN, "")
    place, at, digest = named.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        return NoReference(DIGEST, digest)
    transport, colon, path = place.partition(":")
    if colon and transport in ARCHIVES:
        archive = _IN_ARCHIVE.fullmatch(path)
        if not archive or ".." in path.split("/"):
            return NoReference(PATH, place)
        return Reference(transport, archive["path"], archive["tag"] or "", digest)
    found = _IN_REGISTRY.fullmatch(place)
    return Reference(REGISTRY, found["name"], found["tag"] or "", digest) if found else NoReference(FORM, place)


def is_plain_http(host: str, plain_http_hosts: Sequence[str]) -> bool:
    """Whether the operator named that registry, with or without its port, as one without TLS."""
    return bool({host.lower(), host_alone(host).lower()} & {name.lower() for name in plain_http_hosts})


def host_alone(host: str) -> str:
    """Without the port."""
    return re.sub(r":[0-9]{1,5}$", "", host)


def tls_words(host: str, plain_http_hosts: Sequence[str], option: str = "--tls-verify") -> tuple[str, ...]:
    """What skopeo and podman are told of a registry without TLS: nothing, but for hosts that the operator named."""
    return (f"{option}=false",) if host and is_plain_http(host, plain_http_hosts) else ()
