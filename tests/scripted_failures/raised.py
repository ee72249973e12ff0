# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Exceptions of a user's program: where they were raised, what surrounds them, and what the other ranks make of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.scripted_failures.model import TORCHRUN, Case, Death, Expected
from tests.scripted_failures.words import (
    BARRIER,
    CLOSED,
    MAIN,
    RESET,
    fault,
    of_rank,
    raised,
    recorded,
    thread,
    traceback,
    worker,
)

CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
WHILE = "\nDuring handling of the above exception, another exception occurred:\n\n"
ITEM = "data.py:12:__getitem__:return self.records[number]"
FORWARD = "model.py:33:forward:return self.layer(x)"
LINEAR = "torch/nn/modules/linear.py:134:forward:return F.linear(input, self.weight, self.bias)"
SHAPES = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x3 and 2x2)"
STEP = "train.py, line 71, in main"
EMPTY = "ValueError: shard 7 is empty"
# All ranks of a table that torchrun writes ended at this time.
BEGUN = 1_795_000_000.0
MANY = 5_000_000


def _case(
    name: str, rank: int, death: Death, says: str, frame: str = STEP, kind: str = "exception", **more: Any
) -> Case:
    also = {key: more.pop(key) for key in ("row", "also") if key in more}
    return Case(name, {rank: death}, Expected(rank, kind, says, frame, **also), **more)


def _later(death: Death, seconds: float) -> Death:
    return replace(death, after=seconds)


def _group() -> str:
    frame = '  |   File "/opt/train/train.py", line 71, in main\n  |     train_step(batch)\n'
    head = f"  + Exception Group Traceback (most recent call last):\n{frame}"
    members = (
        "  +-+---------------- 1 ----------------\n    | ValueError: shard 3\n    +-----------------------------\n"
    )
    return f"{head}  | ExceptionGroup: 2 shards are broken (2 sub-exceptions)\n{members}"


def _boxed() -> str:
    side = "\n".join(f"│ {line:<96} │" for line in ("/opt/train/train.py:71 in main", "", "❱ 71 │   train_step(batch)"))
    edge = "─" * 31
    return f"╭{edge} Traceback (most recent call last) {edge}─╮\n{side}\n╰{'─' * 98}╯\n{EMPTY}\n"


def _pool() -> str:
    own = traceback(EMPTY, "py/concurrent/futures/process.py:261:_process_worker:r = call_item.fn()", ITEM)
    outer = traceback(EMPTY, *MAIN, "py/concurrent/futures/_base.py:401:__get_result:raise self._exception")
    return f'concurrent.futures.process._RemoteTraceback: \n"""\n{own}"""\n{CAUSED}{outer}'


def _spawned() -> str:
    head = traceback("torch.multiprocessing.spawn.ProcessRaisedException: ", *MAIN)
    wrap = "torch/multiprocessing/spawn.py:87:_wrap:fn(i, *args)"
    return f"{head}\n-- Process 0 terminated with the following error:\n{traceback(EMPTY, wrap, ITEM)}\n"


def _task_group() -> str:
    frame = '  |   File "/opt/train/train.py", line 71, in main\n  |     asyncio.run(fetch())\n'
    head = f"  + Exception Group Traceback (most recent call last):\n{frame}"
    inner = '    |   File "/opt/train/data.py", line 12, in fetch\n    |     raise ValueError("shard 7 is empty")\n'
    member = f"  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n{inner}"
    end = "    +------------------------------------\n"
    return f"{head}  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n{member}    | {EMPTY}\n{end}"


def _syntax() -> str:
    ran = traceback("", *MAIN[:1], "train.py:3:<module>:import model").rstrip("\n")
    return f'{ran}\n  File "/opt/train/model.py", line 9\n    def f(:\n          ^\nSyntaxError: invalid syntax\n'


