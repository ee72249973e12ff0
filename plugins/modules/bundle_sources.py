# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: bundle_sources
short_description: List what a bundle must contain and copy the controller's files for it
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Returns what this collection's roles install on a node of one operating system, read from the roles' own lists, so
    that a bundle for a site without internet access is complete.
  - With O(path), packs this collection (installed or a checkout) as an archive for C(ansible-galaxy collection install)
    and copies it to the host together with O(files).
  - The archive is reproducible byte for byte. A file that is already on the host is not copied again.
options:
  distribution:
    description: The nodes' distribution, as in C(ansible_facts.distribution).
    type: str
    required: true
  os_family:
    description: The nodes' OS family, as in C(ansible_facts.os_family).
    type: str
    required: true
  path:
    description: Directory on the host for the files. Created if missing. Without it nothing is copied.
    type: path
  files:
    description: Files on the controller, found as M(ansible.builtin.copy) finds them. File names must be unique.
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
  description: Distribution packages. C({kernel}) in a name stands for a node's kernel release.
  type: list
  elements: str
  returned: success
  sample: [dkms, "linux-headers-{kernel}"]
requirements:
  description: Python packages that pip installs besides the PyTorch archive.
  type: list
  elements: str
  returned: success
  sample: [lightning==2.6.6]
python:
  description: Python interpreter of the training environments.
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
