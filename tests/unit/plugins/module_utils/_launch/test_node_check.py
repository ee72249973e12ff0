# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Imports are looked for by a real Python and directories written by a real shell; the rest is in test_job_control."""

from __future__ import annotations

import getpass
import json
import os
import sys
from dataclasses import replace
from functools import partial

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.clocks import clocks_apart
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import MpiOptions, SlurmOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._job.environment_files import read_files, settings_in
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import Job
from ansible_collections.gaudi3.scale.plugins.module_utils._launch import node_check
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.node_check import (
    check_node,
    check_writable,
    open_mpi_version,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.plan import Site
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import HlSmi, write_kernel

PATHS = JobPaths("demo")


@pytest.fixture
def job(tmp_path):
    """A job whose venv is this test's own Python."""
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/bin/python").symlink_to(sys.executable)
    return Job(
        name="demo",
        hosts=("n1",),
        host="n1",
        processes_per_node=1,
        rendezvous_address="127.0.0.1",
        rendezvous_port=29500,
        command=("train.py",),
        venv=str(tmp_path / "venv"),
        working_directory=str(tmp_path / "work"),
        user=getpass.getuser(),
        device="cpu",
    )


@pytest.fixture
def work(tmp_path):
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def settings_of_files(job):
    return {name: setting.value for name, setting in settings_in(read_files(job)).items()}


def check_imports(job, paths, run):
    node_check.check_imports(job, paths, run, settings_of_files(job))


def check_cards(job, run, kernel_root):
    node_check.check_cards(job, run, kernel_root, settings_of_files(job))


def check_flags(job):
    node_check.check_flags(job, settings_of_files(job))


def refusal(check, *arguments):
    with pytest.raises(GaudiError) as caught:
        check(*arguments)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "import os, json.decoder\nfrom beside import x\n",
        "try:\n    import no_such_one\nexcept ImportError:\n    pass\n",
        "def main():\n    import no_such_one\n",
        "if False:\n    import no_such_one\n",
        "raise SystemExit('is never executed')\n",
        "# -*- coding: latin-1 -*-\nname = '\xe4'\n",
    ],
)
def test_a_script_that_has_what_it_imports_is_taken(job, work, text):
    (work / "train.py").write_bytes(text.encode("latin-1"))
    (work / "beside.py").write_text("x = 1\n")
    check_imports(job, PATHS, run_process)


def test_a_script_that_lacks_a_package_is_refused_and_both_are_named(job, work):
    (work / "train.py").write_text("import os\nimport no_such_one\nfrom no_such_two.part import x\n")
    assert refusal(check_imports, job, PATHS, run_process) == (
        f"command: {work}/train.py cannot be imported: {job.venv} has no module no_such_one, no_such_two; "
        "install it there, or name its folder in PYTHONPATH (gaudi_training_environment)."
    )


def test_a_script_that_is_no_python_is_refused(job, work):
    (work / "train.py").write_text("def main(:\n")
    said = refusal(check_imports, job, PATHS, run_process)
    assert f"command: {work}/train.py cannot be imported: SyntaxError: " in said


def test_a_module_is_found_from_the_working_directory_as_the_ranks_find_it(job, work):
    (work / "mine").mkdir()
    (work / "mine/__init__.py").touch()
    (work / "mine/train.py").write_text("from .parts import x\nimport os\n")
    module = replace(job, command=("-m", "mine.train", "--x"))
    check_imports(module, PATHS, run_process)
    assert "has no module mine.other" in refusal(
        check_imports, replace(job, command=("-m", "mine.other")), PATHS, run_process
    )
    assert "has no module no_one" in refusal(
        check_imports, replace(job, command=("-m", "no_one.train")), PATHS, run_process
    )
    # A package is run by its __main__.
    assert "has no module mine;" in refusal(check_imports, replace(job, command=("-m", "mine")), PATHS, run_process)
    (work / "mine/__main__.py").write_text("import no_such_one\n")
    assert "no module no_such_one" in refusal(check_imports, replace(job, command=("-m", "mine")), PATHS, run_process)


