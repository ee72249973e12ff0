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
  - Installs a program and a timer on the machine that M(gaudi3.scale.monitoring_server) set up. Every
    O(cloudwatch.interval) seconds the program queries Prometheus for O(cloudwatch.metrics) and sends the values with
    boto3, up to a thousand in one C(PutMetricData) call. boto3 must be installed.
  - It takes no credentials. boto3 finds them in the machine's instance role or in C(/etc/gaudi3_scale/aws), which the
    operator maintains and which is refused if accounts other than root can read it.
  - Shows the number of API calls per hour before anything is switched on, also in check mode.
  - Writes alarms and a dashboard as files for the AWS command line. It does not apply them.
options:
  state:
    description:
      - Whether metrics are sent. V(absent) removes the program, its timer and its files.
      - Credentials and data already in CloudWatch stay.
    type: str
    choices: [present, absent]
    default: present
  cloudwatch:
    description: What to send, and where to. Required with O(state=present).
    type: dict
    suboptions:
      region:
        description: AWS region, such as V(eu-central-1).
        type: str
        required: true
      namespace:
        description: CloudWatch namespace of the metrics. Use one namespace per cluster within an account and region.
        type: str
        default: Gaudi
      metrics:
        description:
          - Names of metrics or recording rules. All labels except C(job) become dimensions, C(instance) as C(node).
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
          - The 12 digits of the AWS account. With it, credentials of another account send nothing, and each run makes
            one more call.
        type: str
      interval:
        description: Seconds between runs, from 10 to 3600.
        type: int
        default: 60
      most:
        description: Maximum number of series to send. Above it nothing is sent and nothing is switched on.
        type: int
        default: 500
      endpoint:
        description: CloudWatch endpoint, such as the VPC endpoint of an account without internet access.
        type: str
      sts_endpoint:
        description: STS endpoint, used to find the account of the credentials.
        type: str
  prometheus_address:
    description: Address of this machine that Prometheus listens on.
    type: str
    default: 127.0.0.1
  prometheus_port:
    description: Port that Prometheus listens on.
    type: int
    default: 9090
attributes:
  check_mode:
    support: full
    description: Reports what would change, and how many API calls per hour that would make.
  diff_mode:
    support: full
    description: Shows the files except the program, and the number of API calls per hour.
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
  description: What is sent. All values are empty with O(state=absent).
  type: dict
  returned: success
  contains:
    series:
      description: Number of series that Prometheus has for these metrics now; none while Prometheus does not answer.
      type: int
    calls_an_hour:
      description: AWS API calls per hour for these series.
      type: int
    calls_an_hour_at_most:
      description: AWS API calls per hour for O(cloudwatch.most) series, at a thousand series per call.
      type: int
    without_values:
      description: Metrics without a value in Prometheus. Nothing reports them yet, or the name is wrong.
      type: list
      elements: str
    sentence:
      description: Summary of the numbers.
      type: str
      sample: >-
        CloudWatch in eu-central-1 is called 60 times an hour with 61 series as they are now, and at most 60 times an
        hour, with 500 series.
steps:
  description: Steps taken, or that check mode would take.
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
