# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.agent_table import AgentEntry
from ansible_collections.gaudi3.scale.plugins.module_utils._job.failure import rank_failure
from ansible_collections.gaudi3.scale.plugins.module_utils._job.kernel_reason import (
    NO_MEMORY,
    full_disk,
    was_killed,
    with_kernel_reason,
)

# A disk of 64 KiB, in a namespace of its own: what is written there, and what is said of it.
FULL = """
mount -t tmpfs -o size=64k tmpfs "$1" || exit 3
{fill}
exec "$2" -c 'import sys; sys.path[:0] = sys.argv[2:]
from {module} import full_disk
print(full_disk(sys.argv[1]))' "$1" {paths}
"""


def failed(exit_code, stderr=""):
    return rank_failure(AgentEntry(1, 1, exit_code, 1.0, wrote_error=False), None, stderr, "/log")


def on_small_disk(place, fill):
    script = FULL.format(
        fill=fill, module=full_disk.__module__, paths=" ".join(f"'{path}'" for path in sys.path if path)
    )
    argv = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(place), sys.executable]
    found = subprocess.run(argv, capture_output=True, text=True, check=False)
    if "unshare" in found.stderr or found.returncode == 3:
        pytest.skip(f"this account may not mount a disk: {found.stderr}")
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def test_a_full_disk_is_asked_of_the_kernel(tmp_path):
    assert on_small_disk(tmp_path, 'head -c 1M /dev/zero > "$1/fill" 2>/dev/null') == f"no space left on {tmp_path}"
    assert on_small_disk(tmp_path, "") == ""
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_not_there_is_not_full(tmp_path):
    assert full_disk(str(tmp_path / "missing")) == ""
    assert full_disk(str(tmp_path)) == ""


def test_what_the_kernel_did_is_said_after_what_the_rank_said(tmp_path, monkeypatch):
    killed = with_kernel_reason(failed(-9), True, str(tmp_path), lambda: "")
    assert (killed.message, killed.kind) == (f"killed by SIGKILL; {NO_MEMORY}", "memory")
    monkeypatch.setattr(f"{full_disk.__module__}.full_disk", lambda directory: f"no space left on {directory}")
    assert with_kernel_reason(failed(1), False, "/var/log/x").message == "exit status 1; no space left on /"
    # It has said so, or is not the cause.
    said = failed(1, "OSError: [Errno 28] No space left on device\n")
    assert with_kernel_reason(said, False, "/var/log/x") == said
    assert with_kernel_reason(failed(-15), False, "/var/log/x") == failed(-15)


def test_a_worker_of_a_data_loader_may_be_what_was_killed():
    worker = "RuntimeError: DataLoader worker (pid 71) is killed by signal: Killed. \n"
    assert was_killed(failed(-9)) and was_killed(failed(1, worker))
    assert not was_killed(failed(1, "ValueError: x\n")) and not was_killed(failed(-15))
