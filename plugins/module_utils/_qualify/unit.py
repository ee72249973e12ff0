# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the units of a node's tests may do, begun by hand and by the timer alike (systemd.exec(5)).

Beside what hl_qual needs as any of the vendor's tools, the tests may load the driver anew (``reload_driver``), and our
own program asks for the kernel's log, through the journal's files.
"""

from __future__ import annotations

from .._node.unit_hardening import VENDORS_CAPABILITIES, VENDORS_TOOL, capability_lines

LIMITS = ("KillMode=control-group", "LimitMEMLOCK=infinity", "TimeoutStopSec=30")
CONFINED = (
    *VENDORS_TOOL,
    "RestrictRealtime=yes",
    "PrivateTmp=yes",
    "ProtectKernelLogs=yes",
    # Who holds a card is asked before each test.
    *capability_lines((*VENDORS_CAPABILITIES, "CAP_SYS_PTRACE")),
)
