# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What an operator should read first of each ending of ``program.py``: the rank and its reason, by hand."""

from __future__ import annotations

LEFT = "ended with exit status 0 while other ranks ran"
NAN = "ValueError: loss is nan at step 3"
MEMBER = "record 12 has no field 'text'"
KILLED = "killed by SIGKILL"
NO_COMMAND = (
    "Command '['/opt/venv/bin/python', '-c', \"import json; json.loads('{')\"]' returned non-zero exit status 1."
)

# Ranks, the one that is first, and how its reason begins.
EXPECTED: dict[str, tuple[int, int, str]] = {
    "raised": (2, 1, NAN),
    "raised_before_they_met": (2, 1, "KeyError: 'lr'"),
    "left_by_exit": (3, 2, LEFT),
    "left_by_os_exit": (2, 1, LEFT),
    "left_by_return": (2, 0, LEFT),
    "left_while_others_end_well": (3, 1, f"or rank 2 {LEFT}"),
    "finished_before_the_cause": (3, 0, "ValueError: no metric named 'f1'"),
    "peers_end_well": (3, 1, NAN),
    "own_retries": (2, 1, "ValueError: shard 17 has 0 records"),
    "own_retries_in_message": (
        2,
        1,
        "ValueError: shard 17 cannot be read (caused by ConnectionResetError: [Errno 104] Connection reset by peer)",
    ),
    "own_server": (
        2,
        1,
        (
            "ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer')) "
            "(while handling ConnectionResetError: [Errno 104] Connection reset by peer)"
        ),
    ),
    "own_refused": (
        2,
        1,
        (
            "URLError: <urlopen error [Errno 111] Connection refused> "
            "(while handling ConnectionRefusedError: [Errno 111] Connection refused)"
        ),
    ),
    "chained": (2, 1, f"RuntimeError: step 7 failed (caused by ValueError: {MEMBER})"),
    "while_handling": (2, 1, "FileNotFoundError: no tokenizer in /data/model (while handling KeyError: 'tokenizer')"),
    "wrapped_echo": (2, 1, KILLED),
    "cleanup_echo": (2, 1, NAN),
    "group": (2, 1, "ExceptionGroup: 2 shards are broken (2 sub-exceptions) (the first is ValueError: shard 3)"),
    "group_in_chain": (2, 1, "RuntimeError: the data cannot be read (caused by OSError: [Errno 5] Input/output error)"),
    "task_group": (
        2,
        1,
        (
            "ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception) "
            "(the first is TimeoutError: no answer from the bucket)"
        ),
    ),
    "notes": (2, 1, "ValueError: bad shape (3, 4)"),
    "syntax_error": (2, 1, "SyntaxError: invalid syntax"),
    "state_dict": (2, 1, "RuntimeError: Error(s) in loading state_dict for Sequential:"),
    "state_dict_after_they_met": (2, 1, "RuntimeError: Error(s) in loading state_dict for Sequential:"),
    "wandb_farewell": (2, 1, NAN),
    "wandb_farewell_after_they_met": (2, 1, NAN),
    "wandb_older_farewell": (2, 1, NAN),
    "wandb_older_farewell_after_they_met": (2, 1, NAN),
    "wandb_cannot_begin": (2, 1, "MailboxError: transport failed"),
    "wandb_cannot_begin_after_they_met": (2, 1, "MailboxError: transport failed"),
    "resource_tracker": (2, 1, NAN),
    "pydantic_settings": (2, 1, "ValidationError: 2 validation errors for Settings"),
    "farewell": (2, 1, NAN),
    "fails_at_exit": (2, 1, NAN),
    "fails_in_del": (2, 1, NAN),
    "thread_failed_before": (2, 1, NAN),
    "thread_alone": (2, 1, "KeyError: 'batch'"),
    "child_failed": (2, 1, "RuntimeError: the loader ended with 1"),
    "big_message": (2, 1, "ValueError: kkkkkkkk"),
    "big_message_and_farewell": (2, 1, "ValueError: bad batch kkkkkkkk"),
    "big_message_of_many_lines": (2, 1, "ValueError: bad batch:"),
    "chained_big_message": (2, 1, "RuntimeError: step 7 failed (caused by ValueError: bad batch kkkkkkkk"),
    "terminate": (2, 1, "std::runtime_error: device 3 does not answer; then killed by SIGABRT"),
    "terminate_with_faulthandler": (2, 1, "std::runtime_error: device 3 does not answer; then killed by SIGABRT"),
    "terminate_as_echo": (2, 1, KILLED),
    "bad_free": (2, 1, "free(): invalid pointer; then killed by SIGABRT"),
    "assertion": (
        2,
        1,
        "python: driver.c:12: open_device: Assertion `device < count' failed.; then killed by SIGABRT",
    ),
    "segmentation_fault": (2, 1, "killed by SIGSEGV"),
    "segmentation_fault_with_faulthandler": (2, 1, "killed by SIGSEGV in string_at (__init__.py, line 519)"),
    "killed": (2, 1, KILLED),
    "interrupted": (2, 1, "KeyboardInterrupt"),
    "no_memory_for_a_tensor": (2, 1, "RuntimeError: [enforce fail at alloc_cpu.cpp"),
    "no_memory": (2, 1, "MemoryError: program.py, line "),
    "card_without_memory": (
        2,
        1,
        "RuntimeError: [Rank:1] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::2123366400 (2025)MB",
    ),
    "full_disk": (2, 1, "OSError: [Errno 28] No space left on device"),
    "full_disk_of_a_checkpoint": (2, 1, "RuntimeError: "),
    "nothing_can_be_written": (2, 1, "exit status 1"),
    "data_loader": (2, 1, f"ValueError: Caught ValueError in DataLoader worker process 0. (caused by {NAN})"),
    "data_loader_killed": (2, 1, "RuntimeError: DataLoader worker (pid"),
    "spawned": (
        2,
        1,
        f"ProcessRaisedException: -- Process 0 terminated with the following error: (caused by {NAN})",
    ),
    "pool": (2, 1, NAN),
    "called_process": (2, 1, f"CalledProcessError: {NO_COMMAND} (caused by JSONDecodeError: "),
    "transformers_model": (2, 1, "OSError: We couldn't connect to 'https://huggingface.co'"),
    "transformers_trainer": (2, 1, "IndexError: index 50257 is out of range in self"),
    "lightning_module": (2, 1, "AssertionError: Every training step must have a target"),
    "accelerated": (2, 1, "RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x3 and 2x2)"),
    "usage": (2, 1, "program.py: error: unrecognized arguments: --stepps 3"),
    "exit_with_text": (2, 1, "no text in /data/text"),
    "caught_long_before": (2, 1, "no more data"),
    "recorded": (2, 1, NAN),
    "recorded_chain": (2, 1, f"RuntimeError: step 7 failed (caused by ValueError: {MEMBER})"),
    "boxed": (2, 1, NAN),
    "boxed_after_they_met": (2, 1, NAN),
    "progress_bar": (2, 1, NAN),
    "patience": (2, 0, "RuntimeError: "),
    "recursion": (2, 1, "RecursionError: maximum recursion depth exceeded"),
    "bare_assertion": (2, 1, "AssertionError: program.py, line "),
    "lower_case_type": (2, 1, "struct.error: unpack requires a buffer of 4 bytes"),
    "own_type": (2, 1, "OutOfData: program.py, line "),
    "missing_module": (2, 1, "ModuleNotFoundError: No module named 'flash_attn_hpu'"),
    "fatal_error_of_the_interpreter": (
        2,
        1,
        "Fatal Python error: init_fs_encoding: failed to get the Python codec of the filesystem encoding",
    ),
    "shell_status": (2, 1, "exit status 137 (what it ran was killed by SIGKILL)"),
}
