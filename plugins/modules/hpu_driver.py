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
  - Installs and holds the vendor's packages at one release in one transaction. DKMS builds the driver for the running
    kernel and the one that boots next. Its modules are loaded now and at every boot, in the release's order.
  - A change of release takes these steps, each only if the node needs it. Finish what an interrupted package manager
    left; install missing distribution packages; download the new packages and those needed for a rollback; stop
    whatever holds the cards; unload the modules in the order of the loaded release; install; build; load; bring up the
    external ports; verify that all cards came up; start what was stopped.
  - Leftovers of a killed build in the DKMS tree are repaired first; leftovers that belong to no package are reported
    and left alone. The modules are built but not loaded if Secure Boot would reject them or the kernel was started
    without C(iommu=pt).
  - If a step fails after the first one that a job would notice, the node is rolled back to its previous release and
    verified, and the module fails with RV(state=rolled_back). If the rollback fails too, the state is RV(state=failed).
  - C(/var/lib/gaudi3_scale/driver.json) records the progress of a change. A run after a power failure resumes from
    there. The module continues if the connection to the node is lost; a second run waits for it to finish.
  - The package repository must be registered; see M(gaudi3.scale.package_repository).
options:
  release:
    description: Release of the Gaudi software, with or without its build, for example V(1.24.1) or V(1.24.1-482).
    type: str
    required: true
  release_overrides:
    description: Rows that replace or add releases, as a mapping from version to fields of a release, such as C(build).
    type: dict
    default: {}
  packages:
    description:
      - The vendor's packages to install at the release. Other installed packages of the vendor are brought to the same
        release.
    type: list
    elements: str
    default: []
  os_packages:
    description: Distribution packages needed to build the driver. V({kernel}) in a name stands for each of O(kernels).
    type: list
    elements: str
    default: []
  system_packages:
    description: Packages in addition to O(os_packages), by the system of the node.
    type: dict
    default: {}
    suboptions:
      ubuntu:
        description: On Ubuntu, where they differ from Debian.
        type: list
        elements: str
      apt:
        description: On Debian and Ubuntu.
        type: list
        elements: str
      dnf:
        description: On RHEL and its derivatives.
        type: list
        elements: str
  kernels:
    description:
      - "Kernel releases to build for, for example V(6.8.0-45-generic). Empty: the running kernel and the one that boots
        next."
    type: list
    elements: str
    default: []
  kernel:
    description:
      - "Kernel to keep for the sake of the driver. Its headers are installed and the driver is built for it; only then
        its image is installed, chosen for the next boot, and held. Empty: the node boots what it boots."
      - V(supported) is one that the release is validated with on the node's system. A node that has one stays with it.
      - V(distribution) takes an earlier choice back, and the holds that came with it.
      - A kernel's release, such as V(6.8.0-45-generic), is that kernel.
    type: str
    default: ""
  hold:
    description:
      - Whether to hold the packages, so that a system upgrade keeps them at their release.
      - V(false) removes the hold of these packages.
    type: bool
    default: true
  hold_kernel:
    description:
      - Whether to hold the packages that bring new kernels too, so that no unattended update boots a kernel without a
        driver. A held kernel gets no security fixes.
      - V(false) leaves them as they are.
    type: bool
    default: false
  signing_key:
    description: "Private key on the node with which DKMS signs the modules. Empty: DKMS's own key."
    type: str
    default: ""
  signing_certificate:
    description: Certificate of O(signing_key), in DER.
    type: str
    default: ""
  enrollment_hash_file:
    description:
      - File on the node with the output of C(mokutil --generate-hash). With it, the certificate is queued for
        enrollment in the firmware if Secure Boot does not trust it yet. Someone must confirm that on the console at the
        next boot.
    type: str
    default: ""
  load_modules:
    description: Whether the modules must be loaded now. They are loaded at the next boot in any case.
    type: bool
    default: true
  load_without_passthrough:
    description:
      - Whether a first load is allowed while the IOMMU translates the cards' memory accesses because the running kernel
        was started without C(iommu=pt). Panics and silently wrong results have been seen in this case.
      - V(false) builds the driver and leaves the first load to the next boot. A driver that is already loaded stays
        loaded.
      - This applies only if the kernel shows that it translates for the cards (C(iommu_group/type)) or shows nothing.
        An IOMMU that is off, as in most virtual machines, does not block the load.
    type: bool
    default: false
  reload:
    description:
      - Whether to replace a loaded driver of another release. This takes the cards away from anything that runs.
      - V(false) refuses before anything is changed.
    type: bool
    default: false
  stop_device_users:
    description:
      - Whether to stop services and containers that hold a card before O(reload), and start them again afterwards.
      - Other processes are never stopped; they are reported, and nothing is changed.
    type: bool
    default: false
  rollback:
    description: Whether to download the packages of the node's current release too, before anything is changed.
    type: bool
    default: true
  cards:
    description: "Number of cards that must come up after a change of release. V(0): as many as before."
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
    description: Seconds that the cards may take to come up after the driver is loaded.
    type: int
    default: 120
