# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes with a disk each, supervisors and torchrun real: a program that saves on rank 0 alone goes on from there."""

from __future__ import annotations

import os
import signal

import pytest

from own_disks import TORCHRUN, OwnDisks

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

pytestmark = pytest.mark.skipif(not TORCHRUN.exists(), reason="torch is not installed")


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
