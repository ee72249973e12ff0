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
  - Downloads one part of what a site without internet access needs for one Gaudi release, into a directory with the
    layout of the vendor's package repository. Any web server can serve it. Nodes need only its URL as the package
    repository's URL.
  - The vendor's package indexes keep the vendor's signature, so nodes verify it themselves.
  - Distribution packages are included with all dependencies, as apt resolves them for an empty system. They form a
    separate apt repository, signed with a key created for the site's bundles.
  - Every file is verified against the index that lists it. The last part writes and signs a manifest with sizes,
    checksums, sources, creation time and expiry time. Nodes trust nothing in a bundle except this manifest, see
    O(gaudi3.scale.package_repository#module:bundle_fingerprint).
  - An interrupted part resumes where it stopped, and existing files are not downloaded again. C(progress) in
    O(work_path) shows the progress of a part.
  - Run it on a connected host with the nodes' distribution, C(gnupg), C(gpgv) and Python's C(venv) package.
  - Proxies are taken from the environment of the task (C(http_proxy), C(https_proxy), C(no_proxy)).
options:
  path:
    description: Directory of the bundle. It must not exist, be empty, or be a bundle.
    type: path
    required: true
  work_path:
    description:
      - "Directory for files that are not served, on the same file system. Empty: O(path) with C(.work) appended."
    type: path
    default: ""
  part:
    description:
      - Part to build. Build the parts in this order.
      - V(packages) are the vendor's packages for apt, V(rpms) those for dnf, V(distribution) the distribution packages
        that they and O(os_packages) need, V(pytorch) the PyTorch archive, V(files) the files in O(files), V(wheels)
        what O(requirements) need besides the archive, V(installer) the vendor's script, and V(manifest) completes the
        bundle.
    type: str
    choices: [keys, packages, rpms, distribution, pytorch, files, wheels, installer, manifest]
    required: true
  packages_url:
    description: Common URL prefix of the package repository. C(https), C(http) or C(file).
    type: str
    default: https://vault.habana.ai/artifactory
  release:
    description: Release of the Gaudi software, with or without its build, for example V(1.24.1) or V(1.24.1-482).
    type: str
    required: true
  release_overrides:
    description: Rows that replace or add releases, as a mapping from version to fields of a release, such as C(build).
    type: dict
    default: {}
  rollback_releases:
    description: Additional releases whose vendor packages to include, so that nodes can roll back to them.
    type: list
    elements: str
    default: []
  key_url:
    description: "URL of the key that signs the apt repository. Empty: derived from O(packages_url)."
    type: str
    default: ""
  key_fingerprint:
    description:
      - Required fingerprint of this key, that of a primary key. Other keys in the same file are ignored.
      - "Empty: that of the release table (O(release_overrides), C(keys)). Without one any key is accepted, and its
        fingerprint is recorded."
    type: str
    default: ""
  suite:
    description: Code name of the nodes' distribution, for example V(jammy). Used by V(packages) and V(distribution).
    type: str
    default: ""
  components:
    description: Components of the vendor's suite.
    type: list
    elements: str
    default: [main]
  architectures:
    description: Architectures of the nodes. Distribution packages are downloaded for the first one.
    type: list
    elements: str
    default: [amd64]
  packages:
    description: The vendor's packages. Their dependencies from the vendor are included.
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
      - Distribution packages. Dependencies of the vendor's packages need not be listed.
      - V({kernel}) in a name stands for each of O(kernels). An empty list skips the part V(distribution).
    type: list
    elements: str
    default: []
  kernels:
    description: "Kernel releases of the nodes. Empty: the running kernel of this host."
    type: list
    elements: str
    default: []
  distribution_sources:
    description: "apt sources for the distribution packages, as text. Empty: this host's sources."
    type: str
    default: ""
  distribution_base:
    description:
      - Also include the packages that every system of the distribution has, so that nodes at an older point release can
        install the rest.
    type: bool
    default: true
  os_directory:
    description: "Directory of the nodes' system in the repository, such as V(ubuntu2204). Empty: that of this host."
    type: str
    default: ""
  pytorch:
    description: "PyTorch version in the archive's name. Empty: that of the release."
    type: str
    default: ""
  pytorch_checksum:
    description:
      - Checksum of the PyTorch archive, as V(sha256:9f86d0...). The vendor publishes none.
      - "Empty: that of the release table (O(release_overrides), C(pytorch_sha256))."
    type: str
    default: ""
  python:
    description: Python of the nodes' training environments, on this host. It runs pip.
    type: path
    default: /usr/bin/python3
  requirements:
    description:
      - Python packages that nodes install besides the PyTorch archive, as C(name) or C(name==1.2).
      - Do not list C(gaudi3-scale); it ships with the collection.
    type: list
    elements: str
    default: []
  extras:
    description: Extras of the node library whose packages to include, as in M(gaudi3.scale.training_venv).
    type: list
    elements: str
    default: []
  pins:
    description: Exact versions, as in M(gaudi3.scale.training_venv).
    type: list
    elements: str
    default: []
  index_url:
    description: "Package index for O(requirements). Empty: pip's default."
    type: str
    default: ""
  files:
    description:
      - Files on this host to include - collections (C(.tar.gz)), requirements files for them (C(.yml)), wheels
        (C(.whl)), container images as archives (C(.tar)).
      - pip also installs O(requirements) from these wheels, so no index needs to have them.
    type: list
    elements: path
    default: []
  signing_key:
    description: Secret key of the bundle on this host. Created if missing. Keep it, and keep it secret.
    type: path
    default: /var/lib/gaudi3_scale/bundle-signing-key.asc
  valid_days:
    description: Days after which nodes refuse the bundle. A build without changes signs it again after half of them.
    type: int
    default: 365
  plain_http_hosts:
    description: Hosts that may be contacted without TLS. A URL of C(http) to any other host is refused.
    type: list
    elements: str
    default: []
  jobs:
    description: Number of parallel downloads.
    type: int
    default: 4
  timeout:
    description: Seconds that apt and pip may take to resolve dependencies.
    type: int
    default: 3600
attributes:
  check_mode:
    support: partial
    description: Predicts whether anything would be downloaded.
    details: Uses no network, so it only reports whether the part was completed and its files exist.
  diff_mode:
    support: none
    description: No diff, because it would have thousands of files. The manifest lists them.
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
  description: The part, with the distribution if it has one.
  type: str
  returned: success
  sample: packages-jammy
path:
  description: Directory of the bundle.
  type: str
  returned: success
files:
  description: Number of files in the part.
  type: int
  returned: success
mib:
  description: Total size in MiB.
  type: float
  returned: success
new_files:
  description: Number of files that are new or changed since the last run, or were damaged and downloaded again.
  type: int
  returned: success
new_mib:
  description: Their total size in MiB.
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
