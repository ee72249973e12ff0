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
  - Makes the vendor's repository, or a site's mirror of it, a package repository of the node, with its signing keys.
  - Works with apt, and with dnf on RHEL 9. There the metadata and the packages are signed by different keys.
  - Reads the package lists of this repository only.
  - Where other files of the node have an entry of the same repository (one URI and suite for apt, a base URL for dnf),
    that entry is switched off in its file and nothing else there is touched. apt reads no source at all while two such
    entries differ, and dnf would take packages by either of them. The file keeps the lines as they were, as comments
    that name this repository. An entry that this one does not stand for is refused, with the file's name.
  - Uses no network when the files are as wanted and the lists on the node already offer the release.
  - When the repository cannot be used (unreachable, not found, wrong signature, release not there) the files are put
    back as they were and the error says what to correct.
  - Works out what the package manager has to install in one transaction, every vendor package at the same version.
  - Where the repository is a bundle that M(gaudi3.scale.package_bundle) built (O(bundle_fingerprint)), the
    distribution's packages in it become a repository of the node, too, and M(gaudi3.scale.training_venv) takes its
    wheels from it. The signed manifest is fetched and verified when lists are read, before anything else is fetched or
    written, and the node keeps it. Where the package repository is a bundle no more, what is left is removed.
  - Proxies are taken from the environment of the task (C(http_proxy), C(https_proxy), C(no_proxy)).
options:
  state:
    description:
      - V(present) registers the repository.
      - V(absent) removes its files, and those of a bundle's packages, and gives back what was switched off in the files
        of others. Packages stay, and so do keys that rpm knows.
    type: str
    choices: [present, absent]
    default: present
  packages_url:
    description: Common prefix of the package repository's URLs. C(https), C(http) or C(file).
    type: str
    default: https://vault.habana.ai/artifactory
  release:
    description:
      - Release of the Gaudi software, with or without its build, for example V(1.24.1) or V(1.24.1-482).
      - Required with O(state=present).
    type: str
  release_overrides:
    description: Rows that replace or add releases, from a version to the fields of a release such as C(build).
    type: dict
    default: {}
  package_manager:
    description: Whose repository it is. V(auto) is the one that the node's distribution lives on.
    type: str
    choices: [auto, apt, dnf]
    default: auto
  key_url:
    description:
      - URL of the key that signs the package lists. Derived from O(packages_url) when empty; for dnf it is
        C(repodata/repomd.xml.key) of the repository.
    type: str
    default: ""
  package_key_url:
    description: URL of the key that signs the packages themselves, for dnf. Derived from O(packages_url) when empty.
    type: str
    default: ""
  repository_url:
    description:
      - URL of the repository, the directory that has C(dists), or C(repodata) for dnf. Derived from O(packages_url) and
        O(suite) when empty.
    type: str
    default: ""
  suite:
    description:
      - Suite of the repository. The vendor names it after the distribution's code name, for example V(jammy).
      - For dnf the directory below O(packages_url), which the vendor names after the minor release, for example
        V(rhel/9/9.6).
      - Taken from the node's C(os-release) when empty.
    type: str
    default: ""
  components:
    description: Components of the suite. Not used for dnf.
    type: list
    elements: str
    default: [main]
  architectures:
    description: Architectures to read lists for. The vendor has packages for one only. Not used for dnf.
    type: list
    elements: str
    default: [amd64]
  packages:
    description:
      - The vendor's packages that the package repository has to offer at O(release), in the order to install.
      - Always by the vendor's names for Debian; C(habanalabs-dkms) is C(habanalabs) on RHEL, which the module knows.
    type: list
    elements: str
    default: []
  os_packages:
    description:
      - Packages of the distribution that belong into the same transaction.
      - V({kernel}) in a name stands for each of O(kernels).
    type: list
    elements: str
    default: []
  kernels:
    description: Kernel releases for O(os_packages). The running kernel when empty.
    type: list
    elements: str
    default: []
  key_fingerprint:
    description:
      - Fingerprint that the key of O(key_url) has to have, the one of a primary key. Other keys in the same file are
        left out.
      - When empty, the one that a bundle's manifest or the release table (O(release_overrides), C(keys)) has. The
        vendor publishes none, so without an entry there any key is taken.
    type: str
    default: ""
  package_key_fingerprint:
    description: The same of the key of O(package_key_url).
    type: str
    default: ""
  plain_http_hosts:
    description: Hosts that may be asked without TLS. A URL of C(http) to any other one is refused.
    type: list
    elements: str
    default: []
  bundle_fingerprint:
    description:
      - Fingerprint of the key of the site's bundle, as C(build_bundle.yml) shows it. The repository is then a bundle,
        whose manifest has to be signed by this key, and nothing is taken that the manifest does not name.
      - A repository that is a bundle is refused when empty. Not together with O(repository_url), of which it would say
        nothing.
    type: str
    default: ""
  bundle_allow_older:
    description:
      - Whether to take a bundle that was made before one that this node has seen. From then on that one is the newest.
    type: bool
    default: false
  bundle_allow_expired:
    description: Whether to take a bundle whose time is over.
    type: bool
    default: false
  lock_timeout:
    description: Seconds to wait for another package manager.
    type: int
    default: 300
attributes:
  check_mode:
    support: full
    description: Shows the files that would be written. Uses no network, so of the key only its URL is shown.
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
  description: The release without its build.
  type: str
  returned: with O(state=present)
  sample: 1.24.1
package_version:
  description: The version of every package of the release.
  type: str
  returned: with O(state=present)
  sample: 1.24.1-482
repository:
  description: URL of the repository; for apt with suite and components.
  type: str
  returned: with O(state=present)
  sample: https://vault.habana.ai/artifactory/debian jammy main
key_url:
  description: Where the key is from that signs the package lists.
  type: str
  returned: with O(state=present)
  sample: https://vault.habana.ai/artifactory/api/gpg/key/public
files:
  description: The files that this module keeps on the node.
  type: list
  elements: str
  returned: success
taken_over:
  description: Files of others in which an entry of the same repository was switched off now.
  type: list
  elements: str
  returned: success
  sample: [/etc/apt/sources.list.d/habanalabs.list]
kernels:
  description: The kernels that O(os_packages) were named for.
  type: list
  elements: str
  returned: with O(state=present)
packages:
  description:
    - What the package manager has to install in one transaction, the vendor's packages pinned in its own words.
    - For dnf such as C(habanalabs-1.24.1-482.*).
  type: list
  elements: str
  returned: with O(state=present)
  sample: [dkms, linux-headers-6.8.0-45-generic, habanalabs-dkms=1.24.1-482]
installed:
  description: Whether all of RV(packages) are installed and configured already.
  type: bool
  returned: with O(state=present)
available:
  description: Whether the package lists on the node offer all of O(packages). False in check mode before the first run.
  type: bool
  returned: with O(state=present)
refreshed:
  description: Whether the repository's lists were read from the network.
  type: bool
  returned: with O(state=present)
bundle:
  description: Whether the package repository is a bundle. False in check mode before the first run.
  type: bool
  returned: with O(state=present)
index_url:
  description: The bundle's pip index. Empty where there is none.
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
