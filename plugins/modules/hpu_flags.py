#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: hpu_flags
short_description: Set the environment flags of the Gaudi software
version_added: "1.0.0"
description:
  - Writes the flags of a profile, a network and O(overrides) to one file that both C(systemd) and a shell can read.
  - Includes what the vendor's packages set for login shells, because ranks are not started from a login shell.
  - Validates every flag first, against the installed PyTorch bridge's list of its flags, and against a catalog for all
    others. The Gaudi software itself ignores unknown names and aborts the process on invalid values.
  - Unknown and invented names, invalid values and harmful settings are refused in one message, before anything is
    changed. Flags that have no effect, are removed, or were last seen before O(release) give warnings.
  - Creates the directories that the flags name, for logs and compiled recipes, and removes the recipes of releases that
    are no longer installed.
  - Manual changes to the file are shown as a separate diff, reported as a warning, and kept beside the file.
  - Jobs of M(gaudi3.scale.training_job) and M(gaudi3.scale.hpu_batch_probe) read the file automatically. Containers use
    it with C(--env-file); see RV(container_path). Login shells, other units and Slurm each have an option.
options:
  release:
    description: Release of the Gaudi software, with or without its build, for example V(1.24.1) or V(1.24.1-482).
    type: str
    required: true
  release_overrides:
    description: Rows that replace or add releases, as a mapping from version to fields of a release, such as C(build).
    type: dict
    default: {}
  profile:
    description:
      - Kind of job that the flags are for.
      - V(training_compile) is eager mode with C(torch.compile). V(training_lazy) is the legacy lazy mode, which needs
        the vendor's build of PyTorch. V(inference_vllm) is for the vLLM plugin.
    type: str
    choices: [training_compile, training_lazy, inference_vllm]
    default: training_compile
  network:
    description:
      - Network between the nodes. V(auto) is the one that M(gaudi3.scale.hpu_fabric) last selected on this node, or
        would select if it never ran.
      - Other values are the cards' own ports (V(gaudi_ethernet)), a host NIC with RDMA (V(infiniband), V(roce)), AWS
        EFA (V(efa)), or plain V(ethernet).
    type: str
    choices: [auto, gaudi_ethernet, infiniband, roce, efa, ethernet]
    default: gaudi_ethernet
  interface:
    description:
      - Name or prefix of the host interfaces for coordination between the nodes, for C(HCCL_SOCKET_IFNAME).
      - "Empty: HCCL chooses. V(auto) is the interface that M(gaudi3.scale.hpu_fabric) last found on this node, or that
        of the default route if it never ran."
    type: str
    default: ""
  overrides:
    description:
      - Flags to set or change, as a mapping from name to value. V(null) removes a flag of the profile.
      - V(true) and V(false) in YAML are written as these words. Some flags accept digits only.
    type: dict
    default: {}
  environment:
    description:
      - Other variables for the same file, as a mapping from name to value. They are not validated, and the file says
        so.
      - Use it also for a flag that is newer than the catalog.
      - Names that look like secrets are refused, because every account on the node can read the file.
    type: dict
    default: {}
  path:
    description: File to write.
    type: path
    default: /etc/gaudi3_scale/environment
  recipe_cache:
    description:
      - Directory for compiled recipes, on a local disk. Each release and each set of flags has a subdirectory.
      - To place the cache yourself, set C(PT_HPU_RECIPE_CACHE_CONFIG) in O(overrides). V(null) there keeps recipes in
        memory only.
    type: path
    default: /var/lib/gaudi3_scale/recipe_cache
  recipe_cache_size:
    description: Maximum size of one such directory, in megabytes.
    type: int
    default: 8192
  recipe_cache_limit:
    description:
      - "Maximum size of all directories of the release together, in megabytes. V(0): no limit."
      - The least recently used are emptied first. The directory of the current flags is not touched.
    type: int
    default: 0
  clean_recipe_cache:
    description:
      - Whether to remove directories of other releases from O(recipe_cache) and enforce O(recipe_cache_limit).
      - Set V(false) if several releases share the directory, for example in containers.
    type: bool
    default: true
  log_directory:
    description: Directory for the logs of the Gaudi software, for C(HABANA_LOGS).
    type: path
    default: /var/log/gaudi3_scale/habana
  owner:
    description: Account that runs the jobs and must own the directories. By default new directories belong to root.
    type: str
  stock_torch:
    description:
      - Whether jobs import torch from PyPI (V(true)) or the vendor's build (V(false)).
      - V(true) refuses lazy mode, which torch from PyPI does not support. Unset means unknown and gives a warning.
    type: bool
  venv:
    description:
      - Virtual environment of the jobs. Its bridge, if it is of O(release), defines which bridge flags are real.
      - Its list is read as text. Nothing is imported, and no card is used.
    type: path
    default: /opt/gaudi3_scale/venv
  login_shell_path:
    description:
      - "File in C(/etc/profile.d) that gives login shells the flags. Empty: none."
      - Shells read these files in name order, so a file that sorts after the vendor's overrides it.
    type: str
    default: ""
  slurm_task_prolog:
    description:
      - "Script to write for C(TaskProlog) in C(slurm.conf). Empty: none."
      - It sets the flags in each task that the job did not set, and gives each job a separate recipe cache.
    type: str
    default: ""
  systemd_units:
    description:
      - Services of other software that get the flags, each through a drop-in. Services that are no longer listed lose
        it.
      - If RV(systemd_changed) is true, systemd must reload its units.
    type: list
    elements: str
    default: []
  unit_directory:
    description: Directory of these drop-ins.
    type: path
    default: /etc/systemd/system
  vendor_profiles:
    description:
      - Files in which the vendor's packages or installer set the paths of their software for login shells. V(*) and
        V(?) are wildcards. An empty list ignores the vendor's environment.
      - They are parsed as data; no shell is started. Only plain assignments are understood. Reading stops at anything
        else, and a warning names file and line.
      - Known flags are validated like all others. Other variables are used if their value is an absolute path.
      - O(profile), O(network), O(overrides) and O(environment) override them. V(null) removes one, in O(overrides) or,
        for a variable that is not a flag, in O(environment).
      - If no file sets a documented path and it exists on the node, that path is used.
    type: list
    elements: str
    default: ["/etc/profile.d/habanalabs*.sh", "/etc/profile.d/habana_env.sh"]
  strict:
    description: Whether to refuse warnings too.
    type: bool
    default: false
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Validates the flags and shows what would be written.
  diff_mode:
    support: full
    description: Shows the file before and after, and each directory that is created.
