# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The account that jobs and trials run as: which names are taken, who may change to it, and what it may go on from."""

from __future__ import annotations

import os
import pwd
import subprocess

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.job_user import (
    DEFAULT_USER,
    account,
    check_left_to,
    check_user,
    environment_as,
    run_as_user,
)

USER = "nobody"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a directory away, and changes to an account")


@pytest.mark.parametrize(
    "name",
    ["", " ", "-x", "a b", "a\n", "a\nUser=root", "0", "1000", "a:b", "a/b", "..", "$(id)", "x" * 300, "a$$"],
)
def test_what_cannot_name_an_account_is_refused(name):
    with pytest.raises(GaudiError, match="which is not a valid account name; give a name of letters"):
        environment_as(name)


@pytest.mark.parametrize("name", ["gaudi", "root", "a.b", "svc-train", "jane@example.org", "4gaudi", "_apt", "node$"])
def test_names_that_sites_have_are_taken(name):
    check_user(name)


def test_it_is_not_root_unless_somebody_says_so():
    assert DEFAULT_USER == "gaudi"


def test_who_makes_an_account_that_is_missing_is_said():
    with pytest.raises(GaudiError, match=r"user nobody-here does not exist on this node; run playbooks/venv"):
        account("nobody-here")


def test_only_root_can_run_as_somebody_else(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: pwd.getpwnam(USER).pw_uid)
    with pytest.raises(GaudiError, match=r"user is root, and only root can run as another account than nobody; run"):
        environment_as("root")
    assert environment_as(USER) == dict(os.environ)


@as_root
def test_another_account_has_its_own_home_in_a_program_that_is_run_and_in_a_trial():
    script = 'echo "$(id -un) $HOME $USER $LOGNAME"'
    said = run_as_user(USER, ["sh", "-c", script], run_process, timeout=10, env={"HOME": "/root"})
    home = pwd.getpwnam(USER).pw_dir
    assert said.stdout.split() == [USER, home, USER, USER]
    assert {name: environment_as(USER)[name] for name in ("HOME", "USER", "LOGNAME")} == {
        "HOME": home,
        "USER": USER,
        "LOGNAME": USER,
    }


@as_root
def test_checkpoints_of_another_account_are_named_with_both_ways_on(tmp_path):
    directory = tmp_path / "checkpoints"
    directory.mkdir()
    with pytest.raises(GaudiError) as caught:
        check_left_to(USER, str(directory))
    assert str(caught.value) == (
        f"{directory} belongs to root, as whom this job ran before, and nobody cannot resume from it; set user "
        f"(gaudi_training_user) to root, or change its owner on every node (chown -R nobody: {directory})."
    )
    subprocess.run(["chown", "-R", "nobody:", str(directory)], check=True)
    check_left_to(USER, str(directory))
    # Root may write everywhere.
    check_left_to("root", str(directory))
    check_left_to(USER, f"{directory}/not-yet")
