# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a release stands on, as a bill of materials in CycloneDX 1.6: the collection and every pinned Python package.

PyTorch and its packages are not in it: each node has those of its vendor's bundle.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from plugins.module_utils._venv.pins import BASE, Pin

# Of this project's bills: with the tarball's digest it gives each its serial number.
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://github.com/gaudi3-scale/gaudi3.scale/sbom")
_PROPERTY = "gaudi3_scale"


def bill_of_materials(about: Mapping[str, Any], sha256: str, pins: Iterable[Pin]) -> dict[str, Any]:
    """Always the same for a release: ``about`` is its MANIFEST.json's ``collection_info``, ``sha256`` its tarball's."""
    collection = _collection(about, sha256)
    packages = [_package(pin) for pin in pins]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, sha256)}",
        "version": 1,
        "metadata": {"component": collection},
        "components": packages,
        "dependencies": [
            {"ref": collection["bom-ref"], "dependsOn": [package["bom-ref"] for package in packages]},
            # Which of them needs which other is not in the pins.
            *({"ref": package["bom-ref"]} for package in packages),
        ],
    }


def _collection(about: Mapping[str, Any], sha256: str) -> dict[str, Any]:
    reference = f"pkg:generic/{about['namespace']}/{about['name']}@{about['version']}"
    return {
        "type": "application",
        "bom-ref": reference,
        "group": about["namespace"],
        "name": about["name"],
        "version": about["version"],
        "description": about["description"],
        "hashes": [{"alg": "SHA-256", "content": sha256}],
        "licenses": [{"expression": " AND ".join(about["license"])}],
        "purl": reference,
        "externalReferences": [{"type": "vcs", "url": about["repository"]}],
    }


def _package(pin: Pin) -> dict[str, Any]:
    reference = f"pkg:pypi/{pin.name}@{pin.version}"
    properties = [{"name": f"{_PROPERTY}:needed_by", "value": name} for name in pin.needed_by]
    if pin.marker:
        properties.append({"name": f"{_PROPERTY}:marker", "value": pin.marker})
    return {
        "type": "library",
        "bom-ref": reference,
        "name": pin.name,
        "version": pin.version,
        "scope": "required" if BASE in pin.needed_by else "optional",
        # One of each file that may be taken: they differ by the Python that they are for.
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in pin.sha256],
        "purl": reference,
        "properties": properties,
    }
