# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether Amazon's EFA software is to be installed on this node, and what is refused and said before. Pure.

Sources: first-generation cards end with release 1.21 (the vendor's support matrix of 1.22 has none); the open sources
of HCL skip EFA from 1.18 on (hl_ofi.cpp, get_core_provider), while the vendor's documents go on listing it; dl2q
instances have Qualcomm's cards (Qualcomm's documents).
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..._cards.hardware import generation_named
from ..._errors import GaudiError
from ..._node.urls import checked_url
from ..._releases.lookup import release_part, version_key
from .wrapper_plan import WrapperOptions

PLAIN_HTTP = "gaudi_plain_http_hosts"
# Options of Amazon's efa_installer.sh that a node can want (README of the installer). `--yes` is always given;
# `--uninstall`, `--debug-packages` and `--enable-gdr` (NVIDIA's cards) are none of a node's state.
MINIMAL = "--minimal"
SKIP_KMOD = "--skip-kmod"
INSTALLER_OPTIONS = (MINIMAL, SKIP_KMOD, "--skip-limit-conf", "--no-verify")

FIRST_GENERATION = "gaudi"
_FIRST_RELEASE_WITHOUT_IT = (1, 22)
_FIRST_RELEASE_THAT_SKIPS_EFA = (1, 18)
_QUALCOMM = "dl2q"
# The measurement decides, and not this collection.
_MEASURE = "let the all-reduce of gaudi3.scale.verify over two nodes decide, with and without EFA"
_RELEASE = re.compile(r"\d+\.\d+(\.\d+)?(-\d+)?")
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_CHECKSUM = re.compile(r"sha256:[0-9a-f]{64}")
_OF_WRAPPER = "ofi_wrapper_"
_ARCHIVE = re.compile(r"aws-efa-installer-(\d+(?:\.\d+)*)\.tar\.gz")


@dataclass(frozen=True)
class EfaOptions:
    """The operator's wishes; see the options of the module ``efa_installation``. ``timeout`` is in seconds."""

    release: str
    version: str = ""
    archive: str = ""
    checksum: str = ""
    force: bool = False
    installer_options: tuple[str, ...] = ()
    timeout: float = 1800.0
    plain_http_hosts: tuple[str, ...] = ()
    environment_file: str = "/etc/gaudi3_scale/environment"
    archive_file: str = ""
    wrapper: WrapperOptions = field(default_factory=WrapperOptions)

    @property
    def sha256(self) -> str:
        """The digits of the checksum."""
        return self.checksum.partition(":")[2]

    @property
    def is_url(self) -> bool:
        """Whether the node fetches the archive itself; else the controller brings it."""
        return "://" in self.archive


@dataclass(frozen=True)
class Machine:
    """What decides whether EFA can carry the node's traffic. ``generation`` is None without a card on the PCI bus.

    ``instance_type`` is the product name of the firmware's tables (DMI): on EC2 the type, for example
    ``dl1.24xlarge``.
    """

    generation: str | None
    instance_type: str


def options_of(given: Mapping[str, Any], manager: str) -> EfaOptions:
    """The options of a call of the module, on a node with this package ``manager``."""
    own = {name: value for name, value in given.items() if not name.startswith(_OF_WRAPPER)}
    for name in ("installer_options", "plain_http_hosts"):
        own[name] = tuple(own[name])
    wrapper = {name[len(_OF_WRAPPER) :]: value for name, value in given.items() if name.startswith(_OF_WRAPPER)}
    packages = (wrapper["build_packages"] or {}).get(manager) or []
    return EfaOptions(**own, wrapper=WrapperOptions(**{**wrapper, "build_packages": tuple(packages)}))


def check_options(options: EfaOptions) -> None:
    """Refuse what cannot be meant. Raises :class:`GaudiError`."""
    if not _RELEASE.fullmatch(options.release):
        raise GaudiError(f"release={options.release!r} is not a release; set gaudi_release, for example to 1.21.3.")
    _check_belongings(options)
    if options.version:
        _check_version(options.version)
        _check_archive(options)
    for name in options.installer_options:
        if name not in INSTALLER_OPTIONS:
            raise GaudiError(
                f"installer_options has {name!r}, which is not allowed here; use only {', '.join(INSTALLER_OPTIONS)}."
            )


