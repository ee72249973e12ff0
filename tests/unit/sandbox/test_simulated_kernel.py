# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated /sys and /proc, module loading and the boot, as pure functions of the node's state."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.verbs.acs import redirecting

from sandbox.simulator import boot, cpu_power, host_nics
from sandbox.simulator.external_ports import links, ports_of
from sandbox.simulator.faults import FaultError, parse
from sandbox.simulator.kernel_modules.files import dependencies
from sandbox.simulator.kernel_modules.modprobe import holders, of_the_vendor, with_modules, without_module
from sandbox.simulator.kernel_tree import proc_modules, render
from sandbox.simulator.node_state import Node, from_json, new_node, replace, to_json
from sandbox.simulator.readings import readings

from . import simulated

MODULES_DEP = """\
updates/dkms/habanalabs_cn.ko: updates/dkms/habanalabs.ko updates/dkms/habanalabs_compat.ko
updates/dkms/habanalabs_compat.ko:
kernel/fs/example-name.ko.xz: kernel/lib/other.ko.xz
"""


def tree(node: Node) -> dict[str, str]:
    """What the node's kernel shows."""
    return render(node, simulated.MACHINE)


def below(node: Node, directory: str) -> set[str]:
    """The names directly below a directory of the tree."""
    return {path.removeprefix(f"{directory}/").split("/")[0] for path in tree(node) if path.startswith(f"{directory}/")}


def test_a_virgin_node_shows_its_cards_on_the_pci_bus_only() -> None:
    files = tree(simulated.virgin())
    assert len(below(simulated.virgin(), "sys/bus/pci/devices")) == 8
    assert files["sys/bus/pci/devices/0000:33:00.0/vendor"] == "0x1da3\n"
    assert files["sys/bus/pci/devices/0000:33:00.0/device"] == "0x1060\n"
    assert files["sys/bus/pci/devices/0000:33:00.0/class"] == "0x120000\n"
    assert not below(simulated.virgin(), "sys/class/accel")
    assert files["proc/modules"] == ""


@pytest.mark.parametrize(("cpus", "lists"), [(1, ("0", "")), (2, ("0", "1")), (3, ("0-1", "2")), (16, ("0-7", "8-15"))])
def test_two_numa_nodes_have_the_real_processors_and_the_cards(cpus: int, lists: tuple[str, str]) -> None:
    files = render(simulated.loaded(), dataclasses.replace(simulated.MACHINE, cpus=cpus))
    assert tuple(files[f"sys/devices/system/node/node{node}/cpulist"].strip() for node in (0, 1)) == lists
    near = {files[path]: files[path.replace("module_id", "numa_node")] for path in files if path.endswith("/module_id")}
    assert near == {f"{module}\n": f"{module // 4}\n" for module in range(8)}
    assert files[f"sys/devices/system/cpu/cpu{cpus - 1}/topology/thread_siblings_list"] == f"{cpus - 1}\n"


def test_the_driver_brings_up_the_accelerators() -> None:
    files = tree(simulated.loaded())
    assert below(simulated.loaded(), "sys/class/accel") == {f"accel{index}" for index in range(8)}
    assert files["sys/class/accel/accel0/device/status"] == "Operational\n"
    assert files["sys/class/accel/accel0/device/module_id"] == "1\n"
    assert files["sys/class/accel/accel0/device/pci_addr"] == "0000:33:00.0\n"
    assert files["sys/class/accel/accel0/device/driver_ver"] == "1.24.1-b336d5e\n"
    assert "dev/accel/accel7" in files
    assert files["sys/module/habanalabs/version"] == "1.24.1-b336d5e\n"


def test_accelerator_indices_change_with_a_reload_and_module_ids_do_not() -> None:
    once, again = simulated.loaded(), replace(simulated.loaded(), loads=9)
    by_module = [{r.card.module_id: (r.index, r.card.pci_address) for r in readings(node)} for node in (once, again)]
    assert {module: place[1] for module, place in by_module[0].items()} == {
        module: place[1] for module, place in by_module[1].items()
    }
    assert by_module[0][1][0] != by_module[1][1][0]


@pytest.mark.parametrize(
    ("faults", "cards", "accelerators"),
    [
        ({"no_cards": True}, 0, 0),
        ({"missing_card": [3]}, 7, 7),
        ({"missing_card": [3, 5]}, 6, 6),
        ({"first_generation": True}, 8, 0),
    ],
)
def test_faults_of_whole_cards(faults: dict[str, object], cards: int, accelerators: int) -> None:
    node = simulated.loaded(faults=faults)
    assert len(below(node, "sys/bus/pci/devices")) == cards
    assert len(below(node, "sys/class/accel")) == accelerators


def test_first_generation_cards_have_their_pci_id() -> None:
    files = tree(replace(simulated.virgin(), faults={"first_generation": True}))
    assert files["sys/bus/pci/devices/0000:33:00.0/device"] == "0x1000\n"


