# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Images on a node: asked for by skopeo(1), fetched and unpacked once by the job's account, and found by their digests.

Root makes the account's directory and does nothing inside it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import pwd
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._containers.image_reference import REGISTRY, Reference, host_alone, tls_words
from .._containers.image_unpack import CONFIGURATION, ROOT
from .._errors import GaudiError
from .._job.container.reference import parse_pinned
from .._job.paths import STATE_DIRECTORY, JobPaths, known_jobs
from .._node.account_directory import acting_as, give
from .._node.commands import CommandResult, Run, last_line
from .._node.instances import runtimes
from .._node.job_user import account, run_as_user
from .._node.json_file import parse_object, read_json
from .._node.lock import exclusive
from .node_programs import UNPACK, install, program_path

ASK_SECONDS = 120.0
# An image that no job names and that nobody has asked for so long is gone when the next one is fetched.
KEPT_S = 30 * 86400
# By what `uname` calls it, the name in an image's configuration (GOARCH).
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64le", "s390x": "s390x"}
BEGIN = 'rm -rf "$1" && mkdir -p "$1/layout"'
FINISH = 'rm -rf "$1/layout" "$2" && mv "$1/image" "$2" && rm -rf "$1"'
_TLS = re.compile(r"server gave HTTP response to HTTPS client|first record does not look like a TLS|certificate", re.I)
_GONE = re.compile(r"manifest unknown|name unknown|not found|status (code )?404|does not exist|no such file", re.I)
_DENIED = re.compile(r"unauthorized|access .*denied|^denied|authentication required|status (code )?40[13]", re.I)
_DIGEST = re.compile(r"does not match.*digest|digest did not match|mismatch", re.I)
_PLATFORM = re.compile(r"no image found in (?:manifest list|image index)", re.I)


@dataclass(frozen=True)
class ImageOptions:
    """``image`` as the operator has it; ``timeout`` in seconds for each program that is started."""

    image: Reference
    user: str
    plain_http_hosts: tuple[str, ...] = ()
    timeout: int = 3600
    state_directory: str = STATE_DIRECTORY


def image_directory(image: str, place: str) -> str:
    """Where the image of this digest lies below ``place``."""
    return f"{place}/{parse_pinned(image).digest.replace(':', '-')}"


def read_image(directory: str, owner: pwd.struct_passwd) -> Mapping[str, Any] | None:
    """The configuration of an image that is there; None where it is not. It is the account's to write."""
    with acting_as(owner):
        found = read_json(f"{directory}/{CONFIGURATION}")
        return found if found is not None and Path(directory, ROOT).is_dir() else None


def resolve(options: ImageOptions, run: Run) -> tuple[Reference, Mapping[str, Any]]:
    """The reference with its digest, and the image's configuration, as this node sees it; GaudiError where it cannot
    be used here."""
    image = options.image
    text = _ask(options, "--raw", run)
    try:
        manifest = parse_object(text)
        digest = str(manifest["config"]["digest"]) if image.transport != REGISTRY else _digest_of(text)
        configuration = parse_object(_ask(options, "--config", run))
    except (KeyError, TypeError, ValueError) as error:
        raise GaudiError(f"image {image.shown} has no manifest that can be read ({error}); build it anew.") from error
    if image.digest and image.digest != digest:
        raise GaudiError(
            f"image {image.name} has digest {digest} on this node, and the job asks for {image.digest}; bring the same "
            "archive to every node, or name the digest that it has."
        )
    refuse_architecture(image, configuration)
    return image.with_digest(digest), configuration


def refuse_architecture(image: Reference, configuration: Mapping[str, Any], machine: str = "") -> None:
    """Raises GaudiError for an image of another machine, or of another system than Linux."""
    machine = machine or platform.machine()
    wanted = ("linux", ARCHITECTURES.get(machine, machine))
    has = (str(configuration.get("os")), str(configuration.get("architecture")))
    if has != wanted:
        raise GaudiError(
            f"image {image.shown} is for {'/'.join(has)}, and this node is {'/'.join(wanted)}; build it for "
            f"{'/'.join(wanted)}, or name one that is."
        )


def bring(options: ImageOptions, run: Run, *, check_mode: bool) -> dict[str, object]:
    """Have the image on this node, whose reference has its digest; what an Ansible module returns."""
    owner = account(options.user)
    paths = JobPaths("images", options.state_directory)
    place = paths.images(options.user)
    directory = image_directory(options.image.pinned, place)
    is_there = read_image(directory, owner) is not None
    if not is_there:
        # Refused before anything is written.
        resolve(options, run)
    if not check_mode:
        with exclusive("images", options.timeout, directory=options.state_directory, remedy="wait for it to finish"):
            give(place, owner, 0o700)
            if not is_there and read_image(directory, owner) is None:
                _fetch(options, directory, paths.rank_programs, run)
                _remove_unused(options, place, directory, owner, run)
        with acting_as(owner), suppress(OSError):
            os.utime(directory)
    return {"changed": not is_there, "image": options.image.pinned, "directory": directory}


