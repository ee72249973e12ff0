#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: qualification_baseline
short_description: Save the results of a qualification as the site's baseline
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Takes every rate of the healthy nodes out of the JSON that C(qualify_nodes.yml) has written, and keeps it in a file.
    Later qualifications of the same release are held against it.
  - Figures of nodes that are not healthy are left out. A node that is in an earlier baseline and not in this one is
    named.
  - Runs on the controller; nothing is sent to a node. Give it C(run_once).
options:
  report:
    description: The JSON of C(qualify_nodes.yml), a file of the controller or in a bucket.
    type: str
    required: true
  path:
    description: Where to keep the baseline.
    type: str
    required: true
attributes:
  check_mode:
    support: full
    description: Writes nothing.
  diff_mode:
    support: none
    description: A file of thousands of figures is no difference that anybody reads.
seealso:
  - module: gaudi3.scale.node_qualification
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Use these nodes' results as the baseline
  gaudi3.scale.qualification_baseline:
    report: gaudi3_scale_reports/qualify_nodes.json
    path: gaudi3_scale_reports/qualification_baseline.json
  run_once: true
"""

RETURN = r"""
figures:
  description: How many figures are kept.
  type: int
  returned: success
nodes:
  description: The nodes of which they are.
  type: list
  elements: str
  returned: success
dropped:
  description: Nodes of the earlier baseline that are not in this one.
  type: list
  elements: str
  returned: success
"""
