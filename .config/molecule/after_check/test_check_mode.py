# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""After check mode: nothing on the node is newer than the scenario."""

from __future__ import annotations

from testinfra.host import Host

from tests.touched import STARTED, TOUCHED


def test_check_mode_touched_nothing(host: Host) -> None:
    assert host.file(STARTED).exists
    assert host.run(TOUCHED).stdout.splitlines() == []
