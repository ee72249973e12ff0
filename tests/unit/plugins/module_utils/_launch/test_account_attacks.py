# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the account of a job may have named or made before a launch, and what root does of it: run as root."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import MpiOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._job.environment_files import (
    copies_of,
    read_files,
    settings_in,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._launch import directories, node_check
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.directories import make_control
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.node_check import check_writable, open_mpi_version
from ansible_collections.gaudi3.scale.plugins.module_utils._node.account_directory import give
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.tests.unit.described_job import described_job

CACHE = "PT_HPU_RECIPE_CACHE_CONFIG"
NOBODY, DAEMON = pwd.getpwnam("nobody"), pwd.getpwnam("daemon")
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to lose")


@pytest.fixture
def place():
    """A directory that every account reaches, unlike those of pytest."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    give(str(made / "home"), NOBODY)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def paths(place):
    return JobPaths("llama", str(place / "state"), str(place / "log"))


def make_directories(job, paths):
    directories.make_directories(job, paths, settings_in(read_files(job)).get(CACHE))


def job_of(file, **more):
    return described_job(user="nobody", environment_files=(str(file),), **more)


def written(path, text, owner=None):
    path.write_text(text)
    if owner:
        os.chown(path, owner.pw_uid, owner.pw_gid)
    return path


def owners(*places):
    return [pwd.getpwuid(place.stat().st_uid).pw_name for place in places]


@pytest.mark.parametrize("owner", [NOBODY, DAEMON], ids=["its own", "a third one's"])
def test_a_file_of_variables_names_no_directory_of_roots(place, paths, owner):
    """The second attack's first critical: the directory of the agents' logs, in which systemd writes as root."""
    make_control(paths, NOBODY.pw_gid)
    agents = Path(paths.agent_logs)
    file = written(place / "variables", f"{CACHE}={agents.parent},false,1024\n", owner)
    assert agents.name == "llama"
    try:
        make_directories(job_of(file), paths)
    except GaudiError as error:
        assert "by nobody: Permission denied; let that account write there" in str(error)
    assert owners(agents, agents.parent) == ["root", "root"]


def test_a_place_that_was_not_there_is_made_with_the_accounts_rights(place, paths):
    (place / "roots").mkdir()
    file = written(place / "home/variables", f"{CACHE}={place}/roots,false,1024\n", NOBODY)
    with pytest.raises(GaudiError, match=r"roots/llama cannot be made by nobody: Permission denied"):
        make_directories(job_of(file), paths)
    assert list((place / "roots").iterdir()) == []
    written(file, f"{CACHE}={place}/home/cache,false,1024\n", NOBODY)
    make_directories(job_of(file), paths)
    assert owners(place / "home/cache/llama") == ["nobody"]


def test_a_file_of_roots_names_a_place_that_is_made_and_none_that_is_there(place, paths):
    file = written(place / "roots", f"{CACHE}={place}/cache,false,1024\n")
    make_directories(job_of(file), paths)
    make_directories(job_of(file), paths)
    assert owners(place / "cache", place / "cache/llama") == ["root", "nobody"]
    (place / "etc/llama").mkdir(parents=True)
    written(file, f"{CACHE}={place}/etc,false,1024\n")
    with pytest.raises(GaudiError, match="etc/llama already exists and belongs to root, and nobody cannot continue in"):
        make_directories(job_of(file), paths)
    assert owners(place / "etc/llama") == ["root"]


def test_what_a_third_account_links_to_is_not_read_as_root(place):
    """systemd would read it as root, and hand it to the job."""
    written(place / "secret", "TOKEN=words\n").chmod(0o600)
    give(str(place / "third"), DAEMON)
    (place / "third/variables").symlink_to(place / "secret")
    job, paths = job_of(place / "third/variables"), JobPaths("llama")
    with pytest.raises(GaudiError, match="cannot be read as nobody: Permission denied"):
        copies_of(read_files(job), paths)
    assert settings_in(read_files(job)) == {}


def test_a_file_that_changes_is_one_text_in_all_of_a_launch(place, paths):
    """Else a unit would be given other variables than those by which its launch was planned."""
    file = written(place / "home/variables", f"{CACHE}=/a,false,1\n", NOBODY)
    files = read_files(job_of(file))
    written(file, f"{CACHE}=/b,false,1\n")
    (copy,) = copies_of(files, paths).values()
    assert (copy.content, settings_in(files)[CACHE].value) == (f"{CACHE}=/a,false,1\n", "/a,false,1")


def test_a_job_of_another_account_takes_nothing_of_the_last_one_over(place, paths):
    make_directories(described_job(user="daemon"), paths)
    (Path(paths.directory) / "checkpoint").touch()
    with pytest.raises(GaudiError, match="already exists and belongs to daemon, and nobody cannot continue in it"):
        make_directories(described_job(user="nobody"), paths)
    with pytest.raises(GaudiError, match="belongs to daemon, and root cannot continue in it"):
        make_directories(described_job(user="root"), paths)


def test_a_pipe_where_the_checkpoints_go_holds_nobody(place, paths):
    """The names that were tried are known: a pipe there was waited at for ever."""
    job = described_job(user="nobody", checkpoint_directory=str(place / "home"))
    for name in (f".gaudi3_scale-{job.name}-{job.host}", f".gaudi3_scale-{job.name}-{job.host}.XXXXXX"):
        os.mkfifo(place / "home" / name)
        os.chown(place / "home" / name, NOBODY.pw_uid, NOBODY.pw_gid)
    trying = threading.Thread(target=check_writable, args=(job, paths, run_process), daemon=True)
    trying.start()
    trying.join(20)
    assert not trying.is_alive()
    assert len(list((place / "home").iterdir())) == 2


def test_a_storage_that_does_not_answer_ends_the_question(place, paths, monkeypatch):
    monkeypatch.setattr(node_check, "WRITE", "sleep 60")
    monkeypatch.setattr(node_check, "WRITE_SECONDS", 0.2)
    job = described_job(user="nobody", checkpoint_directory=str(place / "home"))
    with pytest.raises(GaudiError, match=r"could not be written within 0.2 s on n2; see whether its storage answers"):
        check_writable(job, paths, run_process)


def test_mpirun_is_asked_for_its_version_by_the_account(place):
    """Whatever option names it: it was run as root, in check mode too."""
    program = written(place / "home/mpirun", f'#!/bin/sh\nid -un > {place}/home/ran\necho "mpirun (Open MPI) 5.0.8"\n')
    program.chmod(0o755)
    job = described_job(user="nobody", engine="mpirun")
    assert open_mpi_version(replace(job, mpi=MpiOptions(mpirun=str(program))), run_process) == "5.0.8"
    assert (place / "home/ran").read_text() == "nobody\n"
