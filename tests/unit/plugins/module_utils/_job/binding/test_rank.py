# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks as real processes: what the user's program sees where it is bound, beside what it sees where it is not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.binding.launcher import Launcher
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.node_programs import RANK, install, program_path

CPUS = sorted(os.sched_getaffinity(0))
SHOW = """
import json, os, signal, sys
json.dump({
    "argv": sys.argv, "path": sys.path, "name": __name__, "file": __file__, "flags": list(sys.flags),
    "executable": sys.executable, "orig": sys.orig_argv, "cwd": os.getcwd(), "pid": os.getpid(),
    "environment": dict(os.environ), "cpus": sorted(os.sched_getaffinity(0)),
    "signals": [str(signal.getsignal(n)) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGUSR1)],
}, sys.stdout)
"""
needs_two = pytest.mark.skipif(len(CPUS) < 2, reason="one processor has nothing to share out")


@pytest.fixture
def program(tmp_path):
    paths = JobPaths("a", str(tmp_path / "state"))
    install(paths.rank_programs, RANK)
    return program_path(paths.rank_programs, RANK)


@pytest.fixture
def kernel(tmp_path):
    """The kernel of a server with a NUMA node for each half of this machine's processors."""
    half = len(CPUS) // 2
    for node, own in enumerate((CPUS[:half], CPUS[half:])):
        place = tmp_path / f"kernel/sys/devices/system/node/node{node}"
        place.mkdir(parents=True)
        (place / "cpulist").write_text(",".join(map(str, own)) + "\n")
    return str(tmp_path / "kernel")


