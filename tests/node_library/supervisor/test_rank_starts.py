# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks that wait with PyTorch loaded, and that the real torchrun takes: a program finds all as if started plainly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gaudi3_scale.core._node.process_tree import descendants
from gaudi3_scale.supervisor.processes import ranks_of
from gaudi3_scale.supervisor.rank_starts import ranks_command
from gaudi3_scale.supervisor.waiting_agent import WaitingAgent
from tests.unit.supervised import comm, waiting_below

TORCHRUN = str(Path(sys.executable).parent / "torchrun")
STARTED_S = 120

pytestmark = pytest.mark.skipif(not Path(TORCHRUN).exists(), reason="torch is not installed")

# What a program can see of how it was started. Each rank writes it to a file.
LOOKS = """\
import importlib.util, json, os, sys
found = {
    "loaded": sorted({"torch", "numpy"} & set(sys.modules)),
    "found": importlib.util.find_spec("torch").name,
    "argv": sys.argv,
    "path": sys.path[0],
    "main": [__name__, os.path.basename(__file__), sys.modules["__main__"].__dict__ is globals(), __spec__ is None],
    "future": "annotations" in globals(),
    "threads": os.environ.get("OMP_NUM_THREADS"),
    "ranks": [os.environ[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")],
    "stdin": sys.stdin.read(),
    "command": open("/proc/self/cmdline").read().rstrip("\\0").split("\\0"),
}
from torch.nn import Linear
import torch.utils.data
import numpy
found["works"] = [float(Linear(2, 1, bias=False)(torch.zeros(2))), torch.__spec__.loader is not None]
found["unbuffered"] = sys.stdout.line_buffering or not sys.stdout.write_through
open(sys.argv[1] + os.environ["RANK"], "w").write(json.dumps(found))
print("said by", os.environ["RANK"])
"""


def torchrun(folder, *command, processes=2, launcher=()):
    words = ["--standalone", "--nproc-per-node", str(processes), "--log-dir", str(folder / "logs"), "--redirects", "3"]
    return [TORCHRUN, *words, *launcher, *command]


def environment(**changes):
    return {**{name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}, **changes}


