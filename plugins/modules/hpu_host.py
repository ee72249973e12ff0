#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_host
short_description: Configure huge pages, kernel arguments, locked memory, CPUs, clock and job ports
version_added: "1.0.0"
description:
  - Writes drop-ins below C(/etc) and never changes the operator's files. Settings that can take effect at once are
    applied at once (huge pages, governor). RV(reboot_required) reports settings that need a reboot. The module never
    reboots a node.
  - An option that is empty or false removes what this module wrote for it, and restores the value that the kernel or
    C(tuned) had before.
  - Where C(tuned) runs, governor, idle states and NUMA balancing are set in a profile C(gaudi3-scale) that includes the
    active one, without additional units or drop-ins.
  - Each C(sysctl) key has one owner. If another C(sysctl.d) file or a C(tuned) profile sets a key to another value, the
    task fails and names both files. The exception is another source that gives more huge pages than V(auto) asks for;
    it stays in effect.
options:
  hugepages:
    description:
      - Number of huge pages that the node reserves.
      - V(auto) is the formula of the vendor's installer, 110 MiB twice for every logical CPU plus one page. It is a
        minimum, so a larger reservation of a running node stays. If another C(sysctl.d) file, a C(tuned) profile or the
        kernel command line gives more, this is reported and no file is written.
      - A number is reserved exactly. V(unmanaged) leaves the reservation alone.
    type: str
    default: auto
  hugepages_memory_share:
    description: Maximum fraction of the node's memory for huge pages, above 0 and up to 1.
    type: float
    default: 0.5
  hugepages_shortage:
    description: Whether a reservation that does not fit is refused, or skipped with a warning.
    type: str
    choices: [refuse, warn]
    default: refuse
  kernel_arguments:
    description:
      - Kernel arguments. A drop-in in C(/etc/default/grub.d) appends them to C(GRUB_CMDLINE_LINUX_DEFAULT), and
        C(update-grub) runs after a change.
      - On RHEL C(grubby) adds them to every boot entry, and removes only what it added.
      - On a node that boots in another way, missing arguments give a warning.
      - Without C(iommu=pt) wrong results and panics have been seen; the vendor's installation guide asks for both.
    type: list
    elements: str
    default: [iommu=pt, intel_iommu=on]
  memlock:
    description:
      - Whether logins (C(limits.d)) and services (C(DefaultLimitMEMLOCK) of systemd) may lock unlimited memory.
      - Running services keep the limit they were started with.
      - On a node that is not allowed to raise the limit nothing is written, because logins would be refused there.
    type: bool
    default: true
  cpu_governor:
    description:
      - Frequency governor of all CPUs, set now and at every boot by the unit C(gaudi3-scale-cpu-governor.service).
      - Nothing is done if the kernel cannot change frequencies, as in most virtual machines.
    type: str
    default: performance
  cstates:
    description:
      - Limits on the CPUs' idle states. None by default, because idle CPUs then use more power.
      - V(no_c6) disables C6 and deeper states, now and at every boot, with the unit
        C(gaudi3-scale-idle-states.service). Nothing is done if the kernel has no such state.
      - V(no_intel_idle_at_boot) adds C(intel_idle.max_cstate=0) to O(kernel_arguments), effective from the next boot.
    type: list
    elements: str
    default: []
  numa_balancing:
    description:
      - Whether the kernel may move memory between NUMA nodes.
      - V(auto) disables this only on kernels 5.9 to 5.16, as the vendor requires; V(disabled) on every kernel;
        V(unmanaged) leaves it alone.
    type: str
    default: auto
  latency_msrs:
    description:
      - Whether to write two CPU registers that the vendor sets for latency, C(0x1b0) to 0 and C(0x774) to C(0x2708),
        now and at every boot, with the unit C(gaudi3-scale-latency-msrs.service). They are read back.
      - Refused on CPUs other than Intel's Sapphire, Emerald and Granite Rapids.
      - Installs the package C(msr-tools) if missing.
    type: bool
    default: false
  time_sync:
    description:
      - Time service, V(chrony) or V(systemd-timesyncd), to install from the distribution and start if none is running.
      - Any time service that is already running is used and never replaced.
      - V(unmanaged) checks and changes nothing.
    type: str
    default: unmanaged
  module_parameters:
    description:
      - Parameters of the kernel module C(habanalabs), such as C(timeout_locked), for C(/etc/modprobe.d).
      - They take effect when the module is loaded.
    type: dict
    default: {}
  firewall:
    description:
      - Whether to close O(firewall_ports) to all but O(firewall_nodes) and the node itself, now and at every boot
        before the network comes up, with the unit C(gaudi3-scale-firewall.service).
      - The rules are in a separate nftables table, C(inet gaudi3_scale). It filters no other port, and never opens one
        that another table closes. Open connections stay.
      - The node needs C(nft), from the package C(nftables).
    type: bool
    default: false
  firewall_nodes:
    description:
      - Addresses and networks of the cluster's nodes, such as V(10.0.0.7), V(10.0.0.0/24) or V(fd00::/64). Names are
        refused, because control over name resolution would open the ports.
    type: list
    elements: str
    default: []
  firewall_ports:
    description:
      - TCP and UDP ports and port ranges, from 1024 up.
      - The default covers all default ports of this collection. The collectives of gloo and HCCL use ports that the
        kernel chooses; add V(32768-60999) to close those as well.
    type: list
    elements: str
    default: ["29500-29515", "29520", "29530", "29540"]
