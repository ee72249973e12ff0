# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The objects as a file of variables for the roles of the collection infra.aap_configuration; pure."""

from __future__ import annotations

import json
from typing import Any

import yaml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.objects import Objects

_HEADING = "# Written by gaudi3.scale.configure_controller: change its options, and run it again.\n---\n"


class _Dumper(yaml.SafeDumper):
    """Without anchors, and with templates that are the controller's marked as none of Ansible's."""

    def ignore_aliases(self, _data: object) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> Any:
    return dumper.represent_scalar("!unsafe" if "{{" in text else "tag:yaml.org,2002:str", text)


_Dumper.add_representer(str, _text)


def data_file(objects: Objects) -> str:
    """The text of the file."""
    # By way of JSON: Ansible keeps more with its values than they say.
    plain = json.loads(json.dumps(objects))
    text = yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return _HEADING + text
