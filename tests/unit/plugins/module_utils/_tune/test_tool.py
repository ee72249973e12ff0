# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What root has an environment do for a study, and which environment it leaves alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._tune.tool import Certificates, Tool


class Asked:
    def __init__(self, answer: CommandResult) -> None:
        self.answer = answer
        self.words: list[list[str]] = []

    def __call__(self, argv, **_more):
        self.words.append(list(argv))
        return self.answer


@pytest.fixture
def venv(tmp_path):
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/bin/python").symlink_to("/bin/sh")
    return tmp_path / "venv"


def test_packages_and_certificates_are_asked_of_an_isolated_python(venv):
    run = Asked(CommandResult(0, "installed\n", ""))
    assert Tool(str(venv), run, False).install()
    assert run.words == [[f"{venv}/bin/python", "-I", "-m", "gaudi3_scale.tune", "install"]]
    run = Asked(CommandResult(0, "made\n", ""))
    wanted = Certificates("/etc/x", "-10.0.0.1", 3600, "gaudi")
    assert Tool(str(venv), run, False).certify(wanted)
    assert {"--directory", "--address=-10.0.0.1", "3600.000000", "gaudi"} <= set(run.words[0])
    assert not Tool(str(venv), run, True).certify(wanted) and len(run.words) == 1


def test_what_it_says_is_told_and_one_that_cannot_is_named(venv):
    with pytest.raises(GaudiError, match=r"^pip cannot install optuna$"):
        Tool(str(venv), Asked(CommandResult(1, "", "gaudi3_scale.tune: pip cannot install optuna\n")), False).install()
    for answer in (CommandResult(2, "", "usage"), CommandResult(1, "", "No module named gaudi3_scale")):
        with pytest.raises(GaudiError, match="is missing, or older than this collection; run playbooks/venv"):
            Tool(str(venv), Asked(answer), False).install()
    with pytest.raises(GaudiError, match="is missing, or older"):
        Tool("/nowhere", Asked(CommandResult(0, "", "")), False).install()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to lose")
def test_an_environment_of_another_account_is_refused_before_it_is_run(venv):
    os.chown(Path(venv, "bin"), 65534, 65534)
    run = Asked(CommandResult(0, "installed\n", ""))
    with pytest.raises(GaudiError, match=r"gaudi_tune_venv is .* and root runs nothing that another account"):
        Tool(str(venv), run, False).install()
    assert run.words == []
