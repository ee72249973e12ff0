# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Is a program there?"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

Installed = Callable[[str], bool]


def is_installed(program: str) -> bool:
    """Whether ``program`` is on the search path, the administrator's directories included."""
    path = os.environ.get("PATH", os.defpath) + ":/usr/local/sbin:/usr/sbin:/sbin"
    return shutil.which(program, path=path) is not None
