# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""A program's requirements file on the controller, and what the nodes made of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.venv_sites import ENVIRONMENTS

MOST_BYTES = 1 << 20
# Files that name each other.
MOST_FILES = 20
_FURTHER = re.compile(r"^\s*(?:-r|--requirement)[\s=]+(\S.*?)\s*$")
_DIGEST = re.compile(r"[0-9a-f]{16}")


def requirements_text(path: Path, above: tuple[Path, ...] = ()) -> str:
    """The file with those that it names by ``-r`` in their places, since nodes have none of them.

    Raises GaudiError for one that cannot be read, or that names itself.
    """
    path = path.resolve()
    if path in above or len(above) >= MOST_FILES:
        raise GaudiError(f"requirements: {path} includes itself with -r; remove that line.")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise GaudiError(f"requirements: {path} cannot be read on the controller: {reason}; correct it.") from error
    if len(text) > MOST_BYTES:
        raise GaudiError(f"requirements: {path} has more than {MOST_BYTES} bytes; name a requirements file.")
    lines = []
    for line in text.splitlines():
        further = _FURTHER.match(line.partition(" #")[0])
        lines.append(requirements_text(path.parent / further[1], (*above, path)) if further else line)
    return "\n".join(lines) + "\n"


def environment_of(answers: Mapping[str, Mapping[str, Any]], user: str) -> str:
    """The environment's path, alike on all nodes; raises GaudiError where a node has none, each reason once."""
    reasons: dict[str, list[str]] = {}
    places: dict[str, list[str]] = {}
    for node, answer in answers.items():
        venv = answer.get("venv")
        if answer.get("failed") or answer.get("unreachable") or not _is_meant(venv, user):
            said = str(answer.get("msg") or "it returned no result")
            reasons.setdefault(f"it does not answer: {said}" if answer.get("unreachable") else said, []).append(node)
        else:
            places.setdefault(str(venv), []).append(node)
    if reasons:
        raise GaudiError("\n".join(f"{', '.join(nodes)}: {reason}" for reason, nodes in reasons.items()))
    if len(places) != 1:
        reported = " and ".join(", ".join(nodes) for nodes in places.values())
        raise GaudiError(
            f"requirements: {reported or 'no node'} have different training stacks, and a job has one environment; run "
            "playbooks/venv.yml on all of them."
        )
    return next(iter(places))


def _is_meant(venv: object, user: str) -> bool:
    if not isinstance(venv, str):
        return False
    directory, _slash, name = venv.rpartition("/")
    return directory == f"{ENVIRONMENTS}/{user}" and bool(_DIGEST.fullmatch(name))
