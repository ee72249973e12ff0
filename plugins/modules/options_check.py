# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: options_check
short_description: Refuse invalid options before a node is asked for anything
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Fails with one sentence that names the first invalid option, by the name that the operator has for it. Each subject
    has an option here; those that are given are checked in the order in which they stand here.
  - What one option allows is checked by M(gaudi3.scale.role_options). This is for what needs the inventory, the play,
    or several options together.
  - Runs on the controller; nothing is sent to the node, and nothing is made. Give it C(run_once).
options:
  upgrade:
    description: Options of the role C(gaudi_upgrade).
    type: dict
    suboptions:
      pattern:
        description: The pattern that O(upgrade.hosts) come from, for messages.
        type: raw
        default: gaudi
      hosts:
        description: Inventory names of the hosts of the run. At least one.
        type: list
        elements: str
        required: true
      serial:
        description: Size of each batch, a number of nodes or a percentage, or a list of them.
        type: raw
        default: [1, 10%, 25%]
      canary:
        description: The node that goes first and alone. One of O(upgrade.hosts), or empty.
        type: str
        default: ""
      max_fail_percentage:
        description: A number from 0 to 100, or nothing.
        type: raw
        default: ""
      drain:
        description: What keeps the nodes busy, V(none), V(slurm) or V(commands).
        type: str
        default: none
      layers:
        description: Layers above the driver.
        type: list
        elements: str
        default: []
      node:
        description: A node that is to be explained. Where it is given, it has to be one of O(upgrade.hosts).
        type: str
  firmware:
    description: Options of the role C(gaudi_firmware).
    type: dict
    suboptions:
      hosts:
        description: Inventory names of the hosts of the run.
        type: list
        elements: str
        required: true
      accept:
        description: From a generation to the version in full.
        type: raw
        required: true
      canary:
        description: The node that is written first. One of O(firmware.hosts), or empty.
        type: str
        default: ""
      drain:
        description: What keeps the nodes busy, V(none), V(slurm) or V(commands).
        type: str
        default: none
  cost:
    description: Options of the role C(gaudi_cost).
    type: dict
    suboptions:
      job:
        description: The job's name.
        type: str
        required: true
      currency:
        description: The three letters of the currency that all prices are in.
        type: str
        required: true
      node_hour:
        description: What a rented node costs an hour.
        type: raw
      capital:
        description: What a bought node costs, with V(price), V(years), V(utilization) and V(residual).
        type: dict
        default: {}
      kwh:
        description: The price of a kWh.
        type: raw
      pue:
        description: What the building takes for each watt of its servers.
        type: raw
      overhead_watts:
        description: What a server takes beside its cards.
        type: raw
      energy:
        description: Whether energy is in the report.
        type: bool
        default: true
      before:
        description: A rate that was measured before, as V(tokens_per_second), and its V(source).
        type: dict
        default: {}
      platforms:
        description: Other platforms, with what somebody has measured there.
        type: list
        elements: dict
        default: []
      pdf:
        description: Whether the report is wanted as PDF too.
        type: bool
        default: false
  job_hosts:
    description:
      - The hosts of a job. Refused where they are none, where one is named twice, is not in the inventory, or not in
        the play, and where the run is a slice of a job template of AWX, which sees a part of the inventory.
      - Ranks come from the list, and never from the hosts that a C(--limit) leaves, which would be numbered anew.
    type: dict
    suboptions:
      hosts:
        description: Inventory names of the job's hosts, in the order of their ranks.
        type: list
        elements: str
        required: true
      spares:
        description: Hosts that stand by. Only for O(job_hosts.engine=torchrun).
        type: list
        elements: str
        default: []
      witness:
        description:
          - A host that votes and runs nothing of the job; none when empty. Only for O(job_hosts.engine=torchrun).
        type: str
        default: ""
      engine:
        description: What starts the ranks.
        type: str
        default: torchrun
      option:
        description: The variable that the operator names O(job_hosts.hosts) in, for messages.
        type: str
        default: hosts
  report_target:
    description:
      - Where the play's reports go. Refused where M(gaudi3.scale.report) could not write there, so that it is known
        before anything was done whose result would be kept there.
      - Of a directory that is not there yet, the one above it is looked at. In a bucket an upload is begun and given
        up, so the credentials need no right but that to write.
    type: dict
    suboptions:
      target:
        description: The place, as M(gaudi3.scale.report) takes it, and with its default.
        type: str
      writes:
        description: Further files that the play will write, each in a place of its own.
        type: list
        elements: dict
        default: []
        suboptions:
          path:
            description: A path on the controller, or V(s3://bucket/prefix/name).
            type: str
            required: true
          option:
            description: The variable that the operator has named it in, for messages.
            type: str
            required: true
      reads:
        description: A file that an earlier run has kept, to be read now.
        type: dict
        suboptions:
          path:
            description: A path on the controller, or V(s3://bucket/prefix/name).
            type: str
            required: true
          option:
            description: The variable that the operator has named it in, for messages.
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
  - module: gaudi3.scale.role_options
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Validate the hosts and the report target
  gaudi3.scale.options_check:
    job_hosts:
      hosts: [node1, node2]
      option: gaudi_training_hosts
    report_target:
      target: s3://reports/gaudi
  run_once: true

- name: Validate the options of the upgrade
  gaudi3.scale.options_check:
    upgrade:
      hosts: [node1, node2]
      canary: node1
      serial: [1, 50%]
  run_once: true
"""

RETURN = r"""
cost:
  description: What was given, and C(now), seconds since 1970, at which a job that runs is looked at.
  type: dict
  returned: with O(cost)
  sample: {job: llama, currency: EUR, node_hour: 29.5, now: 1785909600.0}
hosts:
  description: The hosts, in the order of their ranks.
  type: list
  elements: str
  returned: with O(job_hosts)
  sample: [node1, node2]
target:
  description: The place, with nothing left out.
  type: str
  returned: with O(report_target)
  sample: /home/me/gaudi3_scale_reports
text:
  description: What O(report_target.reads) has, else nothing.
  type: str
  returned: with O(report_target)
"""
