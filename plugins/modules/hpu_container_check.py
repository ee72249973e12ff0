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
  - Starts a container with each engine, once with the runtime C(habana) and once with CDI where that is wanted, lets
    C(hl-smi) count the cards in it, and fails where it sees other cards than C(hl-smi) on the node.
  - No registry is needed. The image is made on the node, of empty directories; C(/usr) of the node is mounted into it
    read-only. It is gone afterwards, and so is the container, C(gaudi3-scale-check); what an interrupted run left is
    removed by the next.
  - The containers have the node's network. Nothing is taken away from a training that runs.
  - What was seen is kept in C(/var/lib/gaudi3_scale/container_check.json). Containers are started again only when the
    cards, the engines, the runtime, a configuration or these options have changed.
options:
  engines:
    description:
      - Engines to start containers with, RV(gaudi3.scale.hpu_container_runtime#module:engines) for example.
      - One that is not installed, and V(containerd), is reported in RV(not_checked).
    type: list
    elements: str
    choices: [docker, podman, containerd]
    required: true
  cdi:
    description: Whether to start one with C(--device habana.ai/gaudi=all) too.
    type: bool
    default: false
  image:
    description:
      - An image with C(hl-smi) to start instead of the one that is made on the node. The engine fetches it where it is
        not there.
    type: str
    default: ""
  mounts:
    description: Directories of the node that C(hl-smi) needs besides C(/usr). They are not mounted into O(image).
    type: list
    elements: path
    default: []
  seconds:
    description: How long one container may take, the fetching of its image included.
    type: float
    default: 120
attributes:
  check_mode:
    support: full
    description: No container is started.
  diff_mode:
    support: none
    description: Nothing on the node is changed.
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
  description: One sentence on what was seen.
  type: str
  returned: always
  sample: hl-smi counts 8 cards in a container of podman with the runtime habana.
cards:
  description: How many cards hl-smi counts on the node.
  type: int
  returned: always
counts:
  description: By engine, and V(runtime) or V(cdi), how many cards hl-smi counted in the container.
  type: dict
  returned: always
  sample: {podman: {runtime: 8, cdi: 8}}
started:
  description: How many containers were started; 0 where nothing has changed since the last success.
  type: int
  returned: success
not_checked:
  description: A sentence for each engine, or way into it, with which no container was started.
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
