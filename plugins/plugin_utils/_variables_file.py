# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""A file of variables for the next playbook, of which nodes may have chosen some; pure.

Given with ``-e @FILE`` its strings would be templates and its names could be Ansible's own, so that a node would choose
what the controller runs. So the file holds nothing but literals: each string is marked as none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import yaml
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

# Variables of this collection's playbooks.
_NAME = re.compile(r"(training|probe|gaudi)_[a-z0-9_]+")


class _Literal(str):
    """A string that Ansible takes as it is."""


class _Dumper(yaml.SafeDumper):
    """Without anchors: one value may be in two places."""

    def ignore_aliases(self, _data: object) -> bool:
        return True


_Dumper.add_representer(_Literal, lambda dumper, value: dumper.represent_scalar("!unsafe", str(value), style="'"))


def variables_file(heading: str, variables: Mapping[str, object]) -> str:
    """The text of the file: each line of ``heading`` as a comment, then what of ``variables`` has a name of ours.

    Raises GaudiError for what is no literal.
    """
    comment = "".join(f"# {line}\n" for line in heading.splitlines())
    # Of the exact type: str() leaves a text of Ansible's before 2.19 what it is, and YAML has no such thing.
    ours = {str.__str__(name): _plain(name, value) for name, value in variables.items() if _NAME.fullmatch(name)}
    return comment + yaml.dump(ours, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, indent=2)


def _plain(name: str, value: Any) -> Any:
    """Without what Ansible keeps with its values."""
    if isinstance(value, Mapping):
        return {_Literal(str(key)): _plain(name, one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(name, one) for one in value]
    if isinstance(value, str):
        return _Literal(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    raise GaudiError(
        f"{name} has {ascii(value)[:60]}, which cannot be written to a variables file; use text and finite numbers."
    )
