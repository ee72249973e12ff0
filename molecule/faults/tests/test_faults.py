# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Bad input and broken nodes: one sentence that names the thing and the remedy, and nothing on a node is different.

The nodes are as ``site.yml`` left them (scenario ``site``), so whatever a refused run touched would show.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.long_rows import named_rows
from tests.sandbox_nodes import fault, hosts, run

# Contents of what is configured, names, sizes and times of what is installed, and what systemd has of ours. A lock is
# an empty file that stays.
STATE = """
find /etc -xdev -type f -exec sha256sum {} + | sort -k 2
find /opt /usr/src /lib/modules /var/lib/gaudi3_scale -xdev ! -type d ! -name '*.lock' -printf '%p %s %T@\\n' | sort
dpkg-query -W -f '${Package} ${Version} ${Status}\\n'
systemctl list-unit-files 'gaudi3-scale*' --no-legend
systemctl list-units 'gaudi3-scale*' --all --no-legend --plain | awk '{print $1, $3, $4}'
"""

# An archive that is never read, since the case is refused before.
LIBRARY = {
    "gaudi_fabric_libfabric_archive": "/nowhere/libfabric-1.22.0.tar.bz2",
    "gaudi_fabric_libfabric_checksum": f"sha256:{'a1' * 32}",
    "gaudi_fabric_libfabric_version": "1.22.0",
}
# A job that could start, but for the one thing that a case changes.
JOB = {"gaudi_training_name": "refused", "gaudi_training_command": ["-m", "this"]}

# Amazon's installer as a site pins it, but for the one thing that a case changes; the node would fetch it.
EFA = {
    "gaudi_fabric_provider": "efa",
    "gaudi_fabric_efa_version": "1.34.0",
    "gaudi_fabric_efa_archive": "https://mirror.site/aws-efa-installer-1.34.0.tar.gz",
    "gaudi_fabric_efa_checksum": "sha256:" + "0" * 64,
}


@dataclass(frozen=True)
class Refusal:
    """``variables`` and ``faults`` of node1 with which ``playbook`` has to fail, saying all of ``words``."""

    name: str
    playbook: str
    words: tuple[str, ...]
    variables: Mapping[str, object] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    hosts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


