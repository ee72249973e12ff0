#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_container_check
short_description: Verify that containers see all Gaudi cards
version_added: "1.0.0"
description:
  - Starts a container with each engine, once with the runtime C(habana) and once with CDI if requested, and counts the
    cards in it with C(hl-smi). Fails if the count differs from that of C(hl-smi) on the node.
  - Needs no registry. The image is built on the node from empty directories, with C(/usr) of the node mounted
    read-only. The image and the container C(gaudi3-scale-check) are removed afterwards; leftovers of an interrupted run
    are removed by the next one.
  - The containers use the node's network. Running training is not affected.
  - The result is stored in C(/var/lib/gaudi3_scale/container_check.json). Containers are started again only after the
    cards, the engines, the runtime, a configuration or these options have changed.
options:
  engines:
    description:
      - Engines to test, for example RV(gaudi3.scale.hpu_container_runtime#module:engines).
      - Engines that are not installed, and V(containerd), are listed in RV(not_checked).
    type: list
    elements: str
    choices: [docker, podman, containerd]
    required: true
  cdi:
    description: Whether to start a container with C(--device habana.ai/gaudi=all) too.
    type: bool
    default: false
  image:
    description: Image with C(hl-smi) to use instead of the one built on the node. The engine pulls it if missing.
    type: str
    default: ""
  mounts:
    description: Directories of the node that C(hl-smi) needs besides C(/usr). They are not mounted into O(image).
    type: list
    elements: path
    default: []
  seconds:
    description: Seconds per container, including the pull of its image.
    type: float
    default: 120
attributes:
  check_mode:
    support: full
    description: Starts no container.
  diff_mode:
    support: none
    description: Changes nothing on the node.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Check podman with the runtime and with CDI
  gaudi3.scale.hpu_container_check:
    engines: [podman]
    cdi: true
"""

RETURN = r"""
msg:
  description: Summary of the result.
  type: str
  returned: always
  sample: hl-smi counts 8 cards in a container of podman with the runtime habana.
cards:
  description: Number of cards that hl-smi reports on the node.
  type: int
  returned: always
counts:
  description: Number of cards that hl-smi reports in the container, by engine and V(runtime) or V(cdi).
  type: dict
  returned: always
  sample: {podman: {runtime: 8, cdi: 8}}
started:
  description: Number of containers started; 0 if nothing has changed since the last success.
  type: int
  returned: success
not_checked:
  description: One message for each engine, or mode of an engine, that was not tested.
  type: list
  elements: str
  returned: always
  sample: [docker is not installed, so no container of it was started.]
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.container_start import StartOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.engines import ENGINES
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.start_check import check
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.state import Place
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "engines": {"type": "list", "elements": "str", "choices": [*ENGINES], "required": True},
            "cdi": {"type": "bool", "default": False},
            "image": {"type": "str", "default": ""},
            "mounts": {"type": "list", "elements": "path", "default": []},
            "seconds": {"type": "float", "default": 120},
        },
        supports_check_mode=True,
    )


def answer(wishes: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    lists: dict[str, Any] = {name: tuple(wishes.pop(name)) for name in ("engines", "mounts")}
    return check(StartOptions(**wishes, **lists), run_process, module.check_mode, Place())


if __name__ == "__main__":
    main()
