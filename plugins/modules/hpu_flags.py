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
  - Writes the flags of a profile, a network and O(overrides) to one file that C(systemd) and a shell read alike.
  - Takes over what the vendor's packages set for login shells, since ranks are started by none.
  - Checks every flag first, against the list that the installed PyTorch bridge has of its own flags, and against a
    catalog for all others. The Gaudi software itself ignores names it does not know, and ends the process on values
    it does not take.
  - Unknown and invented names, wrong values and harmful settings are refused, all in one message, before anything is
    touched. Flags that have no effect, are gone, or were last seen before O(release) give warnings.
  - Makes the directories that the flags name, for logs and for compiled recipes, and takes away the recipes of
    releases that are gone.
  - What was changed in the file by hand since is shown as a difference of its own, reported as a warning, and kept
    beside the file.
  - Jobs of M(gaudi3.scale.training_job) and M(gaudi3.scale.hpu_batch_probe) read the file by themselves. Containers
    take it with C(--env-file); see RV(container_path). Login shells, other units and Slurm have an option each.
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
      - The network between the nodes. V(auto) is the one that M(gaudi3.scale.hpu_fabric) chose last on this node, and
        where it never ran the one that it would choose.
      - The cards' own ports (V(gaudi_ethernet)), a host NIC with RDMA (V(infiniband), V(roce)), AWS EFA (V(efa)), or
        plain V(ethernet).
    type: str
    choices: [auto, gaudi_ethernet, infiniband, roce, efa, ethernet]
    default: gaudi_ethernet
  interface:
    description:
      - Name or prefix of the host interfaces for coordination between the nodes, for C(HCCL_SOCKET_IFNAME).
      - Empty leaves the choice to HCCL. V(auto) is the one that M(gaudi3.scale.hpu_fabric) found last on this node, and
        where it never ran that of the default route.
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
      - This is also the place for a flag that is newer than the catalog.
      - Names that sound like secrets are refused, since every account of the node reads that file.
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
  recipe_cache_limit:
    description:
      - Most megabytes that all directories of the release may hold together. V(0) sets no such limit.
      - Those that were unused the longest are emptied first. That of the present flags is not touched.
    type: int
    default: 0
  clean_recipe_cache:
    description:
      - Whether directories of other releases are removed from O(recipe_cache), and O(recipe_cache_limit) is kept.
      - Turn it off where several releases share the directory, in containers for example.
    type: bool
    default: true
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
  venv:
    description:
      - Virtual environment of the jobs. The bridge in it, if it is of O(release), says which flags of its own are real.
      - Its list is read as text. Nothing is imported, and no card is touched.
    type: path
    default: /opt/gaudi3_scale/venv
  login_shell_path:
    description:
      - A file in C(/etc/profile.d) to write, through which login shells get the flags. Empty writes none.
      - Shells read these files in the order of their names, so one after the vendor's wins over them.
    type: str
    default: ""
  slurm_task_prolog:
    description:
      - A script to write for C(TaskProlog) in C(slurm.conf). Empty writes none.
      - It gives each task the flags that the job did not set itself, and each job a recipe cache of its own.
    type: str
    default: ""
  systemd_units:
    description:
      - Services of others that get the flags, by a drop-in each. Those no longer named lose it.
      - Where RV(systemd_changed) says so, systemd has to reload its units.
    type: list
    elements: str
    default: []
  unit_directory:
    description: Where these drop-ins lie.
    type: path
    default: /etc/systemd/system
  vendor_profiles:
    description:
      - Files in which the vendor's packages or its installer set the paths of their software for login shells, with
        V(*) and V(?) for any characters. An empty list leaves the vendor's environment out.
      - They are read as data, no shell is started. Plain assignments are understood; reading ends at anything else, and
        a warning names file and line.
      - Flags that are known are judged as all others. Other variables are taken where their value is an absolute path.
      - O(profile), O(network), O(overrides) and O(environment) win over them. V(null) in O(overrides) takes one away,
        and in O(environment) a variable that is no flag.
      - Where no file sets a documented path, and it is there on the node, that path is taken.
    type: list
    elements: str
    default: ["/etc/profile.d/habanalabs*.sh", "/etc/profile.d/habana_env.sh"]
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
      description: Who says so, a document, a file of the vendor's or the operator.
      type: str
    origin:
      description:
        - What brought it here, V(overrides), V(environment), V(vendor package), or a word and a name, as in
          V(profile training_compile), V(network infiniband) and V(option recipe_cache).
      type: str
    real:
      description: Whether anything reads this name. V(null) for what is not judged, as what is in O(environment).
      type: bool
    known:
      description: Who is known to read it, V(gaudi), V(another program) or V(nobody). Empty where that is not known.
      type: str
    effective:
      description: V(yes), V(no) or V(unknown), in this mode and release.
      type: str
    why:
      description: Why it is not effective, or what else is to be said. Empty where there is nothing.
      type: str
    judged_by:
      description: The source that decided, the installed bridge with its version, or the catalog and how far it goes.
      type: str
    effect:
      description: What the flag does. Empty where it is not a flag, or known by name only.
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
  description: What is to be said about the flags. On failure this holds errors as well as warnings.
  returned: always
  type: list
  elements: dict
  contains:
    level:
      description: V(error) or V(warning).
      type: str
    kind:
      description: Which check found it, for example V(unknown), V(value), V(gate), V(removed), V(vendor) or V(missing).
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
  description: The files of O(vendor_profiles) that are on the node.
  returned: always
  type: list
  elements: str
  sample: [/etc/profile.d/habanalabs.sh]
vendor_left_out:
  description: Variables that these files export and that no rank gets.
  returned: always
  type: list
  elements: dict
  contains:
    file:
      description: The file.
      type: str
    line:
      description: Number of the line in it.
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
  description: Directories that the flags name and that exist now.
  returned: always
  type: list
  elements: str
removed_directories:
  description: Directories of the recipe cache that were removed or emptied.
  returned: always
  type: list
  elements: str
container_path:
  description:
    - The file for C(--env-file) of docker and podman. It is RV(path), or another beside it where a value needs quotes,
      which these programs would take for a part of the value.
  returned: always
  type: str
  sample: /etc/gaudi3_scale/environment
judged_by:
  description: Who judged the bridge's own flags.
  returned: always
  type: str
  sample: installed bridge 1.24.1.482
hand_edit:
  description: Lines that a person added (V(+)) or took away (V(-)) since the file was written.
  returned: always
  type: list
  elements: str
  sample: ["+PT_HPU_METRICS_FILE=/tmp/metrics.json"]
backup:
  description: Where the file with these lines is kept. Empty where there are none.
  returned: always
  type: str
systemd_changed:
  description: Whether a drop-in changed, so that systemd has to load its units again.
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
