#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: hpu_preflight
short_description: Check whether a Gaudi node meets the requirements of a release
version_added: "1.0.0"
description:
  - Compares a node with the requirements of a Gaudi software release, before anything is installed.
  - Fails with all problems at once, each as an error message with its remedy.
  - Needs only Python on the node. The cards are found by their PCI ids.
  - Warns about a release, kernel, operating system or PyTorch that is no longer supported or has a known hole, with the
    source. That never fails a node.
options:
  release:
    description: Release to install, V(1.24.1) or with its build, V(1.24.1-482).
    type: str
    required: true
  release_overrides:
    description:
      - Releases that the collection does not know, or changes to its table of releases.
      - Maps a version to fields of the table, such as C(build), C(pytorch), C(generations), C(operating_systems).
      - A new release requires C(build). Missing fields are taken from the newest release.
    type: dict
    default: {}
  group_releases:
    description: Releases of all hosts of the play. More than one is refused unless O(allow_mixed_releases) is set.
    type: list
    elements: str
    default: []
  allow_mixed_releases:
    description: Whether the hosts of the play may have different releases.
    type: bool
    default: false
  cards:
    description: Number of cards that the node must have.
    type: int
    required: true
  allow_unsupported_os:
    description: Whether to accept an operating system or kernel that the vendor has not validated with the release.
    type: bool
    default: false
  disk_paths:
    description:
      - Directories and the free space that each needs. Requirements on one file system add up.
      - For a directory that does not exist yet, the nearest existing parent is checked.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: Path of the directory.
        type: path
        required: true
      need_mib:
        description: Free space needed there, in MiB.
        type: int
        required: true
      unless_exists:
        description: Path that, if it exists, means no space is needed because the data is already there.
        type: path
  signing_key:
    description: Private key with which DKMS will sign the driver, if not the one that DKMS is configured to use.
    type: path
  signing_certificate:
    description: Certificate of O(signing_key), in DER.
    type: path
  prepares_enrollment:
    description:
      - Whether a later task requests enrollment of the certificate in the firmware.
      - A certificate that Secure Boot does not trust is then reported instead of refused.
    type: bool
    default: false
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Read-only.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
seealso:
  - module: gaudi3.scale.hpu_info
  - module: gaudi3.scale.hpu_verify
"""

EXAMPLES = r"""
- name: Run the preflight checks
  gaudi3.scale.hpu_preflight:
    release: 1.24.1
    cards: 8
    disk_paths:
      - path: /opt/gaudi3_scale/venv
        need_mib: 20480
        unless_exists: /opt/gaudi3_scale/venv/bin/python
  become: true

- name: Check for a release newer than the collection
  gaudi3.scale.hpu_preflight:
    release: 1.25.0
    release_overrides:
      1.25.0:
        build: "100"
        pytorch: 2.12.0
        operating_systems:
          ubuntu-24.04: [">=6.8"]
    cards: 8
  become: true
"""

RETURN = r"""
checks:
  description: All checks. On failure, only name, ok and unknown of the failed checks; the message has the details.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the check.
      type: str
      sample: cards
    ok:
      description: Whether the node passes.
      type: bool
    expected:
      description: Requirement.
      type: str
      sample: at least 8
    found:
      description: Value on the node.
      type: str
    remedy:
      description: What to do if the check fails.
      type: str
    advice:
      description: Whether a failure is only a warning.
      type: bool
    message:
      description: Message, if the other fields do not make one.
      type: str
    unknown:
      description: Whether the check was inconclusive, for example because a program timed out. It is not V(ok) then.
      type: bool
hpu:
  description: Card facts, as M(gaudi3.scale.hpu_info) returns them with O(gaudi3.scale.hpu_info#module:hl_smi=false).
  returned: success
  type: dict
"""

from dataclasses import fields
from datetime import datetime, timezone
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._cards import hpu_facts
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.node_system import read_disks
from ansible_collections.gaudi3.scale.plugins.module_utils._host.kernel import secure_boot
from ansible_collections.gaudi3.scale.plugins.module_utils._node.check import (
    advice,
    as_failures,
    as_results,
    failed,
    refusal,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import kernel_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.preflight import Wanted, preflight_checks

DISK_PATH = {
    "path": {"type": "path", "required": True},
    "need_mib": {"type": "int", "required": True},
    "unless_exists": {"type": "path"},
}


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "release": {"type": "str", "required": True},
            "release_overrides": {"type": "dict", "default": {}},
            "group_releases": {"type": "list", "elements": "str", "default": []},
            "allow_mixed_releases": {"type": "bool", "default": False},
            "cards": {"type": "int", "required": True},
            "allow_unsupported_os": {"type": "bool", "default": False},
            "disk_paths": {"type": "list", "elements": "dict", "default": [], "options": DISK_PATH},
            "signing_key": {"type": "path"},
            "signing_certificate": {"type": "path"},
            "prepares_enrollment": {"type": "bool", "default": False},
        },
        required_together=[("signing_key", "signing_certificate")],
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    facts = hpu_facts.gather(run_process, kernel_tree(), hl_smi=False)
    wanted = Wanted(**{field.name: options[field.name] for field in fields(Wanted)})
    own = options["signing_key"] or "", options["signing_certificate"] or ""
    boot = secure_boot.read(run_process, "/", kernel_tree(), *own)
    today = datetime.now(timezone.utc).date()
    checks = preflight_checks(facts, read_disks(options["disk_paths"]), wanted, boot, today)
    for sentence in advice(checks):
        module.warn(sentence)
    problems = failed(checks)
    if problems:
        # Without the facts: what an operator has to read would be lost among them on the screen.
        message = refusal(f"Release {wanted.release} cannot be installed here", problems)
        module.fail_json(msg=message, checks=as_failures(problems))
    return {"changed": False, "checks": as_results(checks), "hpu": facts.as_dict()}


if __name__ == "__main__":
    main()
