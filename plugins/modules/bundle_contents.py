#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: bundle_contents
short_description: Collect what a bundle must contain from the roles
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - What the roles of this collection install on a node of one operating system, by their own lists. So a bundle for a
    site without internet has what they ask for.
  - Runs on the controller; nothing is sent to the node.
options:
  distribution:
    description: The nodes' distribution, as the fact C(ansible_facts.distribution) has it.
    type: str
    required: true
  os_family:
    description: Its family, as C(ansible_facts.os_family) has it.
    type: str
    required: true
attributes:
  check_mode:
    support: full
    description: Does the same, since it changes nothing.
  diff_mode:
    support: none
    description: Nothing is changed.
seealso:
  - module: gaudi3.scale.vault_bundle
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Collect the packages that the roles install
  gaudi3.scale.bundle_contents:
    distribution: "{{ ansible_facts.distribution }}"
    os_family: "{{ ansible_facts.os_family }}"
  register: contents
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
"""
