#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_qualify_schedule
short_description: Schedule periodic self-tests of a node
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Installs a systemd timer that reruns all tests that M(gaudi3.scale.hpu_qualify) last planned on this node. A run is
    skipped if a process has a card open.
  - The verdict is in C(/var/lib/gaudi3_scale/qualify/verdict.json). The log is in the journal of the unit
    C(gaudi3-scale-qualification-scheduled.service), which fails if the node is not healthy.
  - A node without a plan reports this at the first run; run M(gaudi3.scale.hpu_qualify) once.
options:
  state:
    description: State of the timer.
    type: str
    choices: [present, absent]
    default: present
  on_calendar:
    description: Schedule, in the format of C(systemd.time(7)).
    type: str
    default: Sun 03:00
  randomized_delay_seconds:
    description: Maximum random delay in seconds, different on each node, so that not all nodes draw full power at once.
    type: int
    default: 3600
  venv:
    description:
      - Virtual environment with the node library. Only root may have write access to it and its contents, because root
        runs it.
    type: path
    default: /opt/gaudi3_scale/venv
  flags:
    description: Optional file with the environment of the tests. Only root may have write access.
    type: path
    default: /etc/gaudi3_scale/environment
attributes:
  check_mode:
    support: full
    description: Reports what would change.
  diff_mode:
    support: full
    description: Shows the units.
seealso:
  - module: gaudi3.scale.hpu_qualify
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Schedule self-tests on Sundays
  gaudi3.scale.hpu_qualify_schedule:
    on_calendar: Sun 03:00
  become: true
"""

RETURN = r"""
units:
  description: The managed units.
  type: list
  elements: str
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.option_forms import check_place
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.schedule import Schedule, apply

FORMS = {"venv": check_place, "flags": check_place}


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        forms=FORMS,
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "on_calendar": {"type": "str", "default": "Sun 03:00"},
            "randomized_delay_seconds": {"type": "int", "default": 3600},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
            "flags": {"type": "path", "default": "/etc/gaudi3_scale/environment"},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    """Install or remove the timer, and report."""
    options = Schedule(**given)
    return apply(options, run_process, module.check_mode)


if __name__ == "__main__":
    main()
