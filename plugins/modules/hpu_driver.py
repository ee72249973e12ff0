#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_driver
short_description: Build, hold and load the Gaudi kernel driver of one release
version_added: "0.1.0"
description:
  - Takes over where the package manager ends. The driver is built and installed by DKMS for the wanted kernels, its
    packages are held at their version, and its modules are loaded now and at every boot, in the release's order.
  - Never unloads a driver that is in use. When another release is loaded, this is reported together with what holds the
    cards; see O(reload).
  - A failed build is told with the first error and the last lines of the build log.
options:
  release:
    description: Release of the Gaudi software, with or without its build, for example V(1.24.1) or V(1.24.1-482).
    type: str
    required: true
  release_overrides:
    description: Rows that replace or add releases, from a version to the fields of a release such as C(build).
    type: dict
    default: {}
  packages:
    description: The vendor's packages that have to be installed at the release's version, and that O(hold) is about.
    type: list
    elements: str
    default: []
  kernels:
    description: Kernel releases to build for, for example V(6.8.0-45-generic). The running kernel when empty.
    type: list
    elements: str
    default: []
  hold:
    description:
      - Whether C(apt-mark) holds O(packages), so that an upgrade of the whole system leaves them at their release.
      - V(false) takes the hold of these packages away.
    type: bool
    default: true
  load_modules:
    description: Whether the modules have to be loaded now. They are loaded at the next boot in any case.
    type: bool
    default: true
  reload:
    description: Whether the modules of another release may be unloaded for the wanted one, when nothing holds a card.
    type: bool
    default: false
  kernel_root:
    description: Root of C(/proc), C(/sys) and C(/dev/accel), where the kernel and the cards are read.
    type: path
    default: /
  build_timeout:
    description: Seconds that the build for one kernel may take.
    type: int
    default: 1800
  failed_install:
    description:
      - The package manager's message, when its transaction failed.
      - The module then changes nothing and fails with the reason. This is the end of the build log when a package's
        script could not build the driver, and otherwise this message.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description:
      - Nothing is built, marked or loaded. Packages that are not installed yet are taken as installed, so that a first
        run can be shown in whole.
  diff_mode:
    support: full
    description: Shows the list of modules for the boot, and the driver's builds, holds and loaded modules.
seealso:
  - module: gaudi3.scale.vault_repository
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: The driver of one release, for the running kernel
  gaudi3.scale.hpu_driver:
    release: 1.24.1
    packages: [habanalabs-dkms, habanalabs-firmware]

- name: Also for the kernel of the next boot, without loading anything now
  gaudi3.scale.hpu_driver:
    release: 1.24.1
    kernels: [6.8.0-45-generic, 6.8.0-48-generic]
    load_modules: false
"""

RETURN = r"""
release:
  description: The release without its build.
  type: str
  returned: success
  sample: 1.24.1
package_version:
  description: The version of the release's packages.
  type: str
  returned: success
  sample: 1.24.1-482
kernels:
  description: The kernels that the driver is built for.
  type: list
  elements: str
  returned: success
steps:
  description: What was done, or would be in check mode, in order.
  type: list
  elements: str
  returned: success
  sample: [build 6.8.0-45-generic, load habanalabs_compat habanalabs]
loaded:
  description: The release's modules that are loaded, in load order.
  type: list
  elements: str
  returned: success
loaded_version:
  description: What the loaded driver calls itself, the release and a commit. Null when none is loaded.
  type: str
  returned: success
  sample: 1.24.1-b336d5e
reload_required:
  description: Whether a driver of another release is still loaded.
  type: bool
  returned: success
holders:
  description: The processes that hold cards, where RV(reload_required).
  type: list
  elements: dict
  returned: success
  contains:
    pid:
      description: Process id.
      type: int
    command:
      description: Name of the program.
      type: str
    unit:
      description: Its systemd unit or container scope, empty when it has none.
      type: str
    devices:
      description: Names below C(/dev/accel).
      type: list
      elements: str
held:
  description: Those of O(packages) that are held.
  type: list
  elements: str
  returned: success
build_log:
  description: Path of the build log.
  type: str
  returned: when a build failed
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import driver_state
from ..module_utils.commands import run_process
from ..module_utils.driver_plan import DriverOptions
from ..module_utils.errors import GaudiError


def main() -> None:
    strings = {"type": "list", "elements": "str", "default": []}
    module = AnsibleModule(
        argument_spec={
            "release": {"type": "str", "required": True},
            "release_overrides": {"type": "dict", "default": {}},
            "packages": strings,
            "kernels": strings,
            "hold": {"type": "bool", "default": True},
            "load_modules": {"type": "bool", "default": True},
            "reload": {"type": "bool", "default": False},
            "kernel_root": {"type": "path", "default": "/"},
            "build_timeout": {"type": "int", "default": 1800},
            "failed_install": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    failed_install = module.params.pop("failed_install")
    options = DriverOptions(**module.params)
    try:
        if failed_install:
            raise driver_state.explain_failed_install(options, failed_install, run_process)
        result = driver_state.converge(options, run_process, module.check_mode)
    except GaudiError as error:
        module.fail_json(msg=str(error), **error.facts)
    for warning in result.pop("warnings"):
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
