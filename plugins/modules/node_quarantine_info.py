#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: node_quarantine_info
short_description: Report whether a node is in quarantine, and why
version_added: "1.0.0"
description: Reads the mark that M(gaudi3.scale.node_quarantine) sets; an expired mark counts as none. Changes nothing.
options: {}
attributes:
  check_mode:
    support: full
    description: Runs as usual; it changes nothing.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
seealso:
  - module: gaudi3.scale.node_quarantine
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Read the quarantine mark
  gaudi3.scale.node_quarantine_info:
  register: quarantine
"""

RETURN = r"""
quarantined:
  description: Whether the node is in quarantine.
  type: bool
  returned: success
  sample: true
reason:
  description: "Reason of the quarantine. Empty: none."
  type: str
  returned: success
  sample: GaudiCardLost on 0000:33:00.0
since:
  description: "Start of the quarantine, in UTC. Empty: none."
  type: str
  returned: success
  sample: "2026-11-25T03:12:44Z"
until:
  description: "When it expires automatically, in UTC. Empty: never."
  type: str
  returned: success
  sample: "2026-11-26T03:12:44Z"
owner:
  description: "Owner of the quarantine. Empty: none."
  type: str
  returned: success
  sample: alerts
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._quarantine import mark


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={},
        supports_check_mode=True,
    )


def answer(_options: dict[str, Any], _module: AnsibleModule) -> dict[str, Any]:
    return {"changed": False, **mark.answer(mark.read_mark())}


if __name__ == "__main__":
    main()