def _fetch(options: ImageOptions, directory: str, programs: str, run: Run) -> None:
    image, work = options.image, f"{directory}.new"
    install(programs, UNPACK)
    tls = tls_words(image.host, options.plain_http_hosts, "--src-tls-verify")
    copy = ("skopeo", "copy", "--quiet", *tls, image.source, f"oci:{work}/layout:image")
    unpack = ("python3", "-I", "-S", program_path(programs, UNPACK), f"{work}/layout", f"{work}/image")
    try:
        # What an interrupted one has left is not gone on with.
        _as_account(options, ("sh", "-c", BEGIN, "sh", work), run)
        done = _as_account(options, copy, run)
        if done.rc != 0:
            raise refusal(image, done, options.timeout)
        done = _as_account(options, unpack, run)
        if done.rc != 0:
            raise GaudiError(f"image {image.shown} cannot be unpacked: {last_line(done.stderr)}.")
        done = _as_account(options, ("sh", "-c", FINISH, "sh", work, directory), run)
        if done.rc != 0:
            raise GaudiError(f"image {image.shown} cannot be kept at {directory}: {last_line(done.stderr)}.")
    finally:
        _as_account(options, ("rm", "-rf", work), run)


def _remove_unused(options: ImageOptions, place: str, directory: str, owner: pwd.struct_passwd, run: Run) -> None:
    """Those that no job and no instance names, by root's descriptions."""
    paths = JobPaths("images", options.state_directory)
    described = [read_json(JobPaths(name, options.state_directory).description) or {} for name in known_jobs(paths)]
    images = [str(one["image"]) for one in described if one.get("image")]
    images += [runtime for runtime in runtimes() if "@sha256:" in runtime]
    named = {image_directory(image, place) for image in images} | {directory}
    with acting_as(owner), suppress(OSError):
        found = [path for path in Path(place).iterdir() if str(path) not in named]
        old = [str(path) for path in found if time.time() - path.lstat().st_mtime > KEPT_S]
    if old:
        _as_account(options, ("rm", "-rf", *old), run)


def _ask(options: ImageOptions, what: str, run: Run) -> str:
    image = options.image
    words = ("skopeo", "inspect", what, *tls_words(image.host, options.plain_http_hosts), image.source)
    done = run_as_user(options.user, words, run, timeout=ASK_SECONDS, env=_own_places(options))
    if done.rc != 0:
        raise refusal(image, done, ASK_SECONDS)
    return done.stdout


def _as_account(options: ImageOptions, argv: Sequence[str], run: Run) -> CommandResult:
    return run_as_user(options.user, argv, run, timeout=options.timeout, env=_own_places(options))


def _own_places(options: ImageOptions) -> dict[str, str]:
    """Without a place of the account's, skopeo looks for a login in /run/containers, which is closed where root has
    used podman (seen with skopeo 1.9)."""
    return {"XDG_RUNTIME_DIR": account(options.user).pw_dir}


def refusal(image: Reference, done: CommandResult, seconds: float) -> GaudiError:
    """What skopeo said, in one sentence."""
    said = done.stderr or done.stdout
    if done.rc == 127:
        return GaudiError(
            "skopeo is not installed on this node, which looks up and fetches images; install the package skopeo "
            "(gaudi_containers_install: podman brings it)."
        )
    if done.rc == 124:
        return GaudiError(f"image {image.shown} did not come within {seconds:g} s; see whether its registry answers.")
    if "gave HTTP response" in said or "look like a TLS" in said:
        host = host_alone(image.host)
        return GaudiError(
            f"image {image.shown} is in a registry without TLS, where anyone on the path can change what is "
            f"downloaded; use one with TLS, or name {host} in plain_http_hosts (gaudi_plain_http_hosts)."
        )
    for pattern, sentence in _SENTENCES:
        if pattern.search(said):
            return GaudiError(f"image {image.shown} {sentence}")
    return GaudiError(f"image {image.shown} cannot be had: {_reason(said)}; see whether its registry answers.")


_SENTENCES = (
    (_DIGEST, "has another content than its digest says; name the digest that the registry has."),
    (_PLATFORM, "is not there for Linux on this node's machine; build it for that."),
    (_TLS, "is in a registry whose certificate this node does not trust; install its authority's certificate there."),
    (_DENIED, "may not be fetched by the job's account; log in as that account on every node (skopeo login)."),
    (_GONE, "is not there any more, or never was; see `skopeo list-tags`, or push it again."),
)


def _reason(said: str) -> str:
    """The end of skopeo's chain of errors."""
    found = re.search(r'msg="(?:[^"\\]|\\.)*"', said)
    text = json.loads(found[0][len("msg=") :]) if found else last_line(said)
    return str(text).rstrip(".")[-300:]


def _digest_of(manifest: str) -> str:
    return f"sha256:{hashlib.sha256(manifest.encode('utf-8', 'surrogateescape')).hexdigest()}"
