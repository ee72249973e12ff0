# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which venv runs a node's supervisor; the venvs are real ones, or what their Python would say."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.metadata import version

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import SupervisionOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._launch import library as launch_library
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.library import Library, check_library, library_of
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.tests.unit.described_job import job_on

HAS, HAS_NOT = '{"version": "0.1.0", "supervisor": true}', '{"version": "", "supervisor": false}'


@pytest.fixture
def job(tmp_path):
    return replace(job_on(tmp_path), supervision=SupervisionOptions())


@pytest.fixture
def default(tmp_path, monkeypatch):
    """A node that has the default venv."""
    venv = tmp_path / "default"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin/python").write_text("#!/bin/sh\n")
    (venv / "bin/python").chmod(0o755)
    monkeypatch.setattr(launch_library, "DEFAULT_VENV", str(venv))
    return str(venv)


def saying(answers):
    """A node whose Pythons say of the library what stands here, by venv."""
    return lambda argv, **_more: CommandResult(0, answers[argv[-4].removesuffix("/bin/python")], "")


def test_a_real_venv_tells_its_version(job, tmp_path):
    """That of the tests has the library; what its working directory or PYTHONPATH has does not count."""
    (tmp_path / "venv/bin/python").unlink()
    (tmp_path / "venv/bin/python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tmp_path / "venv/bin/python").chmod(0o755)
    assert library_of(job, run_process) == Library(job.venv, version("gaudi3-scale"))


def test_a_python_without_the_library_is_refused_with_the_remedy(job, monkeypatch, tmp_path):
    """The Python of the system, of which /usr/bin/env finds the first that is no venv's."""
    monkeypatch.setattr(launch_library, "DEFAULT_VENV", job.venv)
    (tmp_path / "venv/bin/python").write_text(f'#!/bin/sh\nshift\nexec {sys.executable} -IS "$@"\n')
    found = library_of(job, run_process)
    assert found == Library(job.venv)
    with pytest.raises(GaudiError) as refused:
        check_library(found)
    assert str(refused.value) == (
        f"no supervisor can be run here: {job.venv} has no gaudi3_scale; run playbooks/venv.yml (role "
        "gaudi_venv) on this node, or name its venv in venv (training_venv)."
    )


def test_a_venv_of_the_users_own_leaves_the_supervisor_to_the_default_one(job, default):
    assert library_of(job, saying({job.venv: HAS_NOT, default: HAS})) == Library(default, "0.1.0")
    assert library_of(job, saying({job.venv: HAS, default: HAS_NOT})) == Library(job.venv, "0.1.0")


def test_a_library_that_is_too_old_is_named(job, default):
    old = '{"version": "0.0.9", "supervisor": false}'
    found = library_of(job, saying({job.venv: old, default: HAS_NOT}))
    with pytest.raises(GaudiError) as refused:
        check_library(found)
    said = f"{job.venv} has gaudi3_scale 0.0.9, which has no supervisor, and {default} has none either; run playbooks/"
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "answer", ["", "[1]", "Traceback", '{"version": "1 2\\n", "supervisor": true}', '{"supervisor": true}']
)
def test_what_a_venv_says_of_itself_is_data(job, default, answer):
    assert library_of(job, saying({job.venv: answer, default: HAS_NOT})).version == ""


def test_a_venv_that_cannot_be_run_has_none(job, default, tmp_path):
    (tmp_path / "venv/bin/python").chmod(0o644)
    assert library_of(job, saying({default: HAS})) == Library(default, "0.1.0")


def test_a_python_that_had_not_ended_in_its_time_has_not_said_that_the_library_is_missing(job, default, tmp_path):
    def late(argv, **more):
        return CommandResult(124, "", f"{argv[0]}: timed out after {more['timeout']} s")

    with pytest.raises(GaudiError, match=r"it is unknown what .*/venv has: its Python did not finish within 60 s; try"):
        library_of(job, late)
