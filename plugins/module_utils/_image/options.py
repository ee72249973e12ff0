# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the operator asks of an image, and what of it no image can be: values alone, nothing is read or started."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Mapping, Sequence

from .._containers.image_reference import PART
from .._containers.image_release import VENDORS_REGISTRY
from .._errors import GaudiError
from .._node.option_forms import check_package
from .._node.secret_shapes import is_secret_name, without_shapes
from .._node.urls import checked_url

_NAME = re.compile(PART)
_USER = re.compile(r"([0-9]{1,9})(?::([0-9]{1,9}))?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What buildah takes as a word of its own, or this image says itself.
_RESERVED = ("PATH", "PIP_CONSTRAINT", "SOURCE_DATE_EPOCH", "HOME", "USER", "LOGNAME")
DEVICES = ("cpu", "hpu")


@dataclass(frozen=True)
class ImageOptions:
    """What the operator asks for. ``code`` is a directory of this host, ``requirements`` a file in it.

    Empty ``base_image``: the vendor's of ``release`` for ``system`` in ``registry``, of the digest ``base_digest``.
    ``build_arguments`` are variables of pip's run, ``environment`` those of the finished image. Without ``push``
    nothing leaves this host; without ``signing_key`` nothing is signed. ``rebuild``: from the base on, whatever
    is known of an earlier build.

    With ``bundle_fingerprint`` the repository ``packages_url`` is a bundle, and packages come from there alone.
    """

    name: str
    code: str
    release: str
    release_overrides: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    registry: str = VENDORS_REGISTRY
    system: str = "ubuntu22.04"
    base_image: str = ""
    base_digest: str = ""
    requirements: str = "requirements.txt"
    excluded: Sequence[str] = ()
    os_packages: Sequence[str] = ()
    environment: Mapping[str, object] = field(default_factory=dict)
    build_arguments: Mapping[str, object] = field(default_factory=dict)
    command: Sequence[str] = ()
    container_user: str = "1000:1000"
    index_url: str = ""
    packages_url: str = ""
    bundle_fingerprint: str = ""
    push: str = ""
    authfile: str = ""
    plain_http_hosts: Sequence[str] = ()
    signing_key: str = ""
    device: str = "hpu"
    rebuild: bool = False
    directory: str = "/var/lib/gaudi3_scale/images"
    timeout: int = 7200


def check(options: ImageOptions) -> None:
    """Raise :class:`GaudiError`, in one sentence, for what no image can have."""
    if not _NAME.fullmatch(options.name):
        raise GaudiError(
            f"name (gaudi_image_name) is {options.name!r:.80}; give lower-case letters, digits, dots and dashes.",
            option="name",
        )
    if not options.code.startswith("/") or options.code.rstrip("/") == "":
        raise GaudiError(
            f"code (gaudi_image_code) is {options.code!r:.80}; give the whole path of the directory with the code.",
            option="code",
        )
    if options.device not in DEVICES:
        raise GaudiError(
            f"device (gaudi_device) is {options.device!r:.80}; an image is tested on cpu or hpu.", option="device"
        )
    for package in options.os_packages:
        check_package("os_packages (gaudi_image_os_packages)", package)
    _check_user(options.container_user)
    for option, variables in (("environment", options.environment), ("build_arguments", options.build_arguments)):
        for name, value in variables.items():
            _check_variable(option, str(name), value)
    for word in options.command:
        if without_shapes(word) != word:
            raise GaudiError(
                "command (gaudi_image_command) has a secret in it, which everybody who pulls the image could read; "
                "give it to the job.",
                option="command",
            )
    if options.index_url:
        checked_url("index_url (gaudi_image_index_url)", options.index_url, options.plain_http_hosts)


def _check_user(user: str) -> None:
    match = _USER.fullmatch(user)
    if match is None or int(match[1]) == 0:
        raise GaudiError(
            f"container_user (gaudi_image_user) is {user!r:.80}; give numbers that are not root's, such as 1000:1000.",
            option="container_user",
        )


def _check_variable(option: str, name: str, value: object) -> None:
    shown = f"{option} (gaudi_image_{option})"
    if not _VARIABLE.fullmatch(name):
        raise GaudiError(f"{shown} has {name!r:.80}, which is not the name of a variable.", option=option)
    if name.upper() in _RESERVED:
        raise GaudiError(f"{shown} has {name}, which the image sets itself; remove it.", option=option)
    if not isinstance(value, (str, int, float)):
        raise GaudiError(f"{shown}: the value of {name} is {value!r:.80}; give a text or a number.", option=option)
    text = variable_text(value)
    if is_secret_name(name) or without_shapes(text) != text:
        raise GaudiError(
            f"{shown} has {name}, which looks like a secret, and everybody who pulls the image could read it; give it "
            "to the job, or for pip's index set index_url (gaudi_image_index_url), which stays out of the image.",
            option=option,
        )
    if any(ord(character) < 32 for character in text):
        raise GaudiError(f"{shown}: the value of {name} has a line break or a tab; give one line.", option=option)


def variable_text(value: object) -> str:
    """A value of YAML as a variable has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
