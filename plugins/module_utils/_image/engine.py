# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What builds, runs and pushes images on the build host: podman, or buildah where there is no podman.

Both have the same builder and the same storage; podman alone starts containers with the vendor's runtime.
"""

from __future__ import annotations

import calendar
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Sequence

from .._containers.image_reference import host_alone
from .._errors import GaudiError
from .._node.commands import CommandResult, Run, last_line
from .._node.json_file import parse_json

PODMAN, BUILDAH = "podman", "buildah"
# Of the containers that are made here; one that an interrupted run left is removed before the next.
CONTAINER = "gaudi3-scale-image"
_QUICK_S = 120
# What both know: no network but the container's own loopback.
CLOSED = ("--network", "none")
_TRANSFER_S = 7200
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|([+-])(\d\d):(\d\d))")
_NO_TLS = re.compile(r"server gave HTTP response to HTTPS client|tls: |x509: ", re.IGNORECASE)
_GONE = re.compile(r"manifest unknown|name unknown|not found|404", re.IGNORECASE)
_DENIED = re.compile(r"unauthorized|authentication required|denied|403", re.IGNORECASE)


@dataclass(frozen=True)
class Image:
    """What an engine knows of an image. ``created`` is in seconds since 1970."""

    id: str
    digest: str
    created: int
    architecture: str
    labels: Mapping[str, str] = field(default_factory=dict)
    layers: int = 0
    user: str = ""

    @property
    def is_roots(self) -> bool:
        """Whether its processes are root's."""
        return self.user.partition(":")[0] in ("", "0", "root")


@dataclass(frozen=True)
class Engine:
    """``program`` is podman or buildah."""

    program: str
    run: Run

    def inspect(self, name: str) -> Image | None:
        """The image of that name or id; None where this host has none."""
        if self.program == PODMAN:
            found = self.run([PODMAN, "image", "inspect", name], timeout=_QUICK_S)
            return None if found.rc else _read(self.program, name, found.stdout, _podmans)
        found = self.run([BUILDAH, "inspect", "--type", "image", name], timeout=_QUICK_S)
        return None if found.rc else _read(self.program, name, found.stdout, _buildahs)

    def pull(self, source: str, registry: str, words: Sequence[str]) -> str:
        """Fetch an image, and return its id."""
        done = self.run([self.program, "pull", "--quiet", *words, source], timeout=_TRANSFER_S)
        if done.rc:
            raise GaudiError(transfer_refusal("fetch", source, registry, done), source=source)
        return last_line(done.stdout)

    def tag(self, image: str, name: str) -> None:
        """Give the image a name of this host's."""
        self._quick("tag", image, name)

    def build(self, words: Sequence[str], timeout: float) -> CommandResult:
        """Build with the arguments ``words``."""
        return self.run([self.program, "build", *words], timeout=timeout)

    def remove(self, name: str) -> None:
        """Take the image's name away, and what of it nothing else has; no word where there is none."""
        self.run([self.program, "rmi", "--force", name], timeout=_QUICK_S)

    @contextmanager
    def mounted(self, image: str) -> Iterator[Path]:
        """The image's files, to be read."""
        if self.program == PODMAN:
            place = last_line(self._quick("image", "mount", image).stdout)
            try:
                yield Path(place)
            finally:
                self.run([PODMAN, "image", "unmount", image], timeout=_QUICK_S)
            return
        with self._container(image) as name:
            yield Path(last_line(self._quick("mount", name).stdout))

    def start(
        self,
        image: str,
        program: str,
        arguments: Sequence[str],
        words: Sequence[str] = CLOSED,
        timeout: float = _QUICK_S,
    ) -> CommandResult:
        """Run a program of the image in a container until it ends; ``words`` are the engine's own arguments."""
        if self.program == PODMAN:
            self.run([PODMAN, "rm", "--force", CONTAINER], timeout=_QUICK_S)
            try:
                # As entry point, also where the image names another one.
                argv = [PODMAN, "run", "--rm", "--name", CONTAINER, *words, "--entrypoint", program, image, *arguments]
                return self.run(argv, timeout=timeout)
            finally:
                # One that ran past its time is still there.
                self.run([PODMAN, "rm", "--force", CONTAINER], timeout=_QUICK_S)
        with self._container(image) as name:
            return self.run([BUILDAH, "run", *words, name, "--", program, *arguments], timeout=timeout)

    def push(self, image: str, target: str, registry: str, digest_file: Path, words: Sequence[str]) -> str:
        """Copy the image to a registry, and return the digest that it has there."""
        argv = [self.program, "push", "--quiet", "--digestfile", str(digest_file), *words, image, f"docker://{target}"]
        done = self.run(argv, timeout=_TRANSFER_S)
        if done.rc:
            raise GaudiError(transfer_refusal("push to", target, registry, done), target=target)
        return digest_file.read_text(encoding="ascii").strip()

    @contextmanager
    def _container(self, image: str) -> Iterator[str]:
        self.run([BUILDAH, "rm", CONTAINER], timeout=_QUICK_S)
        self._quick("from", "--name", CONTAINER, image)
        try:
            yield CONTAINER
        finally:
            self.run([BUILDAH, "rm", CONTAINER], timeout=_QUICK_S)

    def _quick(self, *words: str) -> CommandResult:
        done = self.run([self.program, *words], timeout=_QUICK_S)
        if done.rc:
            command = " ".join([self.program, *words[:2]])
            raise GaudiError(f"`{command}` failed: {last_line(done.stderr)}; see `{self.program} info`.", rc=done.rc)
        return done


