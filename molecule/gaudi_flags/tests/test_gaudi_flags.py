# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""After flags.yml: systemd and a shell read the same environment from the file."""

from __future__ import annotations

import pytest
from testinfra.host import Host

FILE = "/etc/gaudi3_scale/environment"
VENDOR = {
    "GC_KERNEL_PATH", "HABANA_SCAL_BIN_PATH", "HABANA_PLUGINS_LIB_PATH", "RDMA_CORE_ROOT", "RDMA_CORE_LIB",
    "DATA_LOADER_AEON_LIB_PATH",
}  # fmt: skip
BRIDGE = "/opt/gaudi3_scale/venv/bin/python -c 'import habana_frameworks.torch.core'"


def variables(output: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in output.split("\0") if "=" in line)


@pytest.fixture
def of_a_service(host: Host) -> dict[str, str]:
    return variables(host.check_output(f"systemd-run --quiet --wait --pipe -p EnvironmentFile={FILE} env -0"))


@pytest.fixture
def of_a_shell(host: Host) -> dict[str, str]:
    return variables(host.check_output(f"env -i sh -c 'set -a; . {FILE}; env -0'"))


def names(host: Host) -> set[str]:
    lines = host.check_output(f"cat {FILE}").splitlines()
    return {line.split("=", 1)[0] for line in lines if line and not line.startswith("#")}


def test_the_file_sets_something(host: Host) -> None:
    assert names(host)


def test_systemd_and_a_shell_agree(host: Host, of_a_service: dict[str, str], of_a_shell: dict[str, str]) -> None:
    for name in names(host):
        assert of_a_service[name] == of_a_shell[name], name


def test_a_login_shell_has_the_flags(host: Host, of_a_shell: dict[str, str]) -> None:
    of_login = variables(host.check_output("env -i bash -l -c 'env -0'"))
    assert {name: of_login.get(name) for name in names(host)} == {name: of_a_shell[name] for name in names(host)}


def test_training_compiles(of_a_shell: dict[str, str]) -> None:
    """torch.compile needs eager mode: lazy mode off (the first profile of the collection)."""
    assert of_a_shell["PT_HPU_LAZY_MODE"] == "0"


def test_nothing_harmful_is_set(of_a_shell: dict[str, str]) -> None:
    """Each of these names exists in circulating guides, and hurts or does nothing in training."""
    assert "PT_HPU_INFERENCE_MODE" not in of_a_shell
    assert "PT_HPU_POOL_STRATEGY" not in of_a_shell


def test_the_vendor_s_paths_are_those_of_its_own_profiles(host: Host, of_a_service: dict[str, str]) -> None:
    of_vendor = variables(
        host.check_output("env -i sh -c 'for file in /etc/profile.d/habana*; do . $file; done; env -0'")
    )
    assert {name: of_service for name, of_service in of_a_service.items() if name in VENDOR} == {
        name: of_vendor[name] for name in VENDOR
    }


def test_the_vendor_s_bridge_starts_in_a_service_with_the_file_and_not_without(host: Host) -> None:
    assert host.run(f"systemd-run --quiet --wait --pipe -p EnvironmentFile={FILE} {BRIDGE}").rc == 0
    without = host.run(f"systemd-run --quiet --wait --pipe {BRIDGE}")
    assert without.rc != 0
    assert "GC_KERNEL_PATH" in without.stderr
