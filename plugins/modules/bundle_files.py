#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: bundle_files
short_description: Copy this collection and files of the controller to the host that builds a bundle
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Makes the archive of this collection, as it is installed or as a checkout, that C(ansible-galaxy collection install)
    takes, and copies it with O(files) to the host. So what runs here can be installed where there is no internet.
  - The archive has the same bytes each time, and a file that is there already is not copied again.
options:
  path:
    description: Directory for them on the host. Made when it is not there.
    type: path
    required: true
  files:
    description: Files of the controller, found as those of M(ansible.builtin.copy) are. No two with the same name.
    type: list
    elements: path
    default: []
attributes:
  check_mode:
    support: full
    description: Copies nothing.
  diff_mode:
    support: none
    description: The archive is binary.
seealso:
  - module: gaudi3.scale.vault_bundle
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Copy the collection and the operator's files to the host
  gaudi3.scale.bundle_files:
    path: /srv/gaudi3_scale_bundle.work/files
    files: [wheels/our_trainer-1.0-py3-none-any.whl]
  register: copied
"""

RETURN = r"""
files:
  description: Their paths on the host, the collection's archive first.
  type: list
  elements: str
  returned: success
  sample: [/srv/gaudi3_scale_bundle.work/files/gaudi3-scale-1.0.0.tar.gz]
"""
