#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: collection_archive
short_description: Make the archive of an installed collection
version_added: "0.1.0"
description:
  - Writes a collection, as it is installed or as a checkout, to the archive that C(ansible-galaxy collection install)
    takes. So what runs here can be installed where there is no internet.
  - The archive has the same bytes each time.
options:
  source:
    description: Directory of the collection.
    type: path
    required: true
  path:
    description: Directory for the archive.
    type: path
    required: true
attributes:
  check_mode:
    support: full
    description: Writes nothing.
  diff_mode:
    support: none
    description: The archive is binary.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: This collection, for another controller
  gaudi3.scale.collection_archive:
    source: "{{ playbook_dir }}/.."
    path: /tmp
  delegate_to: localhost
"""

RETURN = r"""
archive:
  description: Path of the archive. Empty in check mode.
  type: str
  returned: success
  sample: /tmp/gaudi3-scale-0.1.0.tar.gz
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._bundle.collection_archive import archive
from ..module_utils._node.commands import run_process
from ..module_utils._node.masked_options import MaskedOptions
from ..module_utils._node.module_failure import module_failure
from ..module_utils._node.module_options import checked


class Module(MaskedOptions, AnsibleModule):
    """Tells in a sentence also what Ansible itself cannot read."""


def main() -> None:
    module = Module(
        argument_spec={"source": {"type": "path", "required": True}, "path": {"type": "path", "required": True}},
        supports_check_mode=True,
    )
    try:
        options = checked(module.params, module.argument_spec)
        result = "" if module.check_mode else archive(options["source"], options["path"], run_process)
        module.exit_json(changed=True, archive=result)
    except Exception as error:
        module.fail_json(**module_failure(error))


if __name__ == "__main__":
    main()
