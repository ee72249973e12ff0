# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Amazon's EFA software on a node, by an installer that stands for Amazon's; libfabric, dpkg and the loader are real.

The first node plays a dl1.24xlarge for a while, and is as the fabric layer left it afterwards.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ansible_runner
import pytest
from testinfra.host import Host

from sandbox.efa_installer import build
from tests.sandbox_nodes import fault, hosts, run

VERSION = "1.34.0"
NODE = "node1"
PORTS = "/etc/systemd/system/gaudi3-scale-ports.service"
RECORD = "/opt/amazon/efa_installed_packages"
CALLS = "/var/log/efa-installer-simulated.calls"
CUT = "/run/efa-installer-simulated.cut"
STATE = "/var/lib/gaudi3_scale/efa"
ENVIRONMENT = "/var/tmp/efa-environment"
SECOND = "/opt/site/lib"
WRAPPER = "/usr/lib/habanalabs/libhccl_ofi_wrapper.so"
# A miniature of the vendor's wrapper, built as its Makefile builds it, with one of its calls.
WRAPPER_SOURCES = {
    "Makefile": "make:\n\tg++ -I$(LIBFABRIC_ROOT)/include -shared -fPIC -o libhccl_ofi_wrapper.so wrapper.cpp "
    "-L$(LIBFABRIC_ROOT)/lib -lfabric\n",
    "wrapper.cpp": """\
#include <rdma/fabric.h>
extern "C" int providers() {
    struct fi_info *found = nullptr, *next;
    int count = 0;
    if (fi_getinfo(FI_VERSION(1, 16), nullptr, nullptr, 0, nullptr, &found)) return -1;
    for (next = found; next; next = next->next) ++count;
    fi_freeinfo(found);
    return count;
}
""",
}
REMOVE = f"""
apt-get purge -qy libfabric1-aws efa-profile efa-config
rm -rf /opt/amazon /opt/site {CALLS} {CUT} {STATE} {ENVIRONMENT} {WRAPPER}
rm -f /etc/ld.so.conf.d/site.conf /var/log/gaudi3_scale/efa-installer.log /var/log/gaudi3_scale/ofi-wrapper-build.log
ldconfig
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(VERSION, tmp_path_factory.mktemp("efa"))


@pytest.fixture(scope="module")
def wanted(archive: Path) -> dict[str, Any]:
    """A site's variables; its container has no kernel module to build."""
    return {
        "gaudi_release": "1.21.3",
        "gaudi_fabric_provider": "efa",
        "gaudi_fabric_efa_version": VERSION,
        "gaudi_fabric_efa_archive": str(archive),
        "gaudi_fabric_efa_checksum": f"sha256:{hashlib.sha256(archive.read_bytes()).hexdigest()}",
        "gaudi_fabric_efa_installer_options": ["--skip-kmod"],
        "gaudi_fabric_efa_environment_file": ENVIRONMENT,
    }


