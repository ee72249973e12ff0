#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_driver
short_description: Install a node's Gaudi driver at one release, and roll back on failure
version_added: "1.0.0"
description:
  - Installs the vendor's packages at one release in one transaction and holds them, has DKMS build the driver for the
    running kernel and for the one that boots next, and loads its modules now and at every boot, in the release's order.
  - From another release it goes through these steps, each only where the node needs it. Finish what an interrupted
    package manager left; install what is missing of the distribution; fetch the new packages, and those of the way
    back; stop what holds the cards; unload the modules in the order of the loaded release; install; build; load; bring
    the external ports up; verify that all cards came up; start what was stopped.
  - What a killed build left in DKMS's tree is repaired first; what belongs to no package is reported and left alone.
    Where Secure Boot would reject the modules, or the kernel was started without C(iommu=pt), they are built and not
    loaded.
  - When one of these steps fails after the first one that a job would notice, the node goes back to the release it had,
    is verified, and the module fails with RV(state=rolled_back). When that fails too, it is RV(state=failed).
  - C(/var/lib/gaudi3_scale/driver.json) records how far a change came. A run after a power cut resumes from there. The
    module continues when the connection to the node is cut; a second run waits for its end.
  - Needs the package repository to be registered, see M(gaudi3.scale.package_repository).
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
    description:
      - The vendor's packages to install at the release. What else of the vendor is installed is brought to the same
        release.
    type: list
    elements: str
    default: []
  os_packages:
    description:
      - Packages of the distribution that the driver is built with. V({kernel}) in a name stands for each of O(kernels).
    type: list
    elements: str
    default: []
  system_packages:
    description: Packages beside O(os_packages), by the system that the node turns out to have.
    type: dict
    default: {}
    suboptions:
      ubuntu:
        description: On Ubuntu, where it has others than Debian.
        type: list
        elements: str
      apt:
        description: On Debian and Ubuntu.
        type: list
        elements: str
      dnf:
        description: On RHEL and its relatives.
        type: list
        elements: str
  kernels:
    description:
      - Kernel releases to build for, for example V(6.8.0-45-generic). When empty, the running one and the one that
        boots next.
    type: list
    elements: str
    default: []
  hold:
    description:
      - Whether the packages are held, so that an upgrade of the whole system leaves them at their release.
      - V(false) takes the hold of these packages away.
    type: bool
    default: true
  hold_kernel:
    description:
      - Whether the packages that bring new kernels are held too, so that no unattended update boots into a kernel that
        the driver was not built for. A held kernel gets no security fixes.
      - V(false) leaves them as they are.
    type: bool
    default: false
  signing_key:
    description: Private key on the node that DKMS signs the modules with. DKMS's own where empty.
    type: str
    default: ""
  signing_certificate:
    description: Certificate of O(signing_key), in DER.
    type: str
    default: ""
  enrollment_hash_file:
    description:
      - File on the node with what C(mokutil --generate-hash) printed. With it the firmware is asked to enroll the
        certificate where Secure Boot does not trust it yet. A person confirms that on the console at the next start.
    type: str
    default: ""
  load_modules:
    description: Whether the modules have to be loaded now. They are loaded at the next boot in any case.
    type: bool
    default: true
  load_without_passthrough:
    description:
      - Whether a first load may happen although the IOMMU translates what the cards read and write, because the running
        kernel was started without C(iommu=pt). Panics and silently wrong results have been seen then.
      - V(false) builds the driver and leaves the first load to the next boot. A driver that is loaded stays loaded.
      - It matters where the kernel shows that it translates for the cards (C(iommu_group/type)), or shows nothing; an
        IOMMU that is off, as in most virtual machines, is not in the way.
    type: bool
    default: false
  reload:
    description:
      - Whether a loaded driver of another release may be replaced, which takes the cards from whatever runs.
      - V(false) refuses that before anything is changed.
    type: bool
    default: false
  stop_device_users:
    description:
      - Whether services and containers that hold a card are stopped before O(reload), and started again after it.
      - Other processes are never ended; they are named, and nothing is changed.
    type: bool
    default: false
  rollback:
    description: Whether the packages of the release that a node has are fetched too, before anything is changed.
    type: bool
    default: true
  cards:
    description: Cards that have to come up after a change of release. As many as were there before when V(0).
    type: int
    default: 0
  build_timeout:
    description: Seconds that the build for one kernel may take.
    type: int
    default: 1800
  lock_timeout:
    description: Seconds to wait for another package manager, or for another run of this module.
    type: int
    default: 300
  settle_timeout:
    description: Seconds that the cards may take to come up after the driver was loaded.
    type: int
    default: 120
