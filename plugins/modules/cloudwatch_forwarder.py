#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: cloudwatch_forwarder
short_description: Send metrics from a monitoring server to Amazon CloudWatch
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Installs a program and a timer on the machine that M(gaudi3.scale.monitoring_server) has set up. Each
    O(cloudwatch.interval) seconds the program asks Prometheus for the values of O(cloudwatch.metrics) and sends them by
    boto3, which has to be installed, up to a thousand in one call of C(PutMetricData).
  - It takes no credentials. boto3 finds them, in a role of the machine or below C(/etc/gaudi3_scale/aws), which is the
    operator's and refused where others than root can read it.
  - How many calls per hour that makes is shown before anything is switched on, in check mode too.
  - Alarms and a dashboard are written as files for the command line of AWS. Nothing of them is applied.
options:
  state:
    description:
      - Whether anything is sent. V(absent) takes the program, its timer and its files away.
      - Credentials stay, and so does what CloudWatch has.
    type: str
    choices: [present, absent]
    default: present
  cloudwatch:
    description: What is sent, and where. It is needed where O(state=present).
    type: dict
    suboptions:
      region:
        description: The region, such as V(eu-central-1).
        type: str
        required: true
      namespace:
        description: The namespace of the metrics. Two clusters of one account and region need two.
        type: str
        default: Gaudi
      metrics:
        description:
          - Names of metrics, or of recorded rules. Labels become dimensions, C(instance) as C(node), but for C(job).
        type: list
        elements: str
        default:
          - ALERTS
          - up
          - gaudi_cards_expected
          - gaudi_cards_driven
          - gaudi_card_operational
          - gaudi_card_temperature_celsius
          - gaudi_card_ecc_uncorrected_total
          - gaudi_job_running
          - gaudi_job_step
          - gaudi_job_tokens_per_second
          - gaudi_job_loss
      account:
        description:
          - The 12 digits of the account. Then credentials of another send nothing, and each run makes one more call.
        type: str
      interval:
        description: Seconds from one run to the next, from 10 to 3600.
        type: int
        default: 60
      most:
        description: How many series may be sent. Where there are more, nothing is sent and nothing is switched on.
        type: int
        default: 500
      endpoint:
        description: Where CloudWatch is asked, such as the VPC endpoint of an account without internet.
        type: str
      sts_endpoint:
        description: The same of STS, which says whose the credentials are.
        type: str
  prometheus_address:
    description: The address of this machine at which Prometheus listens.
    type: str
    default: 127.0.0.1
  prometheus_port:
    description: The port at which Prometheus listens.
    type: int
    default: 9090
attributes:
  check_mode:
    support: full
    description: Tells what would change, and how many calls an hour that would make.
  diff_mode:
    support: full
    description: Shows the files but the program, and how many calls an hour they make.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Send alerts, nodes and cards to CloudWatch
  gaudi3.scale.cloudwatch_forwarder:
    cloudwatch:
      region: eu-central-1
      account: "123456789012"
  become: true

- name: Stop sending
  gaudi3.scale.cloudwatch_forwarder:
    state: absent
  become: true
"""

RETURN = r"""
cloudwatch:
  description: What is sent. All of it is empty where O(state=absent).
  type: dict
  returned: success
  contains:
    series:
      description: How many series Prometheus has of the metrics now; none where it does not answer yet.
      type: int
    calls_an_hour:
      description: How many calls of Amazon's interfaces these make an hour.
      type: int
    calls_an_hour_at_most:
      description: The same with as many series as O(cloudwatch.most), a thousand a call.
      type: int
    without_values:
      description: Metrics of which Prometheus has no value now. Nothing of the kind is there, or the name is wrong.
      type: list
      elements: str
    sentence:
      description: The numbers in a sentence.
      type: str
      sample: >-
        CloudWatch in eu-central-1 is called 60 times an hour with 61 series as they are now, and at most 60 times an
        hour, with 500 series.
steps:
  description: What was done, or would be.
  type: list
  elements: str
  returned: success
  sample: [program, "file /etc/gaudi3_scale/monitoring/cloudwatch/options.json", "unit gaudi3-scale-cloudwatch.timer"]
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.options import (
    INTERVAL_S,
    METRICS,
    MOST,
    NAMESPACE,
    options_from,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.program import main as _program
from ansible_collections.gaudi3.scale.plugins.module_utils._cloudwatch.state import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module

# Ansible sends to a node what a module imports; the program that stays there is made of it.
PROGRAM = _program
TARGET = {
    "region": {"type": "str", "required": True},
    "namespace": {"type": "str", "default": NAMESPACE},
    "metrics": {"type": "list", "elements": "str", "default": [*METRICS]},
    "account": {"type": "str"},
    "interval": {"type": "int", "default": INTERVAL_S},
    "most": {"type": "int", "default": MOST},
    "endpoint": {"type": "str"},
    "sts_endpoint": {"type": "str"},
}


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "cloudwatch": {"type": "dict", "options": TARGET},
            "prometheus_address": {"type": "str", "default": "127.0.0.1"},
            "prometheus_port": {"type": "int", "default": 9090},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    """Set up what sends, or take it away, and report."""
    return converge(options_from(given), run_process, module.check_mode)


if __name__ == "__main__":
    main()
