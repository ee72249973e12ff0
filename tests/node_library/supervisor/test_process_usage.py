# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import time

import pytest

from gaudi3_scale.supervisor.process_usage import ProcessUsage, group_usage, tree_usage

GROUP = "/system.slice/gaudi3-scale-job-x.service"
UNKNOWN = ProcessUsage(None, None)


def written(root, files):
    for path, text in files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return str(root)


@pytest.mark.parametrize(
    ("files", "used"),
    [
        (
            {
                f"/sys/fs/cgroup{GROUP}/cpu.stat": "usage_usec 2500000\nuser_usec 1\n",
                f"/sys/fs/cgroup{GROUP}/memory.stat": "anon 100\nfile 999\nshmem 20\n",
            },
            ProcessUsage(2.5, 120),
        ),
        (
            {
                f"/sys/fs/cgroup/cpu,cpuacct{GROUP}/cpuacct.usage": "3500000000\n",
                f"/sys/fs/cgroup/memory{GROUP}/memory.stat": "rss 1\ntotal_rss 70\ntotal_cache 9\n",
            },
            ProcessUsage(3.5, 70),
        ),
        # Accounting is off: the files that are there tell nothing.
        ({f"/sys/fs/cgroup{GROUP}/cpu.stat": "\n", f"/sys/fs/cgroup{GROUP}/memory.stat": "odd\n"}, UNKNOWN),
        ({}, UNKNOWN),
    ],
)
def test_a_control_group_tells_in_either_version(tmp_path, files, used):
    assert group_usage(GROUP, written(tmp_path, files)) == used


def test_processes_tell_with_those_that_they_waited_for(tmp_path):
    stat = "{} (a) b) S 1 2 3 0 0 0 0 0 0 0 {} 5 6 4 20 0 1 0 99 1000 {} 0\n"
    root = written(tmp_path, {"/proc/7/stat": stat.format(7, 85, 3), "/proc/8/stat": stat.format(8, 5, 2)})
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    assert tree_usage([7, 8, 9], root) == ProcessUsage((85 + 15 + 5 + 15) / ticks, 5 * page)
    assert tree_usage([9], root) == UNKNOWN


def test_this_process_is_seen_to_work():
    before = tree_usage([os.getpid()])
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    after = tree_usage([os.getpid()])
    assert 0.1 <= after.processor - before.processor < 5
    assert after.memory > 1 << 20