seealso:
  - module: gaudi3.scale.hpu_fabric
  - module: gaudi3.scale.training_job
"""

EXAMPLES = r"""
- name: Set the flags for training
  gaudi3.scale.hpu_flags:
    release: 1.24.1
  become: true

- name: Count recompilations and cache recipes in the job's own directory
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
  description: Path of the file.
  returned: always
  type: str
  sample: /etc/gaudi3_scale/environment
flags:
  description: Variables of the file, in order.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the variable.
      type: str
    value:
      description: Value as text.
      type: str
    source:
      description: Source of the flag - a document, a file of the vendor or the operator.
      type: str
    origin:
      description:
        - Where the flag was set - V(overrides), V(environment), V(vendor package), or a word and a name, as in
          V(profile training_compile), V(network infiniband) and V(option recipe_cache).
      type: str
    real:
      description: Whether any software reads this name. V(null) if not validated, as for O(environment).
      type: bool
    known:
      description: Software known to read it, V(gaudi), V(another program) or V(nobody). Empty if not known.
      type: str
    effective:
      description: V(yes), V(no) or V(unknown), in this mode and release.
      type: str
    why:
      description: "Why it has no effect, or another remark. Empty: none."
      type: str
    judged_by:
      description: Source of the verdict - the installed bridge with its version, or the catalog and its coverage.
      type: str
    effect:
      description: What the flag does. Empty if it is not a flag or known by name only.
      type: str
  sample:
    - name: PT_HPU_LAZY_MODE
      value: "0"
      source: docs.habana.ai PyTorch/Runtime_Flags
      origin: profile training_compile
      real: true
      known: gaudi
      effective: "yes"
      why: ""
      judged_by: installed bridge 1.24.1.482
      effect: "Selects bridge plugin: 0 eager plus torch.compile, 1 legacy lazy graphs."
