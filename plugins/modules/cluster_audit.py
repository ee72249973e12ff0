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
  - Answers each audit item with V(pass), V(fail) or V(unknown) from existing measurements - the node facts of
    M(gaudi3.scale.audit_facts), the job's own log lines, and the reports that playbooks stored. It measures nothing,
    and an item that was not measured never passes.
  - Limits from guides that cite no source do not cause a failure when missed. Limits that you set in O(targets) do.
  - Run it with C(run_once). It runs on the controller and contacts no node.
options:
  hosts:
    description: Inventory names of the nodes.
    type: list
    elements: str
    required: true
  looked:
    description: Host variable with the result of M(gaudi3.scale.audit_facts).
    type: str
    default: gaudi_audit_facts_result
  job:
    description: Job that the node facts are about, for the table.
    type: str
    default: ""
  targets:
    description: Your limits by item, in the item's unit, such as V({utilization 0.9, tokens_per_second 2000000}).
    type: dict
    default: {}
  required:
    description: Items that must pass, even if they are advice or a guide's figure.
    type: list
    elements: str
    default: []
  reports:
    description: Directory or bucket with the stored reports.
    type: str
    default: ""
  baseline:
    description: File written by C(save_baseline.yml).
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Read-only.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
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
    - One answer per item and subject, with C(item), C(asks), C(subject), C(verdict), C(why), C(value), C(threshold)
      with its source, C(counts) (whether a miss is a failure) and C(remedy), a command.
  type: list
  elements: dict
  returned: success
not_measured:
  description: Items of published checklists that are not measured, with C(asked), C(why) and C(instead).
  type: list
  elements: dict
  returned: success
"""
