#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: package_repository
short_description: Register the Gaudi package repository on a node
version_added: "1.0.0"
description:
  - Registers the vendor's repository, or a site's mirror of it, on the node, together with its signing keys.
  - Works with apt, and with dnf on RHEL 9. With dnf, metadata and packages are signed with different keys.
  - Refreshes the package lists of this repository only.
  - If another file on the node has an entry of the same repository (one URI and suite for apt, a base URL for dnf),
    that entry is disabled and nothing else in the file is changed. apt reads no source at all while two such entries
    differ, and dnf would install packages through either. The original lines stay as comments that name this
    repository. An entry that this repository does not cover is refused, with the file's name.
  - Uses no network if the files are as wanted and the node's lists already offer the release.
  - If the repository cannot be used (unreachable, not found, wrong signature, release missing), the files are restored
    and the error says what to correct.
  - Returns what the package manager must install in one transaction, with all vendor packages at the same version.
  - If the repository is a bundle built by M(gaudi3.scale.package_bundle) (O(bundle_fingerprint)), its distribution
    packages are registered as a repository too, and M(gaudi3.scale.training_venv) installs its wheels. The signed
    manifest is downloaded and verified when lists are read, before anything else is downloaded or written, and stored
    on the node. If the package repository is no longer a bundle, leftovers are removed.
  - Proxies are taken from the environment of the task (C(http_proxy), C(https_proxy), C(no_proxy)).
options:
  state:
    description:
      - V(present) registers the repository.
      - V(absent) removes its files and those of a bundle's packages, and re-enables the entries that it disabled in
        other files. Packages stay, and so do keys imported into rpm.
    type: str
    choices: [present, absent]
    default: present
  packages_url:
    description: Common URL prefix of the package repository. C(https), C(http) or C(file).
    type: str
    default: https://vault.habana.ai/artifactory
  release:
    description:
      - Release of the Gaudi software, with or without its build, for example V(1.24.1) or V(1.24.1-482).
      - Required with O(state=present).
    type: str
  release_overrides:
    description: Rows that replace or add releases, as a mapping from version to fields of a release, such as C(build).
    type: dict
    default: {}
  package_manager:
    description: "Package manager of the repository. V(auto): that of the node's distribution."
    type: str
    choices: [auto, apt, dnf]
    default: auto
  key_url:
    description:
      - "URL of the key that signs the package lists. Empty: derived from O(packages_url); for dnf it is
        C(repodata/repomd.xml.key) of the repository."
    type: str
    default: ""
  package_key_url:
    description: "URL of the key that signs the packages themselves, for dnf. Empty: derived from O(packages_url)."
    type: str
    default: ""
  repository_url:
    description:
      - "URL of the repository, the directory with C(dists), or C(repodata) for dnf. Empty: derived from O(packages_url)
        and O(suite)."
    type: str
    default: ""
  suite:
    description:
      - Suite of the repository. The vendor names it after the distribution's code name, for example V(jammy).
      - For dnf the directory below O(packages_url), which the vendor names after the minor release, for example
        V(rhel/9/9.6).
      - "Empty: taken from the node's C(os-release)."
    type: str
    default: ""
  components:
    description: Components of the suite. Not used for dnf.
    type: list
    elements: str
    default: [main]
  architectures:
    description: Architectures to read lists for. The vendor has packages for one architecture only. Not used for dnf.
    type: list
    elements: str
    default: [amd64]
  packages:
    description:
      - The vendor's packages that the package repository must offer at O(release), in installation order.
      - Always use the vendor's Debian names; the module maps C(habanalabs-dkms) to C(habanalabs) on RHEL.
    type: list
    elements: str
    default: []
  os_packages:
    description:
      - Distribution packages for the same transaction.
      - V({kernel}) in a name stands for each of O(kernels).
    type: list
    elements: str
    default: []
  kernels:
    description: "Kernel releases for O(os_packages). Empty: the running kernel."
    type: list
    elements: str
    default: []
  key_fingerprint:
    description:
      - Required fingerprint of the key of O(key_url), that of a primary key. Other keys in the same file are ignored.
      - "Empty: that of a bundle's manifest or the release table (O(release_overrides), C(keys)). The vendor publishes
        none, so without an entry there any key is accepted."
    type: str
    default: ""
  package_key_fingerprint:
    description: Required fingerprint of the key of O(package_key_url), likewise.
    type: str
    default: ""
  plain_http_hosts:
    description: Hosts that may be contacted without TLS. A URL of C(http) to any other host is refused.
    type: list
    elements: str
    default: []
  bundle_fingerprint:
    description:
      - Fingerprint of the key of the site's bundle, as shown by C(build_bundle.yml). The repository must then be a
        bundle with a manifest signed by this key, and only files in the manifest are used.
      - "Empty: a repository that is a bundle is refused. Cannot be combined with O(repository_url), which it would not
        cover."
    type: str
    default: ""
  bundle_allow_older:
    description: Whether to accept a bundle older than one that this node has seen. It then counts as the newest.
    type: bool
    default: false
  bundle_allow_expired:
    description: Whether to accept an expired bundle.
    type: bool
    default: false
  lock_timeout:
    description: Seconds to wait for another package manager to finish.
    type: int
    default: 300
attributes:
  check_mode:
    support: full
    description: Shows the files that would be written. Uses no network, so only the URL of the key is shown.
  diff_mode:
    support: full
    description: Shows the repository's file and the keys.