REFUSALS = (
    Refusal("unknown release", "preflight", ("9.9.9", "1.24.1"), {"gaudi_release": "9.9.9"}),
    Refusal(
        "two releases in one group",
        "preflight",
        ("1.23.0", "1.24.1", "gaudi_preflight_allow_mixed_releases"),
        hosts={"node2": {"gaudi_release": "1.23.0"}},
    ),
    Refusal("no cards", "preflight", ("none", "at least 8"), faults=("no_cards",)),
    Refusal("seven of eight cards", "site", ("7", "at least 8", "gaudi_cards_per_node"), faults=("missing_card=3",)),
    Refusal("first generation", "preflight", ("1.24.1", "PCI id", "gaudi_release"), faults=("first_generation",)),
    Refusal(
        "a package repository that answers 404",
        "driver",
        ("/nowhere", "404", "packages_url"),
        {"gaudi_packages_url": "http://packages.sandbox.internal/nowhere"},
    ),
    Refusal(
        "a package repository signed by another key",
        "driver",
        ("sign", "key"),
        {"gaudi_driver_key_url": "file:///usr/share/keyrings/debian-archive-keyring.gpg"},
    ),
    Refusal(
        "not enough disk for the venv",
        "venv",
        ("/opt/gaudi3_scale/second", "MiB free", "min_free_mib"),
        {"gaudi_venv_directory": "/opt/gaudi3_scale/second", "gaudi_venv_min_free_mib": 1 << 30},
    ),
    Refusal(
        "a limit of idle states that needs a reboot and does not say so",
        "host",
        ("cstates: 'intel_idle.max_cstate=0'", "needs a reboot and does not say so", "no_intel_idle_at_boot"),
        {"gaudi_host_cstates": ["intel_idle.max_cstate=0"]},
    ),
    Refusal(
        "two owners of an argument of the kernel",
        "host",
        ("no_intel_idle_at_boot", "kernel_arguments has intel_idle.max_cstate=1", "use only one"),
        {
            "gaudi_host_cstates": ["no_intel_idle_at_boot"],
            "gaudi_host_kernel_arguments": ["iommu=pt", "intel_idle.max_cstate=1"],
        },
    ),
    Refusal(
        "registers of another CPU",
        "host",
        ("GenuineIntel, family 6, model 106", "Granite Rapids", "set latency_msrs to false"),
        faults=("another_cpu",),
        hosts={"node1": {"gaudi_host_latency_msrs": True}},
    ),
    Refusal(
        "a time service that there is not",
        "host",
        ("time_sync='ntp'", "unmanaged, chrony, systemd-timesyncd"),
        {"gaudi_host_time_sync": "ntp"},
    ),
    Refusal(
        "a card on half its lanes",
        "verify",
        ("PCIe link: found Gen4 x8 at 0000:", "at least Gen5 x16", "pcie_lanes"),
        {"gaudi_verify_venv": "", "gaudi_verify_all_reduce": False},
        faults=("degraded_pcie=3",),
    ),
    Refusal(
        "a misspelt option",
        "host",
        ("gaudi_host_hugepage_memory_share is not an option of gaudi_host", "mean gaudi_host_hugepages_memory_share?"),
        {"gaudi_host_hugepage_memory_share": 0.1},
    ),
    Refusal(
        "a misspelt option of another layer, in an upgrade",
        "upgrade_driver",
        ("gaudi_verify_idle_memory is not an option of gaudi_verify", "did you mean gaudi_verify_idle_memory_mib?"),
        {"gaudi_verify_idle_memory": 1, "gaudi_upgrade_release": "1.24.1"},
    ),
    Refusal(
        "an unknown flag",
        "flags",
        ("PT_HPU_LAZY_MOD", "PT_HPU_LAZY_MODE"),
        {"gaudi_flags_overrides": {"PT_HPU_LAZY_MOD": "1"}},
    ),
    Refusal(
        "a word where a flag takes a number",
        "flags",
        ("PT_HPU_POOL_STRATEGY",),
        {"gaudi_flags_overrides": {"PT_HPU_POOL_STRATEGY": "OPTIMIZE_UTILIZATION"}},
    ),
    Refusal("a job name with a slash", "launch_training", ("a/b",), {**JOB, "gaudi_training_name": "a/b"}),
    Refusal(
        "a host twice",
        "launch_training",
        ("gaudi_training_hosts", "node1, node1", "twice"),
        {**JOB, "gaudi_training_hosts": ["node1", "node1"]},
    ),
    Refusal(
        "more processes than cards",
        "launch_training",
        ("processes_per_node", "9", "8"),
        {**JOB, "gaudi_training_device": "hpu", "gaudi_training_processes_per_node": 9},
    ),
    Refusal(
        "more ranks than cores to bind them to",
        "launch_training",
        ("gaudi_training_bind", "NUMA node 0 of node", "core(s)", "none", "processes_per_node"),
        {**JOB, "gaudi_training_bind": "numa", "gaudi_training_processes_per_node": 1000},
    ),
    Refusal(
        "an unknown binding",
        "launch_training",
        ("bind", "numa, cores, none", "socket"),
        {**JOB, "gaudi_training_bind": "socket"},
    ),
    # A provider that is asked for is judged before the cards' ports are touched. Only node1 asks.
    Refusal(
        "PCIe ACS above a network card with Gaudi Direct",
        "fabric",
        ("PCIe ACS", "0000:59:00.0", "BIOS", "gaudi_fabric_libfabric_gaudi_direct: false"),
        faults=("host_nic=roce:acs",),
        hosts={"node1": {"gaudi_fabric_provider": "roce", **LIBRARY}},
    ),
    Refusal(
        "libfabric without SynapseAI's headers",
        "fabric",
        ("/nowhere/include/habanalabs/synapse_api.h", "gaudi_fabric_libfabric_gaudi_direct: false"),
        faults=("host_nic=infiniband",),
        hosts={
            "node1": {"gaudi_fabric_provider": "infiniband", **LIBRARY, "gaudi_fabric_libfabric_synapse": "/nowhere"}
        },
    ),
    Refusal(
        "libfabric without a checksum",
        "fabric",
        ("gaudi_fabric_libfabric_checksum is ''", "sha256sum"),
        {"gaudi_fabric_provider": "roce", **LIBRARY, "gaudi_fabric_libfabric_checksum": ""},
    ),
    Refusal(
        "libfabric that is too old for Gaudi Direct",
        "fabric",
        ("gaudi_fabric_libfabric_version is 1.19.1", "1.20.0"),
        {"gaudi_fabric_provider": "roce", **LIBRARY, "gaudi_fabric_libfabric_version": "1.19.1"},
    ),
    Refusal(
        "DOCA without a repository to take it from",
        "fabric",
        ("gaudi_fabric_ofed is doca", "gaudi_fabric_ofed_repository is empty"),
        {"gaudi_fabric_provider": "infiniband", "gaudi_fabric_ofed": "doca"},
    ),
    Refusal(
        "a repository of drivers beside the distribution's",
        "fabric",
        ("gaudi_fabric_ofed_repository is given", "distribution", "doca or mofed"),
        {"gaudi_fabric_provider": "roce", "gaudi_fabric_ofed_repository": "https://mirror.example.com/doca"},
    ),
    Refusal(
        "a stack that there is none of",
        "fabric",
        ("gaudi_fabric_ofed", "ofed", "mofed"),
        {"gaudi_fabric_provider": "roce", "gaudi_fabric_ofed": "ofed"},
    ),
    Refusal(
        "EFA on Gaudi 3",
        "fabric",
        ("EFA is refused on Gaudi 3", "no evidence", "gaudi_fabric_provider", "gaudi_fabric_force"),
        {"gaudi_fabric_provider": "efa"},
    ),
    Refusal(
        "EFA with a release that has no first generation",
        "fabric",
        ("1.24.1", "1.21 is their last", "gaudi_release"),
        {"gaudi_fabric_force": True},
        faults=("first_generation",),
        hosts={"node1": {"gaudi_fabric_provider": "efa"}},
    ),
    Refusal(
        "EFA without a checksum",
        "fabric",
        ("version is '1.34.0'", "gaudi_fabric_efa_archive", "gaudi_fabric_efa_checksum"),
        {**EFA, "gaudi_fabric_efa_archive": "", "gaudi_fabric_efa_checksum": ""},
    ),
    Refusal(
        "EFA with a checksum of another kind",
        "fabric",
        ("md5:", "sha256"),
        {**EFA, "gaudi_fabric_efa_checksum": "md5:0"},
    ),
    Refusal(
        "EFA of another version than its archive",
        "fabric",
        ("aws-efa-installer-1.34.0.tar.gz is of version 1.34.0", "1.35.0"),
        {**EFA, "gaudi_fabric_efa_version": "1.35.0"},
    ),
    Refusal(
        "EFA over plain http",
        "fabric",
        ("plain http to mirror.site", "gaudi_plain_http_hosts"),
        {**EFA, "gaudi_fabric_efa_archive": "http://mirror.site/aws-efa-installer-1.34.0.tar.gz"},
    ),
    Refusal(
        "EFA from a file that the controller lacks",
        "fabric",
        ("/nowhere/aws-efa-installer-1.34.0.tar.gz", "controller", "gaudi_fabric_efa_archive"),
        {**EFA, "gaudi_fabric_efa_archive": "/nowhere/aws-efa-installer-1.34.0.tar.gz"},
    ),
    Refusal(
        "a workload that cannot be imported",
        "probe_batch_size",
        ("nowhere:step", "import"),
        {"gaudi_batch_workload": "nowhere:step"},
    ),
)


