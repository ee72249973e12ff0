# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ends that are no plain exception: the vendor's errors, signals, memory, hangs, disks, and a rank that leaves."""

from __future__ import annotations

from typing import Any

from tests.scripted_failures.model import TORCHRUN, Case, Death, Expected
from tests.scripted_failures.raised import STEP
from tests.scripted_failures.words import (
    MAIN,
    PATIENCE,
    STORE,
    fault,
    killed,
    of_rank,
    raised,
    traceback,
)

FORWARD = "model.py:33:forward:return self.layer(x)"
IN_MODEL = "model.py, line 33, in forward"
DEVMEM = "FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::939524096 (896)MB"
GRAPH = "Graph compile failed. synStatus=synStatus 26 [Generic failure]."
WATCHDOG = (
    "[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=15, OpType=ALLREDUCE, NumelIn=4096, "
    "NumelOut=4096, Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
)
BARRIER_NAMES = (
    "RuntimeError: [/__w/pytorch/pytorch/torch/csrc/distributed/c10d/ProcessGroupGloo.cpp:2740] Rank 3 failed to pass "
    "monitoredBarrier in 10000 ms"
)
# Linux 5.15, mm/oom_kill.c: who had how many pages, then who was chosen.
KERNEL = """\
python invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0
Tasks state (memory values in pages):
[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
[   4711]   998  4711 60000000 26214400    300000        0             0 python
[   5000]  1000  5000 90000000 52428800    500000        0             0 indexer
oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task=python,pid=4711,uid=998
Out of memory: Killed process 4711 (python) total-vm:240000000kB, anon-rss:104857600kB, file-rss:0kB, shmem-rss:0kB
"""
OWN = """oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=pt_data_worker,pid=4713,uid=998
Memory cgroup out of memory: Killed process 4713 (pt_data_worker) total-vm:9000000kB, anon-rss:8388608kB, file-rss:0kB
"""


def _case(name: str, rank: int, death: Death, expected: Expected, **more: Any) -> Case:
    return Case(name, {rank: death}, expected, **more)


def _device(name: str, said: str, row: str, rank: int = 1, **more: Any) -> Case:
    death = raised(f"RuntimeError: {said}", FORWARD, rank=rank)
    return _case(name, rank, death, Expected(rank, "device", f"RuntimeError: {said[:40]}", IN_MODEL, row), **more)


def _signal(
    name: str,
    number: int,
    says: str,
    said: str = "",
    kind: str = "signal",
    frame: str = "",
    row: str = "",
    **more: Any,
) -> Case:
    return _case(name, 2, killed(number, said), Expected(2, kind, says, frame, row), **more)


def _system(name: str, said: str, kind: str, rank: int = 3) -> Case:
    return _case(name, rank, raised(said, rank=rank), Expected(rank, kind, said[:40], STEP))