def test_a_package_that_says_something_when_it_is_imported_is_no_trouble(job, work):
    (work / "loud").mkdir()
    (work / "loud/__init__.py").write_text("print('welcome to loud')\n")
    (work / "loud/train.py").write_text("import os\n")
    check_imports(replace(job, command=("-m", "loud.train")), PATHS, run_process)


def test_the_programs_own_modules_are_read_too_and_none_of_them_is_run(job, work, tmp_path):
    (tmp_path / "code/mine").mkdir(parents=True)
    (tmp_path / "code/mine/__init__.py").write_text("")
    (tmp_path / "code/mine/step.py").write_text("from . import parts\nraise SystemExit('never run')\n")
    (tmp_path / "code/mine/parts.py").write_text("from .layers.norm import x\n")
    (tmp_path / "code/mine/layers").mkdir()
    (tmp_path / "code/mine/layers/norm.py").write_text("import no_such_one\ntry:\n    import no_two\nexcept E: pass\n")
    (work / "train.py").write_text("import json\nfrom mine.step import run\n")
    named = replace(job, environment={"PYTHONPATH": f"{tmp_path}/code"})
    assert "has no module no_such_one;" in refusal(check_imports, named, PATHS, run_process)
    assert "has no module mine;" in refusal(check_imports, job, PATHS, run_process)
    # In a circle.
    (tmp_path / "code/mine/layers/norm.py").write_text("from ..parts import x\nimport mine.step\n")
    check_imports(named, PATHS, run_process)


def test_a_program_that_changes_where_python_looks_is_not_refused_for_what_it_finds_there(job, work):
    (work / "train.py").write_text("import sys\nsys.path.insert(0, '/srv/mine')\nimport mine\n")
    check_imports(job, PATHS, run_process)


def test_a_card_without_the_nodes_flags_is_refused_by_the_layer_that_is_missing(job, work, tmp_path):
    flags = tmp_path / "environment"
    (work / "train.py").touch()
    card = replace(job, device="hpu", engine="mpirun", environment_files=(f"-{flags}", "-/nowhere"))
    assert refusal(partial(check_node, running=True), card, PATHS, run_process, Site()) == (
        f"{flags} is missing, with the node's flags and the paths of the vendor's software (GC_KERNEL_PATH), without "
        "which no rank can use a card: run playbooks/flags.yml on this node, or set them in environment "
        "(gaudi_training_environment)."
    )


@pytest.mark.parametrize("given", ["environment", "file", "flags", "cpu"])
def test_who_brings_the_vendors_paths_himself_needs_no_flags(job, tmp_path, given):
    (tmp_path / "file").write_text("GC_KERNEL_PATH=/x.so\n")
    files = (f"-{tmp_path}/environment", *([f"-{tmp_path}/file"] if given == "file" else []))
    if given == "flags":
        # An older one, without the vendor's: its ranks say what they lack.
        (tmp_path / "environment").touch()
    environment = {"GC_KERNEL_PATH": "/x.so"} if given == "environment" else {}
    device = "cpu" if given == "cpu" else "hpu"
    check_flags(replace(job, device=device, environment_files=files, environment=environment))


def test_a_script_is_not_helped_by_the_working_directory(job, work):
    (work / "tools").mkdir()
    (work / "tools/train.py").write_text("import beside\n")
    (work / "beside.py").touch()
    tool = replace(job, command=("tools/train.py",))
    assert "has no module beside" in refusal(check_imports, tool, PATHS, run_process)
    check_imports(replace(tool, environment={"PYTHONPATH": str(work)}), PATHS, run_process)


