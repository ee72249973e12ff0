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
  - Registers the vendor's OCI runtime under the name C(habana). Settings are merged into the operator's files; other
    keys, their order and comments stay, and a backup of the file is kept beside it. A file that cannot be parsed is
    refused and left unchanged.
  - Docker uses C(/etc/docker/daemon.json), podman a drop-in in C(/etc/containers/containers.conf.d), and containerd
    C(/etc/containerd/config.toml) of version 1, 2 or 3.
  - With O(cdi), generates a Container Device Interface specification of the cards from sysfs,
    C(/etc/cdi/gaudi3-scale.json), and configures the engines to read it. It lists the cards that the driver has now.
  - Restarts no service; RV(services) lists services that must reload their file.
options:
  engines:
    description:
      - Engines to register with, V(docker), V(podman) or V(containerd). A named engine gets its file even if it is not
        installed yet.
      - V(auto) selects the installed engines, except a containerd that belongs to Docker or has its CRI plugin
        disabled.
    type: list
    elements: str
    choices: [auto, docker, podman, containerd]
    default: [auto]
  default:
    description:
      - Whether containers use the runtime by default.
      - V(false) leaves the setting in the file.
    type: bool
    default: false
  program:
    description: Path of the runtime.
    type: path
    default: /usr/bin/habana-container-runtime
  cdi:
    description:
      - Whether containers can also get cards with C(--device habana.ai/gaudi=0) or C(=all).
      - The specification passes device nodes only. Other things that the vendor's runtime adds, such as
        E(HABANA_VISIBLE_MODULES) and the files of the cards' network, need the runtime.
      - V(false) removes the specification and leaves the engines' files.
      - CDI needs Docker 25.0, podman 4.3 or containerd 1.7; files of older versions are not changed for it.
    type: bool
    default: false
  settings:
    description:
      - Settings of the vendor's runtime in C(/etc/habana-container-runtime/config.toml). A table is a dictionary.
      - Other keys stay as they are. A key that the runtime does not know is refused.
    type: dict
    default: {}
  hold:
    description: Packages that apt or dnf holds at their release, if installed.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
    description: Writes nothing. O(program) may be missing, as before the first run.
  diff_mode:
    support: full
    description: Shows all files, and the packages to hold.
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
  description: Summary of the registration.
  type: str
  returned: success
  sample: The runtime habana is registered with docker.
engines:
  description: Engines that have the runtime registered.
  type: list
  elements: str
  returned: success
  sample: [docker]
cdi_devices:
  description: Values for C(--device) with O(cdi). Empty without it, or if the driver shows no card.
  type: list
  elements: str
  returned: success
  sample: [habana.ai/gaudi=0, habana.ai/gaudi=all]
backups:
  description: Backups of the files.
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
      description: Name of the service.
      type: str
      sample: docker
    state:
      description: V(reloaded) or V(restarted), the state to request from M(ansible.builtin.systemd_service).
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