attributes:
  check_mode:
    support: full
    description: Shows the steps. Nothing is downloaded, so a package that is not available is not detected.
  diff_mode:
    support: full
    description: Shows packages, holds, DKMS builds, the modules to load at boot, and the loaded modules.
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
    - Result, or what check mode would do. V(unchanged), V(installed), V(upgraded) or V(downgraded).
    - On failure V(refused) (no package and no module was changed), V(rolled_back) or V(failed). Absent if a step failed
      that no job would notice, such as the download of a package.
  type: str
  returned: always
  sample: upgraded
release:
  description: Release without its build.
  type: str
  returned: success
  sample: 1.24.1
package_version:
  description: Version of the release's packages.
  type: str
  returned: success
  sample: 1.24.1-482
previous_release:
  description: Package version before the change, or before an interrupted run. Null on a new node.
  type: str
  returned: success, or after a rollback
  sample: 1.23.0-695
reason:
  description: Why the node did not reach the release, without what followed.
  type: str
  returned: after a rollback, or if it failed
kernels:
  description: Kernels that the driver is built for.
  type: list
  elements: str
  returned: success
steps:
  description: Steps taken, or that check mode would take, in order.
  type: list
  elements: str
  returned: success
  sample: [build 6.8.0-45-generic, load habanalabs_compat habanalabs]
loaded:
  description: Loaded modules of the driver.
  type: list
  elements: str
  returned: success
loaded_version:
  description: Version that the loaded driver reports, as release and commit. Null if none is loaded.
  type: str
  returned: success
  sample: 1.24.1-b336d5e
reload_required:
  description: Whether a driver of another release is still loaded.
  type: bool
  returned: success
holders:
  description: Processes that held cards while another release was loaded.
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
      description: "Systemd unit or container scope. Empty: none."
      type: str
    devices:
      description: Names below C(/dev/accel).
      type: list
      elements: str
restart_required:
  description:
    - Whether the driver is built and waits for a boot, with C(iommu=pt) (see O(load_without_passthrough)) or with the
      kernel that was chosen (see O(kernel)).
  type: bool
  returned: success
restart_reasons:
  description: Why the node has to boot the kernel that was chosen, if it runs another one.
  type: list
  elements: str
  returned: success
not_started:
  description: One message for each service or container that was stopped and did not start again.
  type: list
  elements: str
  returned: success
held:
  description: Packages that are held.
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
from ansible_collections.gaudi3.scale.plugins.module_utils._node.option_forms import check_kernel, check_package
from ansible_collections.gaudi3.scale.plugins.module_utils._node.os_release import SYSTEMS, of_system

SIGNING = ("signing_key", "signing_certificate", "enrollment_hash_file")

FORMS = {
    **dict.fromkeys(("packages", "os_packages"), check_package),
    "kernel": check_kernel,
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
            "kernel": {"type": "str", "default": ""},
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
