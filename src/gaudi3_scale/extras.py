# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the extras of the node library need, and how to have it installed.

This distribution is on no package index, so its own name is never given to pip: only those of what an extra needs.
"""

from __future__ import annotations

import re
from importlib import metadata

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._venv.node_library import NAME

_NEED = re.compile(r"""^(?P<requirement>[^;]+?)\s*;.*\bextra\s*==\s*['"](?P<extra>[^'"]+)['"]""")


def remedy(extra: str) -> str:
    """The end of a sentence about a package that is missing."""
    return f"add {extra} to gaudi_venv_extras and run gaudi3.scale.venv"


def requirements_of(extra: str) -> list[str]:
    """What pip is told to install for an extra, from the metadata of the installed node library."""
    try:
        needs = metadata.requires(NAME) or []
    except metadata.PackageNotFoundError:
        needs = []
    found = [match["requirement"] for match in map(_NEED.match, needs) if match and match["extra"] == extra]
    if not found:
        raise GaudiError(f"{NAME} is not installed in this Python with an extra {extra}; {remedy(extra)}.")
    return found
