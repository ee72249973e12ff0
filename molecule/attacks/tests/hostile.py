# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a hostile account runs as its job: it tries what root alone may do, notes what it could, then fails or waits."""

import ctypes
import json
import os
import sys
import time
from pathlib import Path

CONTROL = "/var/lib/gaudi3_scale/control"
job = os.environ["GAUDI3_SCALE_JOB"]
reported = Path(CONTROL, job)
# sys/mount.h, sched.h
CLONE_NEWUSER = 0x10000000
libc = ctypes.CDLL(None, use_errno=True)


def system_call(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")


def attempts():
    for name in ("job.json", "environment", "started.json"):
        yield f"read {name}", lambda name=name: (reported / name).read_bytes()
    for name in ("job.json", "environment", "supervision.json", "started.json", "new"):
        yield f"write {name}", lambda name=name: (reported / name).open("a").close()
    yield "move the control directory", lambda: reported.rename(reported.with_name("moved"))
    yield "write the agent's log", lambda: Path(f"/var/log/gaudi3_scale/agents/{job}/agent.log").open("a").close()
    yield "change the system", lambda: Path("/etc/cron.d/hostile").open("a").close()
    yield "make a user namespace", lambda: system_call(libc.unshare(CLONE_NEWUSER))
    yield "mount", lambda: system_call(libc.mount(b"none", b"/mnt", b"tmpfs", 0, None))
    yield "make a program of somebody else's rights", lambda: Path(os.environ["GAUDI3_SCALE_JOB_DIR"]).chmod(0o4755)


could = []
for what, attempt in attempts():
    try:
        attempt()
    except OSError:
        continue
    could.append(what)
status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
facts = {"could": could, "capabilities": int(status["CapBnd"], 16), "no_new_privileges": status["NoNewPrivs"]}
Path(os.environ["GAUDI3_SCALE_JOB_DIR"], "tried.json").write_text(json.dumps(facts))
time.sleep(float(sys.argv[1]))
raise ValueError("the shard is empty")
