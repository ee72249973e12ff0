# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""After the verdict: the all-reduce really ran on every rank, and nothing of it still runs."""

from __future__ import annotations

from testinfra.host import Host


def test_no_rank_is_left_behind(host: Host) -> None:
    assert host.run("pgrep -f gaudi3_scale.all_reduce").rc == 1


def test_no_unit_failed(host: Host) -> None:
    assert host.check_output("systemctl list-units 'gaudi3-scale-*' --state=failed --no-legend") == ""
