#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: node_quarantine_info
short_description: Report whether a node is in quarantine, and why
version_added: "1.0.0"
description:
  - Reads the mark that M(gaudi3.scale.node_quarantine) makes; one that has ended is none. Changes nothing.
options: {}
attributes:
  check_mode:
    support: full
    description: Does the same, since it changes nothing.
  diff_mode:
    support: none
    description: Nothing is changed.
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
  description: Why, empty where it is not.
  type: str
  returned: success
  sample: GaudiCardLost on 0000:33:00.0
since:
  description: Since when, in UTC; empty where it is not.
  type: str
  returned: success
  sample: "2026-11-25T03:12:44Z"
until:
  description: When it ends automatically, in UTC; empty where it does not.
  type: str
  returned: success
  sample: "2026-11-26T03:12:44Z"
owner:
  description: Whose it is; empty where nobody was named.
  type: str
  returned: success
  sample: alerts
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.masked_options import MaskedOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_failure import module_failure
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_options import checked
from ansible_collections.gaudi3.scale.plugins.module_utils._quarantine.mark import answer, read_mark


class Module(MaskedOptions, AnsibleModule):
    """Tells in a sentence also what Ansible itself cannot read."""


def main() -> None:
    """Call the core, report."""
    module = Module(argument_spec={}, supports_check_mode=True)
    try:
        checked(module.params, module.argument_spec)
        module.exit_json(changed=False, **answer(read_mark()))
    except Exception as error:
        module.fail_json(**module_failure(error))


if __name__ == "__main__":
    main()
