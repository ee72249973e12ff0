# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the training environment should be, and whether a directory is that: values only, no process is started.

A stamp in the environment says what was asked for and what that brought. It is judged against the metadata directories
in ``site-packages``, so a run that finds everything right costs a few file reads.
"""

from __future__ import annotations

import html
import json
import urllib.parse
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Mapping, Sequence

from .._errors import GaudiError
from .._node.json_file import parse_json
from .._node.urls import checked_url, refuse_plain_http
from .._releases.lookup import Release
from .node_library import NONE, NodeLibrary, refuse_own_name
from .pins import Pin
from .requirement import named_requirement
from .wheel_bundle import normalized

STAMP = "gaudi3_scale.json"
PINS_FILE = "gaudi3_scale_pins.txt"
WHEELS_PAGE = "gaudi3_scale_wheels.html"
INSTALLING, FAILED, COMPLETE = "installing", "failed", "complete"


@dataclass(frozen=True)
class VenvOptions:
    """What the operator asks for. Empty ``pytorch`` is the release's, empty ``os_directory`` the node's own.

    An empty ``bundle_url`` is derived from both and the package repository.

    ``node_library`` is a place of its wheel, in the forms of :mod:`node_library`, and ``node_library_file`` where the
    controller left the one that it brings. ``pins`` are the site's; with ``hashes`` pip takes no file that it has no
    hash of.

    ``signed_wheels`` (URL to SHA-256) are all that pip may take where it is a site's bundle and no other index
    is named: a signed manifest says so, and no index is asked.

    ``bundle_wheels`` are patterns of file names. ``min_free_mib`` is about the file system of ``path``, ``timeout``
    (seconds) about each program that is started.
    """

    path: str
    python: str
    packages_url: str
    release: str
    os_directory: str = ""
    release_overrides: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    pytorch: str = ""
    bundle_url: str = ""
    bundle_checksum: str = ""
    bundle_wheels: Sequence[str] = ("*.whl",)
    node_library: str = ""
    node_library_file: str = ""
    extras: Sequence[str] = ()
    requirements: Sequence[str] = ()
    pins: Sequence[str] = ()
    hashes: bool = False
    index_url: str = ""
    plain_http_hosts: Sequence[str] = ()
    signed_wheels: Mapping[str, str] = field(default_factory=dict)
    constraints: str = "/etc/gaudi3_scale/pip-constraints.txt"
    min_free_mib: int = 0
    timeout: int = 3600


@dataclass(frozen=True)
class Asked:
    """That part of the options which decides what gets installed; another value is another environment.

    ``interpreter`` is the file that ``python`` leads to: it changes when the system's Python does.
    """

    interpreter: str
    bundle_url: str
    bundle_wheels: list[str]
    requirements: list[str]
    node_library: str = ""
    pins: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Stamp:
    """What an earlier run left: ``wheels`` of the bundle and ``requirements`` by name, each with its version.

    ``unpinned`` are packages on which the bundle's wheels have the last word.
    """

    state: str
    asked: Asked
    wheels: Mapping[str, str] = field(default_factory=dict)
    requirements: Mapping[str, str] = field(default_factory=dict)
    unpinned: Sequence[str] = ()


def asked_for(
    options: VenvOptions,
    release: Release,
    interpreter: str,
    system: str,
    library: NodeLibrary = NONE,
    pins: Sequence[Pin] = (),
) -> Asked:
    """Check the options, and derive what has to be installed; ``system`` is the node's, as in ``ubuntu-22.04``."""
    if not options.path.startswith("/") or options.path.rstrip("/").count("/") < 2:
        raise GaudiError(
            f"path must be an absolute path of a dedicated directory, not '{options.path}'.", option="path"
        )
    for option in ("packages_url", "bundle_url", "index_url"):
        if option == "packages_url" or getattr(options, option):
            checked_url(option, getattr(options, option), options.plain_http_hosts)
    refuse_own_name(options.requirements)
    named = [named_requirement(requirement) for requirement in options.requirements]
    names = [requirement.name for requirement in named]
    places = [("requirements", requirement.wanted.lstrip("@ ")) for requirement in named]
    for option, url in [("node_library", library.url), *places]:
        # A digest says all that TLS could.
        if url.startswith("http://") and "#sha256=" not in url:
            refuse_plain_http(option, url, options.plain_http_hosts)
    if "torch" in names:
        raise GaudiError(
            f"requirements must not name torch ('{options.requirements[names.index('torch')]}'), which comes with the "
            "bundle; set release or pytorch instead.",
            option="requirements",
        )
    return Asked(
        interpreter,
        bundle_url(options, release, system),
        list(options.bundle_wheels),
        list(options.requirements),
        library.requirement,
        [pin.hashed_line if options.hashes else pin.line for pin in pins],
    )


