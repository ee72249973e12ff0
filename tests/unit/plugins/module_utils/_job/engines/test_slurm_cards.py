# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The cards of a job on a shared node, by the real shell and a scontrol that answers as that of Slurm does."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import SlurmOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.slurm import (
    SlurmCards,
    node_shell,
    sbatch_options,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.slurm_cards import take_allotted
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.slurm_jobs import slurm_gres
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import job_environment
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.described_job import PATHS, described_job
from ansible_collections.gaudi3.scale.tests.unit.plugins.module_utils._job.binding.test_modules import SITE, kernel

SHARED = described_job(engine="slurm", processes_per_node=2, slurm=SlurmOptions(cpus_per_rank=6))
SHOWN = """\
JobId=41 JobName=x
   JOB_GRES={gres}
     Nodes=gaudi[001-002] CPU_IDs=0-11 Mem=0 GRES={gres}(IDX:{first})
     Nodes=gaudi003 CPU_IDs=12-23 Mem=0 GRES={gres}(IDX:{second})
   MinCPUsNode=12
"""


def modules(place: Path, gres: str, shown: str, ranks: int = 2, **variables: str) -> tuple[str, str]:
    """What the ranks would see, and what was said; gaudi003 unless told otherwise."""
    programs = place / "bin"
    programs.mkdir()
    (place / "shown").write_text(shown)
    (programs / "scontrol").write_text(
        "#!/bin/sh\n"
        f'case "$*" in "--details show job 41") cat {place}/shown ;;\n'
        '"show hostnames gaudi[001-002]") printf "gaudi001\\ngaudi002\\n" ;;\n'
        '"show hostnames "*) echo "$3" ;; *) exit 1 ;; esac\n'
    )
    (programs / "scontrol").chmod(0o755)
    text = "\n".join([*take_allotted(ranks, gres, kernel(place / "kernel", SITE)), 'echo "${HABANA_VISIBLE_MODULES-}"'])
    environment = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "SLURM_JOB_ID": "41",
        "SLURM_JOB_NUM_NODES": "3",
        "SLURMD_NODENAME": "gaudi003",
        **variables,
    }
    done = subprocess.run(["sh", "-c", text], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (done.stderr == ""), done.stderr
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize(
    ("gres", "first", "second", "found"),
    [
        ("gpu:hl225", "0-1", "0-1", "2,6"),
        ("hpu", "0-1", "4,6", "0,1"),
        ("hpu:gaudi3", "0", "0,2-3", "2,3,7"),
        ("gaudi", "0-7", "5", "4"),
    ],
)
def test_the_devices_of_this_node_are_taken_by_their_modules(
    gres: str, first: str, second: str, found: str, tmp_path: Path
) -> None:
    shown = SHOWN.format(gres=f"{gres}:2", first=first, second=second)
    assert modules(tmp_path, gres, shown, ranks=1) == (found, "")


def test_a_line_may_be_that_of_several_nodes_and_may_have_a_type_or_others_beside_it(tmp_path: Path) -> None:
    shown = SHOWN.format(gres="shm:1(CNT:1),hpu:gaudi3:2", first="2-3", second="0-1")
    assert modules(tmp_path, "hpu", shown, SLURMD_NODENAME="gaudi002") == ("3,7", "")


def test_what_slurm_says_to_the_step_is_enough(tmp_path: Path) -> None:
    assert modules(tmp_path, "gpu:hl225", "", SLURM_STEP_GPUS="0,1") == ("2,6", "")


def test_the_batch_script_s_own_devices_count_on_one_node_alone(tmp_path: Path) -> None:
    one = {"SLURM_JOB_GPUS": "0,1", "SLURM_JOB_NUM_NODES": "1"}
    assert modules(tmp_path, "gpu:hl225", "", **one) == ("2,6", "")


def test_devices_of_another_node_are_not_taken_for_this_one_s(tmp_path: Path) -> None:
    found, said = modules(tmp_path, "gpu:hl225", "", SLURM_JOB_GPUS="0,1")
    assert found == ""
    assert "gaudi003: this job has 2 of 8 cards and may share the node, and Slurm does not say which: " in said


@pytest.mark.parametrize("shown", ["     Nodes=gaudi003 CPU_IDs=0 Mem=0 GRES=hpu:2(CNT:2)\n", "", "JobId=41\n"])
def test_cards_that_are_only_counted_are_refused_with_the_way_out(shown: str, tmp_path: Path) -> None:
    found, said = modules(tmp_path, "hpu", shown)
    assert found == ""
    assert "has no IDX of hpu; ask for whole nodes (cpus_per_rank: 0), give gres.conf the files" in said


def test_a_device_that_the_node_does_not_have_is_refused(tmp_path: Path) -> None:
    found, said = modules(tmp_path, "gpu", "", SLURM_STEP_GPUS="0,9")
    assert found == ""
    assert "gaudi003: Slurm allots device accel9, and " in said


def test_what_somebody_has_set_stays_and_a_job_of_all_cards_needs_nothing(tmp_path: Path) -> None:
    assert modules(tmp_path, "hpu", "", HABANA_VISIBLE_MODULES="5,7") == ("5,7", "")
    other = tmp_path / "other"
    other.mkdir()
    assert modules(other, "hpu", "", ranks=8) == ("", "")


def shell(**changes: object) -> str:
    job = replace(SHARED, **changes)
    return node_shell(job, PATHS, job_environment(job, PATHS, None), None, SlurmCards("gpu:hl225", "/tree"))


def test_only_a_job_that_shares_its_nodes_asks_for_its_cards() -> None:
    assert "accel=/tree/sys/class/accel gres=gpu:hl225 ranks=2 cards=0" in shell()
    assert "sys/class/accel" not in shell(device="cpu")
    assert "sys/class/accel" not in shell(slurm=SlurmOptions())


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ("gres=gpu:hl225:8(S:0-1)\ngres=gpu:hl225:8(S:0-1)\n", "gpu:hl225"),
        ("gres=hpu:gaudi3:8\n", "hpu:gaudi3"),
        ("gres=gaudi:8\n", "gaudi"),
        ("gres=hpu:8\n", "hpu"),
        ("gres=(null)\n", ""),
        ("gres=gpu:hl225:8\ngres=hpu:8\n", ""),
        ("gaudi\ndebug\n", ""),
    ],
)
def test_a_job_asks_for_cards_by_the_name_that_the_site_has(listed: str, found: str) -> None:
    asked: list[list[str]] = []

    def run(argv, *, timeout=None, env=None):
        asked.append(list(argv))
        return CommandResult(0, listed, "")

    assert slurm_gres(SHARED, run) == found
    assert asked == [["sinfo", "--all", "--noheader", "--Node", "--nodes=n2,n1", "--format=gres=%G"]]
    word = f"--gres={found or 'hpu'}:2"
    assert word in sbatch_options(SHARED, PATHS, SlurmCards(found))
    own = replace(SHARED, slurm=replace(SHARED.slurm, gres="mine"))
    assert slurm_gres(own, run) == ""
    assert "--gres=mine:2" in sbatch_options(own, PATHS, SlurmCards(found))
    assert not [one for one in sbatch_options(replace(SHARED, device="cpu"), PATHS, SlurmCards(found)) if "gres" in one]


def test_two_jobs_of_four_cards_on_one_node_have_eight_modules(tmp_path: Path) -> None:
    found = []
    for place, devices in (("a", "0-3"), ("b", "4-7")):
        (tmp_path / place).mkdir()
        shown = SHOWN.format(gres="hpu:4", first="0-7", second=devices)
        said, wrong = modules(tmp_path / place, "hpu", shown, ranks=4)
        assert wrong == ""
        found += said.split(",")
    assert found == ["2", "6", "3", "7", "0", "4", "1", "5"]