findings:
  description: Findings about the flags. On failure both errors and warnings.
  returned: always
  type: list
  elements: dict
  contains:
    level:
      description: V(error) or V(warning).
      type: str
    kind:
      description: Check that found it, for example V(unknown), V(value), V(gate), V(removed), V(vendor) or V(missing).
      type: str
    flag:
      description: Name of the variable, V(network), V(bridge), V(vendor_profiles), or a file of these.
      type: str
    message:
      description: What is wrong.
      type: str
    remedy:
      description: What to do.
      type: str
vendor_profiles:
  description: Files of O(vendor_profiles) present on the node.
  returned: always
  type: list
  elements: str
  sample: [/etc/profile.d/habanalabs.sh]
vendor_left_out:
  description: Variables that these files export but ranks do not get.
  returned: always
  type: list
  elements: dict
  contains:
    file:
      description: Path of the file.
      type: str
    line:
      description: Line number in the file.
      type: int
    name:
      description: Name of the variable.
      type: str
    why:
      description: Why ranks do not get it.
      type: str
  sample:
    - file: /etc/profile.d/habanalabs.sh
      line: 9
      name: LD_LIBRARY_PATH
      why: it steers other programs than the Gaudi software
directories:
  description: Directories that the flags name and that now exist.
  returned: always
  type: list
  elements: str
removed_directories:
  description: Recipe cache directories that were removed or emptied.
  returned: always
  type: list
  elements: str
container_path:
  description:
    - File for C(--env-file) of docker and podman. Same as RV(path), or a second file if a value needs quotes, which
      these programs would treat as part of the value.
  returned: always
  type: str
  sample: /etc/gaudi3_scale/environment
judged_by:
  description: Source of the verdict on the bridge's flags.
  returned: always
  type: str
  sample: installed bridge 1.24.1.482
hand_edit:
  description: Lines that were added (V(+)) or removed (V(-)) by hand since the file was written.
  returned: always
  type: list
  elements: str
  sample: ["+PT_HPU_METRICS_FILE=/tmp/metrics.json"]
backup:
  description: Backup of the file with these lines. Empty if there are none.
  returned: always
  type: str
systemd_changed:
  description: Whether a drop-in changed, so that systemd must reload its units.
  returned: always
  type: bool
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.chosen import chosen_network
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.provider import AUTO
from ansible_collections.gaudi3.scale.plugins.module_utils._flags import state as flag_state
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.profiles import NETWORKS, PROFILES, EnvironmentOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.vendor import VENDOR_PROFILES
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import kernel_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    # The values of O(environment) and O(overrides) may be secrets, also where Ansible itself refuses an option.
    run_module(
        AnsibleModule,
        answer,
        empty=("venv",),
        argument_spec={
            "release": {"type": "str", "required": True},
            "release_overrides": {"type": "dict", "default": {}},
            "profile": {"type": "str", "choices": list(PROFILES), "default": "training_compile"},
            "network": {"type": "str", "choices": [AUTO, *NETWORKS], "default": "gaudi_ethernet"},
            "interface": {"type": "str", "default": ""},
            "overrides": {"type": "dict", "default": {}},
            "environment": {"type": "dict", "default": {}},
            "path": {"type": "path", "default": "/etc/gaudi3_scale/environment"},
            "recipe_cache": {"type": "path", "default": "/var/lib/gaudi3_scale/recipe_cache"},
            "recipe_cache_size": {"type": "int", "default": 8192},
            "recipe_cache_limit": {"type": "int", "default": 0},
            "clean_recipe_cache": {"type": "bool", "default": True},
            "log_directory": {"type": "path", "default": "/var/log/gaudi3_scale/habana"},
            "owner": {"type": "str"},
            "stock_torch": {"type": "bool"},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
            "login_shell_path": {"type": "str", "default": ""},
            "slurm_task_prolog": {"type": "str", "default": ""},
            "systemd_units": {"type": "list", "elements": "str", "default": []},
            "unit_directory": {"type": "path", "default": "/etc/systemd/system"},
            "vendor_profiles": {"type": "list", "elements": "str", "default": list(VENDOR_PROFILES)},
            "strict": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    network = chosen_network(run_process, kernel_tree(), given["network"], given["interface"])
    options = EnvironmentOptions(**{**given, "network": network.provider, "interface": network.interface})
    return flag_state.converge(options, module.check_mode)


if __name__ == "__main__":
    main()
