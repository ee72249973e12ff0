# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Environments whose Python root would run, each with one thing that another account may change; run as root."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.root_program import (
    WITH_VARIABLES,
    require_roots,
    root_python,
    sole_owner,
)

NOBODY, DAEMON = pwd.getpwnam("nobody"), pwd.getpwnam("daemon")
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to lose")
SITE = "lib/python3.11/site-packages"


@pytest.fixture
def venv(place):
    """As python -m venv makes it, with a package and a .pth file."""
    made = place / "venv"
    (made / "bin").mkdir(parents=True)
    (made / SITE / "torch").mkdir(parents=True)
    (made / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (made / "bin/python").symlink_to(Path(sys.executable).resolve())
    (place / "stack").mkdir()
    (made / SITE / "stack.pth").write_text(f"# a stack below\n{place}/stack\nimport sys\n\n")
    return made


def test_an_environment_of_roots_is_run_by_its_real_place(place, venv):
    (place / "link").symlink_to("venv")
    assert root_python(str(venv)) == root_python(str(place / "link")) == f"{venv}/bin/python"
    assert sole_owner(str(venv)) == 0
    assert root_python(str(place / "not-yet")) == f"{place}/not-yet/bin/python"


@pytest.mark.parametrize(
    "part",
    ["", "bin", "bin/python", "lib", "lib/python3.11", SITE, f"{SITE}/torch", f"{SITE}/stack.pth", "pyvenv.cfg"],
)
@pytest.mark.parametrize("way", ["owner", "mode"])
def test_no_part_of_it_may_be_another_accounts(venv, part, way):
    changed = venv / part
    if changed.is_symlink():
        changed.unlink()
        shutil.copy("/bin/sh", changed)
    if way == "owner":
        os.chown(changed, NOBODY.pw_uid, NOBODY.pw_gid)
    else:
        changed.chmod(0o775)
    with pytest.raises(GaudiError, match="root runs nothing that another account may change; name one"):
        root_python(str(venv))
    assert sole_owner(str(venv)) == (NOBODY.pw_uid if way == "owner" else None)


def test_nor_what_lies_on_the_way_or_is_named_by_it(place, venv):
    for changed in (place, place / "stack"):
        before = changed.stat().st_mode
        changed.chmod(0o777)
        with pytest.raises(GaudiError, match=r"belongs to account 0 \(mode 0777\), and root runs nothing"):
            root_python(str(venv))
        changed.chmod(before)
    (place / "programs").mkdir()
    os.chown(place / "programs", NOBODY.pw_uid, NOBODY.pw_gid)
    shutil.copy("/bin/sh", place / "programs/python")
    (venv / "bin/python").unlink()
    (venv / "bin/python").symlink_to(place / "programs/python")
    with pytest.raises(GaudiError, match=f"{place}/programs belongs to account {NOBODY.pw_uid}"):
        root_python(str(venv), "gaudi_verify_venv")


def test_a_link_that_was_swapped_after_the_look_is_not_run(place, venv):
    """The second attack's race: what is run is what was looked at."""
    shutil.copytree(venv, place / "evil", symlinks=True)
    (place / "link").symlink_to("venv")
    found = root_python(str(place / "link"))
    (place / "link").unlink()
    (place / "link").symlink_to("evil")
    assert found == f"{venv}/bin/python"


def test_an_environment_of_two_accounts_is_nobodys_to_run(venv):
    os.chown(venv, NOBODY.pw_uid, NOBODY.pw_gid)
    assert sole_owner(str(venv)) == NOBODY.pw_uid
    os.chown(venv / SITE / "torch", DAEMON.pw_uid, DAEMON.pw_gid)
    assert sole_owner(str(venv)) is None


def test_variables_of_another_account_are_none_for_a_program_of_roots(place):
    require_roots(str(place / "not-yet"), "flags", WITH_VARIABLES)
    (place / "flags").touch()
    os.chown(place / "flags", NOBODY.pw_uid, NOBODY.pw_gid)
    with pytest.raises(GaudiError, match="root runs nothing with variables that another account may change; name"):
        require_roots(str(place / "flags"), "flags", WITH_VARIABLES)