@pytest.fixture(scope="module")
def with_wrapper(wanted: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The same site, once it has the sources of HCCL's wrapper."""
    sources = tmp_path_factory.mktemp("wrapper") / "hccl_ofi_wrapper.tar.gz"
    with tarfile.open(sources, "w:gz") as packed:
        for name, text in WRAPPER_SOURCES.items():
            member = tarfile.TarInfo(f"hccl_ofi_wrapper/{name}")
            member.size = len(text)
            packed.addfile(member, io.BytesIO(text.encode()))
    return {
        **wanted,
        "gaudi_fabric_ofi_wrapper_archive": str(sources),
        "gaudi_fabric_ofi_wrapper_checksum": f"sha256:{hashlib.sha256(sources.read_bytes()).hexdigest()}",
    }


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The node with first-generation cards and nothing of Amazon's; without a trace of these tests afterwards."""
    host = hosts(NODE)[NODE]
    had_ports = host.file(PORTS).exists
    with fault(NODE, "first_generation"):
        yield host
        host.check_output(REMOVE)
    if had_ports:
        restored = run(tmp_path_factory.mktemp("restored"), "fabric", arguments=f"--limit {NODE}")
        assert restored.rc == 0, restored.stdout.read()[-4000:]


def fabric(directory: Path, variables: Mapping[str, Any], arguments: str = "") -> ansible_runner.Runner:
    return run(directory, "fabric", arguments=f"--limit {NODE} {arguments}", **variables)


def answer(result: ansible_runner.Runner) -> dict[str, Any]:
    """What the module of this layer's EFA answered."""
    found = [
        event["event_data"]["res"]
        for event in result.events
        if event["event"] in ("runner_on_ok", "runner_on_failed")
        and event["event_data"].get("task_action") == "gaudi3.scale.efa_installation"
    ]
    assert len(found) == 1, result.stdout.read()[-4000:]
    return dict(found[0])


def told(result: ansible_runner.Runner) -> dict[str, str]:
    return {check["name"]: check["message"] for check in answer(result)["coherence"] if not check["ok"]}


def calls(host: Host) -> list[str]:
    return host.run(f"cat {CALLS}").stdout.splitlines()


def test_a_wrong_checksum_sends_nothing(node: Host, wanted: dict[str, Any], tmp_path: Path) -> None:
    wrong = {**wanted, "gaudi_fabric_efa_checksum": "sha256:" + "0" * 64}
    for arguments in ("--check", ""):
        result = fabric(tmp_path, wrong, arguments)
        assert result.rc != 0
        assert "but checksum is 0000" in answer(result)["msg"]
    assert calls(node) == [] and not node.file(RECORD).exists


@pytest.mark.long
def test_an_installer_that_fails_tells_its_last_lines(node: Host, wanted: dict[str, Any], tmp_path: Path) -> None:
    """Without --skip-kmod it wants the headers of a kernel that the container does not run."""
    result = fabric(tmp_path, {**wanted, "gaudi_fabric_efa_installer_options": []})
    assert result.rc != 0
    message = answer(result)["msg"]
    assert f"efa_installer.sh of {VERSION} ended with 1; its last lines are: = EFA installer {VERSION}" in message
    assert "headers of kernel" in message and "/var/log/gaudi3_scale/efa-installer.log" in message
    assert "\n" not in message
    assert not node.file(RECORD).exists


def test_a_run_that_is_cut_off_begins_anew(node: Host, wanted: dict[str, Any], tmp_path: Path) -> None:
    node.check_output(f"touch {CUT}")
    result = fabric(tmp_path, wanted)
    assert result.rc != 0
    assert "about to lose its installer" in answer(result)["msg"]
    assert node.package("libfabric1-aws").is_installed and not node.file(RECORD).exists
    assert oct(node.file(STATE).mode) == "0o700"


def test_the_first_whole_run_installs_it(node: Host, wanted: dict[str, Any], tmp_path: Path) -> None:
    before = len(calls(node))
    result = fabric(tmp_path, wanted, "--diff")
    assert result.rc == 0, result.stdout.read()[-4000:]
    efa = answer(result)["efa"]
    assert (efa["version"], efa["previous"], efa["generation"]) == (VERSION, None, "gaudi")
    assert calls(node)[before:] == ["--yes --skip-kmod"]
    said = node.check_output("/opt/amazon/efa/bin/fi_info --version")
    assert f"libfabric: {efa['libfabric']}" in said
    assert "provider: tcp" in node.check_output("/opt/amazon/efa/bin/fi_info -p tcp")
    assert node.file(STATE).listdir() == ["left_out"]
    assert set(told(result)) == {"device", "kernel module", "plug-in"}
    warnings = result.stdout.read()
    assert "open sources of HCL skip EFA from 1.18 on" in " ".join(warnings.split())


def test_the_second_run_executes_nothing(node: Host, wanted: dict[str, Any], tmp_path: Path) -> None:
    before = calls(node)
    result = fabric(tmp_path, wanted)
    assert result.rc == 0 and result.stats["changed"] == {}
    assert calls(node) == before
    shown = fabric(tmp_path, wanted, "--check --diff")
    assert shown.rc == 0 and shown.stats["changed"] == {}


# One compiler and two more runs of the fabric layer: each of some runs plays them, together.
@pytest.mark.in_turn("wrapper")
def test_hccl_s_wrapper_is_built_of_amazon_s_libfabric(
    node: Host, with_wrapper: dict[str, Any], tmp_path: Path
) -> None:
    before = calls(node)
    shown = fabric(tmp_path, with_wrapper, "--check --diff")
    assert shown.rc == 0 and answer(shown)["changed"] and not node.file(WRAPPER).exists
    result = fabric(tmp_path, with_wrapper, "--diff")
    assert result.rc == 0, result.stdout.read()[-4000:]
    found = answer(result)
    assert [one["after_header"] for one in found["diff"]] == [WRAPPER] == [
        one["after_header"] for one in answer(shown)["diff"]
    ]  # fmt: skip
    # The installer had nothing to do, and the plug-in's check has ended.
    assert calls(node) == before and set(told(result)) == {"device", "kernel module"}
    own = node.check_output("realpath /opt/amazon/efa/lib/libfabric.so.1")
    loads = node.check_output(f"ldd {WRAPPER}").split("libfabric.so.1 => ")[1].split()[0]
    assert node.check_output(f"realpath {loads}") == own
    called = f"python3 -c 'import ctypes; print(ctypes.CDLL(\"{WRAPPER}\").providers())'"
    assert int(node.check_output(called)) > 0


@pytest.mark.in_turn("wrapper")
def test_the_wrapper_that_is_there_is_not_built_again_and_one_that_was_changed_is(
    node: Host, with_wrapper: dict[str, Any], tmp_path: Path
) -> None:
    built = node.file(WRAPPER).sha256sum
    again = fabric(tmp_path, with_wrapper)
    assert again.rc == 0 and again.stats["changed"] == {}
    node.check_output(f"echo somebody > {WRAPPER}")
    repaired = fabric(tmp_path, with_wrapper)
    assert repaired.rc == 0 and answer(repaired)["changed"]
    assert node.file(WRAPPER).sha256sum == built


@pytest.mark.in_turn("wrapper")
def test_other_sources_than_the_pinned_are_not_sent(node: Host, with_wrapper: dict[str, Any], tmp_path: Path) -> None:
    wrong = {**with_wrapper, "gaudi_fabric_ofi_wrapper_checksum": "sha256:" + "0" * 64}
    built = node.file(WRAPPER).sha256sum
    result = fabric(tmp_path, wrong)
    assert result.rc != 0 and "gaudi_fabric_ofi_wrapper_checksum is another one" in answer(result)["msg"]
    assert node.file(WRAPPER).sha256sum == built
    node.check_output(f"rm {WRAPPER}; ldconfig")


@pytest.mark.long
def test_a_second_libfabric_on_the_loader_s_path_is_named(node: Host, wanted: dict[str, Any], tmp_path: Path) -> None:
    own = node.check_output("realpath /opt/amazon/efa/lib/libfabric.so.1")
    node.check_output(f"mkdir -p {SECOND} && cp {own} {SECOND}/libfabric.so.1")
    node.check_output(f"echo LD_LIBRARY_PATH={SECOND} > {ENVIRONMENT}")
    first = told(fabric(tmp_path, wanted))["loader's path"]
    assert f"{SECOND}/libfabric.so.1 is loaded first, and {own} too" in first

    node.check_output(f"rm {ENVIRONMENT}; echo {SECOND} > /etc/ld.so.conf.d/site.conf; ldconfig")
    second = told(fabric(tmp_path, wanted))["loader's path"]
    assert f"{own} is loaded first, and {SECOND}/libfabric.so.1 too" in second

    node.check_output(f"rm -r {SECOND} /etc/ld.so.conf.d/site.conf; ldconfig")
    assert "loader's path" not in told(fabric(tmp_path, wanted))


@pytest.mark.long
def test_flags_that_contradict_are_named(node: Host, wanted: dict[str, Any], tmp_path: Path) -> None:
    node.check_output(f"echo FI_PROVIDER=tcp > {ENVIRONMENT}")
    assert told(fabric(tmp_path, wanted))["flags"] == (
        f"EFA flags: FI_PROVIDER=tcp keeps libfabric from EFA: remove it from {ENVIRONMENT}."
    )
    node.check_output(f"rm {ENVIRONMENT}")


def test_a_package_that_was_removed_is_installed_again(node: Host, wanted: dict[str, Any], tmp_path: Path) -> None:
    node.check_output("apt-get purge -qy efa-config")
    before = len(calls(node))
    result = fabric(tmp_path, wanted)
    assert result.rc == 0 and len(calls(node)) == before + 1
    assert node.package("efa-config").is_installed


def test_an_older_version_is_refused(node: Host, wanted: dict[str, Any], tmp_path: Path) -> None:
    before = calls(node)
    older = {**wanted, "gaudi_fabric_efa_version": "1.30.0"}
    renamed = tmp_path / "efa.tar.gz"
    renamed.write_bytes(Path(wanted["gaudi_fabric_efa_archive"]).read_bytes())
    result = fabric(tmp_path, {**older, "gaudi_fabric_efa_archive": str(renamed)})
    assert result.rc != 0
    assert f"version=1.30.0 is older than the EFA {VERSION} on this node" in answer(result)["msg"]
    assert calls(node) == before
