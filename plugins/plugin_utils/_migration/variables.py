# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Settings of other tools as variables of ours: each function raises ValueError with a clause where it cannot; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import RELEASES, find_release

VENDOR = "vault.habana.ai"
_VERSION = re.compile(r"(?P<version>\d+\.\d+\.\d+)(?P<build>-\d+)?")
# The paths of the vendor's server behind a mirror's own prefix.
_MIRROR = re.compile(r"(?P<prefix>https?://\S+?)/(?:debian|rhel)(?:[/\s].*)?")
_KERNEL_WORD = re.compile(r"[A-Za-z0-9_.]+(?:=[A-Za-z0-9_.,:+-]*)?")
_PROXY = re.compile(r"https?://[A-Za-z0-9._~:/-]+")
_PIP_VERSION = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[A-Za-z0-9._+]+)")


def release(value: Any) -> dict[str, Any]:
    """Of ``1.22.0-740`` or ``1.22.0``; its build has to be the release's."""
    found = _VERSION.fullmatch(str(value).strip())
    if not found:
        raise ValueError("it is not a release such as 1.22.0-740; set gaudi_release")
    try:
        return {"gaudi_release": find_release(found[0]).version}
    except GaudiError:
        known = RELEASES.get(found["version"])
        if known:
            raise ValueError(f"{known.version} has build {known.build} here; set gaudi_release to it") from None
        nodes = "nodes keep it until you set another gaudi_release"
        raise ValueError(f"this release is not in the table; {nodes}") from None


def hugepages(value: Any) -> dict[str, Any]:
    if not re.fullmatch(r"[0-9]{1,15}", str(value).strip()):
        raise ValueError("it is not a number of pages; set gaudi_host_hugepages")
    return {"gaudi_host_hugepages": int(value)}


def kernel_arguments(value: Any) -> dict[str, Any]:
    """Those of the site and the two that every node needs, which theirs may set otherwise."""
    words = str(value).split()
    wrong = [word for word in words if not _KERNEL_WORD.fullmatch(word)]
    if wrong:
        raise ValueError(f"{wrong[0]!r:.60} is not an argument that can be kept; set gaudi_host_kernel_arguments")
    known = {word.partition("=")[0] for word in words}
    ours = [word for word in ("iommu=pt", "intel_iommu=on") if word.partition("=")[0] not in known]
    return {"gaudi_host_kernel_arguments": [*words, *ours]}


def proxy(name: str, value: Any) -> dict[str, Any]:
    """``name`` is the environment's; credentials in it are not read."""
    text = str(value).strip()
    if name != "no_proxy" and not _PROXY.fullmatch(text):
        raise ValueError("it is not a plain URL, or has credentials; set gaudi_proxy, encrypted with Ansible Vault")
    return {"gaudi_proxy": {name: text}}


def proxies(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value.keys() <= {"http_proxy", "https_proxy", "no_proxy"}:
        raise ValueError("it is more than http_proxy, https_proxy and no_proxy; set gaudi_proxy")
    found = [proxy(name, one)["gaudi_proxy"] for name, one in value.items()]
    return {"gaudi_proxy": {name: text for one in found for name, text in one.items()}}


def mirror(value: Any) -> dict[str, Any]:
    """The vendor's repository among the URLs of a local mirror."""
    urls = [str(one.get("url", "")) for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
    ours = [url for url in urls if "habana" in url or "gaudi" in url]
    if not ours or all(VENDOR in url for url in ours):
        return {}
    found = _MIRROR.fullmatch(ours[0])
    if not found:
        raise ValueError(f"{ours[0]!r:.80} is not a mirror with the vendor's paths; set gaudi_driver_repository_url")
    return {"gaudi_packages_url": found["prefix"]}


def packages(value: Any) -> dict[str, Any]:
    """Names in their lists of the vendor's packages: the release's own list is meant unless something is missing."""
    names = {re.split(r"[=\s]|-\{\{|-\d", str(one))[0] for one in value} if isinstance(value, list) else set()
    if not names or not all(name.startswith("habana") for name in names):
        raise ValueError("it is not a list of the vendor's packages; compare it with gaudi_driver_packages")
    return {}


def index_url(value: Any) -> dict[str, Any]:
    """The vendor's own is none of ours: its wheels come from the release's archive."""
    text = str(value).strip()
    if VENDOR in text:
        return {}
    if not _PROXY.fullmatch(text):
        raise ValueError("it is not a plain URL, or has credentials; set gaudi_venv_index_url")
    return {"gaudi_venv_index_url": text}


def requirements(value: Any) -> dict[str, Any]:
    """Of ``pip_packages`` those that no release brings."""
    ours = {"pip", "setuptools", "packaging", "habana_media_loader", "habana-media-loader"}
    entries = [str(one.get("name", "") if isinstance(one, Mapping) else one) for one in value]
    others = [one for one in entries if re.split(r"[=<>!~\s]", one)[0] not in ours]
    wrong = [one for one in others if not _PIP_VERSION.fullmatch(one)]
    if wrong:
        raise ValueError(f"{wrong[0]!r:.60} has no version; add it to gaudi_venv_requirements as name==version")
    return {"gaudi_venv_requirements": ["lightning==2.6.6", *others]} if others else {}
