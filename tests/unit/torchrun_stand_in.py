# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""In place of torchrun, for tests of the supervisor that need many nodes on one small machine.

Like torchrun's static rendezvous it starts the node's ranks with their variables, writes their output below --log-dir,
polls them ten times a second, ends the others with SIGTERM when one has failed (SIGKILL after 30 s), and says so in the
lines of torch 2.13. A rank makes a step each tenth of a second and does what the file <control>/<rank> says.
"""

from __future__ import annotations

import atexit
import datetime
import faulthandler
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEP_S = 0.1


def agent(arguments):
    options = dict(zip(arguments[::2], arguments[1::2]))
    nodes, node_rank = int(options["--nnodes"]), int(options["--node-rank"])
    processes = int(options["--nproc-per-node"])
    attempt = Path(tempfile.mkdtemp(prefix="job_", dir=options["--log-dir"])) / "attempt_0"
    store = None
    if node_rank == 0:
        store = socket.create_server((options["--master-addr"], int(options["--master-port"])))
    ranks = []
    for local in range(processes):
        directory = attempt / str(local)
        directory.mkdir(parents=True)
        reported = {
            "RANK": str(node_rank * processes + local),
            "LOCAL_RANK": str(local),
            "WORLD_SIZE": str(nodes * processes),
            "MASTER_ADDR": options["--master-addr"],
        }
        with (directory / "stderr.log").open("wb") as stderr, (directory / "stdout.log").open("wb") as stdout:
            ranks.append(
                subprocess.Popen(
                    [sys.executable, __file__, "rank", options["--control"]],
                    env={**os.environ, **reported},
                    stdout=stdout,
                    stderr=stderr,
                )
            )
    signal.signal(signal.SIGTERM, lambda *_: (close(ranks), sys.exit(1)))
    while True:
        codes = [rank.poll() for rank in ranks]
        if all(code == 0 for code in codes):
            return 0
        failed = [local for local, code in enumerate(codes) if code]
        if failed:
            close(ranks)
            say(f"failed (exitcode: {codes[failed[0]]}) local_rank: {failed[0]} (pid: {ranks[failed[0]].pid}) of x")
            if store:
                store.close()
            return 1
        time.sleep(0.1)


def close(ranks):
    for rank in ranks:
        if rank.poll() is None:
            say(f"Sending process {rank.pid} closing signal SIGTERM")
            rank.terminate()
    for rank in ranks:
        try:
            rank.wait(30)
        except subprocess.TimeoutExpired:
            rank.kill()


def say(text):
    now = datetime.datetime.now().strftime("%H:%M:%S.%f")
    sys.stderr.write(f"E1121 {now} {os.getpid()} torch/distributed/elastic/multiprocessing/api.py:1002] {text}\n")
    sys.stderr.flush()


def rank(control):
    """One of: nothing (make steps), raise, raise always (in later runs, too), raise late (and take a while to end),
    lose (a peer), exit, hang, no step, deaf (to SIGTERM), slow."""
    faulthandler.register(signal.SIGUSR1)
    number, local = os.environ["RANK"], os.environ["LOCAL_RANK"]
    wish = Path(control, number)
    progress = Path(os.environ["GAUDI3_SCALE_PROGRESS_DIR"], f"{local}.json")
    # What data loaders are to a rank: a process that takes no notice of its end.
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    checkpoint = Path(control, f"checkpoint-{number}")
    # On from the last checkpoint of any rank.
    step = max((int(file.read_text()) for file in Path(control).glob("checkpoint-*")), default=0)
    signal.signal(signal.SIGTERM, lambda *_: (checkpoint.write_text(str(step)), sys.exit(0)))
    while True:
        time.sleep(STEP_S)
        wanted = wish.read_text() if wish.exists() else ""
        if "deaf" in wanted:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if "lose" in wanted:
            wish.unlink()
            raise RuntimeError("Connection closed by peer [127.0.0.11]:1")
        if "raise late" in wanted:
            wish.unlink()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            # As an interpreter whose backend's threads do not end.
            atexit.register(time.sleep, 60)
        if "raise" in wanted:
            if "always" not in wanted:
                wish.unlink(missing_ok=True)
            raise ValueError(f"bad thing on rank {number}")
        if "exit" in wanted or Path(control, "finish").exists():
            return 0
        if "hang" in wanted:
            continue
        if "no step" in wanted:
            continue
        step += 1
        reported = {
            "rank": int(number),
            "step": step,
            "busy_seconds": 0.5 if "slow" in wanted else 0.1,
            "pid": os.getpid(),
        }
        progress.with_suffix(".new").write_text(json.dumps(reported))
        progress.with_suffix(".new").replace(progress)


if __name__ == "__main__":
    sys.exit(rank(sys.argv[2]) if sys.argv[1] == "rank" else agent(sys.argv[1:]))
