#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: service_certificate
short_description: Create a service's key and certificate
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Creates a key and a self-signed certificate, valid for two years and renewed by the first run within the last month.
    Clients of the service get the certificate; the key never leaves the machine.
options:
  directory:
    description: Directory of C(key.pem) and C(certificate.pem).
    type: path
    required: true
  names:
    description: Names and addresses by which the service is reached.
    type: list
    elements: str
    required: true
  group:
    description: Group that may read the key, besides root.
    type: str
    default: root
attributes:
  check_mode:
    support: full
    description: Reports whether they would be created.
  diff_mode:
    support: none
    description: Keys are not shown.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Create the monitoring server's certificate
  gaudi3.scale.service_certificate:
    directory: /etc/gaudi3_scale/monitoring
    names: [monitoring, 10.0.0.2]
    group: prometheus
  become: true
  register: own
"""

RETURN = r"""
certificate:
  description: Certificate in PEM. Empty in check mode if there is none yet.
  type: str
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.tls_identity import (
    Identity,
    certificate_of,
    check_names,
    is_whole,
    make,
)


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "directory": {"type": "path", "required": True},
            "names": {"type": "list", "elements": "str", "required": True},
            "group": {"type": "str", "default": "root"},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    """Make them where they are missing, and report."""
    identity = Identity(given["directory"], check_names("names", given["names"]), given["group"])
    is_new = not is_whole(identity, run_process)
    if is_new and not module.check_mode:
        make(identity, run_process)
    return {"changed": is_new, "certificate": certificate_of(identity)}


if __name__ == "__main__":
    main()
