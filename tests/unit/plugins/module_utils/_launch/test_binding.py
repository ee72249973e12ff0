# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Binding from the job's option to what a node starts, keeps and refuses; the node is a server of eight cores."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import (
    MpiOptions,
    SlurmOptions,
    SupervisionOptions,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import Job, check
from ansible_collections.gaudi3.scale.plugins.module_utils._launch import binding as job_binding
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.binding import UNBOUND, binding_of, ranks_bound_now
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.control import prepare, start
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.launch import StartOptions
from ansible_collections.gaudi3.scale.tests.unit.described_job import described_job, job_on
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import write_kernel
from ansible_collections.gaudi3.scale.tests.unit.systemd_fake import JobUnit

BINDINGS_OF_RANKS = [
    {"local_rank": 0, "numa_node": 0, "cpus": "0-3", "cores": 4},
    {"local_rank": 1, "numa_node": 1, "cpus": "4-7", "cores": 4},
]


@pytest.fixture
def paths(tmp_path):
    return JobPaths("demo", str(tmp_path / "state"), str(tmp_path / "log"), str(tmp_path / "units"))


@pytest.fixture
def unit(paths):
    return JobUnit(paths)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A kernel with two NUMA nodes of four cores, and eight cards."""
    monkeypatch.setattr(job_binding, "service_cpus", lambda: frozenset(range(8)))
    root = write_kernel(tmp_path / "kernel")
    for node, cpus in enumerate(("0-3", "4-7")):
        place = root / f"sys/devices/system/node/node{node}/cpulist"
        place.parent.mkdir(parents=True)
        place.write_text(f"{cpus}\n")
    return StartOptions(kernel_root=str(root))


@pytest.fixture
def job(tmp_path):
    return job_on(tmp_path, bind="numa")


def now(job: Job, kernel_root: str, **files: str):
    return [binding.as_dict() for binding in ranks_bound_now(job, files.get, kernel_root)]


def test_a_start_brings_the_launcher_and_keeps_the_table(job, paths, unit, server):
    result = start(job, paths, unit, server)
    assert result["launch"]["binding"] == BINDINGS_OF_RANKS
    assert json.loads(Path(paths.started).read_text())["binding"] == BINDINGS_OF_RANKS
    assert "OMP_NUM_THREADS=4\n" in Path(paths.environment).read_text()
    (program,) = Path(paths.rank_programs).glob("*.pyz")
    python = f"{job.venv}/bin/python"
    words = f"--no-python {python} -I -S {program} numa cpu {server.kernel_root} always {python} -u x.py"
    assert " ".join(result["argv"]).endswith(words)
    assert start(job, paths, unit, server)["changed"] is False


def test_a_supervisor_starts_the_same(job, paths, unit, server):
    start(replace(job, supervision=SupervisionOptions()), paths, unit, server)
    argv = json.loads(Path(paths.supervision).read_text())["argv"]
    assert argv[argv.index("--no-python") + 5 :][:4] == ["numa", "cpu", server.kernel_root, "always"]
    assert "OMP_NUM_THREADS=4\n" in Path(paths.environment).read_text()


@pytest.mark.parametrize("place", ["job", "file"])
def test_threads_that_somebody_has_set_stay(job, paths, unit, server, tmp_path, place):
    (tmp_path / "flags").write_text("OMP_NUM_THREADS=3\n")
    own = {"environment": {"OMP_NUM_THREADS": "2"}} if place == "job" else {"environment_files": (f"{tmp_path}/flags",)}
    result = start(replace(job, **own), paths, unit, server)
    assert " never " in " ".join(result["argv"])
    assert result["launch"]["environment"].get("OMP_NUM_THREADS") == ("2" if place == "job" else None)


def test_none_starts_what_torchrun_alone_would(job, paths, unit, server):
    result = start(replace(job, bind="none"), paths, unit, server)
    assert (result["argv"][-1], "--no-python" in result["argv"], result["launch"]["binding"]) == ("x.py", False, [])
    assert "OMP_NUM_THREADS" not in Path(paths.environment).read_text()
    assert not Path(paths.rank_programs).exists()


def test_each_node_is_brought_the_launcher_also_where_the_engine_gets_by_itself(job, paths, unit, server):
    for engine in ("slurm", "mpirun"):
        assert prepare(replace(job, engine=engine, host="n2"), paths, unit, server)["state"] == "prepared"
        assert len(list(Path(paths.rank_programs).glob("*.pyz"))) == 1


def test_more_ranks_than_cores_are_refused_before_anything_is_touched(job, paths, unit, server):
    before = sorted(Path(paths.state_directory).parent.rglob("*"))
    said = (
        r"^bind is numa \(gaudi_training_bind\), but NUMA "
        r"node 0 of n1 has 4 core\(s\) \(CPUs 0-3\) .*; set it to none, or"
    )
    for begin in (prepare, start):
        with pytest.raises(GaudiError, match=said):
            begin(replace(job, processes_per_node=9), paths, unit, server)
    assert sorted(Path(paths.state_directory).parent.rglob("*")) == before
    assert start(replace(job, processes_per_node=9, bind="none"), paths, unit, server)["changed"]


def test_what_is_only_shown_is_shown_without_the_table(job, paths, unit, server):
    shown = start(replace(job, processes_per_node=9), paths, unit, replace(server, check_mode=True))
    assert shown["launch"]["binding"] == []
    assert "--no-python" in shown["argv"]


def test_the_cards_of_a_job_decide(server):
    root = server.kernel_root
    job = described_job(processes_per_node=2)
    assert [binding["numa_node"] for binding in now(job, root)] == [0, 0]
    assert [binding["numa_node"] for binding in now(job, root, HABANA_VISIBLE_MODULES="7,0")] == [1, 0]
    own = replace(job, environment={"HABANA_VISIBLE_MODULES": "4,5"})
    assert [binding["cpus"] for binding in now(own, root, HABANA_VISIBLE_MODULES="7,0")] == ["4-5", "6-7"]


def test_where_an_engine_chooses_the_cores_it_is_not_told_beforehand(paths, server):
    root = server.kernel_root
    slurm = described_job(engine="slurm", processes_per_node=2)
    assert len(now(slurm, root)) == 2
    assert now(replace(slurm, slurm=SlurmOptions(nodes="any")), root) == []
    confined = replace(slurm, slurm=SlurmOptions(cpus_per_rank=2))
    assert now(confined, root) == []
    launcher = binding_of(confined, paths, {}.get, root).launcher
    assert launcher is not None and launcher.bind == "cores"
    itself = replace(slurm, engine="mpirun", mpi=MpiOptions(cores_per_rank=2))
    assert binding_of(itself, paths, {}.get, root) == UNBOUND


def test_an_unknown_binding_is_refused():
    with pytest.raises(GaudiError, match="bind 'node'"):
        check(described_job(bind="node"), cards=8)
