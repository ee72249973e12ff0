#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: hpu_flags
short_description: Set the environment flags of the Gaudi software
version_added: "0.1.0"
description:
  - Writes the flags of a profile, a network and O(overrides) to one file that C(systemd) and a shell read alike.
  - Checks every flag against a catalogue first. The Gaudi software itself ignores names it does not know, and ends the
    process on values it does not take.
  - Unknown and invented names, wrong values and harmful settings are refused, all in one message, before anything is
    touched. Flags that have no effect, are gone, or were last seen before O(release) give warnings.
  - Makes the directories that the flags name, for logs and for compiled recipes.
options:
  release:
    description: Release of the Gaudi software, with or without its build, for example V(1.24.1) or V(1.24.1-482).
    type: str
    required: true
  release_overrides:
    description: Rows that replace or add releases, from a version to the fields of a release such as C(build).
    type: dict
    default: {}
  profile:
    description:
      - The kind of job the flags are for.
      - V(training_compile) is eager mode with C(torch.compile). V(training_lazy) is the legacy lazy mode, which needs
        the vendor's build of PyTorch. V(inference_vllm) is for the vLLM plugin.
    type: str
    choices: [training_compile, training_lazy, inference_vllm]
    default: training_compile
  network:
    description:
      - The network between the nodes, as M(gaudi3.scale.hpu_fabric) finds it.
      - The cards' own ports (V(gaudi_ethernet)), a host NIC with RDMA (V(infiniband)), AWS EFA (V(efa)), or plain
        V(ethernet).
    type: str
    choices: [gaudi_ethernet, infiniband, efa, ethernet]
    default: gaudi_ethernet
  interface:
    description:
      - Name or prefix of the host interfaces for coordination between the nodes, for C(HCCL_SOCKET_IFNAME).
      - Empty leaves the choice to HCCL.
    type: str
    default: ""
  overrides:
    description:
      - Flags to set or change, from name to value. V(null) takes a flag of the profile away.
      - A value that is V(true) or V(false) in YAML is written as that word. Some flags take digits only.
    type: dict
    default: {}
  environment:
    description:
      - Other variables for the same file, from name to value. They are not checked, and the file says so.
      - This is also the place for a flag that is newer than the catalogue.
    type: dict
    default: {}
  path:
    description: The file to write.
    type: path
    default: /etc/gaudi3_scale/environment
  recipe_cache:
    description:
      - Directory for compiled recipes, on a local disk. Below it each release and each set of flags gets its own.
      - To place the cache yourself, set C(PT_HPU_RECIPE_CACHE_CONFIG) in O(overrides). V(null) there keeps recipes in
        memory only.
    type: path
    default: /var/lib/gaudi3_scale/recipe_cache
  recipe_cache_size:
    description: Most megabytes that one such directory may hold.
    type: int
    default: 8192
  log_directory:
    description: Directory for the logs of the Gaudi software, for C(HABANA_LOGS).
    type: path
    default: /var/log/gaudi3_scale/habana
  owner:
    description: Account that runs the jobs and so has to own the directories. New ones belong to root when not set.
    type: str
  stock_torch:
    description:
      - Whether the torch that jobs import is the one from PyPI (V(true)) or the vendor's build (V(false)).
      - V(true) refuses lazy mode, which stock torch cannot do. Unset means not known, which gives a warning.
    type: bool
  strict:
    description: Whether warnings are refused too.
    type: bool
    default: false
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Checks the flags and shows what would be written.
  diff_mode:
    support: full
    description: Shows the file before and after, and each directory that is made.
seealso:
  - module: gaudi3.scale.hpu_fabric
  - module: gaudi3.scale.training_job
"""

EXAMPLES = r"""
- name: Set the flags for training
  gaudi3.scale.hpu_flags:
    release: 1.24.1
  become: true

- name: Count recompilations, and let a job's own directory hold the recipes
  gaudi3.scale.hpu_flags:
    release: 1.24.1
    network: infiniband
    overrides:
      PT_HPU_METRICS_FILE: /var/log/gaudi3_scale/metrics.json
      PT_HPU_METRICS_DUMP_TRIGGERS: process_exit,metric_change
      PT_HPU_RECIPE_CACHE_CONFIG:
    environment:
      OMP_NUM_THREADS: 8
  become: true
"""

RETURN = r"""
path:
  description: The file.
  returned: always
  type: str
  sample: /etc/gaudi3_scale/environment
flags:
  description: What the file sets, in its order.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the variable.
      type: str
    value:
      description: Its text.
      type: str
    source:
      description: Who says so, a document or the operator.
      type: str
    effect:
      description: What the flag does. Empty where it is not a flag, or known by name only.
      type: str
  sample:
    - name: PT_HPU_LAZY_MODE
      value: "0"
      source: docs.habana.ai PyTorch/Runtime_Flags
      effect: "Selects bridge plugin: 0 eager plus torch.compile, 1 legacy lazy graphs."
findings:
  description: What is to be said about the flags. On failure this holds errors as well as warnings.
  returned: always
  type: list
  elements: dict
  contains:
    level:
      description: V(error) or V(warning).
      type: str
    flag:
      description: Name of the variable, or V(network).
      type: str
    message:
      description: What is wrong.
      type: str
    remedy:
      description: What to do.
      type: str
directories:
  description: Directories that the flags name and that exist now.
  returned: always
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils import flag_environment
from ansible_collections.gaudi3.scale.plugins.module_utils.errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils.flag_profiles import NETWORKS, PROFILES, EnvironmentOptions


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "release": {"type": "str", "required": True},
            "release_overrides": {"type": "dict", "default": {}},
            "profile": {"type": "str", "choices": list(PROFILES), "default": "training_compile"},
            "network": {"type": "str", "choices": list(NETWORKS), "default": "gaudi_ethernet"},
            "interface": {"type": "str", "default": ""},
            "overrides": {"type": "dict", "default": {}},
            "environment": {"type": "dict", "default": {}},
            "path": {"type": "path", "default": "/etc/gaudi3_scale/environment"},
            "recipe_cache": {"type": "path", "default": "/var/lib/gaudi3_scale/recipe_cache"},
            "recipe_cache_size": {"type": "int", "default": 8192},
            "log_directory": {"type": "path", "default": "/var/log/gaudi3_scale/habana"},
            "owner": {"type": "str"},
            "stock_torch": {"type": "bool"},
            "strict": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    try:
        result = flag_environment.converge(EnvironmentOptions(**module.params), module.check_mode)
    except GaudiError as error:
        module.fail_json(msg=str(error), **error.facts)
    for warning in result.pop("warnings"):
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
