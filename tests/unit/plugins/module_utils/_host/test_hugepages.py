# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Huge pages: the installer's arithmetic, what the kernel's files say, and what is refused."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._host.hugepages import (
    Memory,
    Reservation,
    count_cpus,
    installer_pages,
    parse_meminfo,
    parse_request,
    reservation,
    shortage,
)

TERABYTE = Memory(total_kib=1056459720, page_kib=2048)


@pytest.mark.parametrize(
    ("cpus", "page_kib", "pages"),
    # 160 CPUs are the example of Intel's recipe; a page of 1 GiB is a kernel started with default_hugepagesz=1G.
    [(160, 2048, 17601), (2, 2048, 221), (224, 2048, 24641), (160, 1048576, 35), (1, 2048, 111)],
)
def test_installer_pages(cpus: int, page_kib: int, pages: int) -> None:
    assert installer_pages(cpus, page_kib) == pages


def test_meminfo_and_cpuinfo() -> None:
    text = "MemTotal:       1056459720 kB\nMemFree: 1 kB\nHugePages_Total:       0\nHugepagesize:       2048 kB\n"
    assert parse_meminfo(text) == TERABYTE
    assert count_cpus("processor\t: 0\nmodel name\t: x\n\nprocessor\t: 1\nprocessor_id: 7\n") == 2


def test_a_kernel_without_huge_pages_is_told() -> None:
    with pytest.raises(GaudiError, match="has no Hugepagesize; set hugepages to unmanaged"):
        parse_meminfo("MemTotal: 1000 kB\n")


@pytest.mark.parametrize("page", ["0", "9" * 5000, "٣"])
def test_a_kernel_with_pages_of_no_or_every_size_is_told(page: str) -> None:
    with pytest.raises(GaudiError, match="set hugepages to unmanaged"):
        parse_meminfo(f"MemTotal: 1000 kB\nHugepagesize: {page} kB\n")


@pytest.mark.parametrize(("text", "request_"), [("auto", "auto"), ("unmanaged", "unmanaged"), ("8000", 8000), ("0", 0)])
def test_requests(text: str, request_: str | int) -> None:
    assert parse_request(text) == request_


@pytest.mark.parametrize("text", ["", "-1", "8k", "AUTO", "1.5", "٣", "9" * 400])
def test_other_requests_are_refused(text: str) -> None:
    with pytest.raises(GaudiError, match="neither auto, unmanaged nor a number"):
        parse_request(text)


def test_auto_is_a_least_number_and_a_number_is_exact() -> None:
    assert reservation("auto", TERABYTE, 160) == Reservation(17601, 2048, at_least=True)
    assert reservation(8000, TERABYTE, 160) == Reservation(8000, 2048, at_least=False)
    assert reservation(8000, TERABYTE, 160).mib == 16000


def test_what_does_not_fit_names_the_numbers_and_the_options() -> None:
    small = Memory(total_kib=16 * 1024 * 1024, page_kib=2048)
    wanted = reservation("auto", small, 160)
    assert shortage(wanted, TERABYTE, 0.5) is None
    assert shortage(wanted, small, 0.5) == (
        "hugepages: 17601 pages of 2048 KiB take 35202 MiB, more than 8192 MiB (50% of this node's 16384 MiB); "
        "set hugepages to a smaller number or to unmanaged, or raise hugepages_memory_share."
    )


def test_the_limit_itself_fits() -> None:
    assert shortage(Reservation(4096, 2048, False), Memory(16 * 1024 * 1024, 2048), 0.5) is None
    assert shortage(Reservation(4097, 2048, False), Memory(16 * 1024 * 1024, 2048), 0.5) is not None
