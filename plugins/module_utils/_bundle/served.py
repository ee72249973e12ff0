# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether a server has the indices and keys that the bundle's signed manifest names, before a node registers any."""

from __future__ import annotations

import tempfile
from typing import Sequence

from .._errors import GaudiError
from .._node.downloads import download
from .bundle_site import Site


def check_served(site: Site, places: Sequence[str]) -> None:
    """Fetch every file at or below ``places``, paths below the repository, and compare it; each has to exist."""
    files = site.manifest.files if site.manifest else []
    with tempfile.TemporaryDirectory() as scratch:
        for place in places:
            chosen = [entry for entry in files if entry.path == place or entry.path.startswith(f"{place}/")]
            if not chosen:
                raise GaudiError(
                    f"The bundle {site.packages_url} has no {place}; build it for this system, or correct suite.",
                    repository=site.packages_url,
                )
            for entry in chosen:
                url, checksum = site.url(entry.path), f"sha256:{entry.sha256}"
                download(url, f"{scratch}/file", "A file of the bundle", "packages_url", checksum, entry.size)
