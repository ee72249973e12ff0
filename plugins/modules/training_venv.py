#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: training_venv
short_description: Create a virtual environment with the PyTorch of a Gaudi release
version_added: "1.0.0"
description:
  - Creates a virtual environment and installs the wheels of the release's PyTorch bundle, this collection's node
    library, and the packages that training needs besides them.
  - The node library's wheel is built on the controller from the collection's sources, and copied only to a node where
    it is not installed. No package index is ever queried for its name.
  - Packages from a package index have the versions in this collection's pins or O(pins).
  - A constraints file pins the bundle's exact builds, and C(pip.conf) of the environment refers to it. So C(pip install
    -U torch), or a package that would pull in another PyTorch, cannot replace them.
  - If everything is up to date, no program is started. The module compares a stamp in the environment, and the metadata
    directories of the installed packages, with the requested ones.
  - The next run discards an interrupted installation, and continues after a failed one.
  - Free space, the Python and the bundle are checked before an existing environment is changed.
  - Proxies are taken from the environment of the task (C(http_proxy), C(https_proxy), C(no_proxy)).
options:
  path:
    description:
      - Directory of the virtual environment. It must not exist, be empty, or have been created by this module.
      - Only root may have write access to it and its contents, because root runs its pip.
    type: path
    default: /opt/gaudi3_scale/venv
  python:
    description:
      - Python that creates the environment. The bundle must have wheels for its version.
      - By default that of O(system_pythons), or else V(/usr/bin/python3).
    type: path
  system_pythons:
    description: Value of O(python), by the system of the node.
    type: dict
    default: {}
    suboptions:
      ubuntu:
        description: On Ubuntu, where it differs from Debian.
        type: path
      apt:
        description: On Debian and Ubuntu.
        type: path
      dnf:
        description: On RHEL and its derivatives.
        type: path
  release:
    description: Release of the Gaudi software, with or without its build, for example V(1.24.1) or V(1.24.1-482).
    type: str
    required: true
  release_overrides:
    description: Rows that replace or add releases, as a mapping from version to fields of a release, such as C(build).
    type: dict
    default: {}
  pytorch:
    description: "PyTorch version in the bundle's name. Empty: that of the release."
    type: str
    default: ""
  os_directory:
    description: "Directory of the system in the repository, such as V(ubuntu2204). Empty: that of the node's system."
    type: str
    default: ""
  packages_url:
    description: Common URL prefix of the package repository.
    type: str
    default: https://vault.habana.ai/artifactory
  bundle_url:
    description: "URL of the bundle, also C(file). Empty: derived from the options above."
    type: str
    default: ""
  bundle_checksum:
    description:
      - Checksum of the bundle, for example V(sha256:9f86d0...).
      - "Empty: the one in the signed manifest of a site's bundle (M(gaudi3.scale.package_bundle)), which must list it,
        else the one in the release table (O(release_overrides), C(pytorch_sha256)). The vendor publishes none."
    type: str
    default: ""
  bundle_wheels:
    description: Patterns of the bundle's files to install. Wheels for another Python are always skipped.
    type: list
    elements: str
    default: ["*.whl"]
  node_library:
    description:
      - Source of the node library. V(bundled) is the one that ships with the collection. Otherwise the absolute path of
        a wheel on the node, or C(gaudi3-scale @ URL), where the URL may end in C(#sha256=) and the digest.
      - "Empty: not installed."
    type: str
    default: ""
  node_library_file:
    description: Path of the wheel on the node. Set by the action plugin; do not set it.
    type: path
    default: ""
  extras:
    description: Extras of the node library to install, from V(hf), V(s3), V(tensorboard), V(tune) and V(wandb).
    type: list
    elements: str
    default: []
  requirements:
    description:
      - Packages to install besides the bundle, as C(name), C(name==1.2) or C(name @ URL).
      - Do not list C(torch), which comes with the bundle, or C(gaudi3-scale), which is O(node_library).
    type: list
    elements: str
    default: []
  pins:
    description:
      - Exact versions of packages from an index, as C(name==1.2), each with any number of C( --hash=sha256:...). They
        replace or extend the collection's pins for its node library and extras.
      - A name without a version removes the collection's pin. So does an element of O(requirements) with another
        version.
    type: list
    elements: str
    default: []
  hashes:
    description:
      - Whether pip refuses every file without a known hash (C(pip --require-hashes)).
      - For its pins the collection has the hashes of the public index's files. Others must be in O(pins). For the
        bundle's wheels they are those of the bundle as downloaded, see O(bundle_checksum).
    type: bool
    default: false
  index_url:
    description:
      - Package index for O(requirements) and for later use of pip in the environment.
      - "Empty: pip's default. If the repository is a bundle (M(gaudi3.scale.package_bundle)), no index is used; pip
        then installs only wheels listed in the bundle's signed manifest, and verifies their checksums against it."
      - If the URL contains credentials (V(https://user:password@host/)), only its owner can read C(pip.conf).
    type: str
    default: ""
  plain_http_hosts:
    description: Hosts that may be contacted without TLS. A URL of C(http) to any other host is refused.
    type: list
    elements: str
    default: []
  constraints:
    description: Path of the constraints file.
    type: path
    default: /etc/gaudi3_scale/pip-constraints.txt
  min_free_mib:
    description: Free space in MiB that the file system of O(path) must have before a bundle is installed.
    type: int
    default: 0
  timeout:
    description: Seconds per command.
    type: int
    default: 3600
attributes:
  action:
    support: full
    description: The action plugin builds the node library's wheel and copies it to the node.
  check_mode:
    support: full
    description: Uses no network, so the versions in a bundle that has not been installed yet are not shown.
  diff_mode:
    support: full
    description: Shows the inputs of the environment, and the two pip files.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Install PyTorch and Lightning
  gaudi3.scale.training_venv:
    release: 1.24.1
    node_library: bundled
    extras: [s3]
    min_free_mib: 8192

- name: Use a mirror inside the site
  gaudi3.scale.training_venv:
    release: 1.24.1
    bundle_url: file:///media/gaudi/pytorch_modules-v2.11.0_1.24.1_482.tgz
    bundle_checksum: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    node_library: /media/gaudi/gaudi3_scale-1.0.0-py3-none-any.whl
    requirements: [datasets==4.2.0]
    pins:
      - datasets==4.2.0 --hash=sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    index_url: https://mirror.example.com/pypi/simple
"""

RETURN = r"""
path:
  description: Directory of the virtual environment.
  type: str
  returned: success
release:
  description: Release without its build.
  type: str
  returned: success
  sample: 1.24.1
bundle_url:
  description: URL of the bundle.
  type: str
  returned: success
constraints:
  description: Path of the constraints file.
  type: str
  returned: success
node_library:
  description: "The node library as passed to pip, with the digest of its wheel. Empty: none."
  type: str
  returned: success
  sample: gaudi3-scale @ file:///opt/gaudi3_scale/venv.wheels/5b8182393d23.../gaudi3_scale-1.0.0-py3-none-any.whl#sha256=5b81...
reasons:
  description: "Why something had to be installed. Empty: nothing."
  type: list
  elements: str
  returned: success
  sample: [torch is absent instead of 2.11.0a0+git1234567]
wheels:
  description: Distributions of the bundle with their versions. Empty in check mode before the first run.
  type: dict
  returned: success
  sample:
    torch: 2.11.0a0+git1234567
requirements:
  description: Versions of the node library and of O(requirements). Empty in check mode before the first run.
  type: dict
  returned: success
missing_wheel:
  description: Path where the node library's wheel must be. The action plugin copies it there and runs the module again.
  type: str
  returned: when run without the action plugin, on a node without the wheel
rc:
  description: Exit code of the failed program.
  type: int
  returned: when pip or venv failed
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle import venv as training_venv
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.os_release import SYSTEMS, of_system
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.known_holes import warnings_of
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.plan import VenvOptions


def main() -> None:
    strings = {"type": "list", "elements": "str"}
    # The users in the URLs of indices and archives are not shown.
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "path": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
            "python": {"type": "path"},
            "system_pythons": {
                "type": "dict",
                "default": {},
                "options": {system: {"type": "path"} for system in SYSTEMS},
            },
            "release": {"type": "str", "required": True},
            "release_overrides": {"type": "dict", "default": {}},
            "pytorch": {"type": "str", "default": ""},
            "os_directory": {"type": "str", "default": ""},
            "packages_url": {"type": "str", "default": "https://vault.habana.ai/artifactory"},
            "bundle_url": {"type": "str", "default": ""},
            "bundle_checksum": {"type": "str", "default": ""},
            "bundle_wheels": {**strings, "default": ["*.whl"]},
            "node_library": {"type": "str", "default": ""},
            "node_library_file": {"type": "path", "default": ""},
            "extras": {**strings, "default": []},
            "requirements": {**strings, "default": []},
            "pins": {**strings, "default": []},
            "hashes": {"type": "bool", "default": False},
            "index_url": {"type": "str", "default": ""},
            "plain_http_hosts": {**strings, "default": []},
            "constraints": {"type": "path", "default": "/etc/gaudi3_scale/pip-constraints.txt"},
            "min_free_mib": {"type": "int", "default": 0},
            "timeout": {"type": "int", "default": 3600},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    python = of_system(given.pop("system_pythons"))
    options = VenvOptions(**{**given, "python": given["python"] or python or "/usr/bin/python3"})
    result = training_venv.converge(options, run_process, module.check_mode)
    return {**result, "warnings": warnings_of(find_release(options.release, options.release_overrides))}


if __name__ == "__main__":
    main()
