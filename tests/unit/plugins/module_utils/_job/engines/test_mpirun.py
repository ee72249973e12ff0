# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.binding.launcher import Launcher
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import MpiOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.mpirun import (
    host_file_text,
    mpirun_argv,
    mpirun_environment,
    rank_by,
    rank_shell,
    version_of,
    version_of_release,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import job_environment
from ansible_collections.gaudi3.scale.tests.unit.described_job import PATHS, described_job

JOB = described_job(
    command=("-m", "gaudi3_scale.train", "--text", "/data/$5"),
    environment={"OMP_NUM_THREADS": "4", "WANDB_API_KEY": "s3cret"},
    engine="mpirun",
)


def argv(version="5.0.8", user="root", **options):
    job = replace(JOB, user=user, mpi=MpiOptions(**options))
    return mpirun_argv(job, PATHS, version, mpirun_environment(job, job_environment(job, PATHS, None)))


def after(words, option):
    return words[words.index(option) + 1]


def test_the_versions_that_mpirun_tells():
    # The first line of `mpirun --version` of Open MPI 4.1.6 and 5.0.8, of MPICH's and of Intel's.
    assert version_of("mpirun (Open MPI) 4.1.6\n\nReport bugs to http://www.open-mpi.org/community/help/\n") == "4.1.6"
    assert version_of("mpirun (Open MPI) 5.0.8\n") == "5.0.8"
    # As Debian 12's /usr/bin/mpirun.openmpi calls itself.
    assert version_of("mpirun.openmpi (OpenRTE) 4.1.4\n") == "4.1.4"
    assert version_of("HYDRA build details:\n    Version:   4.0.2\n") is None
    assert version_of("Intel(R) MPI Library for Linux* OS, Version 2021.11\n") is None


@pytest.mark.parametrize(("release", "version", "form"), [("1.22.1", "4.1.6", "core"), ("1.24.1", "5.0.8", "slot")])
def test_the_form_that_the_release_wants(release, version, form):
    assert version_of_release(release) == version
    assert rank_by(version) == form


def test_ranks_are_bound_beside_their_cards_as_the_vendor_says():
    words = argv("4.1.6", cores_per_rank=6)
    assert (after(words, "--map-by"), after(words, "--rank-by"), after(words, "--bind-to")) == (
        "ppr:4:socket:PE=6",
        "core",
        "core",
    )
    assert after(argv("5.0.8", cores_per_rank=6), "--rank-by") == "slot"
    assert after(argv(cores_per_rank=6, sockets_per_node=1), "--map-by") == "ppr:8:socket:PE=6"


def test_ranks_without_cores_of_their_own_are_not_bound():
    for version in ("4.1.6", "5.0.8"):
        words = argv(version)
        assert (after(words, "--map-by"), after(words, "--rank-by"), after(words, "--bind-to")) == (
            "ppr:8:node",
            "slot",
            "none",
        )


def test_the_program():
    words = argv(network="192.0.2.0/24", ssh_port=3022, prefix="/opt/ompi", arguments=("--display-map",))
    assert words[:6] == ("mpirun", "--allow-run-as-root", "-n", "16", "--hostfile", PATHS.host_file)
    settings = {words[at + 1]: words[at + 2] for at, word in enumerate(words) if word == "--mca"}
    assert settings == {
        "btl_tcp_if_include": "192.0.2.0/24",
        "oob_tcp_if_include": "192.0.2.0/24",
        "plm_rsh_args": "-p 3022",
        "odls_base_sigkill_timeout": "3",
        "oob_tcp_keepalive_time": "5",
        "oob_tcp_keepalive_intvl": "5",
        "oob_tcp_keepalive_probes": "2",
    }
    assert after(words, "--prefix") == "/opt/ompi"
    assert "--display-map" in words
    assert words[-6:] == ("sh", "/opt/venv/bin/python", "-m", "gaudi3_scale.train", "--text", "/data/$5")


def test_only_root_needs_a_word_to_be_root():
    assert "--allow-run-as-root" not in argv(user="trainer")


def test_ranks_that_bind_themselves_begin_as_the_launcher_and_mpirun_binds_none():
    launcher = Launcher("/opt/venv/bin/python", "/s/rank.pyz", "numa", "hpu", "/")
    words = mpirun_argv(JOB, PATHS, "5.0.8", {}, launcher)
    assert words[words.index("sh") :] == (
        *("sh", "/opt/venv/bin/python", "-I", "-S", "/s/rank.pyz", "numa", "hpu", "/", "unset"),
        *("/opt/venv/bin/python", "-m", "gaudi3_scale.train", "--text", "/data/$5"),
    )
    assert after(words, "--bind-to") == "none"


def test_each_line_of_output_bears_its_rank():
    assert "--tag-output" in argv("4.1.6")
    assert after(argv("5.0.8"), "--output") == "tag"


def test_values_of_the_environment_are_passed_by_name():
    words = argv()
    passed = [words[at + 1] for at, word in enumerate(words) if word == "-x"]
    assert passed == [
        "GAUDI3_SCALE_JOB",
        "GAUDI3_SCALE_JOB_DIR",
        "GAUDI3_SCALE_METRICS",
        "MASTER_ADDR",
        "MASTER_PORT",
        "OMP_NUM_THREADS",
        "WANDB_API_KEY",
    ]
    assert not [word for word in words if "s3cret" in word]


def test_a_rank_starts_in_the_jobs_own_directory(tmp_path):
    paths = JobPaths("llama", str(tmp_path))
    (tmp_path / "jobs/llama").mkdir(parents=True)
    ranks = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}
    local = {"OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
    given = {"PATH": "/usr/bin:/bin", "MASTER_ADDR": "127.0.0.1", "WANDB_API_KEY": "x", "OMP_NUM_THREADS": "1"}
    argv = ["/bin/sh", "-c", rank_shell(JOB, paths), "sh", "pwd"]
    done = subprocess.run(argv, env={**given, **ranks, **local}, capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path}/jobs/llama\n"


def test_where_the_ranks_meet():
    assert mpirun_environment(JOB, {"A": "1"}) == {"A": "1", "MASTER_ADDR": "192.0.2.2", "MASTER_PORT": "29500"}


def test_the_host_file_has_the_order_of_the_ranks():
    assert host_file_text(JOB) == "n2 slots=8\nn1 slots=8\n"
    named = replace(JOB, mpi=MpiOptions(addresses=("192.0.2.2", "192.0.2.1")))
    assert host_file_text(named) == "192.0.2.2 slots=8\n192.0.2.1 slots=8\n"


def test_a_rank_finds_what_torchrun_would_tell_it(tmp_path):
    flags = tmp_path / "flags"
    flags.write_text("PT_HPU_LAZY_MODE=0\nOMP_NUM_THREADS=1\n")
    job = replace(JOB, working_directory=str(tmp_path), environment_files=(str(flags), "-/nowhere"))
    # What mpirun passes on, and what Open MPI sets: rank 11 is the fourth of the second node.
    given = {
        "PATH": "/usr/bin:/bin",
        "MASTER_ADDR": "127.0.0.1",
        "OMP_NUM_THREADS": "4",
        "WANDB_API_KEY": "s3 cret",
        "OMPI_COMM_WORLD_RANK": "11",
        "OMPI_COMM_WORLD_SIZE": "16",
        "OMPI_COMM_WORLD_LOCAL_RANK": "3",
        "OMPI_COMM_WORLD_LOCAL_SIZE": "8",
    }
    done = subprocess.run(
        ["/bin/sh", "-c", rank_shell(job, PATHS), "sh", "sh", "-c", 'env; pwd; echo "$1"', "sh", "a $word"],
        env=given,
        capture_output=True,
        text=True,
        check=True,
    )
    *lines, place, word = done.stdout.splitlines()
    found = dict(line.split("=", 1) for line in lines)
    ranks = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK")
    assert [found[name] for name in ranks] == ["11", "16", "3", "8", "1"]
    # The job's own values win over the node's files, whose values are exported as well.
    assert (found["OMP_NUM_THREADS"], found["PT_HPU_LAZY_MODE"], found["WANDB_API_KEY"]) == ("4", "0", "s3 cret")
    assert "GLOO_SOCKET_IFNAME" not in found
    assert (place, word) == (str(tmp_path), "a $word")


def test_the_job_s_own_recipes_and_cards_win_over_the_node_s(tmp_path):
    flags = tmp_path / "flags"
    flags.write_text("PT_HPU_RECIPE_CACHE_CONFIG=/recipes,false,8192\nHABANA_VISIBLE_MODULES=0,1,2,3\n")
    changes = {"working_directory": str(tmp_path), "environment_files": (str(flags),)}
    job = replace(JOB, processes_per_node=2, modules=(4, 5), **changes)
    own = job_environment(job, PATHS, None, "/recipes/llama,false,8192")
    words = mpirun_argv(job, PATHS, "5.0.8", mpirun_environment(job, own))
    rank = words[words.index("/bin/sh") : words.index("sh") + 1]
    place = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
    given = {"PATH": "/usr/bin:/bin", "OMPI_COMM_WORLD_LOCAL_SIZE": "1", "MASTER_ADDR": "127.0.0.1", **place, **own}
    command = [*rank, "sh", "-c", "echo $PT_HPU_RECIPE_CACHE_CONFIG $HABANA_VISIBLE_MODULES"]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=True)
    assert done.stdout == "/recipes/llama,false,8192 4,5\n"
