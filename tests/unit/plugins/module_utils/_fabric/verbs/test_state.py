# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The layer as a whole: refused before anything is touched, shown in check mode, and nothing in its second run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.verbs.state import Place, converge, options_of
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

from sandbox.simulator import host_nics

GIVEN: Mapping[str, Any] = {
    "provider": "roce", "environment": "", "roce_mtu": 4200, "release": "1.24.1", "plain_http_hosts": [],
    "lock_timeout": 300,
    "ofed": "distribution", "ofed_packages": ["rdma-core"], "ofed_repository": "", "ofed_suite": "./",
    "ofed_components": [],
    "ofed_key_url": "", "ofed_key_fingerprint": "",
    "libfabric_archive": "", "libfabric_checksum": "", "libfabric_version": "1.22.0", "libfabric_gaudi_direct": True,
    "libfabric_synapse": "/usr", "libfabric_configure": [], "libfabric_build_packages": [],
    "libfabric_build_timeout": 60.0,
    "libfabric_directory": "~/x", "libfabric_archive_file": "", "ofi_wrapper_archive": "", "ofi_wrapper_checksum": "",
    "ofi_wrapper_archive_file": "", "build_into": "", "built_archive": "", "built_checksum": "",
}  # fmt: skip
LIBRARY = {"libfabric_archive": "/srv/l.tar", "libfabric_checksum": "sha256:" + "a1" * 32}


