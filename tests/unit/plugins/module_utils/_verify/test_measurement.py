# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._host.hugepages import drop_in
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.measurement import (
    TrainingEnvironment,
    ask_torch,
    configured_hugepages,
    measure,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.verdict import TorchReport
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import HlSmi, write_kernel


@pytest.fixture
def venv(tmp_path):
    """A venv whose torch and Gaudi bridge are small modules of the test, run by a real Python."""
    site = tmp_path / "venv/lib/python{}.{}/site-packages".format(*sys.version_info)
    bridge = site / "habana_frameworks/torch/hpu"
    bridge.mkdir(parents=True)
    (bridge / "__init__.py").write_text("print('BRIDGE CONFIGURATION')\ndef device_count():\n    return 8\n")
    (site / "torch").mkdir()
    (tmp_path / "site").symlink_to(site)
    (tmp_path / "venv/pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
    (site / "torch/__init__.py").write_text("__version__ = '2.11.0a0+git1'\n")
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(Path(sys.executable).resolve())
    return tmp_path / "venv"


def training(venv, device="hpu", flags="/nowhere/environment"):
    return TrainingEnvironment(str(venv), device, str(flags))


def test_torch_tells_its_version_and_its_devices_whatever_the_bridge_prints(venv):
    assert ask_torch(run_process, training(venv)) == TorchReport("2.11.0a0+git1", 8)


def test_on_a_cpu_torch_alone_is_asked(venv):
    (venv.parent / "site/habana_frameworks/torch/hpu/__init__.py").unlink()
    assert ask_torch(run_process, training(venv, "cpu")) == TorchReport("2.11.0a0+git1", None)


def test_what_cannot_be_imported_is_told(venv):
    (venv.parent / "site/torch/__init__.py").write_text("raise RuntimeError('libsynapse is missing.')\n")
    assert ask_torch(run_process, training(venv)) == TorchReport(problem="RuntimeError: libsynapse is missing")


def test_a_venv_that_is_not_there_is_told():
    assert ask_torch(run_process, training("/nowhere/venv")) == TorchReport(
        problem="/nowhere/venv/bin/python: not installed"
    )


def test_a_python_that_dies_without_a_word_is_told_by_its_exit_code():
    report = ask_torch(lambda argv, **_: CommandResult(-11, "", ""), training("/v"))
    assert report.problem == "no output (exit code -11)"


def test_huge_pages_are_those_of_the_host_layer_s_own_file(tmp_path):
    assert configured_hugepages(str(tmp_path)) is None
    (tmp_path / "sysctl.d").mkdir()
    (tmp_path / "sysctl.d/90-gaudi3-scale.conf").write_text(drop_in(17601), encoding="utf-8")
    assert configured_hugepages(str(tmp_path)) == 17601


def test_torch_is_asked_with_the_flags_of_the_jobs(venv, tmp_path):
    (venv.parent / "site/torch/__init__.py").write_text("import os\n__version__ = os.environ['PT_HPU_LAZY_MODE']\n")
    flags = tmp_path / "environment"
    flags.write_text('# profile\nPT_HPU_LAZY_MODE="0"\n', encoding="utf-8")
    assert ask_torch(run_process, training(venv, "cpu", flags)).version == "0"


def test_flags_that_cannot_be_read_are_told(venv, tmp_path):
    flags = tmp_path / "environment"
    flags.write_text("export A=$(b)\n", encoding="utf-8")
    assert f"{flags}, line 1" in ask_torch(run_process, training(venv, "cpu", flags)).problem


def test_without_a_training_environment_torch_is_left_out(tmp_path):
    write_kernel(tmp_path)
    measured = measure(HlSmi(), str(tmp_path), None, etc=str(tmp_path))
    assert measured.torch is None
    assert measured.facts.count == 8


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes to another account")
def test_torch_of_another_account_is_asked_as_that_account(tmp_path):
    """Root ran it: whoever may write the environment was root."""
    with tempfile.TemporaryDirectory() as made:
        own = Path(made, "venv")
        Path(made).chmod(0o755)
        (own / "bin").mkdir(parents=True)
        python = own / "bin/python"
        python.write_text(f'#!/bin/sh\nid -un > {own}/ran\necho \'{{"version": "2", "devices": 8}}\'\n')
        python.chmod(0o755)
        for path in (own, own / "bin", python):
            os.chown(path, 65534, 65534)
        assert ask_torch(run_process, training(own)) == TorchReport("2", 8)
        assert (own / "ran").read_text() == "nobody\n"
        own.chmod(0o777)
        problem = ask_torch(run_process, training(own)).problem
        assert problem is not None and "root runs nothing that another account may change" in problem


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to lose")
def test_roots_torch_has_no_variables_of_another_account(venv, tmp_path):
    flags = tmp_path / "environment"
    flags.write_text("LD_PRELOAD=/home/own.so\n")
    os.chown(flags, 65534, 65534)
    problem = ask_torch(run_process, training(venv, "cpu", flags)).problem
    assert problem is not None and "root runs nothing with variables that another account may change" in problem