attributes:
  check_mode:
    support: full
    description: Nothing is written or started.
  diff_mode:
    support: full
    description: Shows every file, and each kernel value that changes.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Apply the settings that the vendor requires
  gaudi3.scale.hpu_host:

- name: Configure a node that shares its memory with other work
  gaudi3.scale.hpu_host:
    hugepages: "8000"
    hugepages_memory_share: 0.1

- name: Open the ports of jobs to the cluster's own network only
  gaudi3.scale.hpu_host:
    firewall: true
    firewall_nodes: [10.0.0.0/24]

- name: Shorten wake-up from idle on Granite Rapids
  gaudi3.scale.hpu_host:
    cstates: [no_c6]
    latency_msrs: true
    time_sync: chrony

- name: Prepare a long qualification of Gaudi 2 cards
  gaudi3.scale.hpu_host:
    module_parameters:
      timeout_locked: 0
"""

RETURN = r"""
reboot_required:
  description: Whether the node needs a reboot before all settings are in effect.
  type: bool
  returned: success
reboot_reasons:
  description: Reasons, one message each.
  type: list
  elements: str
  returned: success
  sample: ["the running kernel was started without iommu=pt, which GRUB passes from the next start on"]
settings:
  description: Wanted and found settings. Values are those before this module changed anything.
  type: dict
  returned: success
  contains:
    hugepages:
      description:
        - C(pages) wanted (null if unmanaged or skipped), C(at_least), C(memory_mib) of these pages or of a larger
          reservation, C(reserved), C(given_by) (the source that gives more, or null), and C(left_mib), the remaining
          memory, which is the maximum for Slurm's C(RealMemory) less C(MemSpecLimit).
      type: dict
    kernel_arguments:
      description: C(wanted) arguments, and those C(missing) from the running kernel.
      type: dict
    memlock:
      description: C(unlimited), whether the drop-ins lift the limit.
      type: dict
    cpu_governor:
      description: C(wanted) governor or null, and the list of C(current) governors.
      type: dict
    cstates:
      description:
        - C(wanted) limits, the names of the CPUs' C(deep) states (from C6 on), and which of them are C(in_use).
      type: dict
    numa_balancing:
      description: Whether it should be C(disabled), and the kernel's C(current) value or null.
      type: dict
    latency_msrs:
      description: The C(cpu) name, and the C(wanted) registers with their values; null and none if not wanted.
      type: dict
    tuned:
      description: The C(profile) that this module set in C(tuned), else null; the profiles that it C(includes).
      type: dict
    time_sync:
      description: The C(wanted) service, and the one that was C(running); both null if unmanaged.
      type: dict
    module_parameters:
      description: C(wanted) parameters.
      type: dict
    firewall:
      description: C(nodes) and C(ports) of the rules. Both are empty if there are none.
      type: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._host.firewall import DEFAULT_PORTS
from ansible_collections.gaudi3.scale.plugins.module_utils._host.node import Node
from ansible_collections.gaudi3.scale.plugins.module_utils._host.state import SHORTAGE_CHOICES, HostOptions, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        empty=("cpu_governor",),
        argument_spec={
            "hugepages": {"type": "str", "default": "auto"},
            "hugepages_memory_share": {"type": "float", "default": 0.5},
            "hugepages_shortage": {"type": "str", "choices": list(SHORTAGE_CHOICES), "default": "refuse"},
            "kernel_arguments": {"type": "list", "elements": "str", "default": ["iommu=pt", "intel_iommu=on"]},
            "memlock": {"type": "bool", "default": True},
            "cpu_governor": {"type": "str", "default": "performance"},
            "cstates": {"type": "list", "elements": "str", "default": []},
            "numa_balancing": {"type": "str", "default": "auto"},
            "latency_msrs": {"type": "bool", "default": False},
            "time_sync": {"type": "str", "default": "unmanaged"},
            "module_parameters": {"type": "dict", "default": {}},
            "firewall": {"type": "bool", "default": False},
            "firewall_nodes": {"type": "list", "elements": "str", "default": []},
            "firewall_ports": {"type": "list", "elements": "str", "default": [*DEFAULT_PORTS]},
        },
        supports_check_mode=True,
    )


def answer(wishes: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    for name in ("kernel_arguments", "cstates", "firewall_nodes", "firewall_ports"):
        wishes[name] = tuple(wishes[name])
    given = wishes["module_parameters"]
    # Of true and of nothing no text was meant, and the core refuses them.
    wishes["module_parameters"] = {name: str(one) if type(one) in (int, float) else one for name, one in given.items()}
    return converge(HostOptions(**wishes), run_process, module.check_mode, Node())


if __name__ == "__main__":
    main()
