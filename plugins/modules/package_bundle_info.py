#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: package_bundle_info
short_description: Verify a bundle for an air-gapped site against its manifest
version_added: "1.0.0"
description:
  - Reads every file of a bundle that M(gaudi3.scale.package_bundle) built, and verifies the manifest's signature.
  - Needs C(gpgv) and no network.
options:
  path:
    description: Directory of the bundle.
    type: path
    required: true
  fingerprint:
    description: "Fingerprint of the key that must have signed the manifest. Empty: the key in the bundle."
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Changes nothing in any mode.
  diff_mode:
    support: none
    description: Changes nothing.
seealso:
  - module: gaudi3.scale.package_bundle
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Verify a bundle that was delivered on a disk
  gaudi3.scale.package_bundle_info:
    path: /media/gaudi
    fingerprint: 1D9C4C6E2B7AA1E2A4E8F7F0C5A3F6E1B2D4C6A8
  register: bundle
  failed_when: not bundle.sound
"""

RETURN = r"""
sound:
  description: Whether every file matches the manifest, the signature is valid, and the bundle has not expired.
  type: bool
  returned: success
verdict:
  description: Error message. Empty for a sound bundle.
  type: str
  returned: success
path:
  description: Directory of the bundle.
  type: str
  returned: success
release:
  description: Release of the bundle, with its build.
  type: str
  returned: success
  sample: 1.24.1-482
fingerprint:
  description: Fingerprint in the manifest.
  type: str
  returned: success
created:
  description: When the manifest was created, in UTC. It is the bundle's version.
  type: str
  returned: success
  sample: "2026-11-23T01:50:00Z"
expires:
  description: Time until which nodes accept the bundle.
  type: str
  returned: success
  sample: "2027-11-23T01:50:00Z"
packages_url:
  description: Package repository that the bundle was downloaded from.
  type: str
  returned: success
files:
  description: Number of files in the manifest.
  type: int
  returned: success
bytes:
  description: Total size in bytes.
  type: int
  returned: success
missing:
  description: Files in the manifest that do not exist.
  type: list
  elements: str
  returned: success
wrong:
  description: Files with another size or checksum.
  type: list
  elements: str
  returned: success
extra:
  description: Files that are not in the manifest.
  type: list
  elements: str
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle import check as bundle_check
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={"path": {"type": "path", "required": True}, "fingerprint": {"type": "str", "default": ""}},
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], _module: AnsibleModule) -> dict[str, Any]:
    return bundle_check.examine(options["path"], options["fingerprint"], run_process)


if __name__ == "__main__":
    main()
