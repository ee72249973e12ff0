#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: migration_plan
short_description: Show another tool's inventory and settings as those of this collection
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Reads files of Omnia, DeepOps, Kubespray, Intel's recipes and installers' scripts as data. Runs nothing, fills in no
    template and decrypts nothing.
  - Runs on the controller.
options:
  sources:
    description: Files and directories of the other tool on the controller.
    type: list
    elements: str
    required: true
  directory:
    description:
      - Directory for the inventory. None of its files may exist.
      - "Empty: nothing is written."
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Writes nothing, and shows what it would write.
  diff_mode:
    support: full
    description: Shows the files.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Show what Omnia has set
  gaudi3.scale.migration_plan:
    sources: [/opt/omnia/input, /opt/omnia/inventory]
  run_once: true
"""

RETURN = r"""
files:
  description: Text of each file by its name in the directory.
  type: dict
  returned: success
answers:
  description: What becomes of each setting.
  type: list
  elements: dict
  returned: success
  contains:
    file:
      description: File that has the setting.
      type: str
      sample: software_config.json
    name:
      description: Name of the setting.
      type: str
      sample: softwares.intelgaudi
    value:
      description: Its value, without secrets.
      type: str
      sample: 1.19.2-32
    verdict:
      description: V(kept), V(not needed), V(not here), or V(look at it).
      type: str
      sample: kept
    text:
      description: What it is here, or why it is not.
      type: str
      sample: as gaudi_release
"""
