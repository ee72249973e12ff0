# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file of variables for the next playbook, of which nodes may have chosen some; pure.

Given with ``-e @FILE`` its strings would be templates and its names could be Ansible's own, so that a node would choose
what the controller runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml
from ansible_collections.gaudi3.scale.plugins.module_utils.tuning.study import LAUNCH_MAX_STEPS

# Variables of this collection's playbooks.
_NAME = re.compile(r"(training|probe|gaudi)_[a-z0-9_]+")
_TEMPLATE = re.compile(r"\{[{%#]")


class _Dumper(yaml.SafeDumper):
    """Marks a string that Ansible would take for a template, but for the one that a study writes itself."""


def _text(dumper: _Dumper, value: str) -> yaml.Node:
    if _TEMPLATE.search(value.replace(LAUNCH_MAX_STEPS, "")):
        return dumper.represent_scalar("!unsafe", value, style="'")
    return dumper.represent_str(value)


_Dumper.add_representer(str, _text)


def variables_file(heading: str, variables: Mapping[str, object]) -> str:
    """The text of the file: each line of ``heading`` as a comment, then what of ``variables`` has a name of ours."""
    comment = "".join(f"# {line}\n" for line in heading.splitlines())
    ours = {name: _plain(value) for name, value in variables.items() if _NAME.fullmatch(name)}
    return comment + yaml.dump(ours, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, indent=2)


def _plain(value: Any) -> Any:
    """Without what Ansible keeps with its values."""
    if isinstance(value, Mapping):
        return {"".join(str(key)): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, str):
        return "".join(value)
    return value
