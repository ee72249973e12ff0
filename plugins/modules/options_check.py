# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: options_check
short_description: Refuse invalid options before any node is contacted
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Fails with an error message for the first invalid option, by the name that the operator uses. Each subject has an
    option here; those that are given are checked in the order listed here.
  - M(gaudi3.scale.role_options) checks single options. This module checks what depends on the inventory, the play, or
    several options together.
  - Runs on the controller, contacts no node and creates nothing. Run it with C(run_once).
options:
  upgrade:
    description: Options of the role C(gaudi_upgrade).
    type: dict
    suboptions:
      pattern:
        description: Pattern that O(upgrade.hosts) come from, for messages.
        type: raw
        default: gaudi
      hosts:
        description: Inventory names of the hosts of the run, at least one.
        type: list
        elements: str
        required: true
      serial:
        description: Size of each batch, as a number of nodes, a percentage, or a list of them.
        type: raw
        default: [1, 10%, 25%]
      canary:
        description: Node that is upgraded first and alone. One of O(upgrade.hosts), or empty.
        type: str
        default: ""
      max_fail_percentage:
        description: A number from 0 to 100, or none.
        type: raw
        default: ""
      drain:
        description: Scheduler of the nodes, V(none), V(slurm) or V(commands).
        type: str
        default: none
      layers:
        description: Layers above the driver.
        type: list
        elements: str
        default: []
      node:
        description: Node to explain. If given, it must be one of O(upgrade.hosts).
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
        description: Mapping from generation to the complete version.
        type: raw
        required: true
      canary:
        description: Node that is flashed first. One of O(firmware.hosts), or empty.
        type: str
        default: ""
      drain:
        description: Scheduler of the nodes, V(none), V(slurm) or V(commands).
        type: str
        default: none
  cost:
    description: Options of the role C(gaudi_cost).
    type: dict
    suboptions:
      job:
        description: Name of the job.
        type: str
        required: true
      currency:
        description: Three-letter currency code of all prices.
        type: str
        required: true
      node_hour:
        description: Price of a rented node per hour.
        type: raw
      capital:
        description: Cost of a purchased node, with V(price), V(years), V(utilization) and V(residual).
        type: dict
        default: {}
      kwh:
        description: Price per kWh.
        type: raw
      pue:
        description: Power usage effectiveness (PUE) of the building, total power per watt of server power.
        type: raw
      overhead_watts:
        description: Power of a server besides its cards, in W.
        type: raw
      energy:
        description: Whether to include energy in the report.
        type: bool
        default: true
      before:
        description: Previously measured rate, as V(tokens_per_second), and its V(source).
        type: dict
        default: {}
      platforms:
        description: Other platforms, with figures measured there.
        type: list
        elements: dict
        default: []
      pdf:
        description: Whether to write the report as PDF too.
        type: bool
        default: false
  job_hosts:
    description:
      - Hosts of a job. Refused if empty, if a host is listed twice, is not in the inventory or not in the play, or if
        the run is a slice of an AWX job template, which sees only part of the inventory.
      - Ranks follow this list, not the hosts that C(--limit) leaves, because that would renumber them.
    type: dict
    suboptions:
      hosts:
        description: Inventory names of the job's hosts, in the order of their ranks.
        type: list
        elements: str
        required: true
      spares:
        description: Spare hosts. Only for O(job_hosts.engine=torchrun).
        type: list
        elements: str
        default: []
      witness:
        description: "Host that votes and has no ranks of the job. Empty: none. Only for O(job_hosts.engine=torchrun)."
        type: str
        default: ""
      engine:
        description: Engine that starts the ranks.
        type: str
        default: torchrun
      option:
        description: Variable in which the operator sets O(job_hosts.hosts), for messages.
        type: str
        default: hosts
  report_target:
    description:
      - Location of the play's reports. Refused if M(gaudi3.scale.report) could not write there, before any work whose
        result would be stored there.
      - For a directory that does not exist yet, its parent is checked. In a bucket an upload is started and aborted, so
        the credentials need only write permission.
    type: dict
    suboptions:
      target:
        description: The location, as in M(gaudi3.scale.report), with the same default.
        type: str
      writes:
        description: Other files that the play will write, each with its location.
        type: list
        elements: dict
        default: []
        suboptions:
          path:
            description: A path on the controller, or V(s3://bucket/prefix/name).
            type: str
            required: true
          option:
            description: Variable in which the operator set it, for messages.
            type: str
            required: true
      reads:
        description: File from an earlier run to read now.
        type: dict
        suboptions:
          path:
            description: A path on the controller, or V(s3://bucket/prefix/name).
            type: str
            required: true
          option:
            description: Variable in which the operator set it, for messages.
            type: str
            required: true
attributes:
  check_mode:
    support: full
    description: Runs as usual; it changes nothing.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
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
  description: Given values, and C(now), the time in seconds since 1970 used for a running job.
  type: dict
  returned: with O(cost)
  sample: {job: llama, currency: EUR, node_hour: 29.5, now: 1785909600.0}
hosts:
  description: Hosts, in the order of their ranks.
  type: list
  elements: str
  returned: with O(job_hosts)
  sample: [node1, node2]
target:
  description: Complete location of the reports.
  type: str
  returned: with O(report_target)
  sample: /home/me/gaudi3_scale_reports
text:
  description: "Content of O(report_target.reads). Empty: none."
  type: str
  returned: with O(report_target)
"""
