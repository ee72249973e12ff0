# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Root gives away, changes and starts through one door each; whoever goes around one has its reason here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .checkout import ROOT

CODE = ("plugins/module_utils", "plugins/modules", "src/gaudi3_scale")
CORE = "plugins/module_utils"
# Who changes an owner or a mode by a name, which another one could put something else at meanwhile: the door for that
# works on what it has opened (_node/account_directory.py).
BY_NAME = {"chown", "lchown", "chmod", "lchmod"}
NAMED = {
    f"{CORE}/_batch/trial_place.py": "in a directory that it has just made, of root's alone",
    f"{CORE}/_bundle/fetch.py": "in the bundle's directory, made by who runs it for itself",
    f"{CORE}/_bundle/vendor.py": "as fetch.py",
    f"{CORE}/_containers/image_unpack.py": "as the job's account",
    f"{CORE}/_fabric/efa/archive.py": "in a directory that it has just made, of root's alone",
    f"{CORE}/_fabric/efa/wrapper.py": "in a directory of root's alone",
    f"{CORE}/_fabric/libfabric/build.py": "as efa/archive.py",
    f"{CORE}/_flags/directories.py": "what it has just made, in root's directory",
    f"{CORE}/_node/tls_identity.py": "in a directory that it has just made, of root's alone",
    f"{CORE}/_packages/distribution.py": "in /usr/sbin",
    f"{CORE}/_venv/private_files.py": "in a directory that it has just made, of root's alone",
    f"{CORE}/_venv/program_install.py": "with the account's rights",
    "src/gaudi3_scale/supervisor/files.py": "as the job's account",
    "src/gaudi3_scale/tune/credentials.py": "in a directory that it has just made, and nobody else may enter",
}
# Who starts something as another account. The door: _node/account_unit.py.
OTHER_ACCOUNT = re.compile(r"^(runuser|setpriv|su|sudo|extra_groups)$|^--(uid|reuid)")
AS_OTHERS = {
    f"{CORE}/_node/account_unit.py": "the door itself",
    f"{CORE}/_batch/trial_place.py": "trials of a probe, which it ends with all that they left",
    f"{CORE}/_storage/lustre.py": "lfs, which is root's, with the rights of the directory's owner",
}
# Who asks systemd for a unit, whose limits tests/unit/plugins/test_exposure.py judges.
UNITS = {
    f"{CORE}/_node/account_unit.py",
    f"{CORE}/_firmware/flash.py",
    f"{CORE}/_qualify/state.py",
    f"{CORE}/_slurm/state.py",
}
DOCUMENTED = ("DOCUMENTATION", "EXAMPLES", "RETURN")
# Who names the Python of an environment: root runs what root_python has looked at.
PYTHON_OF = re.compile(r"(^|/)bin/(python|pip|torchrun)$")
STARTED = {
    f"{CORE}/_bundle/wheels.py": "looked for, and not run",
    f"{CORE}/_node/root_program.py": "the door itself",
    f"{CORE}/_export/state.py": "as the job's account",
    f"{CORE}/_job/program_imports.py": "as the job's account",
    f"{CORE}/_launch/binding.py": "a word of the job's own command",
    f"{CORE}/_launch/container.py": "a word of the job's own command",
    f"{CORE}/_job/engines/mpirun.py": "a word of the job's own command",
    f"{CORE}/_job/engines/torchrun.py": "a word of the job's own command",
    f"{CORE}/_launch/library.py": "as the job's account",
    f"{CORE}/_serving/runtime.py": "looked for, and not run",
    f"{CORE}/_batch/probe/probe.py": "as the account of the trials",
    f"{CORE}/_compare/runs.py": "as the account of the runs",
    f"{CORE}/_venv/program.py": "the heading of a program of the account's",
    f"{CORE}/_venv/program_install.py": "as the account whose environment it is",
    f"{CORE}/_venv/wanted.py": "looked for, and not run",
}


def sources() -> list[Path]:
    return sorted(path for place in CODE for path in (ROOT / place).rglob("*.py"))


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def calls(path: Path) -> Iterator[str]:
    """The last word of each function that is called: ``chown`` of ``os.chown(...)``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr


def texts(path: Path) -> Iterator[str]:
    """Each text of the code, without its documentation: a module's is one expression, or assigned to a name for it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        or (
            isinstance(node, ast.Assign)
            and getattr(node.targets[0], "id", "") in ("DOCUMENTATION", "EXAMPLES", "RETURN")
        )
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.value


def test_owners_and_modes_are_changed_of_what_was_opened() -> None:
    found = {named(path) for path in sources() if BY_NAME & set(calls(path))}
    assert found == set(NAMED)


def test_other_accounts_programs_are_started_by_one_function() -> None:
    assert {named(path) for path in sources() if any(map(OTHER_ACCOUNT.search, texts(path)))} == set(AS_OTHERS)


def test_units_are_asked_for_where_their_limits_are_judged() -> None:
    assert {named(path) for path in sources() if "systemd-run" in set(texts(path))} == UNITS


def test_roots_python_is_what_was_looked_at() -> None:
    found = {named(path) for path in sources() if any(map(PYTHON_OF.search, texts(path)))}
    assert found == set(STARTED)


def test_no_role_runs_the_python_of_an_environment_as_root() -> None:
    """A command of a role is root's, unless it begins with the account that it is for."""
    found = []
    for path in sorted((ROOT / "roles").rglob("tasks/*.yml")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if "/bin/python" in line and "as_account" not in line:
                found.append(f"{named(path)}:{number + 1}")
    assert found == []


@pytest.mark.parametrize("reasons", [NAMED, AS_OTHERS, STARTED], ids=["named", "as others", "started"])
def test_a_reason_is_one(reasons: dict[str, str]) -> None:
    assert all(reasons.values())
