# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes with a disk each, supervisors and torchrun real: a program that saves on rank 0 alone goes on from there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from own_disks import TORCHRUN, OwnDisks
from tests.unit.supervised import Cluster

# As PyTorch's own example has it: rank 0 saves, all load.
PROGRAM = """
import pathlib, sys, time
import torch
import torch.distributed as distributed

place, control = map(pathlib.Path, sys.argv[1:])
distributed.init_process_group("gloo")
rank, step = distributed.get_rank(), 0
saved = sorted(place.glob("checkpoint-*"), key=lambda one: int(one.name.rpartition("-")[2]))
if saved:
    step = torch.load(saved[-1] / "model.pt")["step"]
print(f"rank {rank} begins at step {step}", file=(control / f"rank-{rank}").open("a"), flush=True)
while not (control / "finish").exists() or step % 5:
    step += 1
    everyones = [torch.zeros(1) for _rank in range(distributed.get_world_size())]
    distributed.all_gather(everyones, torch.tensor([float(step)]))
    assert {int(one) for one in everyones} == {step}, everyones
    if step % 5 == 0:
        folder = place / f"checkpoint-{step}"
        folder.mkdir(exist_ok=True)
        if rank == 0:
            torch.save({"step": step}, folder / "model.pt")
        (folder / f"state_{rank}.json").write_text("{}")
        (control / f"saved-{step}-{rank}").touch()
        distributed.barrier()
    time.sleep(0.05)
distributed.destroy_process_group()
"""

# What a node becomes: it says which signals it ignores, and what it was given.
BECOMES = ("/bin/sh", "-c", 'echo "$(grep SigIgn /proc/self/status)" "$@"', "sh", "a  b")


