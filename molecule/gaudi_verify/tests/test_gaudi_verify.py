# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""After the verdict: the all-reduce really ran over the ranks of both nodes, and nothing of it still runs."""

from __future__ import annotations

import json

from testinfra.host import Host

METRICS = "/var/log/gaudi3_scale/jobs/verify-all-reduce/metrics.jsonl"


def test_the_sum_is_that_of_both_nodes(host: Host) -> None:
    """Rank 0 writes the line, and lives on the first node."""
    if host.check_output("hostname") != "node1":
        assert not host.file(METRICS).exists
        return
    (line,) = map(json.loads, host.check_output(f"cat {METRICS}").splitlines())
    assert (line["kind"], line["collective"], line["nodes"], line["bytes"]) == ("collective", "all_reduce", 2, 4 << 20)
    assert line["seconds"] > 0
    # The rank that wrote it was nobody who can do more than compute.
    assert host.file(METRICS).user == "gaudi"


def test_no_rank_is_left_behind(host: Host) -> None:
    # The brackets keep the pattern from finding the shell that it is in.
    assert host.run("pgrep -f 'gaudi3_scale[.]collectives'").rc == 1


def test_no_unit_failed(host: Host) -> None:
    assert host.check_output("systemctl list-units 'gaudi3-scale-*' --state=failed --no-legend") == ""
