#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: storage_rates
short_description: Measure a node's read and write rates in a directory with fio
version_added: "1.0.0"
description:
  - Runs one O(phase) of C(fio) in O(directory), as O(user), with direct I/O, so the node's page cache is not involved.
    It ends after O(seconds), however slow the storage is.
  - V(write) fills new files whose names start with C(.gaudi3_scale_storage). V(read) and V(random_read) read what was
    written, so set O(size) to RV(written). V(remove) removes the files, and so does a phase that fails.
  - A directory in memory is refused, and so is one with less free space than the files need plus 1 GiB.
  - To measure several nodes in parallel, with a verdict, use M(gaudi3.scale.storage_measurement).
options:
  directory:
    description: Directory to measure, on any file system.
    type: path
    required: true
  phase:
    description: Phase to run.
    type: str
    choices: [write, read, random_read, remove]
    required: true
  node:
    description: Name used in the file names, so that no two nodes open the same files.
    type: str
    required: true
  files:
    description: Number of files, each with a separate process.
    type: int
    default: 8
  size:
    description: Size of each file in bytes.
    type: int
    default: 1073741824
  block:
    description: Bytes per request.
    type: int
    default: 1048576
  seconds:
    description: Seconds per phase, after two seconds of ramp-up.
    type: int
    default: 15
  user:
    description: Account that writes and reads.
    type: str
    default: gaudi
  install:
    description: Whether to install the distribution's package C(fio) if missing.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
    description: Measures nothing, and RV(bytes_per_s) is missing.
  diff_mode:
    support: full
    description: Shows the package that is installed. The files are removed at the end and do not count as a change.
seealso:
  - module: gaudi3.scale.storage_measurement
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Measure how fast checkpoints are written
  gaudi3.scale.storage_rates:
    directory: /mnt/checkpoints
    phase: write
    node: "{{ inventory_hostname }}"
  become: true
  register: written

- name: Remove the files
  gaudi3.scale.storage_rates:
    directory: /mnt/checkpoints
    phase: remove
    node: "{{ inventory_hostname }}"
  become: true
"""

RETURN = r"""
bytes_per_s:
  description: Bytes per second, over all files.
  type: float
  returned: when measured
iops:
  description: Requests per second, over all files.
  type: float
  returned: when measured
p99_s:
  description: 99th percentile latency in seconds, of the slowest file.
  type: float
  returned: when measured
seconds:
  description: Measured seconds.
  type: float
  returned: when measured
written:
  description: Bytes of each file that can be read.
  type: int
  returned: when measured
file_system:
  description: Type of the file system, as reported by stat(1).
  type: str
  returned: when measured
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._host.packages import install_missing
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.fio import PHASES, Phase
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.measure import measured, remove

REMOVE = "remove"


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "directory": {"type": "path", "required": True},
            "phase": {"type": "str", "choices": [*PHASES, REMOVE], "required": True},
            "node": {"type": "str", "required": True},
            "files": {"type": "int", "default": 8},
            "size": {"type": "int", "default": 1 << 30},
            "block": {"type": "int", "default": 1 << 20},
            "seconds": {"type": "int", "default": 15},
            "user": {"type": "str", "default": "gaudi"},
            "install": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    """Run one phase, and report."""
    return _done(options, module.check_mode)


def _done(options: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    user, install = options.pop("user"), options.pop("install")
    phase = Phase(options.pop("phase"), **options)
    diff = install_missing(["fio"], "storage_rates", run_process, "/", check_mode) if install else []
    result = {"changed": bool(diff), "diff": diff}
    if check_mode:
        return result
    if phase.name == REMOVE:
        remove(phase.directory, phase.node, user, run_process)
        return result
    return {**result, **measured(phase, user, run_process)}


if __name__ == "__main__":
    main()
