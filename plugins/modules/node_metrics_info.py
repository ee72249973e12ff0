#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: node_metrics_info
short_description: Read a node's last reported metrics
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Reads the metrics files that the collector of M(gaudi3.scale.hpu_exporter) writes for Prometheus. It does not query
    the cards, so it is fast even if C(hl-smi) hangs.
options:
  directory:
    description: Textfile directory of the node exporter.
    type: path
    default: /var/lib/prometheus/node-exporter
attributes:
  check_mode:
    support: full
    description: Read-only.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
author: The gaudi3.scale authors (@gaudi3-scale)
seealso:
  - module: gaudi3.scale.hpu_exporter
"""

EXAMPLES = r"""
- name: Read the node's facts
  gaudi3.scale.node_metrics_info:
  become: true
  register: told

- name: Show the power of each card
  ansible.builtin.debug:
    msg: "{{ told.samples | selectattr('name', 'eq', 'gaudi_card_power_watts') }}"
"""

RETURN = r"""
samples:
  description: Metric values, with the names in docs/monitoring.md. Empty if the node is not monitored.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the metric.
      type: str
    labels:
      description: Labels that distinguish it from others of the same name.
      type: dict
    value:
      description: The value. A non-number, such as a loss that is NaN, is returned by its name.
      type: raw
  sample: [{"name": "gaudi_card_power_watts", "labels": {"card": "0"}, "value": 226.0}]
time:
  description: Current time of the node's clock, in seconds since 1970.
  returned: always
  type: float
"""

import time
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.told import read_told
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={"directory": {"type": "path", "default": "/var/lib/prometheus/node-exporter"}},
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], _module: AnsibleModule) -> dict[str, Any]:
    return {"changed": False, "samples": read_told(Path(options["directory"])), "time": time.time()}


if __name__ == "__main__":
    main()
