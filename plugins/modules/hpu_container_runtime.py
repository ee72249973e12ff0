#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_container_runtime
short_description: Register the Gaudi container runtime with Docker, podman or containerd
version_added: "1.0.0"
description:
  - Registers the vendor's OCI runtime under the name C(habana). The operator's files are merged into, so that every
    other key, the order and the comments stay; a copy of the file is kept beside it. A file that cannot be understood
    is refused and not touched.
  - "Docker: C(/etc/docker/daemon.json). podman: a drop-in in C(/etc/containers/containers.conf.d). containerd:
    C(/etc/containerd/config.toml) of version 1, 2 or 3."
  - With O(cdi), a specification of the cards for the Container Device Interface is made from sysfs, as
    C(/etc/cdi/gaudi3-scale.json), and the engines are made to read it. It lists the cards that the driver has now.
  - No service is restarted; RV(services) says which ones have to read their file again.
options:
  engines:
    description:
      - Engines to register with, V(docker), V(podman) or V(containerd). One that is named gets its file whether or not
        it is installed yet.
      - V(auto) stands for those that are installed, except a containerd that belongs to Docker or whose CRI plugin is
        off.
    type: list
    elements: str
    choices: [auto, docker, podman, containerd]
    default: [auto]
  default:
    description:
      - Whether containers use the runtime without asking for it.
      - V(false) leaves the file's own choice.
    type: bool
    default: false
  program:
    description: The runtime's program.
    type: path
    default: /usr/bin/habana-container-runtime
  cdi:
    description:
      - Whether containers can be given the cards by C(--device habana.ai/gaudi=0) or C(=all) too.
      - The specification passes device nodes and nothing else. What the vendor's runtime adds besides,
        E(HABANA_VISIBLE_MODULES) and the files of the cards' network among it, comes with the runtime only.
      - V(false) removes the specification and leaves the engines' files.
      - Docker knows CDI from 25.0 on, podman from 4.3, containerd from 1.7; the file of an older one stays without.
    type: bool
    default: false
  settings:
    description:
      - Settings of the vendor's runtime, for C(/etc/habana-container-runtime/config.toml). A table is a dictionary.
      - Keys that are not named stay as they are. A key that the runtime does not know is refused.
    type: dict
    default: {}
  hold:
    description: Packages that apt or dnf holds where they are installed, so that they stay at their release.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
    description: Nothing is written. O(program) may be missing, as before the first run.
  diff_mode:
    support: full
    description: Shows every file, and the packages to hold.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Register with the engines that the node has
  gaudi3.scale.hpu_container_runtime:
  register: runtime

- name: Register the runtime on Kubernetes nodes, where every pod may use the cards
  gaudi3.scale.hpu_container_runtime:
    engines: [containerd]
    default: true

- name: Register with CDI and with debug logging of the vendor's runtime
  gaudi3.scale.hpu_container_runtime:
    cdi: true
    settings:
      mount_uverbs: false
      habana-container-runtime:
        log_level: debug
"""

RETURN = r"""
msg:
  description: One sentence on what the runtime is registered with.
  type: str
  returned: success
  sample: The runtime habana is registered with docker.
engines:
  description: The engines that know the runtime now.
  type: list
  elements: str
  returned: success
  sample: [docker]
cdi_devices:
  description: What C(--device) takes with O(cdi); empty without it, and where the driver shows no card.
  type: list
  elements: str
  returned: success
  sample: [habana.ai/gaudi=0, habana.ai/gaudi=all]
backups:
  description: Copies of the files as they were before.
  type: list
  elements: str
  returned: success
  sample: [/etc/docker/daemon.json.20261121T091500.bak]
services:
  description: Running services that have yet to read their changed file.
  type: list
  elements: dict
  returned: success
  contains:
    name:
      description: The service.
      type: str
      sample: docker
    state:
      description: V(reloaded) or V(restarted), what M(ansible.builtin.systemd_service) has to be asked for.
      type: str
      sample: reloaded
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.engines import ENGINES
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.state import (
    AUTO,
    Place,
    RuntimeOptions,
    converge,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.option_forms import check_package, check_place

FORMS = {"program": check_place, "hold": check_package}


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        forms=FORMS,
        argument_spec={
            "engines": {"type": "list", "elements": "str", "choices": [AUTO, *ENGINES], "default": [AUTO]},
            "default": {"type": "bool", "default": False},
            "program": {"type": "path", "default": "/usr/bin/habana-container-runtime"},
            "cdi": {"type": "bool", "default": False},
            "settings": {"type": "dict", "default": {}},
            "hold": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )


def answer(wishes: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    options = RuntimeOptions(
        engines=tuple(wishes["engines"]),
        program=wishes["program"],
        default=wishes["default"],
        cdi=wishes["cdi"],
        settings=wishes["settings"],
        hold=tuple(wishes["hold"]),
    )
    return converge(options, run_process, module.check_mode, Place())


if __name__ == "__main__":
    main()
