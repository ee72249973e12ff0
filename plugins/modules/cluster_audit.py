#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_audit
short_description: Evaluate audit checks against node facts and stored reports
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Each item is answered by what was measured - by M(gaudi3.scale.audit_facts) on the nodes, by a job's own lines, by
    the reports that playbooks kept - with V(pass), V(fail) or V(unknown). Nothing is measured again, and nothing passes
    that was not measured.
  - Limits of guides without a source may be missed without failing; your own, in O(targets), may not.
  - Give it C(run_once). It runs on the controller and asks no node.
options:
  hosts:
    description: Inventory names of the nodes.
    type: list
    elements: str
    required: true
  looked:
    description: The variable of each host with the answer of M(gaudi3.scale.audit_facts).
    type: str
    default: gaudi_audit_facts_result
  job:
    description: The job that the nodes were asked about, for the table.
    type: str
    default: ""
  targets:
    description: Your own limits by item, in the item's unit, such as V({utilization 0.9, tokens_per_second 2000000}).
    type: dict
    default: {}
  required:
    description: Items that fail where they do not pass, though they are advice or a guide's figure.
    type: list
    elements: str
    default: []
  reports:
    description: The directory, or the bucket, with the reports of playbooks.
    type: str
    default: ""
  baseline:
    description: The file that C(save_baseline.yml) has written.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Only reads.
  diff_mode:
    support: none
    description: Changes nothing, so there is nothing to show.
seealso:
  - module: gaudi3.scale.audit_facts
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Collect facts from the nodes
  gaudi3.scale.audit_facts:
    job: llama
  become: true
  register: gaudi_audit_facts_result

- name: Evaluate the checks
  gaudi3.scale.cluster_audit:
    hosts: "{{ ansible_play_hosts }}"
    job: llama
    targets:
      utilization: 0.9
    reports: gaudi3_scale_reports
  run_once: true
  register: audited
"""

RETURN = r"""
answers:
  description:
    - For each item and what it was asked of, C(item), C(asks), C(subject), C(verdict), C(why), C(value), C(threshold)
      with who says so, C(counts) (whether a miss is a failure) and C(remedy), a command.
  type: list
  elements: dict
  returned: success
not_measured:
  description: What lists in circulation ask for and is not measured, with C(asked), C(why) and C(instead).
  type: list
  elements: dict
  returned: success
"""
