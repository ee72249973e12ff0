#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: efa_installation
short_description: Install Amazon's EFA software on a node with first-generation Gaudi cards
version_added: "1.0.0"
description:
  - Installs the kernel module, rdma-core and libfabric for Amazon's Elastic Fabric Adapter with Amazon's own
    C(efa_installer.sh), from the site's copy of its archive, whose version and SHA-256 the site has pinned.
  - The installer runs only where C(/opt/amazon/efa_installed_packages) names another version, where a package that it
    names was removed since, or where a run before was cut off. It is unpacked where only root is, and nothing is
    fetched or brought for a node that has the version.
  - It installs what it depends on from the distribution's own repositories.
  - Nothing is restarted. A restart that is needed is in RV(reboot_required).
  - Each run looks whether the parts belong together, and reports what does not as a warning and in RV(coherence).
options:
  release:
    description:
      - Release of the Gaudi software. First-generation cards, which are those of C(dl1.24xlarge), end with 1.21.
      - From 1.18 on the module warns that the open sources of HCL skip EFA.
    type: str
    required: true
  version:
    description:
      - Version of the installer, for example V(1.34.0). Nothing is installed when empty, and the node is looked at all
        the same.
      - A version older than the installed one is refused, since the installer leaves newer packages in place.
    type: str
    default: ""
  archive:
    description:
      - The site's copy of C(aws-efa-installer-VERSION.tar.gz), an absolute path on the controller or a URL.
      - A URL is fetched by the node. Plain C(http) only from O(plain_http_hosts); C(file) is a file on the node.
    type: str
    default: ""
  checksum:
    description: C(sha256:) and the archive's SHA-256 in lower case.
    type: str
    default: ""
  force:
    description: Install it on Gaudi 2 or 3, or without any card, for all that is said against it.
    type: bool
    default: false
  installer_options:
    description:
      - Further options of the installer. They count when it runs, and do not make it run.
      - V(--minimal) leaves its libfabric and Open MPI out, V(--skip-kmod) its kernel module, V(--skip-limit-conf) its
        limits of locked memory, and V(--no-verify) its own test of the device at the end.
    type: list
    elements: str
    choices: [--minimal, --skip-kmod, --skip-limit-conf, --no-verify]
    default: []
  timeout:
    description: Seconds that the installer has.
    type: float
    default: 1800
  plain_http_hosts:
    description: Hosts from which O(archive) may be fetched without TLS.
    type: list
    elements: str
    default: []
  environment_file:
    description: The jobs' environment file, whose flags and C(LD_LIBRARY_PATH) are judged with the rest.
    type: path
    default: /etc/gaudi3_scale/environment
  archive_file:
    description: Where the controller left the archive on the node. The action of this module sets it.
    type: path
    default: ""
attributes:
  check_mode:
    support: full
    description: Nothing is fetched, brought or run. An archive on the controller is compared with its checksum.
  diff_mode:
    support: full
    description: Shows the installer's version.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Install Amazon's EFA software on dl1.24xlarge
  gaudi3.scale.efa_installation:
    release: 1.21.3
    version: 1.34.0
    archive: /srv/mirror/aws-efa-installer-1.34.0.tar.gz
    checksum: sha256:0000000000000000000000000000000000000000000000000000000000000000

- name: Check the installed versions only
  gaudi3.scale.efa_installation:
    release: 1.21.3
"""

RETURN = r"""
efa:
  description: What the node has.
  type: dict
  returned: success
  contains:
    version:
      description: Version of the installer that came to its end here, or null.
      type: str
    previous:
      description: That version before this run, or null.
      type: str
    generation:
      description: Generation of the cards, or null.
      type: str
    instance_type:
      description: Product name of the firmware's tables. On EC2 it is the instance type.
      type: str
    libfabric:
      description: Version of Amazon's libfabric, or null.
      type: str
    kernel_module:
      description: Version of the loaded module efa, empty where it tells none, or null where it is not loaded.
      type: str
    devices:
      description: The node's adapters.
      type: list
      elements: str
coherence:
  description:
    - Whether the parts belong together, with C(name), C(ok), C(expected), C(found) and C(message).
    - Empty in check mode where the installer would run.
  type: list
  elements: dict
  returned: success
reboot_required:
  description: Whether the node has to be restarted.
  type: bool
  returned: success
reboot_reasons:
  description: Why.
  type: list
  elements: str
  returned: success
last_lines:
  description: The last lines of the installer that failed. All of them are in the file RV(log).
  type: list
  elements: str
  returned: when the installer failed
log:
  description: File on the node with all that the installer said.
  type: str
  returned: when the installer failed
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.installation import Place, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.plan import INSTALLER_OPTIONS, EfaOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "release": {"type": "str", "required": True},
            "version": {"type": "str", "default": ""},
            "archive": {"type": "str", "default": ""},
            "checksum": {"type": "str", "default": ""},
            "force": {"type": "bool", "default": False},
            "installer_options": {
                "type": "list",
                "elements": "str",
                "choices": list(INSTALLER_OPTIONS),
                "default": [],
            },
            "timeout": {"type": "float", "default": 1800},
            "plain_http_hosts": {"type": "list", "elements": "str", "default": []},
            "environment_file": {"type": "path", "default": "/etc/gaudi3_scale/environment"},
            "archive_file": {"type": "path", "default": ""},
        },
        supports_check_mode=True,
    )


def answer(wishes: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    for name in ("installer_options", "plain_http_hosts"):
        wishes[name] = tuple(wishes[name])
    return converge(EfaOptions(**wishes), run_process, module.check_mode, Place())


if __name__ == "__main__":
    main()
