# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The clock as chronyc and timedatectl tell it. Lines are those of chronyd 4.3; timesyncd's follow its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._host.time_service import SERVICES
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.clock import Clock, read_clock

SYNCHRONIZED = (
    "0ACB500C,10.203.80.12,9,1795575499.542606969,-0.000015226,-0.000000148,0.000001272,0.157,-0.004,0.569,"
    "0.000053117,0.000001435,1.0,Normal\n"
)
UNSYNCHRONIZED = (
    "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.000000000,1.000000000,0.0,"
    "Not synchronised\n"
)
TIMESYNCD = """\
       Server: 10.0.0.1 (ntp.site)
Poll interval: 1min 4s (min: 32s; max 34min 8s)
         Leap: normal
       Offset: {offset}
        Delay: 1.1ms
       Jitter: 200us
"""


class Node:
    """``service`` runs; programs answer with ``said``."""

    def __init__(self, service: str | None, **said: str) -> None:
        self.service, self.said = service, said

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        if argv[0] == "systemctl":
            return CommandResult(
                0, "".join("active\n" if unit == self.service else "inactive\n" for unit in SERVICES), ""
            )
        text = self.said.get("status" if "timesync-status" in argv else argv[0])
        return CommandResult(127, "", "") if text is None else CommandResult(0, text, "")


CHRONY, OTHER, SYNCD = "chronyd.service", "ntpsec.service", "systemd-timesyncd.service"


@pytest.mark.parametrize(
    ("node", "clock"),
    [
        (Node(CHRONY, chronyc=SYNCHRONIZED), Clock(CHRONY, True, 0.015226)),
        (Node(CHRONY, chronyc=UNSYNCHRONIZED), Clock(CHRONY, False)),
        (Node(CHRONY, chronyc="506 Cannot talk to daemon\n"), Clock(CHRONY)),
        (Node(CHRONY), Clock(CHRONY)),
        (Node(CHRONY, chronyc=SYNCHRONIZED.replace("-0.000015226", "much")), Clock(CHRONY, True)),
        (Node(SYNCD, timedatectl="yes\n", status=TIMESYNCD.format(offset="-1min 2.5s")), Clock(SYNCD, True, 62500.0)),
        (Node(SYNCD, timedatectl="yes\n", status=TIMESYNCD.format(offset="+1.25ms")), Clock(SYNCD, True, 1.25)),
        (Node(SYNCD, timedatectl="no\n", status="       Server: n/a (ntp.site)\n"), Clock(SYNCD, False)),
        (Node(OTHER, timedatectl="yes\n"), Clock(OTHER, True)),
        (Node(None, timedatectl="no\n"), Clock(None, False)),
        (Node(None), Clock()),
    ],
)
def test_what_a_node_says(node: Node, clock: Clock) -> None:
    assert read_clock(node) == clock