def test_a_path_from_the_nodes_files_counts(job, work, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/beside.py").touch()
    (tmp_path / "flags").write_text(f"PYTHONPATH={tmp_path}/lib\n")
    (work / "train.py").write_text("import beside\n")
    assert "has no module beside" in refusal(check_imports, job, PATHS, run_process)
    with_files = replace(job, environment_files=("-/nowhere", f"-{tmp_path}/flags"))
    assert settings_of_files(with_files)["PYTHONPATH"] == f"{tmp_path}/lib"
    check_imports(with_files, PATHS, run_process)


def test_a_package_above_the_module_gets_the_variables_of_the_files(job, work, tmp_path):
    (work / "bridged").mkdir()
    (work / "bridged/__init__.py").write_text(
        "import os\nos.environ['GC_KERNEL_PATH']\nassert 'GAUDI3_SCALE_VARIABLES' not in os.environ\n"
    )
    (work / "bridged/train.py").touch()
    (tmp_path / "flags").write_text("GC_KERNEL_PATH=/usr/lib/habanalabs/libtpc_kernels.so\n")
    module = replace(job, command=("-m", "bridged.train"))
    assert "KeyError: 'GC_KERNEL_PATH'" in refusal(check_imports, module, PATHS, run_process)
    check_imports(replace(module, environment_files=(f"-{tmp_path}/flags",)), PATHS, run_process)


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "FOREIGN"])
def test_what_a_file_of_the_account_says_never_reaches_a_program_of_root(job, work, tmp_path, name):
    """Root's runuser would load what LD_PRELOAD names."""
    (work / "train.py").touch()
    (tmp_path / "flags").write_text(f"{name}=/var/tmp/mine.so\n")
    given = []

    def run(argv, *, timeout, env):
        given.append(env)
        return run_process(argv, timeout=timeout, env=env)

    check_imports(replace(job, environment_files=(f"-{tmp_path}/flags",)), PATHS, run)
    assert [list(env) for env in given] == [["GAUDI3_SCALE_VARIABLES"]]
    assert json.loads(given[0]["GAUDI3_SCALE_VARIABLES"])[name] == "/var/tmp/mine.so"


def test_a_python_that_does_not_run_is_told_by_its_last_words(job, work):
    (work / "train.py").touch()
    broken = CommandResult(1, "", "Fatal Python error\nModuleNotFoundError: No module named 'encodings'\n")
    said = refusal(check_imports, job, PATHS, lambda *_a, **_k: broken)
    assert "ModuleNotFoundError: No module named 'encodings'; repair the venv there." in said


def test_a_checkpoint_directory_is_tried_and_left_as_it_was(job, work):
    check_writable(replace(job, checkpoint_directory=str(work)), JobPaths("demo"), run_process)
    assert list(work.iterdir()) == []


def test_a_checkpoint_directory_that_is_not_there_is_refused(job, work):
    said = refusal(check_writable, replace(job, checkpoint_directory=f"{work}/no"), JobPaths("demo"), run_process)
    assert said == f"checkpoint_directory {work}/no is not a directory on n1; create it there, for user {job.user}."


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can ask as another account")
def test_a_checkpoint_directory_that_only_root_can_write_is_refused(job, work):
    work.chmod(0o755)
    mine = replace(job, user="nobody", checkpoint_directory="/var/lib")
    said = refusal(check_writable, mine, JobPaths("demo"), run_process)
    assert said == (
        "checkpoint_directory /var/lib cannot be written by nobody on n1: Permission denied; "
        "let that user write there, or name another directory."
    )


def test_a_full_or_read_only_disk_is_told(job, work):
    full = CommandResult(2, "", "sh: 1: cannot create /x/.gaudi3_scale-demo-n1: Read-only file system\n")
    said = refusal(
        check_writable, replace(job, checkpoint_directory=str(work)), JobPaths("demo"), lambda *_a, **_k: full
    )
    assert "on n1: Read-only file system; let that user write there" in said


