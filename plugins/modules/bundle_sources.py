# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: bundle_sources
short_description: Learn from the roles what a bundle has to hold, and bring the controller's files for it
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Returns what the roles of this collection install on a node of one operating system, by their own lists. So a bundle
    for a site without internet has what they ask for.
  - With O(path) it makes the archive of this collection, as it is installed or as a checkout, that
    C(ansible-galaxy collection install) takes, and copies it with O(files) to the host. So what runs here can be
    installed where there is no internet.
  - The archive has the same bytes each time, and a file that is there already is not copied again.
options:
  distribution:
    description: The nodes' distribution, as the fact C(ansible_facts.distribution) has it.
    type: str
    required: true
  os_family:
    description: Its family, as C(ansible_facts.os_family) has it.
    type: str
    required: true
  path:
    description: Directory for the files on the host. Made when it is not there. Without it nothing is copied.
    type: path
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
  - module: gaudi3.scale.package_bundle
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: List what the roles install, and copy the collection and the operator's files to the host
  gaudi3.scale.bundle_sources:
    distribution: "{{ ansible_facts.distribution }}"
    os_family: "{{ ansible_facts.os_family }}"
    path: /srv/gaudi3_scale_bundle.work/files
    files: [wheels/our_trainer-1.0-py3-none-any.whl]
  register: sources
"""

RETURN = r"""
packages:
  description: The vendor's packages.
  type: list
  elements: str
  returned: success
  sample: [habanalabs-dkms, habanalabs-container-runtime]
os_packages:
  description: Packages of the distribution. C({kernel}) in a name stands for the kernel of a node.
  type: list
  elements: str
  returned: success
  sample: [dkms, "linux-headers-{kernel}"]
requirements:
  description: What pip installs beside the PyTorch archive.
  type: list
  elements: str
  returned: success
  sample: [lightning==2.6.6]
python:
  description: The Python of the training environments.
  type: str
  returned: success
  sample: /usr/bin/python3
files:
  description: Paths of the files on the host, the collection's archive first. Empty without O(path).
  type: list
  elements: str
  returned: success
  sample: [/srv/gaudi3_scale_bundle.work/files/gaudi3-scale-1.0.0.tar.gz]
"""
