#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_host_nics
short_description: Prepare a Gaudi node for scale-out over its host's InfiniBand or RoCE cards
version_added: "1.0.0"
description:
  - Installs the driver stack that the site selects, and refuses to mix it with or replace another. Checks kernel, PCIe
    ACS, ports, GIDs, MTU, locked memory and the jobs' flags. Each failure is an error message with its remedy.
  - Installs libfabric, built with SynapseAI for Gaudi Direct, and HCCL's wrapper for it. They are built once, on the
    first node of each kind (same operating system, architecture, release and settings), from archives pinned by
    checksum. The controller stores the build with its checksum in O(libfabric_directory) and copies it to the other
    nodes. A failed build leaves only its log on a node.
  - Anything that would abort a job or disable its Gaudi Direct is refused before anything is changed. Other problems
    are warnings, also in RV(checks).
  - Without O(libfabric_archive), libfabric is not handled.
options:
  provider:
    description: Type of the host's cards to check.
    type: str
    choices: [infiniband, roce]
    required: true
  environment:
    description: Environment file of jobs, as M(gaudi3.scale.hpu_flags) writes it. Checked if it exists.
    type: path
    default: /etc/gaudi3_scale/environment
  roce_mtu:
    description:
      - Minimum MTU of a RoCE card's network interface. V(4200) is enough for RoCE's largest payload, 4096 bytes.
    type: int
    default: 4200
  release:
    description: Release of the Gaudi software. A build with Gaudi Direct works with one release only.
    type: str
    default: ""
  ofed:
    description:
      - Driver stack. V(distribution) is the operating system's rdma-core; V(doca) and V(mofed) are NVIDIA's.
      - V(none) does not manage the stack.
    type: str
    choices: [distribution, doca, mofed, none]
    default: distribution
  ofed_packages:
    description:
      - "Packages of O(ofed). Empty: those of O(system_packages). Only missing packages are installed, and none is
        removed."
    type: list
    elements: str
    default: []
  ofed_repository:
    description: URL of the site's DOCA or MOFED repository. Not needed if O(ofed_packages) are installed.
    type: str
    default: ""
  ofed_suite:
    description: Suite in O(ofed_repository), for apt. V(./) is a flat repository.
    type: str
    default: ./
  ofed_components:
    description: Components of O(ofed_suite), for apt.
    type: list
    elements: str
    default: []
  ofed_key_url:
    description: URL of the public key that signs the repository's lists, or for dnf its packages.
    type: str
    default: ""
  ofed_key_fingerprint:
    description: "Required fingerprint of this key. Empty: any key is accepted."
    type: str
    default: ""
  libfabric_archive:
    description:
      - "Source archive of libfabric, as a URL that the building node can reach or an absolute path on the controller.
        Empty: nothing is built."
    type: str
    default: ""
  libfabric_checksum:
    description: Checksum of O(libfabric_archive), C(sha256:) and 64 hex digits.
    type: str
    default: ""
  libfabric_version:
    description: Version of libfabric. HCL needs V(1.20.0) or newer with Gaudi Direct, and V(1.16.1) without.
    type: str
    default: 1.20.0
  libfabric_gaudi_direct:
    description:
      - Whether to build libfabric with SynapseAI, which Gaudi Direct requires. The building node needs the headers.
    type: bool
    default: true
  libfabric_synapse:
    description: Prefix of SynapseAI, for C(--with-synapseai).
    type: path
    default: /usr
  libfabric_configure:
    description: More arguments of libfabric's C(configure).
    type: list
    elements: str
    default: []
  libfabric_build_packages:
    description:
      - "Distribution packages that the build needs. Empty: those of O(system_packages). Installed on the building node
        only."
    type: list
    elements: str
    default: []
  system_packages:
    description: Packages for the empty lists, by package manager of the node.
    type: dict
    default: {}
    suboptions:
      apt:
        description: On Debian and Ubuntu.
        type: dict
        suboptions: &lists
          ofed:
            description: For O(ofed_packages).
            type: list
            elements: str
            default: []
          libfabric_build:
            description: For O(libfabric_build_packages).
            type: list
            elements: str
            default: []
      dnf:
        description: On RHEL.
        type: dict
        suboptions: *lists
  libfabric_build_timeout:
    description: Seconds per build command.
    type: float
    default: 3600
  libfabric_directory:
    description: Directory on the controller for the builds.
    type: str
    default: ~/.cache/gaudi3_scale/libfabric
  libfabric_archive_file:
    description: Path of the archive on the node. Set by the action plugin.
    type: path
    default: ""
  ofi_wrapper_archive:
    description:
      - Source archive of HCCL's OFI wrapper, in the form of O(libfabric_archive). Without it, no wrapper is built.
    type: str
    default: ""
  ofi_wrapper_checksum:
    description: Checksum of O(ofi_wrapper_archive), C(sha256:) and 64 hex digits.
    type: str
    default: ""
  ofi_wrapper_archive_file:
    description: Path of the wrapper's archive on the node. Set by the action plugin.
    type: path
    default: ""
  build_into:
    description: Directory for the built archive. Set by the action plugin. The module then only builds.
    type: path
    default: ""
  built_archive:
    description: Path of the built archive. Set by the action plugin.
    type: path
    default: ""
  built_checksum:
    description: SHA-256 of the built archive, from the controller.
    type: str
    default: ""
  plain_http_hosts:
    description: Hosts that may be contacted without TLS. A URL of C(http) to any other host is refused.
    type: list
    elements: str
    default: []
  lock_timeout:
    description: Seconds to wait for another package manager to finish.
    type: int
    default: 300
