# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Where the packages of a build come from: an index of the site's, its bundle, or what the base image names.

These files are secrets of the build: none of them, and no address or password in them, gets into the image.
"""

from __future__ import annotations

import urllib.parse
from pathlib import Path
from typing import Mapping

from .._bundle.asking import ask
from .._bundle.bundle_site import Site, Trust
from .._bundle.layout import DISTRIBUTION, KEY
from .._errors import GaudiError
from .._node.commands import Run
from .._node.downloads import fetch
from .._venv.plan import VenvOptions, render_wheels_page
from . import containerfile
from .options import ImageOptions

_LARGEST_KEY = 1 << 20


def bundle_of(options: ImageOptions, run: Run) -> Site | None:
    """The bundle that the operator trusts, verified; None where packages come from elsewhere."""
    if not options.bundle_fingerprint:
        return None
    return ask(options.packages_url, Trust(options.bundle_fingerprint), run)


def source_files(options: ImageOptions, site: Site | None, suite: str) -> dict[str, str]:
    """Name of a secret to its text; an empty one says nothing to pip or apt. ``suite`` is the base image's."""
    files = dict.fromkeys(containerfile.SECRETS, "")
    if options.index_url:
        files[containerfile.PIP] = _index(options.index_url)
    elif site is not None and site.wheels:
        files[containerfile.PIP] = _wheels_alone()
        files[containerfile.WHEELS] = _wheels_page(site.wheels)
    if site is None or not options.os_packages:
        return files
    if not site.has_distribution(suite):
        raise GaudiError(
            f"The bundle {site.packages_url} has no packages of {suite or 'the base image'}, so os_packages "
            "(gaudi_image_os_packages) cannot be installed from it; build it on a host with that system, or remove "
            "them.",
            option="os_packages",
        )
    key = fetch(site.url(KEY), "The bundle's key", "packages_url", _LARGEST_KEY).decode("ascii")
    place = containerfile.SECRETS_PLACE
    source = f"deb [signed-by={place}/{containerfile.KEY}] {site.packages_url}/{DISTRIBUTION} {suite} main\n"
    settings = f'Dir::Etc::sourcelist "{place}/{containerfile.SOURCES}";\nDir::Etc::sourceparts "/dev/null";\n'
    return {**files, containerfile.APT: settings, containerfile.SOURCES: source, containerfile.KEY: key}


def _index(url: str) -> str:
    lines = ["[global]", f"index-url = {url}"]
    host = urllib.parse.urlsplit(url)
    if host.scheme == "http":
        # pip ignores an index without TLS that is not named here; the operator named its host.
        lines.append(f"trusted-host = {host.netloc.rpartition('@')[2]}")
    return "\n".join(lines) + "\n"


def _wheels_alone() -> str:
    page = Path(containerfile.SECRETS_PLACE, containerfile.WHEELS).as_uri()
    return f"[global]\nno-index = true\nfind-links = {page}\nonly-binary = :all:\n"


def _wheels_page(wheels: Mapping[str, str]) -> str:
    return render_wheels_page(VenvOptions(path="", python="", packages_url="", release="", signed_wheels=wheels))