def test_the_jobs_own_directory_need_not_be_there_yet_but_has_to_be_possible(job, tmp_path):
    check_writable(job, JobPaths("demo", str(tmp_path / "new/state")), run_process)
    (tmp_path / "file").touch()
    said = refusal(check_writable, job, JobPaths("demo", str(tmp_path / "file/state")), run_process)
    assert said.startswith(
        f"the job's checkpoints belong to {tmp_path}/file/state/jobs/demo, but {tmp_path}/file cannot"
    )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (CommandResult(127, "", "mpirun: not installed"),
         "engine mpirun: /opt/ompi/bin/mpirun is not installed on n1; install Open MPI there, name its program in"),
        (CommandResult(0, "HYDRA build details:\n  Version: 4.0\n", ""),
         "on n1 is not Open MPI's, its --version says 'HYDRA build details:'; name Open MPI's program in mpi.mpirun."),
        (CommandResult(1, "", "mpirun: error while loading shared libraries: libopen-rte.so.40: cannot open\n"),
         "its --version says 'mpirun: error while loading shared libraries: libopen-rte.so.40: cannot open'"),
    ],
)  # fmt: skip
def test_an_mpirun_that_is_not_open_mpis_is_refused(job, answer, said):
    mine = replace(job, engine="mpirun", mpi=MpiOptions(mpirun="/opt/ompi/bin/mpirun"))
    assert said in refusal(open_mpi_version, mine, lambda *_a, **_k: answer)


def test_the_version_of_open_mpi(job):
    answer = CommandResult(0, "mpirun (Open MPI) 5.0.8\n", "")
    assert open_mpi_version(job, lambda argv, **_k: answer) == "5.0.8"


@pytest.mark.parametrize(
    ("offsets", "said"),
    [
        ({}, ""),
        ({"n1": 5.0}, ""),
        ({"n1": 0.2, "n2": 59.0, "n3": -0.4}, ""),
        ({"n1": 0.2, "n2": 200.0, "n3": -0.4}, "The clock of n2 is 3.3 minutes ahead of those of the other nodes"),
        ({"n1": 0.2, "n2": -7200.0, "n3": 1.0}, "The clock of n2 is 120.0 minutes behind those of the other nodes"),
        # The clock that they are held against may itself be wrong.
        ({"n1": 900.0, "n2": 901.0}, ""),
        ({"n1": 0.0, "n2": 400.0}, "minutes"),
    ],
)
def test_clocks_that_are_apart(offsets, said):
    found = clocks_apart(offsets)
    assert said in found
    assert bool(found) == bool(said)
    assert found == "" or found.endswith(".")


@pytest.mark.parametrize("engine", ["torchrun", "mpirun"])
def test_a_job_of_fewer_cards_than_the_node_has_is_refused_unless_it_names_them(job, tmp_path, engine):
    root = str(write_kernel(tmp_path / "kernel"))
    few = replace(job, device="hpu", engine=engine, processes_per_node=2, bind="none")
    said = refusal(check_cards, few, HlSmi(), root)
    assert "processes_per_node is 2 and n1 has 8 cards: another job there would take the same ones" in said
    check_cards(replace(few, environment={"HABANA_VISIBLE_MODULES": "5,0"}), HlSmi(), root)
    check_cards(replace(few, processes_per_node=8), HlSmi(), root)
    flags = tmp_path / "flags"
    flags.write_text("HABANA_VISIBLE_MODULES=2,6\n")
    check_cards(replace(few, environment_files=(str(flags),)), HlSmi(), root)
    said = refusal(check_cards, replace(few, environment={"HABANA_VISIBLE_MODULES": "5,9"}), HlSmi(), root)
    assert "names '9', and no card of n1 has that module id" in said


@pytest.mark.parametrize("slurm", [SlurmOptions(), SlurmOptions(cpus_per_rank=4)])
def test_slurm_gives_whole_nodes_or_says_which_cards(job, tmp_path, slurm):
    root = str(write_kernel(tmp_path / "kernel"))
    few = replace(job, device="hpu", engine="slurm", slurm=slurm, processes_per_node=2, bind="none")
    check_cards(few, HlSmi(), root)


def test_a_python_that_had_not_ended_in_its_time_is_not_to_be_repaired(job, work):
    (work / "train.py").write_text("import os\n")
    said = refusal(
        check_imports, job, PATHS, lambda argv, **_more: CommandResult(124, "", f"{argv[0]}: timed out after 60 s")
    )
    assert said.startswith(f"command: {work}/train.py could not be checked: ")
    assert "did not finish within 60 s; try again, and check how fast its storage is read." in said