LAYER3 = {
    "gaudi_fabric_layer": 3,
    "gaudi_fabric_pools": ["10.200.0.0/16"],
    "gaudi_fabric_hosts": ["node1", "node2"],
}
FABRIC_REFUSALS = tuple(
    Refusal(name, "fabric", words, {**LAYER3, f"gaudi_fabric_{option}": value})
    for name, option, value, words in (
        ("a pool that is too small", "pools", ["10.200.0.0/26"], ("10.200.0.0/26", "need 48", "/24 or larger")),
        ("pools that overlap", "pools", ["10.1.0.0/16", "10.1.4.0/22", "10.9.0.0/16"], ("overlap", "10.1.4.0/22")),
        ("two pools", "pools", ["10.1.0.0/16", "10.2.0.0/16"], ("gaudi_fabric_pools", "1, 3, 8 or 24")),
        ("a pool with host bits", "pools", ["10.200.0.1/16"], ("10.200.0.1/16", "write 10.200.0.0/16")),
        ("a pool that is not a network", "pools", ["tenant"], ("gaudi_fabric_pools", "'tenant' is not a network")),
        ("a pool of IPv6", "pools", ["fd00::/64"], ("fd00::/64 is IPv6", "give an IPv4 network")),
        ("no pool", "pools", [], ("gaudi_fabric_pools is empty", "10.200.0.0/16")),
        ("a host of the fabric twice", "hosts", ["node1", "node2", "node1"], ("gaudi_fabric_hosts", "'node1' twice")),
        ("a fabric without its hosts", "hosts", ["node9"], ("gaudi_fabric_hosts does not name", "at the end")),
        ("a host that is a command", "hosts", ["$(reboot)"], ("gaudi_fabric_hosts", "not a host name")),
        ("an MTU that no port has", "mtu", 9216, ("gaudi_fabric_mtu is 9216", "1500 to 9000")),
        ("priorities that the tool does not set", "pfc_priorities", [3], ("gaudi_fabric_pfc_priorities is [3]",)),
        ("a layer that there is not", "layer", 4, ("gaudi_fabric_layer", "2, 3")),
    )
)


