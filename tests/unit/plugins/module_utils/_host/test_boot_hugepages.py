# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a kernel's command line reserves: sizes, defaults and NUMA nodes as kernel-parameters has them."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._host.boot_hugepages import BootPages, parse_command_line

GIB = 1024 * 1024


@pytest.mark.parametrize(
    ("text", "pages", "page_kib"),
    [
        ("BOOT_IMAGE=/vmlinuz ro quiet", 0, 2048),
        ("ro hugepages=156300 quiet", 156300, 2048),
        ("default_hugepagesz=1G hugepages=64", 64, GIB),
        ("default_hugepagesz=1G hugepagesz=1G hugepages=64 hugepagesz=2M hugepages=512", 64, GIB),
        ("hugepagesz=1G hugepages=16 hugepagesz=2M hugepages=20000", 20000, 2048),
        ("hugepages=30000 hugepagesz=1G hugepages=4", 30000, 2048),
        ("hugepagesz=2048K hugepages=9 hugepages=7", 9, 2048),
        ("hugepages=0:10000,1:8000", 18000, 2048),
        # xmrig/xmrig#1411
        ("hugepagesz=1GB default_hugepagesz=1GB hugepages=6", 6, GIB),
        ("hugepages=64 default_hugepagesz=1g", 64, GIB),
        # What the kernel would not read either.
        ("hugepages=many hugepagesz=", 0, 2048),
        ("hugepages=٣ transparent_hugepage=always hugepages_treat_as_movable=1", 0, 2048),
    ],
)
def test_command_lines(text: str, pages: int, page_kib: int) -> None:
    assert parse_command_line(text, 2048) == BootPages(pages, page_kib)


def test_a_command_line_without_a_size_means_that_of_its_kernel() -> None:
    assert parse_command_line("hugepages=40", GIB) == BootPages(40, GIB)
