# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Unlimited locked memory for logins and services."""

from __future__ import annotations

import resource

LOGIN_DROP_IN = "security/limits.d/90-gaudi3-scale.conf"
SERVICE_DROP_IN = "systemd/system.conf.d/90-gaudi3-scale.conf"

# pam_limits does not apply `*` to root (limits.conf(5)), so root has lines of its own.
LOGIN_LIMITS = """\
# Written by gaudi3.scale: HCCL locks its buffers in memory.
* soft memlock unlimited
* hard memlock unlimited
root soft memlock unlimited
root hard memlock unlimited
"""

# Read by systemd at daemon-reload; services started after that get it, running ones keep what they have.
SERVICE_LIMITS = """\
# Written by gaudi3.scale: HCCL locks its buffers in memory.
[Manager]
DefaultLimitMEMLOCK=infinity
"""


def can_be_raised() -> bool:
    """Whether root on this node may lift the limit; in most containers it may not.

    pam_limits refuses a login whose limits it cannot set, so a drop-in on such a node would lock everyone out.
    Raises this process's own limit for the length of the question.
    """
    before = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_MEMLOCK, before)
    except (OSError, ValueError):
        return False
    return True