class Job:
    """The same command, by ranks that wait and plainly."""

    def __init__(self, folder, *command, variables=None, **options):
        self.folder = folder
        self.argv = torchrun(folder, *command, **options)
        self.variables = environment(**(variables or {}))
        self.waited: set[int] = set()
        self.ran: set[int] = set()

    def plainly(self):
        done = subprocess.run(self.argv, env=self.variables, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return done.returncode

    def waiting(self, expected=None, **given):
        """The exit status, and which processes waited and which became ranks. ``expected``: another command."""
        others = set(descendants(os.getpid()))
        agent = WaitingAgent(expected or self.argv, self.variables)
        agent.prepare()
        try:
            self.waited = waiting_of(agent, others)
            process = agent.take(self.argv, {**self.variables, **given})
            while process.poll() is None:
                self.ran |= set(ranks_of(process.pid).values())
                time.sleep(0.02)
            self.said = process.stdout.read().decode()
            return process.returncode
        finally:
            agent.end()

    def log(self, rank, stream="stdout"):
        (path,) = self.folder.glob(f"logs/*/attempt_0/{rank}/{stream}.log")
        return path.read_text()


def waiting_of(agent, others, ranks=2):
    """The processes of the ranks, once they have their name; to all others that are apart, they are none.

    ``others``: below this process already before there was an agent.
    """
    end = time.monotonic() + STARTED_S
    while time.monotonic() < end:
        found = {pid for leader in agent.processes for pid in waiting_below(leader)}
        if len(found) == ranks:
            assert found < agent.processes
            assert ranks_of(os.getpid(), agent.processes | others) == {}
            return found
        time.sleep(0.02)
    raise AssertionError("no rank waits")


@pytest.fixture
def program(tmp_path):
    def write(text, name="train.py"):
        path = tmp_path / "code" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return str(path)

    return write


def both(tmp_path, *command, **options):
    """The job by waiting ranks, what each of its ranks found, and the same of a plain start."""
    found = []
    for name in ("waiting", "plainly"):
        folder = tmp_path / name
        folder.mkdir()
        job = Job(folder, *command, str(folder / "found-"), "--word", "a b", **options)
        status = getattr(job, name)()
        found.append((status, [json.loads((folder / f"found-{rank}").read_text()) for rank in (0, 1)], job))
    (ours, theirs) = found
    for rank in (0, 1):
        for words in ("argv", "command"):
            ours[1][rank][words].remove(str(tmp_path / "waiting" / "found-"))
            theirs[1][rank][words].remove(str(tmp_path / "plainly" / "found-"))
    assert ours[:2] == theirs[:2]
    assert ours[0] == 0
    return ours[2], ours[1]


def test_a_program_finds_all_as_if_started_plainly(tmp_path, program):
    job, (first, second) = both(tmp_path, program(LOOKS))
    # The very processes that waited are the ranks.
    assert job.ran == job.waited
    assert len(job.waited) == 2
    assert (first["loaded"], first["path"], first["threads"]) == ([], str(tmp_path / "code"), "1")
    assert second["ranks"] == ["1", "1", "2", "2"]
    assert (job.log(0), job.log(1)) == ("said by 0\n", "said by 1\n")


def test_a_module_too(tmp_path, program, monkeypatch):
    program(LOOKS, "looks.py")
    monkeypatch.chdir(tmp_path / "code")
    job, (first, _second) = both(tmp_path, "-m", "looks")
    assert job.ran == job.waited
    assert first["path"] == str(tmp_path / "code")


def test_what_a_rank_begins_as_is_begun_before_too(tmp_path, program):
    script = program(LOOKS)
    launcher = ("--no-python", "/usr/bin/env", "OMP_NUM_THREADS=7", sys.executable, "-u")
    job, (first, _second) = both(tmp_path, script, launcher=launcher)
    assert job.ran == job.waited
    assert first["threads"] == "7"


def test_an_exception_has_the_frame_and_the_exit_status(tmp_path, program):
    job = Job(tmp_path, program("import torch, os\n\ndef step():\n    raise ValueError('no number')\n\nstep()\n"))
    assert job.waiting() == 1
    assert job.ran == job.waited
    said = job.log(0, "stderr") + job.log(1, "stderr")
    assert 'train.py", line 4, in step' in said
    assert "ValueError: no number" in said


def test_a_program_that_sets_what_libraries_read_starts_over(tmp_path, program):
    job = Job(
        tmp_path,
        program(
            "import os\nos.environ['OMP_NUM_THREADS'] = '2'\nos.environ['OTHER'] = '1'\nprint('at the top')\n"
            "import torch\nprint(torch.get_num_threads(), os.environ['RANK'])\n"
        ),
        processes=2,
    )
    assert job.waiting() == 0
    assert job.ran == job.waited
    assert job.log(1).splitlines() == ["at the top", "at the top", "2 1"]


def bridge(place, load):
    """As the vendor's bridge, which PyTorch loads by itself, and which reads the environment as it is loaded."""
    (place / "bridge-1.0.dist-info").mkdir(parents=True)
    (place / "bridge-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: bridge\nVersion: 1.0\n")
    (place / "bridge-1.0.dist-info" / "entry_points.txt").write_text("[torch.backends]\nbridge = bridge:load\n")
    (place / "bridge.py").write_text(
        f"import os, sys\nMODE = os.environ.get('PT_HPU_LAZY_MODE')\ndef load():\n    import torch\n    {load}\n"
    )
    return {"PYTHONPATH": str(place)}


def test_a_backend_is_loaded_by_the_programs_own_import(tmp_path, program):
    variables = bridge(tmp_path / "installed", "print('bridge', MODE, torch.nn.Module.__name__)")
    script = program("import os\nos.environ['PT_HPU_LAZY_MODE'] = '1'\nprint('program')\nimport torch\nprint('end')\n")
    for switch, expected in (("1", ["program", "bridge 1 Module", "end"]), ("0", ["program", "end"])):
        folder = tmp_path / switch
        folder.mkdir()
        job = Job(folder, script, variables={**variables, "TORCH_DEVICE_BACKEND_AUTOLOAD": switch})
        assert job.waiting() == 0
        assert job.ran == job.waited
        assert job.log(0).splitlines() == expected


def test_the_trainer_waits_with_lightning_loaded(tmp_path):
    """Its backend comes as late as to a program."""
    shown = "print('bridge', *sorted({'lightning', 'gaudi3_scale.train'} & set(sys.modules)), 'RANK' in os.environ)"
    text = tmp_path / "text"
    text.write_text("All ranks wait.\n" * 64)
    model = ("--layers", "1", "--width", "8", "--heads", "1", "--sequence-length", "8", "--batch-size", "1")
    rest = ("--device", "cpu", "--validation-batches", "0", "--job-dir", str(tmp_path / "job"))
    command = ("-m", "gaudi3_scale.train", "--max-steps", "2", "--text", str(text), *model, *rest)
    job = Job(tmp_path, *command, variables=bridge(tmp_path / "installed", shown))
    assert job.waiting() == 0
    assert job.ran == job.waited
    first, *lines = job.log(0).splitlines()
    assert first == "bridge lightning True"
    assert json.loads(lines[-1])["step"] == 2
    assert job.log(1) == f"{first}\n"


@pytest.mark.long
def test_processes_that_a_rank_spawns_find_its_program(tmp_path, program):
    job = Job(
        tmp_path,
        program(
            "import torch\nfrom torch.utils.data import DataLoader, Dataset\n\n"
            "class Numbers(Dataset):\n    def __len__(self):\n        return 4\n    def __getitem__(self, at):\n"
            "        return at\n\nif __name__ == '__main__':\n"
            "    loader = DataLoader(Numbers(), num_workers=1, multiprocessing_context='spawn')\n"
            "    print(sum(int(batch) for batch in loader))\n"
        ),
    )
    assert job.waiting() == 0
    assert job.ran >= job.waited
    assert job.log(0) == "6\n"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, id="environment"),
        pytest.param({}, id="command", marks=pytest.mark.long),
    ],
)
def test_what_was_not_expected_is_started_plainly(tmp_path, program, given):
    script = program("import os\nprint(os.getpid(), os.environ.get('PYTORCH_NO_CUDA_MEMORY_CACHING'))\n")
    job = Job(tmp_path, script)
    other = None if given else torchrun(tmp_path, program("", "other.py"))
    assert job.waiting(expected=other, **given) == 0
    pid, _space, cache = job.log(1).partition(" ")
    assert int(pid) not in job.waited
    assert cache == f"{given.get('PYTORCH_NO_CUDA_MEMORY_CACHING')}\n"
    assert not any(map(comm, job.waited))


def test_ranks_that_wait_end_with_who_has_them(tmp_path, program):
    others = set(descendants(os.getpid()))
    agent = WaitingAgent(torchrun(tmp_path, program("")), environment())
    agent.prepare()
    waited = waiting_of(agent, others)
    agent.end()
    end = time.monotonic() + STARTED_S
    while any(map(comm, waited)):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_it_is_known_what_torchrun_starts():
    words = [TORCHRUN, "--nproc-per-node", "8", "--log-dir", "/x", "--redirects", "3"]
    assert ranks_command([*words, "train.py", "--redirects"]) == (8, (sys.executable, "-u", "train.py", "--redirects"))
    assert ranks_command([*words, "--no-python", "/bin/bind", "train"]) == (8, ("/bin/bind", "train"))
    for other in ([], [TORCHRUN, "--nnodes", "@NNODES@"], [*words[:2], "gpu", *words[3:], "train.py"]):
        assert ranks_command(other) == (0, ())