attributes:
  check_mode:
    support: full
    description: Nothing is downloaded, built or installed. Shows the packages, and which libfabric would be installed.
  diff_mode:
    support: full
    description: Shows the repository's files, the packages, and libfabric before and after.
seealso:
  - module: gaudi3.scale.hpu_fabric
  - module: gaudi3.scale.hpu_flags
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Set up InfiniBand with the distribution's drivers
  gaudi3.scale.hpu_host_nics:
    provider: infiniband
    ofed_packages: [rdma-core, ibverbs-providers]

- name: Set up RoCE with DOCA from the site's mirror, and Gaudi Direct
  gaudi3.scale.hpu_host_nics:
    provider: roce
    ofed: doca
    ofed_packages: [doca-ofed]
    ofed_repository: https://mirror.example.com/doca/3.0.0/ubuntu22.04/x86_64
    ofed_key_url: https://mirror.example.com/doca/GPG-KEY-Mellanox.pub
    release: 1.24.1
    libfabric_archive: https://mirror.example.com/libfabric-1.22.0.tar.bz2
    libfabric_checksum: "sha256:{{ libfabric_sha256 }}"
    libfabric_version: 1.22.0
    ofi_wrapper_archive: /srv/archives/hccl_ofi_wrapper.tar.gz
    ofi_wrapper_checksum: "sha256:{{ wrapper_sha256 }}"
"""

RETURN = r"""
checks:
  description: Each check, with C(name), C(ok), C(expected), C(found), C(remedy) and C(advice).
  type: list
  elements: dict
  returned: success, or if a check failed
stack:
  description: The driver stack.
  type: dict
  returned: success, without O(build_into)
  contains:
    ofed:
      description: Requested stack.
      type: str
    found:
      description: Stacks found before this run, each with the package that identifies it.
      type: dict
      sample:
        distribution: rdma-core 44.0-2
    installed:
      description: Packages that this run installed.
      type: list
      elements: str
libfabric:
  description: State of libfabric in C(/opt/gaudi3_scale/libfabric).
  type: dict
  returned: success, without O(build_into)
  contains:
    key:
      description: Kind of node and settings that a build is for. Empty if none is wanted.
      type: str
    installed:
      description: Whether the wanted build is installed.
      type: bool
    version:
      description: Version of libfabric, or null.
      type: str
    gaudi_direct:
      description: Whether it was built with SynapseAI. False means that there is no Gaudi Direct.
      type: bool
    wrapper:
      description: Whether HCCL's wrapper is included.
      type: bool
log:
  description: Last lines of output of the failed command.
  type: list
  elements: str
  returned: when a build failed
built:
  description: The build, with C(key), C(path), C(sha256) and C(size).
  type: dict
  returned: with O(build_into)
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.verbs.forms import FORMS
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.verbs.state import Place, converge, options_of
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.os_release import package_manager


def main() -> None:
    text, words = {"type": "str", "default": ""}, {"type": "list", "elements": "str", "default": []}
    place = {"type": "path", "default": ""}
    lists = {"type": "dict", "options": {"ofed": words, "libfabric_build": words}}
    # The users in the URLs of repositories and archives are not shown.
    run_module(
        AnsibleModule,
        answer,
        forms=FORMS,
        argument_spec={
            "provider": {"type": "str", "choices": ["infiniband", "roce"], "required": True},
            "environment": {"type": "path", "default": "/etc/gaudi3_scale/environment"},
            "roce_mtu": {"type": "int", "default": 4200},
            "release": text,
            "ofed": {"type": "str", "choices": ["distribution", "doca", "mofed", "none"], "default": "distribution"},
            "ofed_packages": words,
            "ofed_repository": text,
            "ofed_suite": {"type": "str", "default": "./"},
            "ofed_components": words,
            "ofed_key_url": {**text, "no_log": False},
            "ofed_key_fingerprint": {**text, "no_log": False},
            "libfabric_archive": text,
            "libfabric_checksum": text,
            "libfabric_version": {"type": "str", "default": "1.20.0"},
            "libfabric_gaudi_direct": {"type": "bool", "default": True},
            "libfabric_synapse": {"type": "path", "default": "/usr"},
            "libfabric_configure": words,
            "libfabric_build_packages": words,
            "system_packages": {"type": "dict", "default": {}, "options": {"apt": lists, "dnf": lists}},
            "libfabric_build_timeout": {"type": "float", "default": 3600},
            "libfabric_directory": {"type": "str", "default": "~/.cache/gaudi3_scale/libfabric"},
            "libfabric_archive_file": place,
            "ofi_wrapper_archive": text,
            "ofi_wrapper_checksum": text,
            "ofi_wrapper_archive_file": place,
            "build_into": place,
            "built_archive": place,
            "built_checksum": text,
            "plain_http_hosts": words,
            "lock_timeout": {"type": "int", "default": 300},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    options = options_of(given, package_manager())
    return converge(options, run_process, module.check_mode, Place())


if __name__ == "__main__":
    main()