seealso:
  - module: gaudi3.scale.hpu_driver
  - module: gaudi3.scale.package_bundle
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Register the vendor's repository
  gaudi3.scale.package_repository:
    release: 1.24.1
    packages: [habanalabs-dkms, habanalabs-firmware-tools]
    os_packages: [dkms, "linux-headers-{kernel}"]
  register: repository

- name: Install every package at the release's version in one transaction
  ansible.builtin.apt:
    name: "{{ repository.packages }}"
    allow_downgrade: true
  when: repository.available

- name: Use a mirror inside the site
  gaudi3.scale.package_repository:
    packages_url: https://mirror.example.com/gaudi
    release: 1.24.1
    suite: jammy

- name: Use the packages for RHEL 9.6 on RHEL 9.5, which the site has tested
  gaudi3.scale.package_repository:
    release: 1.24.1
    suite: rhel/9/9.6

- name: Remove the repository
  gaudi3.scale.package_repository:
    state: absent
"""

RETURN = r"""
release:
  description: Release without its build.
  type: str
  returned: with O(state=present)
  sample: 1.24.1
package_version:
  description: Version of all packages of the release.
  type: str
  returned: with O(state=present)
  sample: 1.24.1-482
repository:
  description: URL of the repository; for apt with suite and components.
  type: str
  returned: with O(state=present)
  sample: https://vault.habana.ai/artifactory/debian jammy main
key_url:
  description: URL of the key that signs the package lists.
  type: str
  returned: with O(state=present)
  sample: https://vault.habana.ai/artifactory/api/gpg/key/public
files:
  description: Files that this module manages on the node.
  type: list
  elements: str
  returned: success
taken_over:
  description: Other files in which an entry of the same repository was disabled in this run.
  type: list
  elements: str
  returned: success
  sample: [/etc/apt/sources.list.d/habanalabs.list]
kernels:
  description: Kernels that O(os_packages) were resolved for.
  type: list
  elements: str
  returned: with O(state=present)
packages:
  description:
    - Packages to install in one transaction, the vendor's packages pinned in the package manager's format.
    - For dnf such as C(habanalabs-1.24.1-482.*).
  type: list
  elements: str
  returned: with O(state=present)
  sample: [dkms, linux-headers-6.8.0-45-generic, habanalabs-dkms=1.24.1-482]
installed:
  description: Whether all of RV(packages) are already installed and configured.
  type: bool
  returned: with O(state=present)
available:
  description: Whether the node's package lists offer all of O(packages). False in check mode before the first run.
  type: bool
  returned: with O(state=present)
refreshed:
  description: Whether the repository's lists were downloaded.
  type: bool
  returned: with O(state=present)
bundle:
  description: Whether the package repository is a bundle. False in check mode before the first run.
  type: bool
  returned: with O(state=present)
index_url:
  description: "The bundle's pip index. Empty: none."
  type: str
  returned: with O(state=present)
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle import node_repository
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.bundle_site import Trust
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.option_forms import check_package
from ansible_collections.gaudi3.scale.plugins.module_utils._packages import package_repository

FORMS = dict.fromkeys(("packages", "os_packages"), check_package)


def main() -> None:
    strings = {"type": "list", "elements": "str"}
    # The users in the URLs of repositories are not shown.
    run_module(
        AnsibleModule,
        answer,
        forms=FORMS,
        argument_spec={
            "packages_url": {"type": "str", "default": "https://vault.habana.ai/artifactory"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "release": {"type": "str"},
            "release_overrides": {"type": "dict", "default": {}},
            "package_manager": {"type": "str", "choices": [*package_repository.PACKAGE_MANAGERS], "default": "auto"},
            "key_url": {"type": "str", "default": "", "no_log": False},
            "package_key_url": {"type": "str", "default": "", "no_log": False},
            "repository_url": {"type": "str", "default": ""},
            "suite": {"type": "str", "default": ""},
            "components": {**strings, "default": ["main"]},
            "architectures": {**strings, "default": ["amd64"]},
            "packages": {**strings, "default": []},
            "os_packages": {**strings, "default": []},
            "kernels": {**strings, "default": []},
            "key_fingerprint": {"type": "str", "default": "", "no_log": False},
            "package_key_fingerprint": {"type": "str", "default": "", "no_log": False},
            "plain_http_hosts": {**strings, "default": []},
            "bundle_fingerprint": {"type": "str", "default": "", "no_log": False},
            "bundle_allow_older": {"type": "bool", "default": False},
            "bundle_allow_expired": {"type": "bool", "default": False},
            "lock_timeout": {"type": "int", "default": 300},
        },
        required_if=[("state", "present", ("release",))],
        supports_check_mode=True,
    )


def answer(wishes: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    if wishes.pop("state") == "absent":
        return node_repository.remove(module.check_mode)
    trust = Trust(**{name: wishes.pop(f"bundle_{name}") for name in Trust.__dataclass_fields__})
    options = package_repository.RepositoryOptions(**wishes)
    result: dict[str, Any] = node_repository.converge(options, trust, run_process, module.check_mode)
    for path in result["taken_over"]:
        module.warn(
            f"{path}: its entry of {result['repository']} was commented out, since there can be only one; state: "
            "absent restores it."
        )
    return result


if __name__ == "__main__":
    main()
