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
  - Makes a virtual environment, installs the wheels of the release's PyTorch bundle into it, this collection's node
    library, and the packages that training needs beside them.
  - The node library's wheel is written on the controller, from the sources in the collection, and brought only to a
    node on which it is not installed. No package index is ever asked for its name.
  - What comes from a package index has the versions that this collection, or O(pins), name.
  - A constraint file names the bundle's exact builds, and the environment's own C(pip.conf) names the constraint file.
    So C(pip install -U torch), or a package that would pull in another PyTorch, cannot replace them.
  - A run that finds everything right starts no program. It compares a stamp in the environment, and the metadata
    directories of what is installed, with what is asked for.
  - An interrupted installation is thrown away by the next run. After a failure the next run continues.
  - Free space, the Python and the bundle are checked before an existing environment is touched.
  - Proxies are taken from the environment of the task (C(http_proxy), C(https_proxy), C(no_proxy)).
options:
  path:
    description:
      - Directory of the virtual environment. It must not be there, be empty, or be made by this module.
      - Only root may write it and what is in it, since root runs its pip.
    type: path
    default: /opt/gaudi3_scale/venv
  python:
    description:
      - The Python to make it with. The bundle has to have wheels for its version.
      - Where it is not given, that of O(system_pythons), and without one V(/usr/bin/python3).
    type: path
  system_pythons:
    description: O(python) by the system that the node turns out to have.
    type: dict
    default: {}
    suboptions:
      ubuntu:
        description: On Ubuntu, where it is another one than Debian's.
        type: path
      apt:
        description: On Debian and Ubuntu.
        type: path
      dnf:
        description: On RHEL and its relatives.
        type: path
  release:
    description: Release of the Gaudi software, with or without its build, for example V(1.24.1) or V(1.24.1-482).
    type: str
    required: true
  release_overrides:
    description: Rows that replace or add releases, from a version to the fields of a release such as C(build).
    type: dict
    default: {}
  pytorch:
    description: PyTorch version in the bundle's name. That of the release when empty.
    type: str
    default: ""
  os_directory:
    description: The repository's directory for the system, such as V(ubuntu2204). That of the node's system when empty.
    type: str
    default: ""
  packages_url:
    description: Common prefix of the package repository's URLs.
    type: str
    default: https://vault.habana.ai/artifactory
  bundle_url:
    description: URL of the bundle, also C(file). Derived from the options above when empty.
    type: str
    default: ""
  bundle_checksum:
    description:
      - Checksum of the bundle, for example V(sha256:9f86d0...).
      - When empty, the one in the signed manifest of a site's bundle (M(gaudi3.scale.package_bundle)), which has to
        have it, else the one in the release table (O(release_overrides), C(pytorch_sha256)). The vendor publishes none.
    type: str
    default: ""
  bundle_wheels:
    description: Patterns of the bundle's files to install. Wheels for another Python are left out in any case.
    type: list
    elements: str
    default: ["*.whl"]
  node_library:
    description:
      - Where the node library is from. V(bundled) is the collection's own, as it is there. Another one is the absolute
        path of a wheel on the node, or C(gaudi3-scale @ URL), where the URL may end in C(#sha256=) and the digest.
      - None is installed when empty.
    type: str
    default: ""
  node_library_file:
    description: Where the controller has put the wheel on the node. The action plugin sets it; leave it alone.
    type: path
    default: ""
  extras:
    description: Extras of the node library to install, of V(hf), V(s3), V(tensorboard), V(tune) and V(wandb).
    type: list
    elements: str
    default: []
  requirements:
    description:
      - What to install beside the bundle, as C(name), C(name==1.2) or C(name @ URL).
      - Neither C(torch), which comes with the bundle, nor C(gaudi3-scale), which is O(node_library).
    type: list
    elements: str
    default: []
  pins:
    description:
      - Exact versions of packages that an index gives, as C(name==1.2), each with any number of
        C( --hash=sha256:...). They replace or add to those that the collection has for its node library and extras.
      - A name alone takes the collection's pin away. So does an element of O(requirements) that names another version.
    type: list
    elements: str
    default: []
  hashes:
    description:
      - Whether pip refuses every file whose hash is not known (C(pip --require-hashes)).
      - The collection has those of the public index's files for what it pins; O(pins) has those of the rest. Those of
        the bundle's wheels are of the bundle as it was fetched, see O(bundle_checksum).
    type: bool
    default: false
  index_url:
    description:
      - Package index for O(requirements) and for later use of pip in the environment.
      - When empty, pip's own; but where the repository is a bundle (M(gaudi3.scale.package_bundle)), no index is asked.
        pip then takes only the wheels that the bundle's signed manifest names, and compares their checksums with it.
      - Where it says who logs in (V(https://user:password@host/)), C(pip.conf) is for its owner alone.
    type: str
    default: ""
  plain_http_hosts:
    description: Hosts that may be asked without TLS. A URL of C(http) to any other one is refused.
    type: list
    elements: str
    default: []
  constraints:
    description: The constraint file.
    type: path
    default: /etc/gaudi3_scale/pip-constraints.txt
  min_free_mib:
    description: MiB that the file system of O(path) must have free before a bundle is installed.
    type: int
    default: 0
  timeout:
    description: Seconds that each program may take.
    type: int
    default: 3600
attributes:
  action:
    support: full
    description: The action plugin writes the node library's wheel, and brings it to the node.
  check_mode:
    support: full
    description: Uses no network, so the versions in a bundle that was not installed before are not shown.
  diff_mode:
    support: full
    description: Shows what the environment is made from, and the two pip files.
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
  description: The release without its build.
  type: str
  returned: success
  sample: 1.24.1
bundle_url:
  description: Where the bundle is from.
  type: str
  returned: success
constraints:
  description: The constraint file.
  type: str
  returned: success
node_library:
  description: The node library as pip was told of it, with the digest of its wheel. Empty where there is none.
  type: str
  returned: success
  sample: gaudi3-scale @ file:///opt/gaudi3_scale/venv.wheels/5b8182393d23.../gaudi3_scale-1.0.0-py3-none-any.whl#sha256=5b81...
reasons:
  description: Why something had to be installed. Empty when nothing had to.
  type: list
  elements: str
  returned: success
  sample: [torch is absent instead of 2.11.0a0+git1234567]
wheels:
  description: The bundle's distributions with their versions. Empty in check mode before the first run.
  type: dict
  returned: success
  sample:
    torch: 2.11.0a0+git1234567
requirements:
  description: Versions of the node library and of what O(requirements) name. Empty in check mode before the first run.
  type: dict
  returned: success
missing_wheel:
  description: Where the node library's wheel has to be. The action plugin brings it, and runs the module again.
  type: str
  returned: when the module alone was run, on a node without the wheel
rc:
  description: What the program that failed ended with.
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
