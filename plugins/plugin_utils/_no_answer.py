# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Why a node gave no module's answer, in a sentence: Ansible says that it could not deserialize one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.oldest_python import OLDEST_PYTHON_NAME
from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import one_line

# sudo(8) says it in the node's language; its own name is in front of most lines, and Ansible's words are English.
_ACCOUNT = re.compile(
    r"sudoers|may not run sudo|is not allowed to (?:run|execute)"
    r"|^sudo: (?!unable to resolve host)|\bsudo: (?:not found|command not found)"
    r"|(?:Missing|Incorrect|Duplicate) \S+ password|become password|waiting for become success",
    re.MULTILINE | re.IGNORECASE,
)
# The first thing that a Python stumbles over which is older than what Ansible's own part of a module is written in.
_PYTHON = re.compile(r"^\s*SyntaxError\b|requires a minimum of Python", re.MULTILINE)
_NOISE = ("module_stdout", "module_stderr", "exception")
_LONGEST = 300


def answered(ask: Callable[[], dict[str, Any]], host: str) -> dict[str, Any]:
    """What ``ask`` returns of the node; where that is no module's answer, a failure with the reason and the way out."""
    try:
        done = ask()
    except AnsibleConnectionFailure:
        raise
    except AnsibleError as error:
        sentence = _of_account(str(error), host)
        if not sentence:
            raise
        return {"failed": True, "msg": sentence}
    reason = no_answer(done, host)
    return {**{key: value for key, value in done.items() if key not in _NOISE}, "msg": reason} if reason else done


def no_answer(done: Mapping[str, Any], host: str) -> str:
    """A sentence; empty where the node has answered, or why it has not is not known."""
    if not done.get("failed") or "module_stderr" not in done:
        return ""
    said = "\n".join(str(done.get(stream) or "") for stream in ("module_stderr", "module_stdout"))
    if _PYTHON.search(said):
        return (
            f"{host}: its Python is too old to run a module; install Python {OLDEST_PYTHON_NAME} or newer there, and "
            "name it in ansible_python_interpreter. Nothing was changed."
        )
    return _of_account(said, host)


def _of_account(said: str, host: str) -> str:
    found = [line.strip() for line in said.splitlines() if _ACCOUNT.search(line)]
    if not found:
        return ""
    # Ansible's own line says that it waited, sudo's why.
    line = one_line(found[-1], _LONGEST).rstrip(".")
    return (
        f"{host}: the account of ansible_user may not become root there ({line}); allow it all commands by sudo "
        "(visudo -f /etc/sudoers.d/ansible), or give its password as ansible_become_password or with "
        "--ask-become-pass. Nothing was changed."
    )
