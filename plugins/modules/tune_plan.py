#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: tune_plan
short_description: Validate a tuning study
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Fails with an error message for the first invalid value of O(study), before any node is touched.
  - Runs on the controller; nothing is sent to the node. Give it C(run_once).
options:
  study:
    description:
      - The values of the study, as the role C(gaudi3.scale.gaudi_tune) makes them of its options.
    type: dict
    required: true
  with_text:
    description: Whether to return RV(text). Give the task C(no_log), since the environment may have a secret in it.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Does the same, since it changes nothing.
  diff_mode:
    support: none
    description: Nothing is changed.
seealso:
  - module: gaudi3.scale.tune_nodes
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Validate the study
  gaudi3.scale.tune_plan:
    study: "{{ my_study }}"
  run_once: true
  register: planned
"""

RETURN = r"""
flag_sets:
  description: Mappings that together have each value of each flag.
  type: list
  elements: dict
  returned: success
  sample: [{PT_HPU_LAZY_MODE: "1"}, {PT_HPU_LAZY_MODE: "0"}]
digest:
  description: Names the study in the description of its job.
  type: str
  returned: success
  sample: 5f0c4d1a9be37c62
seconds:
  description: The most that the study can take, where one node makes all trials and each twice.
  type: float
  returned: success
  sample: 72000.0
text:
  description: The study's file for the nodes.
  type: str
  returned: with O(with_text)
"""
