# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The group that the cards' device nodes belong to.

A server has it from its package udev, whose rules give devices of the class accel to it (systemd 254 and newer,
50-udev-default.rules); a container has no udev.
"""

from __future__ import annotations

import grp
import subprocess

GROUP = "render"


def group_number() -> int:
    """The number of the group, made where the node has none."""
    try:
        return grp.getgrnam(GROUP).gr_gid
    except KeyError:
        subprocess.run(["groupadd", "--system", GROUP], check=True)
        return grp.getgrnam(GROUP).gr_gid