def bundle_url(options: VenvOptions, release: Release, system: str) -> str:
    """Where the bundle of the release for this system is; its shape is the vendor's (``.../ubuntu2204/...``)."""
    if options.bundle_url:
        return options.bundle_url
    directory = os_directory(options, system)
    file = f"pytorch_modules-v{options.pytorch or release.pytorch}_{release.version}_{release.build}.tgz"
    base = f"{options.packages_url.rstrip('/')}/gaudi-pt-modules/{release.version}/{release.build}"
    return f"{base}/pytorch/{directory}/{file}"


def os_directory(options: VenvOptions, system: str) -> str:
    """The package repository's directory for the system."""
    return options.os_directory or system.replace("-", "").replace(".", "")


def render_pip_conf(options: VenvOptions) -> str:
    """pip's settings inside the environment: whoever installs there later meets the same constraints and index."""
    lines = ["# Written by gaudi3.scale.", "[global]", f"constraint = {options.constraints}"]
    if options.signed_wheels:
        page = Path(options.path, WHEELS_PAGE).as_uri()
        lines += ["no-index = true", f"find-links = {page}", "only-binary = :all:"]
    elif options.index_url:
        lines.append(f"index-url = {options.index_url}")
        host = urllib.parse.urlsplit(options.index_url)
        if host.scheme == "http":
            # pip ignores an index without TLS that is not named here; who writes http:// has decided.
            lines.append(f"trusted-host = {host.netloc.rpartition('@')[2]}")
    return "\n".join(lines) + "\n"


def render_wheels_page(options: VenvOptions) -> str:
    """The page that pip gets instead of an index: links whose checksums a signed manifest has, and pip compares."""
    links = (
        f'<a href="{html.escape(url)}#sha256={digest}">{html.escape(url.rpartition("/")[2])}</a><br>\n'
        for url, digest in sorted(options.signed_wheels.items())
    )
    return f"<!DOCTYPE html>\n<html><body>\n{''.join(links)}</body></html>\n"


def render_constraints(wheels: Mapping[str, str], release: Release, library: NodeLibrary = NONE) -> str:
    """Exactly the bundle's builds: pip then refuses another one, and leaves these alone on ``--upgrade``.

    The node library's own wheel stands there, too, so that nobody's pip looks for its name on an index.
    """
    head = f"# Written by gaudi3.scale: the PyTorch bundle of release {release.package_version}.\n"
    builds = "".join(f"{name}=={version}\n" for name, version in sorted(wheels.items()))
    return head + builds + (f"{library.constraint}\n" if library.constraint else "")


def render_stamp(stamp: Stamp) -> str:
    """The stamp as JSON."""
    return json.dumps(asdict(stamp), indent=2, sort_keys=True) + "\n"


def parse_stamp(text: str | None) -> Stamp | None:
    """The stamp in ``text``; None where there is none that this version can read."""
    try:
        data = parse_json(text or "")
        asked = Asked(**data["asked"])
        return Stamp(data["state"], asked, data["wheels"], data["requirements"], tuple(data.get("unpinned", ())))
    except (ValueError, TypeError, KeyError):
        return None


def installed_distributions(entries: Sequence[str]) -> dict[str, str]:
    """Name to version, from the names in a ``site-packages`` directory."""
    found = {}
    for entry in entries:
        name, dash, version = entry.removesuffix(".dist-info").rpartition("-")
        if dash and entry.endswith(".dist-info"):
            found[normalized(name)] = version
    return found


def faults(asked: Asked, stamp: Stamp | None, installed: Mapping[str, str]) -> list[str]:
    """What keeps the environment from being the one that was asked for; empty when it is."""
    if stamp is None:
        return ["it is not there yet"]
    if stamp.state != COMPLETE:
        return ["an earlier installation did not finish"]
    changed = [name for name, value in vars(asked).items() if value != getattr(stamp.asked, name)]
    return [_was(name, getattr(stamp.asked, name)) for name in changed] + [
        f"{name} is {installed.get(name, 'absent')} instead of {version}"
        for name, version in {**stamp.wheels, **stamp.requirements}.items()
        if installed.get(name) != version
    ]


def _was(name: str, value: object) -> str:
    """A reason; some seventy pins would hide the others."""
    return "pins were different" if name == "pins" else f"{name} was {value or 'nothing'}"


def keeps_content(asked: Asked, stamp: Stamp | None) -> bool:
    """Whether what is in the directory can be built on: not after an interruption, and not by another Python."""
    return stamp is not None and stamp.state != INSTALLING and stamp.asked.interpreter == asked.interpreter


def keeps_bundle(asked: Asked, stamp: Stamp | None, installed: Mapping[str, str]) -> bool:
    """Whether the bundle's wheels are installed as they should be, so that they need not be fetched again."""
    if stamp is None or stamp.state != COMPLETE or not keeps_content(asked, stamp):
        return False
    same = (stamp.asked.bundle_url, stamp.asked.bundle_wheels) == (asked.bundle_url, asked.bundle_wheels)
    return same and all(installed.get(name) == version for name, version in stamp.wheels.items())
