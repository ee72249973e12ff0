# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How many huge pages a Gaudi node reserves, and whether they fit into its memory. Pure arithmetic and text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .._errors import GaudiError

SETTING = "vm.nr_hugepages"
DROP_IN = "sysctl.d/90-gaudi3-scale.conf"
AUTO = "auto"
UNMANAGED = "unmanaged"

# The vendor's installer reserves 110 MiB of huge pages twice for every logical CPU, and one page more
# (Intel's baremetal recipe for 1.22.0 has the same arithmetic; 160 CPUs give 17601 pages of 2 MiB).
_KIB_PER_CPU = 110 * 1024
_SHARES_PER_CPU = 2


@dataclass(frozen=True)
class Memory:
    """What the kernel says of its memory, in KiB."""

    total_kib: int
    page_kib: int


@dataclass(frozen=True)
class Reservation:
    """How many pages to reserve. ``at_least``: a larger number already reserved stays."""

    pages: int
    page_kib: int
    at_least: bool

    @property
    def mib(self) -> int:
        """Memory taken, in MiB."""
        return self.pages * self.page_kib // 1024


def installer_pages(cpus: int, page_kib: int) -> int:
    """The vendor's number of huge pages for ``cpus`` logical CPUs and pages of ``page_kib`` KiB."""
    return _KIB_PER_CPU * cpus * _SHARES_PER_CPU // page_kib + 1


def parse_meminfo(text: str, file: str = "/proc/meminfo") -> Memory:
    """The two lines of /proc/meminfo, which ``file`` is for this kernel, that matter here."""
    fields = dict(re.findall(r"^(\w+):\s+([0-9]{1,15}) kB$", text, re.MULTILINE))
    missing = [name for name in ("MemTotal", "Hugepagesize") if name not in fields]
    if missing:
        raise GaudiError(
            f"hugepages cannot be set: {file} has no {' and no '.join(missing)}; set hugepages to {UNMANAGED}."
        )
    memory = Memory(int(fields["MemTotal"]), int(fields["Hugepagesize"]))
    if not memory.page_kib:
        raise GaudiError(f"hugepages cannot be set: {file} has pages of 0 kB; set hugepages to {UNMANAGED}.")
    return memory


def count_cpus(cpuinfo: str) -> int:
    """Logical CPUs in /proc/cpuinfo."""
    return len(re.findall(r"^processor\s*:", cpuinfo, re.MULTILINE))


def parse_request(request: str) -> str | int:
    """``auto``, ``unmanaged`` or a number of pages; anything else is refused."""
    if request in (AUTO, UNMANAGED):
        return request
    if re.fullmatch(r"[0-9]{1,15}", request):
        return int(request)
    raise GaudiError(f"hugepages={request!r} is neither {AUTO}, {UNMANAGED} nor a number of pages; use one of these.")


def reservation(request: int | str, memory: Memory, cpus: int) -> Reservation:
    """The pages that ``request`` (``auto`` or a number) means on this node."""
    if isinstance(request, int):
        return Reservation(request, memory.page_kib, at_least=False)
    return Reservation(installer_pages(cpus, memory.page_kib), memory.page_kib, at_least=True)


def shortage(wanted: Reservation, memory: Memory, share: float) -> str | None:
    """One sentence when ``wanted`` takes more than ``share`` of the memory; None when it fits."""
    limit_mib = int(memory.total_kib * share) // 1024
    if wanted.mib <= limit_mib:
        return None
    return (
        f"hugepages: {wanted.pages} pages of {wanted.page_kib} KiB take {wanted.mib} MiB, more than {limit_mib} MiB "
        f"({share:.0%} of this node's {memory.total_kib // 1024} MiB); set hugepages to a smaller number or to "
        f"{UNMANAGED}, or raise hugepages_memory_share."
    )


def drop_in(pages: int) -> str:
    """Text of the sysctl drop-in."""
    return f"# Written by gaudi3.scale: huge pages for the Gaudi runtime.\n{SETTING} = {pages}\n"
