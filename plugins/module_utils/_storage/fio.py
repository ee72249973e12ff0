# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""fio: its command line for one phase, and what its JSON says; pure (fio(1), fio 3.16 and newer)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .._errors import GaudiError
from .._node.json_file import parse_object

WRITE, READ, RANDOM_READ = "write", "read", "random_read"
PHASES = (WRITE, READ, RANDOM_READ)
_KINDS = {WRITE: "write", READ: "read", RANDOM_READ: "randread"}
# Requests under way for each file. fio counts what is under way at the end, and not the time that it takes: with
# sixteen of 1 MiB a slow disk would look faster by a quarter.
DEPTHS = {WRITE: 4, READ: 4, RANDOM_READ: 16}
# Until all nodes are at it.
RAMP_S = 2
PREFIX = ".gaudi3_scale_storage"


@dataclass(frozen=True)
class Phase:
    """One of ``PHASES`` over ``files`` files of ``size`` bytes in ``directory``, in requests of ``block`` bytes."""

    name: str
    directory: str
    node: str
    files: int
    size: int
    block: int
    seconds: int


@dataclass(frozen=True)
class Rate:
    """``bytes_per_s`` over all files of a node, ``p99_s`` of a request in the slowest file, ``written`` in each."""

    bytes_per_s: float
    iops: float
    p99_s: float
    seconds: float
    written: int

    def as_result(self) -> dict[str, Any]:
        return asdict(self)


def file_pattern(node: str) -> str:
    """The files of a node, which no other node opens."""
    return f"{PREFIX}.{node}.$jobnum"


def arguments(phase: Phase) -> list[str]:
    """Past the page cache, and nothing is laid out before: what was never written would be read as fast as nothing."""
    return [
        "fio",
        f"--name={phase.name}",
        f"--rw={_KINDS[phase.name]}",
        f"--directory={phase.directory}",
        f"--filename_format={file_pattern(phase.node)}",
        *("--ioengine=libaio", "--direct=1", f"--iodepth={DEPTHS[phase.name]}", "--fallocate=none"),
        *(f"--numjobs={phase.files}", f"--size={phase.size}", f"--bs={phase.block}"),
        *("--time_based", f"--runtime={phase.seconds}", f"--ramp_time={RAMP_S}"),
        *(["--end_fsync=1"] if phase.name == WRITE else []),
        *("--eta=never", "--output-format=json"),
    ]


def parse(text: str, phase: Phase) -> Rate:
    """Raises GaudiError where it is not what fio prints."""
    try:
        jobs = parse_object(text[text.index("{") :])["jobs"]
        side = [job["write" if phase.name == WRITE else "read"] for job in jobs]
        if any(job["error"] for job in jobs):
            raise ValueError(f"error {max(job['error'] for job in jobs)}")
        seconds = max(float(one["runtime"]) for one in side) / 1000
        written = min(int(one["io_bytes"]) for one in side) if phase.name == WRITE else phase.size
        return Rate(
            bytes_per_s=sum(int(one["io_bytes"]) for one in side) / seconds,
            iops=sum(int(one["total_ios"]) for one in side) / seconds,
            p99_s=max(float(one["clat_ns"]["percentile"]["99.000000"]) for one in side) / 1e9,
            seconds=seconds,
            # Whole blocks: a file that is written over and over has no more than its size.
            written=min(written, phase.size) // phase.block * phase.block,
        )
    except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise GaudiError(f"fio did not report its results ({error}); run it manually in {phase.directory}.") from error