RETRIED = traceback(RESET, *BARRIER) + "retrying the exchange\n"
BY_RANK = [
    _case(f"raised_by_rank_{rank}", rank, raised(EMPTY, rank=rank, after=text), EMPTY, follow=follow)
    for rank, follow, text in (
        (0, "closed", ""),
        (1, "reset", ""),
        (2, "receive", ""),
        (3, "remote", ""),
    )
]
CASES = [
    *BY_RANK,
    _case(
        "key_in_data",
        1,
        raised("KeyError: 'text'", ITEM, rank=1),
        "KeyError: 'text'",
        "data.py, line 12, in __getitem__",
    ),
    _case("deep_in_torch", 2, raised(SHAPES, FORWARD, LINEAR, rank=2), SHAPES, "model.py, line 33, in forward"),
    _case("bare_assertion", 3, raised("AssertionError", rank=3), "AssertionError: train.py, line 71"),
    _case("eight_ranks_a_node", 13, raised(EMPTY, rank=13), EMPTY, per_node=8, follow="broken"),
    _case("three_nodes", 5, raised(EMPTY, rank=5), EMPTY, nodes=3, follow="closed"),
    _case("others_are_only_told", 1, raised(EMPTY), EMPTY, follow="told"),
    _case("others_end_well", 2, raised(EMPTY, rank=2), EMPTY, follow="well"),
    _case("own_retries_above", 1, raised(EMPTY, rank=1, before=RETRIED), EMPTY),
    _case("lost_peers_below", 1, raised(EMPTY, rank=1, after=thread(CLOSED, *BARRIER)), EMPTY),
    _case("cleanup_loses_a_peer", 0, raised(EMPTY, after=WHILE + traceback(CLOSED, *BARRIER)), EMPTY),
    _case(
        "chained",
        2,
        Death(1, of_rank(traceback(EMPTY, *MAIN, ITEM) + CAUSED + traceback("RuntimeError: step 7 failed", *MAIN), 2)),
        "RuntimeError: step 7 failed (caused by ValueError: shard 7 is empty)",
        "data.py, line 12, in __getitem__",
    ),
    _case(
        "while_handling",
        1,
        Death(
            1, traceback("KeyError: 'lr'", *MAIN) + WHILE + traceback("FileNotFoundError: no tokenizer", *MAIN, FORWARD)
        ),
        "FileNotFoundError: no tokenizer (while handling KeyError: 'lr')",
        "model.py, line 33, in forward",
    ),
    _case("group", 3, Death(1, _group()), "ExceptionGroup: 2 shards are broken"),
    _case("task_group", 0, Death(1, _task_group()), "ExceptionGroup: unhandled", "data.py, line 12, in fetch"),
    _case(
        "unicode",
        1,
        raised("ValueError: 数据在 «épreuve» fehlt 💥", "разбор.py:7:чтение:raise", rank=1),
        "ValueError: 数据在 «épreuve» fehlt 💥",
        "разбор.py, line 7, in чтение",
    ),
    _case(
        "bytes_that_are_no_text",
        2,
        raised("UnicodeDecodeError: 'utf-8' codec can't decode byte 0x80 in position 3131: invalid start byte", ITEM),
        "UnicodeDecodeError: 'utf-8' codec",
        "data.py, line 12, in __getitem__",
    ),
    _case("recorded", 1, recorded(EMPTY, time=BEGUN - 2), EMPTY),
    _case(
        "recorded_in_two_lines",
        2,
        recorded("RuntimeError: step 7 failed\nin shard 4", time=BEGUN),
        "RuntimeError: step 7 failed",
    ),
    _case("recorded_without_a_log", 3, recorded(EMPTY, time=BEGUN, quiet=True), EMPTY),
    _case(
        "recorded_of_five_megabytes",
        3,
        recorded("ValueError: bad batch " + "k" * MANY, time=BEGUN),
        "ValueError: bad batch kkkk",
        engine=TORCHRUN,
    ),
    _case("five_megabytes", 0, raised("ValueError: bad batch " + "k" * MANY, rank=0), "ValueError: bad batch kkkk"),
    _case(
        "five_megabytes_of_lines",
        1,
        raised("ValueError: bad batch:\n" + "0.25 0.5\n" * (MANY // 9)),
        "ValueError: bad batch:",
    ),
    _case("two_hundred_megabytes_of_output", 2, raised(EMPTY, rank=2), EMPTY, repeated=200 << 20),
    _case("boxed", 1, Death(1, _boxed()), EMPTY),
    _case(
        "progress_bar", 2, Death(1, " 7%|▋         | 7/100 [00:00<00:01, 50.0it/s]" + traceback(EMPTY, *MAIN)), EMPTY
    ),
    _case("traceback_in_its_output", 1, Death(1, "WARNING:root:slow disk\n", stdout=traceback(EMPTY, *MAIN)), EMPTY),
    _case(
        "lower_case_type",
        0,
        raised("struct.error: unpack requires a buffer of 4 bytes"),
        "struct.error: unpack requires",
    ),
    _case("own_type", 3, raised("mine.errors.OutOfData"), "OutOfData: train.py, line 71"),
    _case(
        "recursion",
        1,
        raised("RecursionError: maximum recursion depth exceeded", *["model.py:40:again:return again(depth + 1)"] * 3),
        "RecursionError: maximum",
        "model.py, line 40, in again",
    ),
    _case(
        "interrupted",
        1,
        raised("KeyboardInterrupt", "py/time.py:1:sleep:pass", code=-2),
        "KeyboardInterrupt",
        kind="signal",
    ),
    _case("exit_with_text", 2, Death(1, "no text in /data/text\n"), "no text in /data/text", "", "status"),
    _case("exit_status_alone", 3, Death(3), "exit status 3", "", "status"),
    _case("shell_status", 1, Death(137), "exit status 137 (what it ran was killed by SIGKILL)", "", "signal"),
    _case(
        "usage",
        0,
        Death(2, "usage: train.py [-h]\ntrain.py: error: unrecognized arguments: --stepps 3\n"),
        "train.py: error: unrecognized arguments: --stepps 3",
        "",
        "arguments",
        follow="told",
    ),
    _case("syntax", 1, Death(1, _syntax()), "SyntaxError: invalid syntax", "model.py, line 9", "import", follow="told"),
    _case(
        "module_is_missing_on_one_node",
        2,
        raised("ModuleNotFoundError: No module named 'flash_attn_hpu'"),
        "ModuleNotFoundError: No module named 'flash_attn_hpu'",
        kind="import",
        follow="told",
    ),
    _case(
        "library_is_missing",
        3,
        raised("ImportError: libSynapse.so: cannot open shared object file: No such file or directory"),
        "ImportError: libSynapse.so",
        kind="import",
        follow="told",
    ),
    Case(
        "import_fails_everywhere",
        {
            rank: Death(1, traceback("ImportError: cannot import name 'HPU' from 'mine'", *MAIN), after=after)
            for rank, after in ((0, 0.3), (1, 0.2), (2, 0.0), (3, 0.1))
        },
        Expected(2, "import", "ImportError: cannot import name 'HPU'", STEP),
    ),
    _case(
        "thread_alone",
        1,
        Death(1, thread("KeyError: 'batch'", ITEM)),
        "KeyError: 'batch'",
        "data.py, line 12, in __getitem__",
    ),
    _case(
        "thread_died_and_its_rank_waited",
        3,
        Death(-15, thread("KeyError: 'batch'", ITEM), told=True),
        "KeyError: 'batch'",
        "data.py, line 12, in __getitem__",
        follow="patience",
    ),
    _case(
        "thread_died_before",
        0,
        raised(EMPTY, rank=0, before=thread("KeyError: 'batch'", ITEM) + "step 9\n" * 300),
        EMPTY,
    ),
    _case(
        "data_worker",
        1,
        Death(1, of_rank(worker(EMPTY, ITEM), 1)),
        "ValueError: Caught ValueError in DataLoader worker",
        "data.py, line 12, in __getitem__",
    ),
    _case(
        "data_worker_gone",
        2,
        raised("RuntimeError: DataLoader worker (pid(s) 4711, 4712) exited unexpectedly", rank=2),
        "RuntimeError: DataLoader worker (pid(s) 4711, 4712) exited unexpectedly",
    ),
    _case("pool", 0, Death(1, _pool()), EMPTY, "data.py, line 12, in __getitem__"),
    _case(
        "spawned", 1, Death(1, _spawned()), "ProcessRaisedException: -- Process 0", "data.py, line 12, in __getitem__"
    ),
    _case(
        "farewell_of_forty_lines", 3, raised(EMPTY, after="".join(f"closing writer {n}\n" for n in range(40))), EMPTY
    ),
    _case(
        "aborted_at_its_end",
        1,
        raised(
            EMPTY, rank=1, code=-6, after="terminate called without an active exception\n" + fault("Aborted", MAIN[0])
        ),
        EMPTY,
    ),
    Case(
        "another_fails_by_the_loss",
        {2: raised(EMPTY, rank=2), 0: _later(raised("KeyError: 'gathered'", rank=0), 0.4), 1: Death(-15, told=True)},
        Expected(2, "exception", EMPTY, STEP),
    ),
    _case("clock_that_is_ahead", 0, raised(EMPTY, rank=0), EMPTY, skew={"node1": 5.0}),
    _case(
        "clock_that_is_ahead_without_supervisors", 0, raised(EMPTY, rank=0), EMPTY, skew={"node1": 5.0}, engine=TORCHRUN
    ),
]
