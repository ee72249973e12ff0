# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What options of host cards may be as words of apt, of dnf and of names of archives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._node.option_forms import check_mtu, check_package, check_version
from ..._node.os_release import APT, DNF

FORMS: dict[str, Callable[[str, Any], None]] = {
    "release": check_version,
    "libfabric_version": check_version,
    "roce_mtu": check_mtu,
    "ofed_packages": check_package,
    "libfabric_build_packages": check_package,
    **{
        f"system_packages.{system}.{part}": check_package
        for system in (APT, DNF)
        for part in ("ofed", "libfabric_build")
    },
}