@pytest.fixture
def rank(program, kernel, tmp_path):
    """Run a command of the venv's Python as a rank; ``bind`` None: as torchrun alone would."""

    def rank(*command, bind="numa", local_rank=0, ranks=2, threads="always", python=sys.executable, **variables):
        launcher = Launcher(sys.executable, program, bind or "", "cpu", kernel)
        before = launcher.argv(threads) if bind else ()
        inherited = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
        reported = {"LOCAL_RANK": str(local_rank), "LOCAL_WORLD_SIZE": str(ranks)}
        return subprocess.Popen(
            [*before, python, "-u", *command],
            cwd=tmp_path,
            env={**inherited, **reported, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return rank


def seen(process):
    """What the program saw of itself; its number has to be that of the process that was started."""
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    reported = json.loads(output)
    assert reported.pop("pid") == process.pid
    return reported


@needs_two
@pytest.mark.parametrize("form", [["show.py", "a", "--flag", "b c", "$x", ""], ["-m", "package.show", "-u", "--"]])
def test_a_program_sees_nothing_but_its_processors_and_threads(rank, tmp_path, form):
    (tmp_path / "show.py").write_text(SHOW)
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__init__.py").touch()
    (tmp_path / "package/show.py").write_text(SHOW)
    half = len(CPUS) // 2
    unbound, first, second = seen(rank(*form, bind=None)), seen(rank(*form)), seen(rank(*form, local_rank=1))
    assert (unbound.pop("cpus"), first.pop("cpus"), second.pop("cpus")) == (CPUS, CPUS[:half], CPUS[half:])
    assert first["environment"].pop("OMP_NUM_THREADS") == str(half)
    assert second["environment"].pop("OMP_NUM_THREADS") == str(len(CPUS) - half)
    assert second["environment"].pop("LOCAL_RANK") == "1"
    assert first == unbound
    del first["environment"]["LOCAL_RANK"]
    assert second == first


@needs_two
@pytest.mark.parametrize(
    ("threads", "given", "seen_there"),
    [
        ("always", {}, True),
        ("always", {"OMP_NUM_THREADS": "1"}, True),
        ("unset", {}, True),
        ("unset", {"OMP_NUM_THREADS": "77"}, False),
        ("never", {"OMP_NUM_THREADS": "77"}, False),
    ],
)
def test_threads_are_the_cores_of_the_share_unless_they_are_the_users(rank, tmp_path, threads, given, seen_there):
    (tmp_path / "show.py").write_text(SHOW)
    reported = seen(rank("show.py", threads=threads, **given))
    assert reported["environment"]["OMP_NUM_THREADS"] == (str(len(CPUS) // 2) if seen_there else "77")


def test_who_sets_no_threads_adds_no_variable(rank, tmp_path):
    (tmp_path / "show.py").write_text(SHOW)
    assert "OMP_NUM_THREADS" not in seen(rank("show.py", bind="cores", ranks=1, threads="never"))["environment"]


def test_a_traceback_and_a_status_are_the_programs_own(rank, tmp_path):
    (tmp_path / "fail.py").write_text("def f():\n    raise ValueError('shard 7')\nf()\n")
    said = [rank("fail.py", bind=bind, ranks=1).communicate(timeout=60)[1] for bind in (None, "cores")]
    assert said[0] == said[1]
    assert said[1].endswith("ValueError: shard 7\n")
    (tmp_path / "exit.py").write_text("raise SystemExit(41)\n")
    process = rank("exit.py", ranks=1)
    process.communicate(timeout=60)
    assert process.returncode == 41


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_reaches_the_program_itself(rank, tmp_path, number):
    (tmp_path / "wait.py").write_text("import time\nprint('there', flush=True)\ntime.sleep(60)\n")
    process = rank("wait.py", ranks=1)
    assert process.stdout.readline() == "there\n"
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == -number


def test_no_signal_is_ignored_that_was_not(rank, tmp_path):
    script = tmp_path / "ignores.sh"
    script.write_text("#!/bin/sh\ngrep SigIgn /proc/self/status\n")
    script.chmod(0o755)
    ignored = [rank(bind=bind, ranks=1, python=str(script)).communicate(timeout=60)[0] for bind in (None, "cores")]
    assert ignored[0] == ignored[1]


def test_what_lies_in_the_users_path_is_not_taken_for_ours(rank, tmp_path):
    (tmp_path / "show.py").write_text("print('well')\n")
    for name in ("dataclasses", "pathlib", "signal", "sitecustomize", "errors"):
        (tmp_path / f"path-{name}").mkdir()
        (tmp_path / f"path-{name}/{name}.py").write_text("import os\nprint('not here')\n")
        python = [sys.executable, "-S", "-c", "print('well')"]
        process = rank("-S", *python[2:], ranks=1, PYTHONPATH=str(tmp_path / f"path-{name}"))
        assert process.communicate(timeout=60)[0] == "well\n", name


@needs_two
def test_a_confined_rank_shares_what_it_was_confined_to(rank, tmp_path):
    (tmp_path / "show.py").write_text(SHOW)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, CPUS[:1])
    try:
        reported, process = rank("show.py", ranks=1), rank("show.py", local_rank=1, ranks=2)
        assert seen(reported)["cpus"] == CPUS[:1]
        output, errors = process.communicate(timeout=60)
    finally:
        os.sched_setaffinity(0, before)
    assert (process.returncode, output) == (1, "")
    assert errors.startswith("bind is numa (gaudi_training_bind), but NUMA node 0 of ")
    assert errors.endswith("set it to none, or start fewer ranks there (processes_per_node).\n")
    assert errors.count("\n") == 1


def test_a_program_that_is_not_there_is_one_sentence(rank):
    process = rank(ranks=1, python="/nowhere/python")
    assert process.communicate(timeout=60)[1] == "/nowhere/python cannot be run: No such file or directory\n"
    assert process.returncode == 1


TORCHRUN = Path(sys.executable).parent / "torchrun"
RECORDED = """
import os
from torch.distributed.elastic.multiprocessing.errors import record
@record
def main():
    raise ValueError("shard 7")
main()
"""


@pytest.mark.long
@needs_two
@pytest.mark.skipif(not TORCHRUN.exists(), reason="torch is not installed")
def test_under_the_real_torchrun_a_recorded_error_and_the_ranks_processors(program, kernel, tmp_path):
    (tmp_path / "show.py").write_text(SHOW + "\nsys.stdout.flush()\n")
    (tmp_path / "recorded.py").write_text(RECORDED)
    launcher = Launcher(sys.executable, program, "numa", "cpu", kernel).argv("always")

    def run(script, logs):
        words = ["--nnodes", "1", "--nproc-per-node", "2", "--log-dir", str(tmp_path / logs), "--redirects", "3"]
        argv = [str(TORCHRUN), *words, "--no-python", *launcher, sys.executable, "-u", str(tmp_path / script), "$$x"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, env={**os.environ})
        return done, {place.parent.name: place for place in (tmp_path / logs).glob("*/attempt_0/*/stdout.log")}

    done, logs = run("show.py", "shown")
    assert done.returncode == 0, done.stderr
    reported = [json.loads(logs[rank].read_text()) for rank in ("0", "1")]
    half = len(CPUS) // 2
    assert [one["cpus"] for one in reported] == [CPUS[:half], CPUS[half:]]
    assert [one["argv"] for one in reported] == [[str(tmp_path / "show.py"), "$x"]] * 2
    assert [one["environment"]["OMP_NUM_THREADS"] for one in reported] == [str(half), str(len(CPUS) - half)]

    done, _logs = run("recorded.py", "failed")
    assert done.returncode == 1
    # The agent may end one of them before it has come so far.
    errors = [place.read_text() for place in (tmp_path / "failed").glob("*/attempt_0/*/error.json")]
    assert errors
    assert ["shard 7" in text for text in errors] == [True] * len(errors)
