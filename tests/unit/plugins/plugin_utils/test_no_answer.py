# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a node says that cannot run a module. Lines are those of ansible/ansible issues #28978, #74760, #82068, #84761,
of sudo in two languages, and of Python 2.7, 3.6 and 3.7 themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._no_answer import no_answer

COLLECTIONS = Path(__file__).resolve().parents[4] / ".collections"
NO_JSON = {"failed": True, "msg": "Module result deserialization failed: No start of json char found", "rc": 1}


def said(stderr: str = "", stdout: str = "", **more: object) -> str:
    return no_answer({**NO_JSON, "module_stderr": stderr, "module_stdout": stdout, **more}, "n1")


@pytest.mark.parametrize(
    ("stderr", "why"),
    [
        ("sudo: a password is required\n", "sudo: a password is required"),
        ("gaudi is not in the sudoers file.\nThis incident has been reported to the administrator.\n", "sudoers file)"),
        ("gaudi ist nicht in der sudoers-Datei.\n", "sudoers-Datei"),
        ("Sorry, user gaudi is not allowed to execute '/bin/sh -c x' as root on n1.\n", "is not allowed to execute"),
        ("Sorry, user gaudi may not run sudo on n1.\n", "may not run sudo"),
        ("sudo: sorry, you must have a tty to run sudo\n", "you must have a tty"),
        ("/bin/sh: 1: sudo: not found\n", "sudo: not found"),
        ("bash: sudo: command not found\n", "sudo: command not found"),
        ("sudo: Ein Passwort ist notwendig\nShared connection to n1 closed.\n", "Ein Passwort ist notwendig"),
        ("sudo: unable to resolve host n1\nsudo: a password is required\n", "(sudo: a password is required)"),
    ],
)
def test_an_account_that_may_not_become_root_is_told_with_sudo_s_own_words(stderr: str, why: str) -> None:
    for told in (said(stderr), said(stdout=stderr)):
        assert told.startswith("n1: the account of ansible_user may not become root there (")
        assert why in told
        assert "ansible_become_password" in told


@pytest.mark.parametrize(
    "text",
    [
        "    from __future__ import annotations\n    ^\nSyntaxError: future feature annotations is not defined\n",
        "    def import_controller_module(_module_name: str, /) -> t.Any:\nSyntaxError: invalid syntax\n",
        "    zip_data: str,\n            ^\nSyntaxError: invalid syntax\nShared connection to n1 closed.\r\n",
        '{"msg": "ansible-core requires a minimum of Python version 3.8. Current version: 3.7.5", "failed": true',
    ],
)
def test_a_python_that_is_too_old_is_told_with_the_way_out(text: str) -> None:
    for told in (said(text), said(stdout=text)):
        assert told.startswith("n1: its Python is too old to run a module; install Python 3.9 or newer there")
        assert "ansible_python_interpreter" in told


@pytest.mark.parametrize(
    "text",
    [
        "sudo: unable to resolve host n1: Name or service not known\nMemoryError\n",
        "Segmentation fault\n",
        "/etc/profile: line 3: syntax error near unexpected token\n",
        "",
    ],
)
def test_what_is_not_known_stays_as_ansible_says_it(text: str) -> None:
    assert said(text) == ""


def test_a_module_s_own_failure_is_its_own() -> None:
    assert no_answer({"failed": True, "msg": "sudo: a password is required"}, "n1") == ""
    assert no_answer({"changed": True, "module_stderr": "sudo: a password is required"}, "n1") == ""


@pytest.mark.parametrize("line", ["gaudi is not in the sudoers file.", "sudo: a password is required"])
def test_preflight_says_it_before_any_node_is_touched(line: str, tmp_path: Path) -> None:
    (tmp_path / "sudo").write_text(f"#!/bin/sh\necho '{line}' >&2\nexit 1\n")
    (tmp_path / "sudo").chmod(0o755)
    (tmp_path / "play.yml").write_text(
        "- {hosts: all, gather_facts: false, become: true, roles: [{role: gaudi3.scale.gaudi_preflight}]}\n"
    )
    given = {"become_exe": tmp_path / "sudo", "become_user": "daemon", "python_interpreter": sys.executable}
    command = [Path(sys.executable).with_name("ansible-playbook"), "-i", "n1,", "-c", "local", "play.yml"]
    done = subprocess.run(
        [*command, *(word for name, value in given.items() for word in ("-e", f"ansible_{name}={value}"))],
        cwd=tmp_path,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    screen = " ".join((done.stdout + done.stderr).split())
    assert f"n1: the account of ansible_user may not become root there ({line.rstrip('.')})" in screen, screen
    assert "deserialization" not in screen
