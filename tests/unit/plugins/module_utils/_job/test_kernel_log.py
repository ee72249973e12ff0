# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import time

from ansible_collections.gaudi3.scale.plugins.module_utils._job.kernel_log import kernel_log, what_took_the_memory

from tests.scripted_failures.ended import KERNEL, OWN


def test_what_was_ended_and_who_had_most():
    pages = os.sysconf("SC_PAGE_SIZE") / 4096
    assert what_took_the_memory(KERNEL) == (
        f"python (process 4711) had 100.0 GiB, and indexer (process 5000) had {200.0 * pages:.1f} GiB"
    )
    assert what_took_the_memory(OWN + KERNEL).startswith("python (process 4711)")


def test_a_limit_of_its_own_unit():
    assert what_took_the_memory(OWN) == (
        "pt_data_worker (process 4713) had 8.0 GiB, and the limit of its unit or job was reached"
    )


def test_the_one_that_was_ended_had_most():
    alone = "\n".join(line for line in KERNEL.splitlines() if "indexer" not in line)
    assert what_took_the_memory(alone) == "python (process 4711) had 100.0 GiB"
    assert what_took_the_memory("Out of memory: Killed process 1 (x) total-vm:9kB, anon-rss:2048kB") == (
        "x (process 1) had 2 MiB"
    )


def test_a_log_that_says_nothing_of_it():
    assert what_took_the_memory("eth0: link up\n") == ""


def test_only_the_newest_records_are_read(tmp_path):
    """A regular file gives all at once what /dev/kmsg gives record by record: the first line is looked at."""
    now = int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6)
    log = tmp_path / "kmsg"
    log.write_text(f"6,12,{now},-;eth0: link up\n KEY=value\n")
    assert kernel_log(str(log)) == "eth0: link up"
    log.write_text(f"6,12,{max(now - 61_000_000, 0)},-;eth0: link up\n")
    assert kernel_log(str(log)) == ""
    log.write_text("no record\n")
    assert kernel_log(str(log)) == ""
    assert kernel_log(str(tmp_path / "missing")) == ""
