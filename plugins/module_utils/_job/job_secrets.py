# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A job as it is shown, without what may be secrets: results and diffs go to logs that everybody reads."""

from __future__ import annotations

import hashlib
from typing import Iterable, Mapping, Sequence

from .._node.rendered_files import FileChange, differences
from .._node.secret_words import HIDDEN, is_secret, without_secrets, without_variables
from .paths import JobPaths


def masked(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables, with the values of those alone that are known to be harmless."""
    return without_variables(environment)


def told_apart(environment: Mapping[str, str]) -> dict[str, str]:
    """The same for what is kept to be compared: another value of a variable whose name says nothing is another text.

    Eight digits tell two values apart and lead back to neither. What sounds like a secret has none: with another token
    it is the same job.
    """
    shown = masked(environment)
    return {
        name: f"{HIDDEN[:-1]}, {hashlib.sha256(f'{name}={value}'.encode()).hexdigest()[:8]})"
        if shown[name] == HIDDEN and not is_secret(name)
        else shown[name]
        for name, value in environment.items()
    }


def masked_description(description: Mapping[str, object]) -> dict[str, object]:
    """A job's description as it may be shown."""
    return {name: without_secrets(value, name) for name, value in description.items()}


def shown_differences(changes: Iterable[FileChange], paths: JobPaths) -> list[dict[str, str]]:
    """Ansible's ``diff`` of a job's files. What its supervisor is told, with the secret of the run, is not in it."""
    return differences(change for change in changes if change.wanted.path != paths.supervision)


def command_remarks(command: Sequence[str]) -> list[str]:
    """A sentence where a word of the command sounds like a secret, without the secret."""
    shown = without_secrets(list(command))
    if shown == list(command):
        return []
    found = next(number for number, word in enumerate(shown) if word != command[number])
    word = shown[found - 1] if shown[found] == HIDDEN and found else shown[found]
    remark = (
        f"command has a word that sounds like a secret ({word:.80}), and every account of a node can read the words of "
        "a process there; give it in environment, or in a file of environment_files, and let the program read the "
        "variable."
    )
    return [remark]
