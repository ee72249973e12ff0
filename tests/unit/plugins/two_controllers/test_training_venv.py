# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Two controllers at once on a training environment, with a real pip; and pip where the environment is broken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._venv import pip_install
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.plan import STAMP, VenvOptions
from ansible_collections.gaudi3.scale.tests.unit.plugins.module_utils._venv.test_state import (
    BUILD,
    Site,
    site,
    wheel,
)
from ansible_collections.gaudi3.scale.tests.unit.plugins.two_controllers.two_runs import two_at_once

__all__ = ["site"]


def test_the_second_of_two_waits_and_finds_the_environment(site: Site) -> None:
    both = two_at_once(lambda _step: site.converge(requirements=[]), site.base / "both")
    assert both.tracebacks == [] and both.refusals == []
    assert sorted(result["changed"] for result in both.results) == [False, True]
    assert both.took_turns
    assert site.version_of("torch") == BUILD
    assert '"complete"' in (site.venv / STAMP).read_text(encoding="utf-8")
    assert site.leftovers == []


def test_pip_leaves_the_systems_python_alone(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    # What another run leaves for a moment, while it empties the directory: a link to the system's Python.
    (venv / "pyvenv.cfg").unlink()
    options = VenvOptions(
        release="1.24.1",
        path=str(venv),
        python=sys.executable,
        packages_url="https://v",
        constraints=str(tmp_path / "c.txt"),
    )
    Path(options.constraints).touch()
    planted = wheel(tmp_path / "wheels", "planted_by_a_test", "1.0")
    words = ["--no-index", "--target", str(tmp_path / "target"), str(planted)]
    with pytest.raises(GaudiError, match="virtualenv"):
        pip_install.install(options, words, str(tmp_path), run_process)
    assert not (tmp_path / "target").exists()
