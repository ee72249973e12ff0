#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: serving_measurement
short_description: Measure a served model's latency and throughput, and the highest load that meets a limit
version_added: "1.0.0"
description:
  - Sends streamed completions to an instance of the node, or to the server at O(url), and measures the latency to the
    first token, the time between tokens, and the throughput. Prompts are random tokens, and answers have exactly
    O(output_tokens).
  - Without limits, measures each load of O(concurrency). With O(first_token_ms) or O(between_tokens_ms), searches the
    highest load at which the 95th percentile is within them and no request fails, in at most 7 runs. It is within 5 %
    of the highest that trying all of them would find.
  - Clients are the load. Each sends its next request once it has its answer. The first request of each client, which
    all begin together, counts for the throughput but not for the latency.
  - Figures are defined as those of C(vllm bench serve).
  - The task measures run by run, with a line per run on the screen.
options:
  name:
    description: Instance of the node. By default its only one. Give this or O(url).
    type: str
    default: ""
  url:
    description: Scheme, host and port of a server with OpenAI's API, as the node reaches it.
    type: str
    default: ""
  model:
    description: "Served name of the model at O(url). Empty: the first that the server lists."
    type: str
    default: ""
  key_file:
    description: File of the node with the key for O(url), on one line.
    type: path
  certificate:
    description: File of the node with the certificates, in PEM, that O(url) is verified with, instead of the system's.
    type: path
  input_tokens:
    description: Tokens of a prompt.
    type: int
    default: 512
  output_tokens:
    description: Tokens of an answer.
    type: int
    default: 128
  requests:
    description: Requests of a run whose latency counts, at least. There are two per client, at least.
    type: int
    default: 200
  concurrency:
    description: Numbers of clients to measure with, each in its own run, if there is no limit.
    type: list
    elements: int
    default: [1, 8, 32]
  first_token_ms:
    description: "Limit of the 95th percentile of the latency to the first token, in milliseconds. V(0): none."
    type: float
    default: 0.0
  between_tokens_ms:
    description: "Limit of the 95th percentile of the time between two tokens, in milliseconds. V(0): none."
    type: float
    default: 0.0
  highest:
    description: Highest number of clients to try, at most 2048.
    type: int
    default: 256
  timeout:
    description: Seconds after which a request without a whole answer has failed.
    type: float
    default: 300.0
  runs:
    description: Runs that were made before, as RV(runs) has them. They are not made again.
    type: list
    elements: dict
    default: []
attributes:
  check_mode:
    support: full
    description: Validates the options and measures nothing.
  diff_mode:
    support: none
    description: Changes nothing.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Find how many users at a time get their first token within half a second
  gaudi3.scale.serving_measurement:
    name: chat
    input_tokens: 2048
    output_tokens: 256
    first_token_ms: 500
  become: true
  register: measured

- name: Measure a server behind a proxy with three loads
  gaudi3.scale.serving_measurement:
    url: https://serving.example.org:8443
    key_file: /etc/gaudi3_scale/serving.key
    concurrency: [1, 16, 64]
  become: true
"""

RETURN = r"""
runs:
  description:
    - Figures of each run, in the order in which they were made. Latencies have C(mean), C(p50), C(p95) and C(p99), and
      are empty if no request that counts was answered.
  type: list
  elements: dict
  returned: success
  contains:
    concurrency:
      description: Clients.
      type: int
    model:
      description: Served name.
      type: str
    version:
      description: Version of the engine, if the server reports it.
      type: str
    requests:
      description: Requests that were sent.
      type: int
    failed:
      description: Requests without a whole answer.
      type: int
    errors:
      description: Most frequent reasons for that, with their counts.
      type: dict
    stopped_early:
      description: Whether the run ended when the limit was certain to be missed.
      type: bool
    seconds:
      description: Duration.
      type: float
    requests_per_s:
      description: Answered requests per second.
      type: float
    input_tokens_per_s:
      description: Prompt tokens per second.
      type: float
    output_tokens_per_s:
      description: Generated tokens per second.
      type: float
    first_token_ms:
      description: Latency to the first token.
      type: dict
    between_tokens_ms:
      description: Time between two tokens of an answer.
      type: dict
    per_token_ms:
      description: Mean time per token after the first, by answer.
      type: dict
    request_ms:
      description: Latency of the whole answer.
      type: dict
next:
  description: Clients of the next run, null if none is left.
  type: int
  returned: success
highest_load:
  description: Highest number of clients within the limits, 0 if one client is too many, null without a limit.
  type: int
  returned: success
is_highest:
  description: Whether that is O(highest), so that more may be possible.
  type: bool
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.load.measurement import advance


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "name": {"type": "str", "default": ""},
            "url": {"type": "str", "default": ""},
            "model": {"type": "str", "default": ""},
            "key_file": {"type": "path", "no_log": False},
            "certificate": {"type": "path"},
            "input_tokens": {"type": "int", "default": 512, "no_log": False},
            "output_tokens": {"type": "int", "default": 128, "no_log": False},
            "requests": {"type": "int", "default": 200},
            "concurrency": {"type": "list", "elements": "int", "default": [1, 8, 32]},
            "first_token_ms": {"type": "float", "default": 0.0, "no_log": False},
            "between_tokens_ms": {"type": "float", "default": 0.0, "no_log": False},
            "highest": {"type": "int", "default": 256},
            "timeout": {"type": "float", "default": 300.0},
            "runs": {"type": "list", "elements": "dict", "default": []},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    """Make one run, if one is left, and report all of them."""
    return advance(options, module.check_mode)


if __name__ == "__main__":
    main()
