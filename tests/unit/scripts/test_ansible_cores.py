# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which Pythons are found for which ansible-core, and what is said of one that cannot be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import ansible_cores
from scripts.ansible_cores import CoreError, environment, found_pythons, main


def python(directory: Path, name: str, version: str, status: int = 0) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / name
    program.write_text(f"#!/bin/sh\necho {version} {program}\nexit {status}\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A directory in which nothing but what a test puts there is found."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.delenv("PYTHONS", raising=False)
    monkeypatch.setattr(ansible_cores, "PLACE", tmp_path / "cores")
    return tmp_path


def test_a_python_is_taken_for_each_core_that_runs_on_it(machine):
    usual = python(machine / "bin", "python3.12", "3.12")
    assert found_pythons() == dict.fromkeys(["2.17", "2.18", "2.19", "2.20", "2.21"], usual)


def test_pyenv_s_own_are_found_and_one_that_does_not_start_is_none(machine):
    python(machine / "bin", "python3.12", "3.12", status=127)
    kept = python(machine / "pyenv" / "versions" / "3.13.0" / "bin", "python3", "3.13")
    assert found_pythons() == dict.fromkeys(["2.18", "2.19", "2.20", "2.21"], kept)


def test_a_named_one_goes_first(machine, monkeypatch):
    python(machine / "bin", "python3.12", "3.12")
    named = python(machine / "opt", "python", "3.12")
    monkeypatch.setenv("PYTHONS", str(named))
    assert {*found_pythons().values()} == {named}


def test_one_of_several_is_chosen_by_its_version(machine, capsys):
    older, newer = (python(machine / "bin", f"python{version}", version) for version in ("3.12", "3.13"))
    assert found_pythons(["2.20", "2.20/3.13"]) == {"2.20": older, "2.20/3.13": newer}
    assert main(["2.20/3.14"]) == 1
    assert "ansible-core 2.20/3.14 is left out: no Python 3.14 is here." in capsys.readouterr().err
    assert main(["2.17/3.13"]) == 1
    assert "ansible-core 2.17/3.13 is left out: it is unknown." in capsys.readouterr().err


def test_what_is_left_out_is_said(machine, capsys):
    python(machine / "bin", "python3.13", "3.13")
    assert main([]) == 0
    assert "2.17 no Python 3.11 or 3.12 is here\n" in capsys.readouterr().out
    with pytest.raises(CoreError, match=r"ansible-core 2\.17 is left out: no Python 3\.11 or 3\.12 is here"):
        environment("2.17", found_pythons())
    assert main(["1.9"]) == 1
    assert "ansible-core 1.9 is left out: it is unknown." in capsys.readouterr().err


def test_one_that_cannot_be_installed_is_left_out_with_its_reason(machine):
    python(machine / "bin", "python3.12", "no module named venv:", status=0)
    broken = python(machine / "broken", "python3.12", "no module named venv:", status=1)
    with pytest.raises(CoreError, match=r"2\.17 is left out: it cannot be installed\. no module named venv"):
        environment("2.17", {"2.17": broken})
