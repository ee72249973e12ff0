# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A program's own requirements: a real environment on a real one, filled by the real pip from a folder of wheels."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pip
import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.probe.key import probe_fields
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.trial import Workload
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node import venv_sites
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.program_install import (
    KEPT_S,
    ProgramOptions,
    converge,
)

TORCH = "2.6.0+hpu.1.20"
IS_ROOT = os.geteuid() == 0
# One that every account may run, which that of the tests may not be.
PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable


def wheel(directory: Path, name: str, version: str, *needs: str) -> None:
    about = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        f"{name}.py": f"version = '{version}'\n",
        f"{about}/METADATA": metadata + "".join(f"Requires-Dist: {need}\n" for need in needs),
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{file},,\n" for file in [*files, f"{about}/RECORD"])
    with zipfile.ZipFile(directory / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for file, text in {**files, f"{about}/RECORD": record}.items():
            archive.writestr(file, text)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The stack: pip, the vendor's torch, and a package of its own that is pinned."""
    place = tmp_path_factory.mktemp("site")
    for above in (place, *place.parents):
        if above.owner() == getpass.getuser() and above != Path("/"):
            above.chmod(above.stat().st_mode | 0o055)
    stack, wheels = place / "stack", place / "wheels"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(stack)], check=True)
    [site] = stack.glob("lib/python3*/site-packages")
    for part in Path(pip.__file__).parents[1].glob("pip*"):
        shutil.copytree(part, site / part.name)
    wheels.mkdir()
    for name, version, needs in [
        ("mine", "1.0", ["shared"]),
        ("mine", "2.0", ["shared"]),
        ("newer", "1.0", ["shared>=2"]),
        ("shared", "1.0", []),
        ("shared", "2.0", []),
        ("other", "1.0", ["torch==2.1.0"]),
        ("torch", "2.1.0", []),
    ]:
        wheel(wheels, name, version, *needs)
    for name, version in [("torch", TORCH), ("shared", "1.0")]:
        wheel(place, name, version)
        with zipfile.ZipFile(place / f"{name}-{version}-py3-none-any.whl") as archive:
            archive.extractall(site)
    (site / "torch.py").unlink()
    (site / "torch/distributed").mkdir(parents=True)
    (site / "torch/__init__.py").write_text(f"version = '{TORCH}'\n")
    (site / "torch/distributed/__init__.py").touch()
    (site / "torch/distributed/run.py").write_text("import sys\ndef main():\n    print('torchrun', sys.prefix)\n")
    (stack / "pip.conf").write_text(f"[global]\nno-index = true\nfind-links = {wheels}\n")
    (stack / "gaudi3_scale_pins.txt").write_text("# pins\nshared==1.0\nmine==1.0\n")
    return place


@pytest.fixture
def wanted(made, tmp_path, monkeypatch):
    monkeypatch.setattr(venv_sites, "ENVIRONMENTS", str(tmp_path / "environments"))
    for above in (tmp_path, *tmp_path.parents):
        if above.owner() == getpass.getuser() and above != Path("/"):
            above.chmod(above.stat().st_mode | 0o055)

    def make(text, **changes):
        options = ProgramOptions(
            str(made / "stack"),
            text,
            getpass.getuser(),
            directory=venv_sites.ENVIRONMENTS,
            state_directory=str(tmp_path / "state"),
        )
        return replace(options, **changes)

    return make


