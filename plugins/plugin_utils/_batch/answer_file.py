# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The probe's answer in a file of variables on the controller."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.rendered_files import (
    WantedFile,
    differences,
    pending,
    read_text,
    write,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._batch.variables_block import refusal, with_block


def checked(named: str) -> tuple[str, str]:
    """The path of the file, and what it has; raises GaudiError where it cannot take the answer."""
    # Where ansible-playbook was started, as the shell has it: a link in the way stays in it.
    path = str(Path(os.environ.get("PWD", "."), Path(named).expanduser()))
    text = read_text(path) or ""
    said = refusal(named, path, text)
    if said:
        raise GaudiError(said)
    return path, text


def written(named: str, heading: str, answer: Mapping[str, Any], *, check_mode: bool) -> dict[str, Any]:
    """A result, after the file has what is in ``answer``; raises GaudiError."""
    path, text = checked(named)
    values = {f"gaudi_training_{name}": value for name, value in answer.items() if value}
    changes = pending([WantedFile(path, with_block(text, heading, values))])
    if not check_mode:
        for change in changes:
            write(change)
    return {"changed": bool(changes), "path": path, "diff": differences(changes)}
