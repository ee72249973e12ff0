#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: cost_options
short_description: Validate prices
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Fails with an error message for the first invalid option of the role C(gaudi_cost), before a node
    is asked for anything.
  - Runs on the controller; nothing is sent to the node.
options:
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
attributes:
  check_mode:
    support: full
    description: Does the same, since it changes nothing.
  diff_mode:
    support: none
    description: Nothing is changed.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Validate the prices
  gaudi3.scale.cost_options:
    job: llama
    currency: EUR
    node_hour: 29.5
  run_once: true
"""

RETURN = r"""
options:
  description: What was given, and C(now), seconds since 1970, at which a job that runs is looked at.
  type: dict
  returned: success
  sample: {job: llama, currency: EUR, node_hour: 29.5, now: 1785909600.0}
"""