DEVICE = [
    _device("card_is_taken", "synStatus=26 [Generic failure] Device acquire failed.", "acquire", follow="told"),
    _device("card_is_taken_already", "Device acquire failed. synStatus 20", "acquire", rank=3, follow="told"),
    _device("graph", GRAPH, "graph"),
    _device("other_release", "synNodeCreateWithId failed for node: batch_gemm with synStatus 26", "node"),
    _device("card_without_memory", f"[Rank:2] {DEVMEM}", "device_memory", rank=2),
    _signal("card_without_memory_aborts", 6, DEVMEM, f"[10:11:12] {DEVMEM}\n", kind="device", row="device_memory"),
    _device("older_card", "FATAL ERROR :: MODULE:PT_LAZY Error, ValidateSyncInputTensors tensor_data is empty", "lazy"),
    _device("no_bridge", "Failed to infer device type, please set the environment variable", "bridge", rank=0),
    _device("shape_that_was_not_warmed", "Recompilation triggered with skip_guard_eval_unsafe stance", "warmup"),
    _signal(
        "vendors_handler",
        11,
        "Internal Error: Received signal",
        "Internal Error: Received signal - SIGSEGV\n",
        kind="abort",
    ),
]
SIGNALS = [
    _case(
        "kernel_ends_a_rank",
        1,
        killed(9),
        Expected(1, "memory", "killed by SIGKILL", also="indexer (process 5000) had 200.0 GiB"),
        kernel=KERNEL,
    ),
    _case(
        "kernel_ends_a_worker",
        2,
        raised("RuntimeError: DataLoader worker (pid 4713) is killed by signal: Killed.", rank=2),
        Expected(
            2,
            "memory",
            "RuntimeError: DataLoader worker (pid 4713)",
            STEP,
            also="pt_data_worker (process 4713) had 8.0 GiB",
        ),
        kernel=OWN,
    ),
    _signal("killed", 9, "killed by SIGKILL"),
    _signal("killed_after_retries", 9, "killed by SIGKILL", "WARNING:root:retry: Connection reset by peer\n"),
    _signal("killed_and_others_wrap_it", 9, "killed by SIGKILL", follow="wrapped"),
    _signal("killed_and_others_abort", 9, "killed by SIGKILL", follow="aborted"),
    _case("somebody_sends_sigterm", 1, killed(15), Expected(1, "signal", "killed by SIGTERM", also="not by its agent")),
    _signal("segmentation_fault", 11, "killed by SIGSEGV"),
    _signal(
        "segmentation_fault_with_its_place",
        11,
        "killed by SIGSEGV in string_at (__init__.py, line 519)",
        fault("Segmentation fault", "py/ctypes/__init__.py:519:string_at:x", FORWARD, MAIN[0]),
        frame=IN_MODEL,
    ),
    _signal(
        "terminate",
        6,
        "std::runtime_error: device 3 does not answer",
        "terminate called after throwing an instance of 'std::runtime_error'\n  what():  device 3 does not answer\n",
        kind="device",
    ),
    _signal("bad_free", 6, "free(): invalid pointer", "free(): invalid pointer\n", kind="abort"),
    _signal("bus_error", 7, "killed by SIGBUS"),
    _case("no_memory", 0, raised("MemoryError"), Expected(0, "memory", "MemoryError: train.py, line 71", STEP)),
    _system(
        "no_memory_for_a_tensor",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you "
        "tried to allocate 4000000000000000 bytes. Error code 12 (Cannot allocate memory)",
        "memory",
    ),
]
HANGS = [
    _case(
        "one_never_comes",
        0,
        Death(1, traceback(STORE, *MAIN)),
        Expected(0, "hang", "DistStoreError: Timed out after 61", STEP),
        follow="told",
    ),
    _case(
        "waits_in_a_collective",
        2,
        Death(1, of_rank(traceback(PATIENCE, *MAIN), 2)),
        Expected(2, "hang", "RuntimeError: [", STEP),
        follow="told",
    ),
    Case(
        "watchdog",
        {
            rank: killed(
                6,
                "terminate called after throwing an instance of 'c10::DistBackendError'\n"
                f"  what():  [PG ID 0 PG GUID 0(default_pg) Rank {rank}] {WATCHDOG.format(rank=rank)}\n",
                after=after,
            )
            for rank, after in ((0, 0.3), (1, 0.0), (2, 0.2))
        },
        Expected(1, "hang", "c10::DistBackendError: "),
        follow="told",
    ),
    _case(
        "barrier_names_the_one",
        0,
        Death(1, of_rank(traceback(BARRIER_NAMES, *MAIN), 0)),
        Expected(0, "hang", "RuntimeError: [", STEP, also="Rank 3 failed to pass"),
        follow="told",
    ),
]
NUMBERS = [
    _case(
        "nan",
        1,
        raised("ValueError: loss is nan at step 3", rank=1),
        Expected(1, "nan", "ValueError: loss is nan at step 3", STEP),
    ),
    _case(
        "nan_without_its_step",
        2,
        raised(
            "FloatingPointError: the loss is not finite: nan", rank=2, before="step 40 loss 1.2\nstep 41 loss nan\n"
        ),
        Expected(2, "nan", "FloatingPointError: the loss is not finite: nan", STEP, also="step 41"),
    ),
    _case(
        "nan_in_an_assertion",
        0,
        raised("AssertionError", "model.py:33:forward:assert torch.isfinite(loss)", before=" 17/200 loss=inf\n"),
        Expected(0, "nan", "AssertionError: model.py, line 33", IN_MODEL, also="step 17"),
    ),
]
DISKS = [
    _system("disk_is_full", "OSError: [Errno 28] No space left on device", "disk"),
    _system("quota_is_used_up", "OSError: [Errno 122] Disk quota exceeded: '/data/ckpt'", "disk", rank=1),
    _system("mount_is_stale", "OSError: [Errno 116] Stale file handle: '/data/shard-7'", "storage"),
    _system("mount_is_gone", "OSError: [Errno 107] Transport endpoint is not connected: '/data'", "storage", rank=0),
    _system("data_is_not_there", "FileNotFoundError: [Errno 2] No such file or directory: '/data/text'", "exception"),
]
LEFT = [
    _case("leaves", 2, Death(0), Expected(2, "left", "ended with exit status 0"), follow="reset"),
    _case("leaves_without_supervisors", 1, Death(0), Expected(1, "left", "ended with exit status 0"), engine=TORCHRUN),
]
CASES = [*DEVICE, *SIGNALS, *HANGS, *NUMBERS, *DISKS, *LEFT]