@pytest.fixture(scope="module")
def nodes() -> dict[str, Host]:
    return hosts()


def state(host: Host) -> set[str]:
    return set(host.check_output(STATE).splitlines())


def failures(refusal: Refusal, directory: Path) -> dict[str, str]:
    """Run the playbook; what each host that it refused said."""
    of_hosts = directory / "of_hosts.json"
    of_hosts.write_text(json.dumps({"gaudi": {"hosts": refusal.hosts}}))
    result = run(directory, refusal.playbook, inventory=[str(of_hosts)], **refusal.variables)
    said: dict[str, str] = {}
    for event in result.events:
        if event["event"] == "runner_on_failed":
            # The first failure of a host is the reason; what a rescue says follows from it.
            said.setdefault(event["event_data"]["host"], str(event["event_data"]["res"].get("msg", "")))
    assert result.rc != 0
    assert said, f"nothing was refused:\n{result.stdout.read()[-4000:]}"
    return said


ROWS = {row.name: row for row in (*REFUSALS, *FABRIC_REFUSALS)}
# Those with a broken node, and the first of each playbook.
SHORT = {
    *(name for name, row in ROWS.items() if row.faults),
    *{row.playbook: row.name for row in reversed(ROWS.values())}.values(),
}


@pytest.mark.parametrize("refusal", named_rows(ROWS, SHORT))
def test_is_refused_in_one_sentence_and_touches_nothing(
    refusal: Refusal, nodes: dict[str, Host], tmp_path: Path
) -> None:
    before = {name: state(host) for name, host in nodes.items()}
    with fault("node1", *refusal.faults):
        said = failures(refusal, tmp_path)
    # A broken node is refused and the healthy one goes on; bad input stops both.
    untouched = set(said) if refusal.faults else set(nodes)
    assert {name: state(nodes[name]) ^ before[name] for name in untouched} == {name: set() for name in untouched}
    for whole in said.values():
        # Ansible's own title above what a role's argument specification refuses.
        message = whole.removeprefix("Validation of arguments failed:\n")
        assert "\n" not in message
        assert "Traceback" not in message
        assert [word for word in refusal.words if word not in message] == [], message


BROKEN_JSON = '{"log-driver": "journald",}'


def test_a_docker_file_that_is_not_json_stays_as_it_is(nodes: dict[str, Host], tmp_path: Path) -> None:
    path = "/etc/docker/daemon.json"
    kept = f"{path}.kept"
    node = nodes["node1"]
    node.check_output(
        f"mkdir -p /etc/docker; if [ -e {path} ]; then mv {path} {kept}; fi; echo '{BROKEN_JSON}' > {path}"
    )
    try:
        before = state(node)
        variables = {"gaudi_containers_engines": ["docker"]}
        said = failures(Refusal("not JSON", "containers", (), variables), tmp_path)
        assert state(node) ^ before == set()
        assert f"{path} is not JSON" in said["node1"]
        assert "\n" not in said["node1"]
    finally:
        node.check_output(f"rm {path}; if [ -e {kept} ]; then mv {kept} {path}; fi")