def test_a_card_that_did_not_come_up_says_so() -> None:
    node = simulated.loaded(faults={"not_operational": [1]})
    assert tree(node)["sys/class/accel/accel0/device/status"] == "Disabled\n"


def test_external_ports_are_interfaces_that_are_down_until_brought_up() -> None:
    node = simulated.loaded()
    assert len(below(node, "sys/class/net") - {"lo", "eth0"}) == 24
    assert tree(node)["sys/class/net/enp51s0d5/operstate"] == "down\n"
    assert links(node, ())["sys/class/net/enp51s0d5/device"] == "../../../bus/pci/devices/0000:33:00.0"
    up = tree(replace(node, external_ports_up=True))
    assert up["sys/class/net/enp51s0d5/operstate"] == "up\n"
    assert up["sys/class/net/enp51s0d5/carrier"] == "1\n"
    without_network = simulated.loaded(modules=simulated.MODULES[:3])
    assert below(without_network, "sys/class/net") == {"lo", "eth0"}


def test_a_cabled_port_shows_the_real_interface() -> None:
    node = simulated.loaded()
    machine = dataclasses.replace(simulated.MACHINE, interfaces=frozenset({"eth0", "enp51s0d5"}))
    files, found = render(node, machine), links(node, machine.interfaces)
    assert files["sys/class/net/enp51s0d5/dev_port"] == "5\n"
    assert found["sys/class/net/enp51s0d5/operstate"] == "/sys/class/net/enp51s0d5/operstate"
    assert not files.keys() & found.keys()
    assert files["sys/class/net/enp51s0d8/operstate"] == "down\n"
    assert links(simulated.virgin(), machine.interfaces) == {}


def test_ports_are_known_before_the_driver_is_loaded() -> None:
    ports = ports_of(simulated.virgin())
    assert [(port.module_id, port.port) for port in ports[:4]] == [(0, 17), (0, 20), (0, 21), (1, 5)]
    assert (len(ports), len({port.mac for port in ports})) == (24, 24)
    assert ports[3].interface == "enp51s0d5"
    assert readings(simulated.loaded())[0].macs[5] == ports[3].mac


def test_memory_shows_the_simulated_huge_pages_beside_the_real_memory() -> None:
    text = tree(simulated.virgin())["proc/meminfo"]
    assert "MemTotal:       24683120 kB\n" in text
    assert "HugePages_Total:        221\n" in text
    assert "Hugepagesize:       2048 kB\n" in text
    assert "1048576" not in text


def test_use_counts_are_those_of_a_machine_with_eight_cards() -> None:
    lines = [line.split()[:4] for line in proc_modules(simulated.loaded()).splitlines()]
    assert [(name, count, users) for name, _size, count, users in lines] == [
        ("habanalabs_ib", "8", "-"),
        ("habanalabs_en", "8", "-"),
        ("habanalabs_cn", "10", "habanalabs_en,habanalabs_ib,"),
        ("habanalabs", "1", "habanalabs_cn,"),
        ("habanalabs_compat", "1", "habanalabs,"),
    ]


def test_a_module_is_held_by_those_that_use_it_and_by_processes() -> None:
    assert holders(simulated.loaded(), "habanalabs_cn") == ("habanalabs_en", "habanalabs_ib")
    assert holders(simulated.loaded(), "habanalabs_ib") == ()
    busy = simulated.loaded(modules=simulated.MODULES[:2], faults={"busy_device": [0]})
    assert holders(busy, "habanalabs") == ("a process",)


def test_loading_what_is_loaded_changes_nothing() -> None:
    node = simulated.loaded()
    assert with_modules(node, simulated.MODULES, simulated.RELEASE) == node


def test_of_what_a_module_needs_the_kernel_s_own_is_not_simulated() -> None:
    """As modules.dep has it of the driver of Linux 6.12, and of the module above it."""
    assert of_the_vendor(("drm",)) == []
    assert of_the_vendor(("habanalabs_cn", "habanalabs", "drm", "habanalabs_compat")) == [
        "habanalabs_compat", "habanalabs", "habanalabs_cn",
    ]  # fmt: skip


def test_unloading_the_network_driver_takes_the_external_ports_down() -> None:
    node = replace(simulated.loaded(), external_ports_up=True)
    assert without_module(node, "habanalabs_ib").external_ports_up
    gone = without_module(node, "habanalabs_en")
    assert not gone.external_ports_up
    assert "habanalabs_en" not in gone.modules


def test_dependencies_as_depmod_writes_them() -> None:
    found = dependencies(MODULES_DEP)
    assert found["habanalabs_cn"] == ("updates/dkms/habanalabs_cn.ko", ("habanalabs", "habanalabs_compat"))
    assert found["habanalabs_compat"][1] == ()
    assert found["example_name"] == ("kernel/fs/example-name.ko.xz", ("other",))


