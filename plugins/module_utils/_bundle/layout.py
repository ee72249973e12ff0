# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Where each part of a bundle lies in it: names alone, for those who build one and for the nodes that read it.

The layout is the vendor's, so a node needs another ``gaudi_packages_url`` and nothing else. What the vendor's server
does not have lies below ``gaudi3_scale/``.
"""

from __future__ import annotations

OWN = "gaudi3_scale"
MANIFEST = f"{OWN}/bundle.json"
SIGNATURE = f"{OWN}/bundle.json.asc"
SUMS = f"{OWN}/SHA256SUMS"
KEY = f"{OWN}/key.asc"
COLLECTIONS = f"{OWN}/collections"
IMAGES = f"{OWN}/images"
DISTRIBUTION = f"{OWN}/distribution"

INDEX = "api/pypi/gaudi-python"
SIMPLE, WHEELS = f"{INDEX}/simple", f"{INDEX}/packages"

# In this order: the distribution's packages are resolved with the vendor's in hand, wheels with the PyTorch bundle and
# the operator's own wheels.
PARTS = ("keys", "packages", "rpms", "distribution", "pytorch", "files", "wheels", "installer", "manifest")
