# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""After the driver: what dpkg, apt, DKMS and the kernel say."""

from __future__ import annotations

from collections.abc import Container

import pytest
from testinfra.host import Host

from tests.long_rows import named_rows
from tests.sandbox_nodes import fault

RELEASE, BUILD = "1.24.1", "482"
VERSION = f"{RELEASE}-{BUILD}"
PACKAGES = (
    "habanalabs-dkms",
    "habanalabs-firmware",
    "habanalabs-firmware-tools",
    "habanalabs-graph",
    "habanalabs-qual",
    "habanalabs-rdma-core",
    "habanalabs-thunk",
)
MODULES = ("habanalabs_compat", "habanalabs", "habanalabs_cn", "habanalabs_en", "habanalabs_ib")


def running_kernel(host: Host, kernel: str) -> str:
    return host.file(f"{kernel}/proc/sys/kernel/osrelease").content_string.strip()


def test_packages_are_installed_at_the_release(host: Host) -> None:
    states = host.check_output(
        "dpkg-query -W -f '${Package} ${db:Status-Status} ${Version}\\n' 'habanalabs*'"
    ).splitlines()
    assert {f"{package} installed {VERSION}" for package in PACKAGES} <= set(states)


def test_every_vendor_package_has_one_version_and_is_held(host: Host) -> None:
    installed = dict(
        line.split()
        for line in host.check_output("dpkg-query -W -f '${Package} ${Version}\\n' 'habanalabs*'").splitlines()
    )
    assert set(installed.values()) == {VERSION}
    assert set(installed) <= set(host.check_output("apt-mark showhold").splitlines())


def test_an_upgrade_of_the_node_leaves_the_driver_alone(host: Host) -> None:
    simulated = host.check_output("apt-get --simulate dist-upgrade")
    assert not [line for line in simulated.splitlines() if line.startswith(("Inst habanalabs", "Remv habanalabs"))]


def test_the_repository_is_signed_by_its_own_key_only(host: Host) -> None:
    (source,) = host.check_output("grep -l repository /etc/apt/sources.list.d/*").splitlines()
    assert host.file(source).contains("^Signed-By: /")
    assert not host.file("/etc/apt/trusted.gpg").exists


def test_dkms_built_for_the_running_kernel(host: Host, kernel: str) -> None:
    status = host.check_output("dkms status")
    assert [line for line in status.splitlines() if running_kernel(host, kernel) in line and "installed" in line]


def test_modules_are_real_and_loaded(host: Host, kernel: str) -> None:
    release = running_kernel(host, kernel)
    files = host.check_output(f"find /lib/modules/{release}/updates -name '*.ko*'").splitlines()
    assert {file.rsplit("/", 1)[1].split(".")[0] for file in files} == set(MODULES)
    built_for = host.check_output(f"modinfo -F vermagic {' '.join(files)}").splitlines()
    assert all(line.startswith(f"{release} ") for line in built_for)
    loaded = {line.split()[0] for line in host.check_output(f"cat {kernel}/proc/modules").splitlines()}
    assert set(MODULES) <= loaded


def test_modules_are_loaded_in_order_at_boot(host: Host) -> None:
    lines = host.check_output("cat /etc/modules-load.d/habanalabs.conf").splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == list(MODULES)


def test_the_vendors_tool_sees_eight_cards(host: Host) -> None:
    rows = host.check_output("hl-smi -Q index,driver_version -f csv,noheader").splitlines()
    assert len(rows) == 8
    assert all(RELEASE in row for row in rows)


def test_the_module_of_cards_says_what_the_driver_knows(host: Host) -> None:
    said = host.ansible("gaudi3.scale.hpu_info", check=False, become=True)["hpu"]
    assert (said["generation"], said["count"]) == ("gaudi3", 8)
    assert [card["module_id"] for card in said["cards"]] == [*range(8)]
    assert {card["status"] for card in said["cards"]} == {"Operational"}
    # By the shared object of the simulated vendor's package.
    assert said["hlml"] == {"version": f"{VERSION} (simulated)", "reason": ""}
    assert {(card["power_limit_least_w"], card["power_limit_most_w"]) for card in said["cards"]} == {(450, 850)}
    assert all(card["energy_mj"] > 0 for card in said["cards"])


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("name", "reason", "energies"),  # How many cards may have told their energy: one that fails ends the later ones'.
    named_rows(
        {
            "crash": ("hlml_crashes=0", "HLML crashed in hlml_device_get_pci_info of ", range(8)),
            "hang": ("hlml_hangs=0", "HLML did not answer hlml_device_get_pci_info of ", range(8)),
            "lost card": ("hlml_lost_card=0", "", (7,)),
            "unknown error": ("hlml_unknown_error=0", "", (8,)),
            "leak": ("hlml_leaks", "", (8,)),
            "older layout": ("hlml_older", "/usr/lib/habanalabs/libhlml.so is of release 1.20.0 ", (0,)),
        },
        short=("crash", "hang", "older layout"),
    ),
)
def test_a_library_that_fails_costs_no_other_answer(
    host: Host, name: str, reason: str, energies: Container[int]
) -> None:
    node = host.ansible.get_variables()["inventory_hostname"]
    with fault(node, name):
        said = host.ansible("gaudi3.scale.hpu_info", check=False, become=True)["hpu"]
    assert said["hlml"]["reason"].startswith(reason) and bool(said["hlml"]["reason"]) == bool(reason)
    assert {card["status"] for card in said["cards"]} == {"Operational"}
    assert None not in {card["temperature_c"] for card in said["cards"]}
    assert sum(card["energy_mj"] is not None for card in said["cards"]) in energies