def test_boot_loads_what_modules_load_d_names() -> None:
    lines = ["# the driver", "habanalabs_compat", "", "  habanalabs  ", "; comment"]
    assert boot.wanted_modules(lines) == ["habanalabs_compat", "habanalabs"]


@pytest.mark.parametrize(
    ("lines", "pages"),
    [
        ([], 0),
        (["vm.nr_hugepages=221"], 221),
        (["vm.nr_hugepages = 10", "vm.swappiness=1", "vm/nr_hugepages = 20 "], 20),
        (["#vm.nr_hugepages=5", "vm.nr_hugepages_mempolicy=9"], 0),
    ],
)
def test_boot_takes_the_last_number_of_huge_pages(lines: list[str], pages: int) -> None:
    assert boot.wanted_hugepages(lines) == pages


def test_state_survives_its_file() -> None:
    node = simulated.loaded(faults={"port_down": ["1:4"], "no_cards": True})
    assert from_json(to_json(node)) == node


def test_cards_of_two_hosts_differ() -> None:
    one, other = (new_node("gaudi3", 8, "6.1.0-56-amd64", name) for name in ("node1", "node2"))
    serials = {card.serial for card in (*one.cards, *other.cards)}
    assert len(serials) == 16
    assert all(serial.startswith("SIM") for serial in serials)


def test_a_hosts_network_card_is_in_sysfs_where_a_fault_gives_one() -> None:
    files = tree(simulated.loaded(faults=parse(["host_nic=roce:acs,no_gid"])))
    assert files["sys/class/infiniband/mlx5_0/ports/1/state"] == "4: ACTIVE\n"
    assert files["sys/class/infiniband/mlx5_0/ports/1/link_layer"] == "Ethernet\n"
    assert "RoCE v2\n" not in files.values()
    assert redirecting(
        {host_nics.BRIDGE: files[f"sys/bus/pci/devices/{host_nics.BRIDGE}/config"].encode()}, [host_nics.ADDRESS]
    ) == (host_nics.BRIDGE,)
    assert "dev/infiniband/uverbs63" in files
    with pytest.raises(FaultError, match="host_nic=token_ring: it takes infiniband or roce"):
        parse(["host_nic=token_ring"])


def test_idle_states_are_switched_by_programs_and_not_by_the_simulator() -> None:
    files = tree(simulated.virgin())
    names = {path: text for path, text in files.items() if path.endswith("/name") and "cpuidle" in path}
    assert set(names.values()) == {"POLL\n", "C1\n", "C1E\n", "C6\n"}
    switches = [path for path in files if cpu_power.is_written_by_programs(path) and "cpuidle" in path]
    assert len(switches) == len(names)


def test_another_cpu_is_one_of_an_earlier_generation() -> None:
    shown = cpu_power.another_cpu("vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: X\n")
    assert shown == "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\nmodel name\t: X\n"


def test_a_degraded_link_is_that_of_one_card() -> None:
    files = tree(replace(simulated.virgin(), faults={"degraded_pcie": [3]}))
    links = sorted(
        (files[path].strip(), files[path.replace("_speed", "_width")].strip())
        for path in files
        if path.endswith("/current_link_speed")
    )
    assert links == [("16.0 GT/s PCIe", "8"), *[("32.0 GT/s PCIe", "16")] * 7]


@pytest.mark.parametrize(
    ("lines", "command_line", "pages"),
    [
        ([], "ro quiet", 0),
        ([], "ro hugepages=156300", 156300),
        (["vm.nr_hugepages = 17601"], "ro hugepages=156300", 17601),
        (["vm.nr_hugepages = 5", "vm.nr_hugepages=9"], "", 9),
    ],
)
def test_huge_pages_of_the_command_line_are_changed_by_sysctl(lines: list[str], command_line: str, pages: int) -> None:
    assert boot.wanted_hugepages(lines, command_line) == pages


def test_the_iommu_translates_where_a_fault_says_so_until_a_boot_with_passthrough() -> None:
    node = simulated.virgin()
    place = f"sys/bus/pci/devices/{node.cards[0].pci_address}/iommu_group/type"
    translating = replace(node, faults=parse(["iommu_translates"]))
    passing = dataclasses.replace(simulated.MACHINE, command_line="ro quiet iommu=pt intel_iommu=on")
    assert render(node, simulated.MACHINE)[place] == "identity\n"
    assert render(translating, simulated.MACHINE)[place] == "DMA\n"
    assert render(translating, passing)[place] == "identity\n"


def test_a_card_has_no_verbs_device_where_a_fault_takes_it() -> None:
    files = tree(simulated.loaded(faults=parse(["no_verbs=3"])))
    assert len([path for path in files if path.startswith("sys/class/infiniband/hbl_")]) == 7
    assert len([path for path in files if path.startswith("dev/infiniband/uverbs")]) == 7
