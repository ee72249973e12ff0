# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the node library is asked for, as whom, and how its answers are read."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._export.state import ExportOptions, converge, limits_of
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process


@pytest.fixture
def asked(tmp_path):
    """``asked(script)``: an export by a Python that runs this script; the words are in $@."""

    def export(script: str, check_mode: bool = False) -> dict:
        python = tmp_path / "venv" / "bin" / "python"
        python.parent.mkdir(parents=True, exist_ok=True)
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
        options = ExportOptions("/srv/job", "/srv/models/job", str(tmp_path / "venv"), getpass.getuser())
        return converge(options, run_process, check_mode)

    return export


def test_an_export_reports_its_lines(asked):
    found = asked('echo "$@"; echo "/srv/models/job: complete (3 s)"')
    assert found["changed"] and found["directory"] == "/srv/models/job"
    assert found["lines"] == ["-m gaudi3_scale export /srv/job /srv/models/job", "/srv/models/job: complete (3 s)"]


def test_what_was_exported_before_is_no_change(asked):
    assert not asked('echo "/srv/models/job: exported before, and as it was then (1 s)"')["changed"]


def test_check_mode_runs_nothing(asked, tmp_path):
    assert asked(f"touch {tmp_path}/run", check_mode=True)["changed"]
    assert not (tmp_path / "run").exists()


def test_the_reason_is_the_sentence_of_the_node_library(asked):
    with pytest.raises(GaudiError) as refused:
        asked('echo warning >&2; echo "gaudi3_scale: /srv/job: there is no such checkpoint; name one." >&2; exit 1')
    assert str(refused.value) == (
        "/srv/job was not exported to /srv/models/job: /srv/job: there is no such checkpoint; name one."
    )
    with pytest.raises(GaudiError, match=r"to /srv/models/job: Killed\.$"):
        asked("echo Killed >&2; exit 137")


@pytest.mark.parametrize("path", ["models/job", "/srv/../etc", "/", "/srv/models/"])
def test_a_directory_that_is_no_plain_path_is_refused(path):
    options = ExportOptions("/srv/job", path, str(Path(sys.prefix)), getpass.getuser())
    with pytest.raises(GaudiError, match=r"directory \(gaudi_training_export\) is .*; write a plain absolute path"):
        converge(options, run_process, check_mode=True)


def test_the_unit_may_write_beside_the_directory():
    assert limits_of("/usr/share/models/job")[-1] == 'ReadWritePaths="-/usr/share/models"'
