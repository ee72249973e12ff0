# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The environment of ``hl_qual``, wherever it is started from.

A login shell has it of the vendor's profile files, a unit of systemd does not. What the unit has is taken first (the
node's flags, which the operator may have changed), then what the vendor's files say, then the documented place, where
something is there. Names and places: "Set Environment Variables" of the vendor's installation guide,
Bandwidth_Tests_Plugin (``__python_cmd``) and dell/omnia (``HABANALABS_HLTHUNK_TESTS_BIN_PATH``).
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Optional

from .._flags.vendor import VENDOR_PROFILES
from .._node.shell_profile import ShellProfile, parse, read_file

PYTHON = "__python_cmd"
LOGS = "HABANA_LOGS"
DOCUMENTED: Mapping[str, str] = {
    "HABANALABS_HLTHUNK_TESTS_BIN_PATH": "/opt/habanalabs/src/hl-thunk/tests",
    LOGS: "/var/log/habana_logs/",
    "RDMA_CORE_ROOT": "/opt/habanalabs/rdma-core/src",
    "RDMA_CORE_LIB": "/opt/habanalabs/rdma-core/src/build/lib",
    "HABANA_PLUGINS_LIB_PATH": "/opt/habanalabs/habana_plugins",
    "GC_KERNEL_PATH": "/usr/lib/habanalabs/libtpc_kernels.so",
    "HABANA_SCAL_BIN_PATH": "/opt/habanalabs/engines_fw",
    "DATA_LOADER_AEON_LIB_PATH": "/usr/lib/habanalabs/libaeon.so",
    PYTHON: "python3",
}
# A program's name or path, and nothing that a shell would read more into.
_PROGRAM = re.compile(r"[A-Za-z0-9_./+-]+")

Which = Callable[[str], Optional[str]]


def read_environment(
    inherited: Mapping[str, str],
    patterns: Sequence[str] = VENDOR_PROFILES,
    exists: Callable[[str], bool] = os.path.exists,
    which: Which = shutil.which,
) -> dict[str, str]:
    """``inherited`` with what hl_qual needs, as far as this node has it."""
    return {**inherited, **chosen(inherited, profile_values(patterns), exists, which)}


def chosen(
    inherited: Mapping[str, str], profiles: Mapping[str, str], exists: Callable[[str], bool], which: Which
) -> dict[str, str]:
    """Pure: each variable's value; one that has nothing behind it on this node is not there."""
    found = {}
    for name, documented in DOCUMENTED.items():
        values = [one for one in (inherited.get(name), profiles.get(name), documented) if one]
        good = next((one for one in values if _is_there(name, one, exists, which)), None)
        if good is not None:
            found[name] = good
    return found


def profile_values(patterns: Sequence[str]) -> dict[str, str]:
    """What the vendor's profile files export of these variables, in the order of a login shell; no shell is started."""
    profile: ShellProfile | None = None
    found: dict[str, str] = {}
    for path in sorted({str(path) for pattern in patterns for path in Path("/").glob(pattern.lstrip("/"))}):
        text, why = read_file(path)
        if why:
            continue
        profile = parse(text, profile)
        for name in profile.doubtful:
            found.pop(name, None)
        found.update(
            {name: one.value for name, one in profile.exported.items() if name in DOCUMENTED and one.value is not None}
        )
    return found


def _is_there(name: str, value: str, exists: Callable[[str], bool], which: Which) -> bool:
    if name == LOGS:
        # hl_qual makes it.
        return value.startswith("/")
    if name == PYTHON:
        return _PROGRAM.fullmatch(value) is not None and which(value) is not None
    return any(exists(part) for part in value.split(":") if part.startswith("/"))