def said_by(venv: str, code: str) -> str:
    done = subprocess.run([f"{venv}/bin/python", "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    "user",
    [
        getpass.getuser(),
        pytest.param("nobody", marks=pytest.mark.skipif(not IS_ROOT, reason="only root becomes another account")),
    ],
)
def test_they_are_installed_once_beside_the_stacks_and_found_again(wanted, tmp_path, user):
    asked = wanted("mine  # why\n# nothing else\ntorch>=2.0\n", user=user)
    before = converge(asked, run_process, check_mode=True)
    assert before["changed"] is True
    assert not Path(before["venv"]).exists()
    first = converge(asked, run_process, check_mode=False)
    venv = str(first["venv"])
    assert (first["changed"], venv, first["requirements"]) == (True, before["venv"], ["mine", "torch>=2.0"])
    # The pin of the stack, and the stack's torch.
    code = "import mine, shared, torch; print(mine.version, shared.version, torch.version)"
    assert said_by(venv, code) == f"1.0 1.0 {TORCH}"
    assert subprocess.check_output([f"{venv}/bin/torchrun"], text=True) == f"torchrun {venv}\n"
    assert Path(venv).owner() == user
    assert Path(f"{venv}.json").owner() == getpass.getuser()
    for check_mode in (True, False):
        again = converge(asked, run_process, check_mode=check_mode)
        assert (again["changed"], again["venv"], again["diff"]) == (False, venv, [])
    # What a probe depends on is both environments' packages.
    fields = probe_fields(Workload("mine:step", device="cpu"), {}, venv, str(tmp_path))
    assert (fields["package torch"], fields["package mine"], fields["requirements"]) == (TORCH, "1.0", Path(venv).name)


def test_another_file_is_another_environment_and_what_is_asked_for_wins_over_a_pin(wanted):
    one = converge(wanted("mine\n"), run_process, check_mode=False)
    two = converge(wanted("mine==2.0\nnewer\n"), run_process, check_mode=False)
    assert one["venv"] != two["venv"]
    # What a package needs wins over the stack's pin as well, and the stack keeps its own.
    assert said_by(str(two["venv"]), "import mine, shared; print(mine.version, shared.version)") == "2.0 2.0"
    assert said_by(wanted("").venv, "import shared; print(shared.version)") == "1.0"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "torch==2.1.0",
            rf"^requirements has 'torch==2.1.0', and \S+/stack has torch {re.escape(TORCH)}, which is never replaced: ",
        ),
        ("torch @ https://x.invalid/torch.whl", "which is never replaced"),
        ("habana-torch-plugin", "^requirements has 'habana-torch-plugin', which comes with the training stack, but "),
        ("gaudi3_scale>=1", "^requirements must not name gaudi3-scale"),
        ("--extra-index-url https://x.invalid", r"the site sets where packages come from"),
        ("-e .", r"^requirements has '-e \.', but the site sets where packages"),
        ("./local.whl", r"^requirements has './local.whl', which is not the name of a package"),
        ("mine ===> 1", "^requirements cannot be read by "),
    ],
)
def test_what_would_replace_the_vendors_or_names_no_package_is_refused(wanted, tmp_path, text, said):
    for check_mode in (True, False):
        with pytest.raises(GaudiError, match=said):
            converge(wanted(f"mine\n{text}\n"), run_process, check_mode=check_mode)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [("other", "conflicting dependencies"), ("no-such-one", "No matching distribution|Could not find")],
)
def test_a_pip_that_fails_is_one_message_and_leaves_nothing(wanted, text, said):
    with pytest.raises(GaudiError, match=said) as caught:
        converge(wanted(text), run_process, check_mode=False)
    assert str(caught.value).startswith(f"requirements cannot be installed as {getpass.getuser()}: ")
    assert list(Path(venv_sites.ENVIRONMENTS, getpass.getuser()).iterdir()) == []


def test_what_an_interruption_left_is_made_anew_and_what_nobody_uses_goes_after_a_month(wanted):
    left = str(converge(wanted("mine\n"), run_process, check_mode=True)["venv"])
    Path(left, "lib").mkdir(parents=True)
    assert converge(wanted("mine\n"), run_process, check_mode=False)["changed"]
    kept = str(converge(wanted("shared\n"), run_process, check_mode=False)["venv"])
    described = Path(wanted("").state_directory, "control/llama/job.json")
    described.parent.mkdir(parents=True)
    described.write_text(f'{{"venv": "{kept}"}}')
    old = Path(f"{left}.json").stat().st_mtime - KEPT_S - 1
    for one in (left, kept):
        os.utime(f"{one}.json", (old, old))
    converge(wanted("mine==2.0\n"), run_process, check_mode=False)
    assert [Path(one).exists() for one in (left, kept)] == [False, True]


@pytest.mark.skipif(not IS_ROOT, reason="only root becomes another account")
def test_credentials_of_roots_alone_are_not_handed_to_the_account(wanted, made):
    conf = made / "stack/pip.conf"
    conf.chmod(0o600)
    try:
        with pytest.raises(GaudiError, match=r"pip\.conf has credentials that only root may read.*gaudi_venv_req"):
            converge(wanted("mine", user="nobody"), run_process, check_mode=False)
    finally:
        conf.chmod(0o644)


def test_a_venv_that_is_not_there(wanted):
    with pytest.raises(GaudiError, match="/nowhere/bin/python is missing; install the training stack first"):
        converge(wanted("mine", venv="/nowhere"), run_process, check_mode=True)
