#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: package_bundle
short_description: Build a bundle for an air-gapped site
version_added: "1.0.0"
description:
  - Gathers one part of what a site without internet needs for one Gaudi release into a directory with the layout of the
    vendor's package repository. Any web server can serve it, and nodes need only its URL as the package repository's.
  - The vendor's package indices are kept as the vendor signed them, so nodes check the vendor's own signature.
  - The distribution's packages come with everything they depend on, as worked out by apt for an empty system. They are
    an apt repository of their own, signed by a key that is made for the site's bundles.
  - Every file is checked against the index that vouches for it before it counts. The last part writes a manifest with
    sizes, checksums and sources, the time of its making and the time until which it holds, and signs it. A node
    believes nothing of a bundle but this manifest, see O(gaudi3.scale.package_repository#module:bundle_fingerprint).
  - An interrupted part resumes where it stopped, and a file that is there is not fetched again.
    C(progress) in O(work_path) says how far a part is.
  - Run it on a connected host of the nodes' distribution, with C(gnupg), C(gpgv) and Python's C(venv) package.
  - Proxies are taken from the environment of the task (C(http_proxy), C(https_proxy), C(no_proxy)).
options:
  path:
    description: Directory of the bundle. It must not be there, be empty, or be a bundle.
    type: path
    required: true
  work_path:
    description: Directory for what is not to be served, on the same file system. O(path) with C(.work) when empty.
    type: path
    default: ""
  part:
    description:
      - The part to build. Build them in the order in which they stand here.
      - V(packages) are the vendor's for apt, V(rpms) the vendor's for dnf, V(distribution) what they and O(os_packages)
        need of the distribution, V(pytorch) the PyTorch archive, V(files) those in O(files), V(wheels) what
        O(requirements) need beside the archive, V(installer) the vendor's script, and V(manifest) finishes the bundle.
    type: str
    choices: [keys, packages, rpms, distribution, pytorch, files, wheels, installer, manifest]
    required: true
  packages_url:
    description: Common prefix of the package repository's URLs. C(https), C(http) or C(file).
    type: str
    default: https://vault.habana.ai/artifactory
  release:
    description: Release of the Gaudi software, with or without its build, for example V(1.24.1) or V(1.24.1-482).
    type: str
    required: true
  release_overrides:
    description: Rows that replace or add releases, from a version to the fields of a release such as C(build).
    type: dict
    default: {}
  rollback_releases:
    description: Further releases of which the vendor's packages go into the bundle, so that a node can go back to them.
    type: list
    elements: str
    default: []
  key_url:
    description: URL of the key that signs the apt repository. Derived from O(packages_url) when empty.
    type: str
    default: ""
  key_fingerprint:
    description:
      - Fingerprint that this key has to have, the one of a primary key. Other keys in the same file are left out.
      - When empty, that of the release table (O(release_overrides), C(keys)), else any key is taken, and its
        fingerprint recorded.
    type: str
    default: ""
  suite:
    description: Code name of the nodes' distribution, for example V(jammy). Of use for V(packages) and V(distribution).
    type: str
    default: ""
  components:
    description: Components of the vendor's suite.
    type: list
    elements: str
    default: [main]
  architectures:
    description: Architectures of the nodes. The distribution's packages are gathered for the first.
    type: list
    elements: str
    default: [amd64]
  packages:
    description: The vendor's packages. Others of the vendor's that they depend on come along.
    type: list
    elements: str
    default: []
  rpm_repositories:
    description: The vendor's dnf repositories below O(packages_url), for example V(rhel/9/9.6).
    type: list
    elements: str
    default: []
  rpm_packages:
    description: The vendor's packages in O(rpm_repositories).
    type: list
    elements: str
    default: []
  os_packages:
    description:
      - Packages of the distribution. Those that the vendor's packages depend on need not be named.
      - V({kernel}) in a name stands for each of O(kernels). Without any name the part V(distribution) is left out.
    type: list
    elements: str
    default: []
  kernels:
    description: Kernel releases of the nodes. The running kernel of this host when empty.
    type: list
    elements: str
    default: []
  distribution_sources:
    description: apt sources to take the distribution's packages from, as text. This host's own when empty.
    type: str
    default: ""
  distribution_base:
    description:
      - Also take what every system of the distribution has installed, so that nodes at an older point release can
        install the rest.
    type: bool
    default: true
  os_directory:
    description: The repository's directory for the nodes' system, such as V(ubuntu2204). That of this host when empty.
    type: str
    default: ""
  pytorch:
    description: PyTorch version in the archive's name. That of the release when empty.
    type: str
    default: ""
  pytorch_checksum:
    description:
      - Checksum of the PyTorch archive, as V(sha256:9f86d0...). The vendor publishes none.
      - When empty, that of the release table (O(release_overrides), C(pytorch_sha256)).
    type: str
    default: ""
  python:
    description: The Python of the nodes' training environments, on this host. pip runs in it.
    type: path
    default: /usr/bin/python3
  requirements:
    description:
      - What nodes install beside the PyTorch archive, as C(name) or C(name==1.2).
      - Not C(gaudi3-scale), which the collection brings to the nodes itself.
    type: list
    elements: str
    default: []
  extras:
    description: Extras of the node library whose packages come along, as in M(gaudi3.scale.training_venv).
    type: list
    elements: str
    default: []
  pins:
    description: Exact versions, as in M(gaudi3.scale.training_venv).
    type: list
    elements: str
    default: []
  index_url:
    description: Package index for O(requirements). pip's own when empty.
    type: str
    default: ""
  files:
    description:
      - Files of this host for it, collections (C(.tar.gz)), lists of them (C(.yml)), wheels (C(.whl)).
      - pip takes O(requirements) from these wheels, too; no index need have them.
    type: list
    elements: path
    default: []
  signing_key:
    description: The bundle's secret key on this host. Made when it is not there. Keep it, and keep it to yourself.
    type: path
    default: /var/lib/gaudi3_scale/bundle-signing-key.asc
  valid_days:
    description:
      - Days after which nodes refuse the bundle. A build that finds everything as it is signs it again when half of
        them are over.
    type: int
    default: 365
  plain_http_hosts:
    description: Hosts that may be asked without TLS. A URL of C(http) to any other one is refused.
    type: list
    elements: str
    default: []
  jobs:
    description: How many files are fetched at the same time.
    type: int
    default: 4
  timeout:
    description: Seconds that apt and pip may take to work out what is needed.
    type: int
    default: 3600
attributes:
  check_mode:
    support: partial
    description: Foresees whether something would be gathered.
    details: Uses no network, so it only tells whether the part was finished and its files are there.
  diff_mode:
    support: none
    description: Thousands of files would tell nobody anything. The manifest lists them.
seealso:
  - module: gaudi3.scale.package_bundle_info
  - module: gaudi3.scale.package_repository
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Gather the vendor's packages of one release for Ubuntu 22.04
  gaudi3.scale.package_bundle:
    path: /srv/gaudi
    part: "{{ item }}"
    release: 1.24.1
    suite: jammy
    packages: [habanalabs-dkms, habanalabs-firmware-tools]
    os_packages: [dkms, "linux-headers-{kernel}"]
    kernels: [5.15.0-161-generic]
  loop: [keys, packages, distribution, manifest]
"""

RETURN = r"""
part:
  description: The part, with the distribution where it has one.
  type: str
  returned: success
  sample: packages-jammy
path:
  description: Directory of the bundle.
  type: str
  returned: success
files:
  description: How many files the part has.
  type: int
  returned: success
mib:
  description: Their size together in MiB.
  type: float
  returned: success
new_files:
  description: How many of them are new or different since the last run, or were damaged and fetched again.
  type: int
  returned: success
new_mib:
  description: Their size together in MiB.
  type: float
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle import build as package_bundle
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.plan import PARTS, BundleOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.option_forms import check_package

FORMS = dict.fromkeys(("packages", "rpm_packages", "os_packages"), check_package)


def main() -> None:
    strings = {"type": "list", "elements": "str", "default": []}
    text = {"type": "str", "default": ""}
    # The users in the URLs of indices and archives are not shown.
    run_module(
        AnsibleModule,
        answer,
        forms=FORMS,
        argument_spec={
            "path": {"type": "path", "required": True},
            "work_path": {"type": "path", "default": ""},
            "part": {"type": "str", "choices": list(PARTS), "required": True},
            "packages_url": {"type": "str", "default": "https://vault.habana.ai/artifactory"},
            "release": {"type": "str", "required": True},
            "release_overrides": {"type": "dict", "default": {}},
            "rollback_releases": strings,
            "key_url": {**text, "no_log": False},
            "key_fingerprint": {**text, "no_log": False},
            "suite": text,
            "components": {**strings, "default": ["main"]},
            "architectures": {**strings, "default": ["amd64"]},
            "packages": strings,
            "rpm_repositories": strings,
            "rpm_packages": strings,
            "os_packages": strings,
            "kernels": strings,
            "distribution_sources": text,
            "distribution_base": {"type": "bool", "default": True},
            "os_directory": text,
            "pytorch": text,
            "pytorch_checksum": text,
            "python": {"type": "path", "default": "/usr/bin/python3"},
            "requirements": strings,
            "extras": strings,
            "pins": strings,
            "index_url": text,
            "files": {**strings, "elements": "path"},
            "signing_key": {"type": "path", "default": "/var/lib/gaudi3_scale/bundle-signing-key.asc", "no_log": False},
            "valid_days": {"type": "int", "default": 365},
            "plain_http_hosts": strings,
            "jobs": {"type": "int", "default": 4},
            "timeout": {"type": "int", "default": 3600},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    options = BundleOptions(**given)
    return package_bundle.converge(options, run_process, module.check_mode)


if __name__ == "__main__":
    main()