attributes:
  check_mode:
    support: full
    description: Shows the steps. Nothing is fetched, so it does not see that a package is not to be had.
  diff_mode:
    support: full
    description: Shows packages, holds, DKMS builds, the list of modules for the boot, and the loaded modules.
seealso:
  - module: gaudi3.scale.package_repository
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Install the driver of one release
  gaudi3.scale.hpu_driver:
    release: 1.24.1
    packages: [habanalabs-dkms, habanalabs-firmware]
    os_packages: [dkms, "linux-headers-{kernel}"]

- name: Install another release on a drained node
  gaudi3.scale.hpu_driver:
    release: 1.23.0
    reload: true
    stop_device_users: true
    cards: 8

- name: Install into an image without cards
  gaudi3.scale.hpu_driver:
    release: 1.24.1
    kernels: [6.8.0-45-generic, 6.8.0-48-generic]
    load_modules: false
"""

RETURN = r"""
state:
  description:
    - What was done, or would be in check mode. V(unchanged), V(installed), V(upgraded) or V(downgraded).
    - With a failure V(refused) (no package and no module was changed), V(rolled_back) or V(failed). Absent when a step
      failed that no job would notice, such as a package that cannot be fetched.
  type: str
  returned: always
  sample: upgraded
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
previous_release:
  description: Version of the packages that the node had before, also before an interrupted run. Null on a new node.
  type: str
  returned: success, or when the node went back to it
  sample: 1.23.0-695
reason:
  description: Why the node did not reach the release, without what followed.
  type: str
  returned: when the node went back, or could not
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
  description: The driver's modules that are loaded.
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
  description: The processes that held cards, where another release was loaded.
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
restart_required:
  description: Whether the driver is built and waits for a boot with C(iommu=pt), see O(load_without_passthrough).
  type: bool
  returned: success
not_started:
  description: A sentence for each service or container that was stopped and did not start again.
  type: list
  elements: str
  returned: success
held:
  description: The packages that are held.
  type: list
  elements: str
  returned: success
build_log:
  description: Path of a copy of the build log on the node.
  type: str
  returned: when a build failed
"""

import signal
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._driver import state as driver_state
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.plan import DriverOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.option_forms import check_package
from ansible_collections.gaudi3.scale.plugins.module_utils._node.os_release import SYSTEMS, of_system

SIGNING = ("signing_key", "signing_certificate", "enrollment_hash_file")

FORMS = {
    **dict.fromkeys(("packages", "os_packages"), check_package),
    **{f"system_packages.{system}": check_package for system in SYSTEMS},
}


def main() -> None:
    strings = {"type": "list", "elements": "str", "default": []}
    run_module(
        AnsibleModule,
        answer,
        forms=FORMS,
        argument_spec={
            "release": {"type": "str", "required": True},
            "release_overrides": {"type": "dict", "default": {}},
            "packages": strings,
            "os_packages": strings,
            "system_packages": {
                "type": "dict",
                "default": {},
                "options": {system: {"type": "list", "elements": "str"} for system in SYSTEMS},
            },
            "kernels": strings,
            "hold": {"type": "bool", "default": True},
            "hold_kernel": {"type": "bool", "default": False},
            **{name: {"type": "str", "default": "", "no_log": False} for name in SIGNING},
            "load_modules": {"type": "bool", "default": True},
            "load_without_passthrough": {"type": "bool", "default": False},
            "reload": {"type": "bool", "default": False},
            "stop_device_users": {"type": "bool", "default": False},
            "rollback": {"type": "bool", "default": True},
            "cards": {"type": "int", "default": 0},
            "build_timeout": {"type": "int", "default": 1800},
            "lock_timeout": {"type": "int", "default": 300},
            "settle_timeout": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    # A connection that is cut must not leave the node between two releases.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    given["os_packages"] = [*(of_system(given.pop("system_packages")) or []), *given["os_packages"]]
    options = DriverOptions(**given)
    return driver_state.converge(options, run_process, module.check_mode)


if __name__ == "__main__":
    main()