def _check_belongings(options: EfaOptions) -> None:
    """Version, archive and checksum are given together or not at all."""
    given = {"version": options.version, "archive": options.archive, "checksum": options.checksum}
    missing = [name for name, value in given.items() if not value]
    if missing and len(missing) < len(given):
        there = next(name for name, value in given.items() if value)
        names = " and ".join(f"{name} (gaudi_fabric_efa_{name})" for name in missing)
        raise GaudiError(
            f"{there} is {given[there]!r} without {names}: EFA is installed from an archive whose version and checksum "
            "the site has pinned; give all three, or none."
        )


def _check_version(version: str) -> None:
    if not _VERSION.fullmatch(version):
        raise GaudiError(
            f"version={version!r} is not a version of Amazon's EFA installer; give three numbers, for example 1.34.0, "
            "as in aws-efa-installer-1.34.0.tar.gz."
        )


def _check_archive(options: EfaOptions) -> None:
    if not _CHECKSUM.fullmatch(options.checksum):
        raise GaudiError(
            f"checksum={options.checksum!r} is not 'sha256:' and 64 digits of 0-9a-f; `sha256sum` prints them for the "
            "site's copy of the archive."
        )
    if options.is_url:
        checked_url("archive", options.archive, options.plain_http_hosts)
    elif not options.archive.startswith("/"):
        raise GaudiError(
            f"archive={options.archive!r} is neither a URL nor an absolute path on the controller; begin it with / or "
            "https://."
        )
    path = urllib.parse.urlsplit(options.archive).path if options.is_url else options.archive
    name = path.rpartition("/")[2]
    match = _ARCHIVE.fullmatch(name)
    if match and match[1] != options.version:
        raise GaudiError(
            f"archive {name} is of version {match[1]}, and version says {options.version}; correct version, or archive "
            "and checksum."
        )


def refuse_machine(options: EfaOptions, machine: Machine) -> None:
    """Refuse a node that EFA is nothing for. Raises :class:`GaudiError`."""
    if machine.instance_type.startswith(_QUALCOMM):
        raise GaudiError(
            f"The instance type is {machine.instance_type}, whose cards are Qualcomm's, not Gaudi; take "
            "dl1.24xlarge, and leave this node out of the group.",
            instance_type=machine.instance_type,
        )
    release = version_key(release_part(options.release))
    if machine.generation == FIRST_GENERATION and release >= _FIRST_RELEASE_WITHOUT_IT:
        raise GaudiError(
            f"This node has first-generation Gaudi cards, as dl1.24xlarge has, and release {options.release} is not "
            "for them: 1.21 is their last; set gaudi_release to one of 1.21.",
            release=options.release,
        )
    if machine.generation == FIRST_GENERATION or options.force:
        return
    if machine.generation is None:
        raise GaudiError(
            "No Gaudi card is on this node's PCI bus, so EFA would carry nothing; leave this node out of the group, or "
            "set force (gaudi_fabric_force) to install it anyway."
        )
    raise GaudiError(
        f"EFA is refused on {_label(machine.generation)}: there is no evidence that the libraries of Gaudi 2 and 3 use "
        "it, and the open sources of HCL skip it from 1.18 on; set gaudi_fabric_provider to auto, or force "
        "(gaudi_fabric_force) to true to try it.",
        generation=machine.generation,
    )


def cautions(options: EfaOptions, machine: Machine) -> list[str]:
    """What an operator has to know although nothing is refused."""
    if machine.generation not in (None, FIRST_GENERATION):
        forced = f"EFA on {_label(machine.generation)} was forced: there is no evidence that its libraries use it"
        return [f"{forced}; {_MEASURE}."]
    if version_key(release_part(options.release)) < _FIRST_RELEASE_THAT_SKIPS_EFA:
        return []
    skipped = "the open sources of HCL skip EFA from 1.18 on, while the vendor's documents list it"
    return [f"release {options.release}: {skipped}; {_MEASURE}."]


def refuse_downgrade(options: EfaOptions, installed: str | None) -> None:
    """An older version is not put over a newer one: the installer skips packages that are newer than its own."""
    if installed and version_key(installed) > version_key(options.version):
        raise GaudiError(
            f"version={options.version} is older than the EFA {installed} on this node, whose packages Amazon's "
            f"installer would leave in place; run `efa_installer.sh --uninstall` of {installed} first, or set version "
            f"to {installed} or newer.",
            installed=installed,
        )


def _label(generation: str) -> str:
    found = generation_named(generation)
    return found.label if found else generation
