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
  - Installs the kernel module, rdma-core and libfabric for Amazon's Elastic Fabric Adapter with Amazon's
    C(efa_installer.sh). It uses the site's copy of the archive; the site pins its version and SHA-256.
  - The installer runs only if C(/opt/amazon/efa_installed_packages) names another version, if a package listed there
    was removed, or if a previous run was interrupted. The archive is unpacked in a directory that only root can access.
    Nothing is downloaded or copied to a node that already has the version.
  - The installer gets its dependencies from the distribution's repositories.
  - With O(ofi_wrapper_archive), HCCL's wrapper of libfabric is built against the libfabric in C(/opt/amazon/efa) and
    installed as C(/usr/lib/habanalabs/libhccl_ofi_wrapper.so). It is built again if the archive or the installer's
    version changes, or if the file was changed.
  - Nothing is restarted. RV(reboot_required) reports a reboot that is needed.
  - Each run checks whether the parts are compatible, and reports mismatches as warnings and in RV(coherence).
options:
  release:
    description:
      - Release of the Gaudi software. First-generation cards, as in C(dl1.24xlarge), are supported up to 1.21.
      - From 1.18 on, the module warns that the published HCL sources skip EFA.
    type: str
    required: true
  version:
    description:
      - "Version of the installer, for example V(1.34.0). Empty: nothing is installed, but the node is still checked."
      - A version older than the installed one is refused, because the installer leaves newer packages in place.
    type: str
    default: ""
  archive:
    description:
      - The site's copy of C(aws-efa-installer-VERSION.tar.gz), as an absolute path on the controller or a URL.
      - The node downloads a URL. Plain C(http) is accepted only from O(plain_http_hosts); C(file) is a file on the
        node.
    type: str
    default: ""
  checksum:
    description: Checksum of the archive, C(sha256:) followed by the SHA-256 in lower case.
    type: str
    default: ""
  force:
    description: Install on Gaudi 2 or 3, or without a card, despite all warnings.
    type: bool
    default: false
  installer_options:
    description:
      - More installer options. They apply when the installer runs; changing them does not make it run.
      - V(--minimal) omits its libfabric and Open MPI, V(--skip-kmod) its kernel module, V(--skip-limit-conf) its
        locked-memory limits, and V(--no-verify) its final device test.
    type: list
    elements: str
    choices: [--minimal, --skip-kmod, --skip-limit-conf, --no-verify]
    default: []
  timeout:
    description: Seconds that the installer, or a command of the wrapper's build, may take.
    type: float
    default: 1800
  plain_http_hosts:
    description: Hosts from which O(archive) and O(ofi_wrapper_archive) may be downloaded without TLS.
    type: list
    elements: str
    default: []
  environment_file:
    description: The jobs' environment file. Its flags and C(LD_LIBRARY_PATH) are checked too.
    type: path
    default: /etc/gaudi3_scale/environment
  archive_file:
    description: Location of the archive on the node. Set by this module's action plugin.
    type: path
    default: ""
  ofi_wrapper_archive:
    description:
      - "Source archive of HCCL's OFI wrapper, as a URL that the node can reach or an absolute path on the controller.
        Empty: no wrapper is built."
      - Refused with V(--minimal) in O(installer_options), which omits the libfabric that it is built against.
    type: str
    default: ""
  ofi_wrapper_checksum:
    description: Checksum of O(ofi_wrapper_archive), C(sha256:) and 64 hex digits.
    type: str
    default: ""
  ofi_wrapper_build_packages:
    description: Distribution packages that the wrapper's build needs, by package manager of the node.
    type: dict
    default: {}
    suboptions:
      apt:
        description: On Debian and Ubuntu.
        type: list
        elements: str
        default: []
      dnf:
        description: On RHEL.
        type: list
        elements: str
        default: []
  ofi_wrapper_archive_file:
    description: Location of the wrapper's archive on the node. Set by this module's action plugin.
    type: path
    default: ""
attributes:
  check_mode:
    support: full
    description:
      - Nothing is downloaded, copied, built or run. The checksum of an archive on the controller is verified.
  diff_mode:
    support: full
    description: Shows the installer version, and what the wrapper is built of.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Install Amazon's EFA software on dl1.24xlarge
  gaudi3.scale.efa_installation:
    release: 1.21.3
    version: 1.34.0
    archive: /srv/mirror/aws-efa-installer-1.34.0.tar.gz
    checksum: sha256:0000000000000000000000000000000000000000000000000000000000000000

- name: Install it with HCCL's wrapper of its libfabric
  gaudi3.scale.efa_installation:
    release: 1.21.3
    version: 1.34.0
    archive: /srv/mirror/aws-efa-installer-1.34.0.tar.gz
    checksum: sha256:0000000000000000000000000000000000000000000000000000000000000000
    ofi_wrapper_archive: /srv/mirror/hccl_ofi_wrapper.tar.gz
    ofi_wrapper_checksum: sha256:1111111111111111111111111111111111111111111111111111111111111111
    ofi_wrapper_build_packages:
      apt: [g++, make]

- name: Check the installed versions only
  gaudi3.scale.efa_installation:
    release: 1.21.3
"""

RETURN = r"""
efa:
  description: State of the node.
  type: dict
  returned: success
  contains:
    version:
      description: Version of the last installer that completed on this node, or null.
      type: str
    previous:
      description: RV(efa.version) before this run, or null.
      type: str
    generation:
      description: Generation of the cards, or null.
      type: str
    instance_type:
      description: Product name from the firmware tables. On EC2 it is the instance type.
      type: str
    libfabric:
      description: Version of Amazon's libfabric, or null.
      type: str
    kernel_module:
      description: Version of the loaded module efa. Empty if it reports none, null if it is not loaded.
      type: str
    devices:
      description: EFA devices of the node.
      type: list
      elements: str
    wrapper:
      description: HCCL's wrapper of libfabric and what this module built it of, or null if there is none.
      type: str
coherence:
  description:
    - Compatibility checks, with C(name), C(ok), C(expected), C(found) and C(message).
    - Empty in check mode if the installer would run.
  type: list
  elements: dict
  returned: success
reboot_required:
  description: Whether the node needs a reboot.
  type: bool
  returned: success
reboot_reasons:
  description: Reasons for the reboot.
  type: list
  elements: str
  returned: success
last_lines:
  description: Last lines of output of an installer that failed. The full output is in RV(log).
  type: list
  elements: str
  returned: when the installer failed
log:
  description: File on the node with the installer's output.
  type: str
  returned: when the installer failed
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.installation import Place, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.plan import INSTALLER_OPTIONS, options_of
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.os_release import package_manager


def main() -> None:
    words = {"type": "list", "elements": "str", "default": []}
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
            "ofi_wrapper_archive": {"type": "str", "default": ""},
            "ofi_wrapper_checksum": {"type": "str", "default": ""},
            "ofi_wrapper_build_packages": {"type": "dict", "default": {}, "options": {"apt": words, "dnf": words}},
            "ofi_wrapper_archive_file": {"type": "path", "default": ""},
        },
        supports_check_mode=True,
    )


def answer(wishes: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    return converge(options_of(wishes, package_manager()), run_process, module.check_mode, Place())


if __name__ == "__main__":
    main()