def find_engine(run: Run) -> Engine:
    """podman, else buildah. Raises :class:`GaudiError` where this host has neither."""
    for program in (PODMAN, BUILDAH):
        if run([program, "--version"], timeout=_QUICK_S).rc == 0:
            return Engine(program, run)
    raise GaudiError(
        "The build host has neither podman nor buildah; install the package podman (or buildah) on it, or name another "
        "host in gaudi_image_host."
    )


def transfer_refusal(verb: str, target: str, registry: str, done: CommandResult) -> str:
    """The sentence about an image that did not come or go."""
    said = last_line(done.stderr)
    where = f"Cannot {verb} {target}"
    host = host_alone(registry)
    if _NO_TLS.search(done.stderr):
        return (
            f"{where}: {registry} has no TLS that this host trusts ({said}); give it a certificate, or name {host} in "
            "plain_http_hosts (gaudi_plain_http_hosts)."
        )
    if _DENIED.search(done.stderr):
        return f"{where}: the registry refuses it ({said}); log in there, and set authfile (gaudi_image_authfile)."
    if _GONE.search(done.stderr):
        return f"{where}: the registry does not have it ({said}); correct the name, or copy it there."
    if done.rc == 124:
        return f"{where}: it did not finish within {_TRANSFER_S} s; check the network to {registry or 'there'}."
    return f"{where}: {said}."


def _read(program: str, name: str, text: str, form: Callable[[Any], Image]) -> Image:
    try:
        return form(parse_json(text))
    except (ValueError, TypeError, AttributeError) as error:
        raise GaudiError(
            f"{program} says nothing about the image {name} that can be read; see `{program} info`."
        ) from error


def _podmans(document: Any) -> Image:
    (found, *_others) = document
    labels = found.get("Labels") or {}
    layers = (found.get("RootFS") or {}).get("Layers") or []
    return Image(
        str(found.get("Id", "")),
        str(found.get("Digest", "")),
        seconds(str(found.get("Created", ""))),
        str(found.get("Architecture", "")),
        {str(name): str(value) for name, value in labels.items()},
        len(layers),
        str((found.get("Config") or {}).get("User") or ""),
    )


def _buildahs(found: Any) -> Image:
    image = found.get("OCIv1") or {}
    labels = (image.get("config") or {}).get("Labels") or {}
    layers = (image.get("rootfs") or {}).get("diff_ids") or []
    return Image(
        str(found.get("FromImageID", "")),
        str(found.get("FromImageDigest", "")),
        seconds(str(image.get("created", ""))),
        str(image.get("architecture", "")),
        {str(name): str(value) for name, value in labels.items()},
        len(layers),
        str((image.get("config") or {}).get("User") or ""),
    )


def seconds(time_of_day: str) -> int:
    """RFC 3339, with or without fractions, as seconds since 1970; 0 for anything else."""
    match = _TIME.fullmatch(time_of_day)
    if match is None:
        return 0
    ahead = int(f"{match[2]}1") * (int(match[3]) * 60 + int(match[4])) * 60 if match[2] else 0
    return max(0, calendar.timegm(time.strptime(match[1], "%Y-%m-%dT%H:%M:%S")) - ahead)