class Node:
    """Debian without rdma-core and with the sandbox's simulated card."""

    def __init__(self, root: Path, nic: str = "roce") -> None:
        self.root, self.installed, self.calls = root, False, []
        for path, content in host_nics.files({host_nics.FAULT: nic}).items():
            self.write(f"kernel/{path}", content)
        self.write("kernel/proc/sys/kernel/osrelease", "6.8.0-45-generic\n")
        self.write("etc/os-release", "ID=debian\nVERSION_ID=12\n")
        self.write("var/lib/dpkg/status", "")
        self.write("environment", "")

    def write(self, path: str, content: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(content.encode())

    def run(self, argv: Sequence[str], **_: Any) -> CommandResult:
        if argv[0] == "dpkg-query":
            return CommandResult(0, "rdma-core\t44.0-2\tinstall\tinstalled\n" if self.installed else "", "")
        if argv[0] == "apt-get":
            self.calls.append(argv)
            self.installed = True
        return CommandResult(0, {"uname": "x86_64\n", "systemctl": "infinity\n"}.get(argv[0], ""), "")

    def converge(self, check_mode: bool = False, **change: Any) -> dict[str, Any]:
        given = {**GIVEN, "environment": str(self.root / "environment"), **change}
        return converge(
            options_of(given, "apt"), self.run, check_mode, Place(str(self.root / "kernel"), str(self.root))
        )

    def files(self) -> dict[str, str]:
        paths = [path for path in self.root.rglob("*") if path.is_file() and path.suffix != ".lock"]
        return {str(path.relative_to(self.root)): path.read_text(encoding="utf-8") for path in paths}


def test_the_second_run_changes_nothing(tmp_path: Path) -> None:
    node = Node(tmp_path)
    before = node.files()
    shown = node.converge(check_mode=True)
    assert node.calls == [] and node.files() == before
    done = node.converge()
    assert shown["diff"] == done["diff"] and done["changed"]
    # The test is no root everywhere: there is no device node.
    assert [one["name"] for one in done["checks"] if not one["ok"]] == ["verbs device nodes"]
    assert done["stack"] == {"ofed": "distribution", "found": {}, "installed": ["rdma-core"]}
    assert done["libfabric"]["key"] == "" and not done["libfabric"]["installed"]
    calls = len(node.calls)
    assert not node.converge()["changed"] and len(node.calls) == calls


def test_a_library_that_is_wanted_is_asked_of_the_controller(tmp_path: Path) -> None:
    node = Node(tmp_path)
    shown = node.converge(check_mode=True, **LIBRARY)
    assert shown["diff"][-1]["after"].startswith("libfabric 1.22.0 with Gaudi Direct (")
    with pytest.raises(GaudiError, match=r"synapse_api\.h is not on this node"):
        node.converge(**LIBRARY)
    assert node.calls == []
    node.write("usr/include/habanalabs/synapse_api.h", "")
    asked = node.converge(**LIBRARY)
    assert len(asked["libfabric"]["key"]) == 20 and not asked["libfabric"]["installed"]


@pytest.mark.parametrize(
    ("nic", "change", "environment", "sentence"),
    [
        ("roce:acs", LIBRARY, "", "PCIe ACS: found on at 0000:59:00.0"),
        ("roce:acs", {}, "HCCL_OVER_OFI=1\nHCCL_GAUDI_DIRECT=1\n", "PCIe ACS: found on at 0000:59:00.0"),
        ("roce", {}, "FI_PROVIDER=efa\n", "FI_PROVIDER: found efa"),
        ("roce", {}, "HCCL_GAUDI_DIRECT=1\n", "HCCL_OVER_OFI: found not set"),
        ("roce", {**LIBRARY, "build_into": "/nowhere"}, "", "build_into is '/nowhere', which the action plugin sets"),
        ("roce", {"build_into": "/tmp"}, "", "build_into is '/tmp', which the action plugin sets"),
        ("roce", {"provider": "efa"}, "", "provider is 'efa'; use infiniband or roce."),
        ("roce", {"ofed": "doca", "ofed_packages": ["doca-ofed"]}, "", "gaudi_fabric_ofed_repository is empty"),
        ("roce", {**LIBRARY, "libfabric_version": "1.19.0"}, "", "gaudi_fabric_libfabric_version is 1.19.0"),
    ],
)
@pytest.mark.parametrize("check_mode", [True, False])
def test_what_is_refused_touches_nothing(
    tmp_path: Path, nic: str, change: Mapping[str, Any], environment: str, sentence: str, check_mode: bool
) -> None:
    node = Node(tmp_path, nic)
    node.write("environment", environment)
    before = node.files()
    with pytest.raises(GaudiError) as refused:
        node.converge(check_mode, **change)
    assert sentence in str(refused.value) and "\n" not in str(refused.value)
    assert node.calls == [] and node.files() == before


def test_all_reasons_come_at_once(tmp_path: Path) -> None:
    node = Node(tmp_path, "roce:acs")
    node.write("environment", "HCCL_GAUDI_DIRECT=1\nFI_PROVIDER=efa\n")
    with pytest.raises(GaudiError, match=r"not set up on this node, 3 reasons: \(1\) FI_PROVIDER: .* \(3\) PCIe ACS: "):
        node.converge()


@pytest.mark.parametrize(
    ("nic", "names"),
    [
        ("infiniband:init", ["mlx5_0 port 1"]),
        ("roce:down", ["mlx5_0 port 1"]),
        ("roce:no_gid,small_mtu", ["GID table of mlx5_0 port 1", "MTU of ens5np0"]),
        ("roce:acs", ["PCIe ACS"]),
    ],
)
def test_what_may_still_come_is_a_warning_on_each_run(tmp_path: Path, nic: str, names: list[str]) -> None:
    node = Node(tmp_path, nic)
    checks = node.converge(provider=nic.partition(":")[0])
    failing = {one["name"] for one in checks["checks"] if not one["ok"]}
    assert failing - {"verbs device nodes"} == set(names)
    assert all(any(name in warning for warning in checks["warnings"]) for name in names)


def test_the_node_s_own_system_says_what_empty_lists_mean() -> None:
    system = {
        "apt": {"ofed": ["rdma-core"], "libfabric_build": ["gcc"]},
        "dnf": {"ofed": ["libibverbs"], "libfabric_build": ["gcc-c++"]},
    }
    empty = {**GIVEN, "ofed_packages": [], "libfabric_build_packages": [], "system_packages": system}
    found = options_of(empty, "dnf")
    assert (found.stack.packages, found.libfabric.build_packages) == (["libibverbs"], ["gcc-c++"])
    site = options_of({**empty, "ofed_packages": ["own"]}, "apt")
    assert (site.stack.packages, site.libfabric.build_packages) == (["own"], ["gcc"])
    assert options_of({**GIVEN, "ofed_packages": []}, "apt").stack.packages == []