class Handing(Cluster):
    """The nodes' hand-overs as processes of their own, without supervisors. ``shared`` directory, or one each."""

    def __init__(self, directory, *names, shared=""):
        super().__init__(directory, names, processes=1, argv=["x"])
        self.place_of = {name: directory / (shared or f"{name}/kept") for name in names}
        self.generation = 1

    def write(self, name, **files):
        for path, content in files.items():
            place = self.place_of[name] / path.replace("__", "/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)

    def files(self, name):
        found = self.place_of[name].rglob("*")
        paths = {str(path.relative_to(self.place_of[name])): path for path in found if path.is_file()}
        return {path: at.read_bytes() for path, at in sorted(paths.items()) if not path.endswith("last_start.json")}

    def run(self):
        """Exit status and words of each node."""
        started = []
        self.generation += 1
        members = ",".join(map(str, range(len(self.names))))
        for name in self.names:
            place = self.place(name)
            place.mkdir(exist_ok=True)
            self.place_of[name].mkdir(parents=True, exist_ok=True)
            own = ("progress_directory", "ranks_directory", "log_directory", "agent_log", "status", "votes", "events")
            given = {**self.shared, "host": name, "checkpoint_directory": str(self.place_of[name])}
            given |= {key: str(place / key) for key in (*own, "stop_requested")}
            (place / "given.json").write_text(json.dumps(given))
            words = [sys.executable, "-I", "-m", "gaudi3_scale.checkpoints.hand_over", str(place / "given.json")]
            words += [members, *BECOMES]
            environment = {**os.environ, "GAUDI3_SCALE_GENERATION": f"launch:{self.generation}"}
            started.append(
                subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
            )
        said = [process.communicate(timeout=60)[0] for process in started]
        return [(process.returncode, words) for process, words in zip(started, said)]

    def events(self, name):
        path = self.place(name) / "events"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


# Python ignores these two by itself; what the shell that began these tests ignores is its own business.
OF_PYTHON = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1


def assert_started(answers):
    for code, said in answers:
        _name, ignored, given = said.splitlines()[-1].split(None, 2)
        assert (code, int(ignored, 16) & OF_PYTHON, given) == (0, 0, "a  b")


def test_all_nodes_have_all_of_it_and_become_their_program(tmp_path):
    nodes = Handing(tmp_path, *"abcdef")
    content = os.urandom(3 << 20)
    nodes.write("c", step_20__model=content, last=b"c")
    for name in nodes.names:
        nodes.write(name, **{f"step_20__rank_{name}": name.encode()})
    assert_started(nodes.run())
    wanted = {"last": b"c", "step_20/model": content, **{f"step_20/rank_{name}": name.encode() for name in nodes.names}}
    assert {name: nodes.files(name) for name in nodes.names} == dict.fromkeys(nodes.names, wanted)
    times = {(nodes.place_of[name] / "step_20" / "model").stat().st_mtime_ns for name in nodes.names}
    assert len(times) == 1
    (event,) = nodes.events("a")
    assert (event["kind"], event["generation"]) == ("handed_over", 2)
    # All is there: nothing is said, and nothing is done.
    assert_started(nodes.run())
    assert len(nodes.events("a")) == 1
    # One node writes it over.
    nodes.write("b", last=b"newer")
    assert_started(nodes.run())
    assert {nodes.files(name)["last"] for name in nodes.names} == {b"newer"}


def test_in_a_directory_that_all_see_nothing_is_touched(tmp_path):
    nodes = Handing(tmp_path, "a", "b", shared="nfs")
    nodes.write("a", **{"step_20__model.pt": b"PK\x03\x04 and no end"})
    assert_started(nodes.run())
    assert nodes.files("a") == {"step_20/model.pt": b"PK\x03\x04 and no end"}
    assert [path.name for path in nodes.place_of["a"].iterdir()] == ["step_20"]


def test_what_was_cut_off_is_set_aside_and_the_one_before_it_goes_to_all(tmp_path):
    nodes = Handing(tmp_path, "a", "b")
    nodes.write("a", step_20__m=b"20", step_20__state=b"s", step_40__m=b"40")
    nodes.write("b", step_40__rank_1=b"r")
    assert_started(nodes.run())
    assert nodes.files("a") == {"step_20/m": b"20", "step_20/state": b"s", ".gaudi3_scale/set_aside/step_40/m": b"40"}
    kept = {"step_20/m": b"20", "step_20/state": b"s", ".gaudi3_scale/set_aside/step_40/rank_1": b"r"}
    assert nodes.files("b") == kept
    aside, handed = nodes.events("a")
    assert aside["kind"] == "set_aside"
    assert aside["text"] == (
        f"step_40 in {nodes.place_of['a']} was cut off when the ranks ended: it has fewer files than step_20, which "
        f"has state. It is in {nodes.place_of['a']}/.gaudi3_scale/set_aside on a and b now; step_20 is used instead."
    )
    assert handed["kind"] == "handed_over"


def test_a_node_that_cannot_take_it_is_named_by_all_and_none_starts(tmp_path):
    nodes = Handing(tmp_path, "a", "b")
    nodes.write("a", step_20__m=b"20")
    # A file where the folder has to be.
    nodes.write("b", step_20=b"")
    answers = nodes.run()
    assert [code for code, _said in answers] == [1, 1]
    for name, (_code, said) in zip("ab", answers):
        begins = (
            f"checkpoint_directory {nodes.place_of[name]} (gaudi_training_checkpoint_directory) cannot be synchronized"
        )
        assert said.splitlines()[-1] == (
            f"{begins} between the nodes: a: step_20 of b could not be copied: Is a directory; fix it there, or name a "
            "directory that all nodes see."
        )
    assert nodes.files("a") == {"step_20/m": b"20"}


def test_a_link_is_not_followed_out_of_the_directory(tmp_path):
    nodes = Handing(tmp_path, "a", "b")
    nodes.write("a", step_20__m=b"20")
    (tmp_path / "elsewhere").mkdir()
    nodes.place_of["b"].mkdir(parents=True)
    (nodes.place_of["b"] / "step_20").symlink_to(tmp_path / "elsewhere")
    assert [code for code, _said in nodes.run()] == [1, 1]
    assert list((tmp_path / "elsewhere").iterdir()) == []


class Nodes(OwnDisks):
    def has_saved(self, step, world=2):
        return all((self.control / f"saved-{step}-{rank}").exists() for rank in range(world))

    def begins(self, rank):
        said = self.control / f"rank-{rank}"
        return [int(line.rpartition(" ")[2]) for line in said.read_text().splitlines()] if said.exists() else []


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    (tmp_path / "program.py").write_text(PROGRAM)
    made = []

    def make(*hosts, spares=()):
        words = [tmp_path / "program.py", "{directory}", "{control}"]
        made.append(Nodes(tmp_path, list(hosts), list(spares), program=words))
        return made[-1]

    yield make
    for one in made:
        one.kill_all()


@pytest.mark.in_turn
@pytest.mark.skipif(not TORCHRUN.exists(), reason="torch is not installed")
def test_a_program_that_saves_on_rank_0_goes_on_from_its_checkpoint_on_all_nodes(nodes):
    cluster = nodes("a", "b")
    cluster.start()
    cluster.wait(lambda: cluster.has_saved(10), 90)
    os.kill(cluster.ranks()[1], signal.SIGKILL)
    cluster.wait(lambda: cluster.status("a").get("generation") == 2, 60)
    cluster.wait(lambda: len(cluster.begins(0)) == len(cluster.begins(1)) == 2, 60)
    assert cluster.begins(0) == cluster.begins(1)
    assert cluster.begins(0)[-1] >= 10
    (said,) = cluster.texts("handed_over")
    assert f"checkpoint-{cluster.begins(0)[-1]} in " in said
    cluster.finish()
    assert cluster.codes() == {"a": 0, "b": 0}


@pytest.mark.long
@pytest.mark.skipif(not TORCHRUN.exists(), reason="torch is not installed")
def test_a_spare_gets_the_checkpoint_of_the_node_that_is_left(nodes):
    cluster = nodes("a", "b", spares=["c"])
    cluster.start()
    cluster.wait(lambda: cluster.has_saved(10), 90)
    for pid in [cluster.processes["b"].pid, *(pid for pid in cluster.left() if cluster.belongs(pid, "b"))]:
        os.kill(pid, signal.SIGKILL)
    cluster.wait(lambda: cluster.status("c").get("members") == ["a", "c"], 60)
    cluster.wait(lambda: len(cluster.begins(0)) == len(cluster.begins(1)) == 2, 60)
    assert cluster.begins(0) == cluster.begins(1)
    assert cluster.begins(1)[-1] >= 10
    cluster.finish()
    assert cluster.codes("a", "c") == {"a": 0, "c": 0}


@pytest.mark.long
@pytest.mark.skipif(not TORCHRUN.exists(), reason="torch is not installed")
def test_where_it_cannot_be_handed_over_the_job_says_so_and_starts_no_rank(nodes):
    cluster = nodes("a", "b")
    cluster.start()
    cluster.wait(lambda: cluster.has_saved(5), 90)
    # Where the folder that it is to get has to be, it has a file.
    (cluster.kept("b") / "other").write_text("x")
    (cluster.kept("a") / "other").mkdir()
    (cluster.kept("a") / "other" / "file").write_text("x")
    os.kill(cluster.ranks()[1], signal.SIGKILL)
    cluster.wait(lambda: cluster.status("a").get("outcome"), 90)
    assert cluster.codes() == {"a": 1, "b": 1}
    reason = cluster.status("a")["reason"]
    assert "failed first: checkpoint_directory" in reason
    assert "cannot be synchronized between the nodes: a: other of b could not be copied: Is a directory;" in reason
    assert len(cluster.begins(0)) == len(cluster.begins(1)) == 1
    assert cluster.left() == []