def test_a_profile_of_the_vendor_s_with_a_harmful_flag_changes_nothing(nodes: dict[str, Host], tmp_path: Path) -> None:
    path = "/etc/profile.d/habanalabs-harmful.sh"
    node = nodes["node1"]
    node.check_output(f"echo 'export PT_HPU_INFERENCE_MODE=1' > {path}")
    try:
        before = state(node)
        said = failures(Refusal("harmful", "flags", ()), tmp_path)
        assert state(node) ^ before == set()
        # The other node goes on.
        assert set(said) == {"node1"}
        assert said["node1"].startswith(f"{path} sets PT_HPU_INFERENCE_MODE=1: ")
        assert "give PT_HPU_INFERENCE_MODE in overrides" in said["node1"]
        assert "\n" not in said["node1"]
    finally:
        node.check_output(f"rm {path}")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("FI_PROVIDER=efa", ("FI_PROVIDER: found efa", "verbs or tcp", "take FI_PROVIDER out")),
        (
            "HCCL_GAUDI_DIRECT=1",
            ("HCCL_OVER_OFI: found not set", "set HCCL_OVER_OFI to 1", "leave HCCL_"),
        ),
    ],
)
def test_flags_that_end_a_job_over_the_hosts_cards_change_nothing(
    line: str, words: tuple[str, ...], nodes: dict[str, Host], tmp_path: Path
) -> None:
    path = "/etc/gaudi3_scale/environment_of_a_case"
    node = nodes["node1"]
    node.check_output(f"mkdir -p /etc/gaudi3_scale; echo {line} > {path}")
    try:
        before = state(node)
        own = {"node1": {"gaudi_fabric_provider": "roce", "gaudi_fabric_ofed_environment": path}}
        said = failures(Refusal("flags", "fabric", (), hosts=own), tmp_path)
        assert state(node) ^ before == set()
        assert set(said) == {"node1"} and "\n" not in said["node1"]
        assert [word for word in words if word not in said["node1"]] == [], said["node1"]
    finally:
        node.check_output(f"rm {path}")


@pytest.mark.parametrize(
    ("path", "text", "key", "option"),
    [
        ("/etc/sysctl.d/10-site.conf", "vm.nr_hugepages = 7\n", "vm.nr_hugepages", "hugepages"),
        (
            "/etc/sysctl.d/99-site.conf",
            "kernel.numa_balancing=1\n",
            "kernel.numa_balancing",
            "numa_balancing",
        ),
    ],
)
def test_two_owners_of_one_sysctl_are_both_named(
    path: str, text: str, key: str, option: str, nodes: dict[str, Host], tmp_path: Path
) -> None:
    node = nodes["node1"]
    node.check_output(f"printf '{text}' > {path}")
    try:
        before = state(node)
        variables = {"gaudi_host_numa_balancing": "disabled"} if option == "numa_balancing" else {}
        own = {"node1": variables}
        said = failures(Refusal("two owners", "host", (), hosts=own), tmp_path)
        assert state(node) ^ before == set()
        # The other node goes on.
        assert set(said) == {"node1"}
        assert f"{option}: {key} would have two owners, /etc/sysctl.d/9" in said["node1"]
        assert f" and {path} with " in said["node1"]
        assert f"take it out of {path}, or set {option} to unmanaged" in said["node1"]
        assert "\n" not in said["node1"]
    finally:
        node.check_output(f"rm {path}")


def test_batches_of_one_go_past_a_node_that_is_unfit(nodes: dict[str, Host], tmp_path: Path) -> None:
    """Ansible ends a run at a batch whose nodes all fail, so preflight has to know those before the first."""
    with fault("node1", "missing_card=3"):
        done = run(tmp_path, "site", arguments="--tags preflight,host", gaudi_serial=1)
    told = [event["event_data"] for event in done.events if event["event"].startswith("runner_on_")]
    plays = {name: {data["play"] for data in told if data["host"] == name} for name in nodes}
    assert plays["node1"] == {"Preflight"}
    # The table at the end is the last play's, whatever the tags are.
    assert plays["node2"] == {"Preflight", "Host settings", "Verification"}
    assert done.rc != 0
    assert "node1  FAILED in preflight" in done.stdout.read()
