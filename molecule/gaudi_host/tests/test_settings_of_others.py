# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What others have set on a node: more huge pages, files at paths of ours, and GRUB's settings after ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ansible_runner
import pytest
from testinfra.host import Host

from tests.sandbox_nodes import hosts, run, sandbox

NODE = "node1"
OURS = "/etc/sysctl.d/90-gaudi3-scale.conf"
SITE = "/etc/sysctl.d/95-site.conf"
CONF = "/etc/sysctl.conf"
GRUB = "/etc/default/grub.d/50-site.cfg"
LATER = "/etc/default/grub.d/zz-site.cfg"
PAGES = "{kernel}/proc/sys/vm/nr_hugepages"
# More than the formula gives for any machine that runs the tests.
MORE = 156300


def host_layer(directory: Path, arguments: str = "") -> ansible_runner.Runner:
    done = run(directory, "host", arguments=f"--limit {NODE} {arguments}")
    assert done.status == "successful", done.stdout.read()[-4000:]
    return done


def said(done: ansible_runner.Runner) -> str:
    """What was printed, without its line ends."""
    return " ".join(done.stdout.read().split())


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    host = hosts()[NODE]
    yield host
    host.check_output(f"rm -f {SITE} {GRUB} {LATER} {OURS} {OURS}.*.bak && update-grub")
    sandbox("reboot", NODE)
    host_layer(tmp_path_factory.mktemp("after"))


@pytest.fixture
def node(before: Host, tmp_path: Path) -> Iterator[Host]:
    """With everything of ours, and with nothing of others afterwards."""
    host_layer(tmp_path)
    yield before
    before.check_output(f"rm -f {SITE} {GRUB} {LATER}")


def pages(node: Host, kernel: str) -> int:
    return int(node.file(PAGES.format(kernel=kernel)).content_string)


@pytest.mark.long
def test_more_huge_pages_of_sysctl_are_left_also_after_a_boot(node: Host, kernel: str, tmp_path: Path) -> None:
    node.check_output(f"echo vm.nr_hugepages={MORE} > {SITE}")
    assert f"{SITE} gives {MORE} pages" in said(host_layer(tmp_path, "--check --diff"))
    assert node.file(OURS).exists
    first = host_layer(tmp_path)
    assert f"{SITE} gives {MORE} pages" in said(first)
    assert not node.file(OURS).exists
    assert host_layer(tmp_path).stats["changed"] == {}
    sandbox("reboot", NODE)
    assert pages(node, kernel) == MORE


@pytest.mark.in_turn
def test_omnia_s_huge_pages_in_sysctl_conf_are_adopted(node: Host, tmp_path: Path) -> None:
    """Where ansible.posix.sysctl writes without a file; Intel's recipes write fewer there, which is refused."""
    node.check_output(f"touch {CONF} && cp -a {CONF} {CONF}.kept && echo vm.nr_hugepages={MORE} >> {CONF}")
    try:
        assert f"gives {MORE} pages" in said(host_layer(tmp_path, "--check --diff"))
        assert node.file(OURS).exists
        assert f"gives {MORE} pages" in said(host_layer(tmp_path))
        assert not node.file(OURS).exists
        assert host_layer(tmp_path).stats["changed"] == {}
    finally:
        node.check_output(f"mv {CONF}.kept {CONF}")


@pytest.mark.long
def test_more_huge_pages_of_the_command_line_are_left_also_after_a_boot(
    node: Host, kernel: str, tmp_path: Path
) -> None:
    node.check_output(
        f"echo 'GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT hugepages={MORE}\"' > {GRUB} && update-grub"
    )
    first = host_layer(tmp_path)
    assert f"gives {MORE} pages" in said(first)
    assert not node.file(OURS).exists
    sandbox("reboot", NODE)
    assert pages(node, kernel) == MORE
    again = host_layer(tmp_path)
    assert again.stats["changed"] == {}
    assert f"the kernel's command line gives {MORE} pages" in said(again)
    node.check_output(f"rm -f {GRUB} && update-grub")
    sandbox("reboot", NODE)


@pytest.mark.in_turn
def test_a_file_of_somebody_else_at_our_path_is_kept_beside_ours(node: Host, tmp_path: Path) -> None:
    node.check_output(f"echo vm.swappiness=1 > {OURS}")
    assert f"{OURS} was not written by gaudi3.scale" in said(host_layer(tmp_path))
    assert node.file(OURS).contains("^vm.nr_hugepages = ")
    assert node.check_output(f"cat {OURS}.*.bak") == "vm.swappiness=1"
    assert host_layer(tmp_path).stats["changed"] == {}
    node.check_output(f"rm {OURS}.*.bak")


@pytest.mark.long
def test_a_later_file_of_grub_that_takes_our_arguments_away_is_named(node: Host, tmp_path: Path) -> None:
    node.check_output(f"echo 'GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"' > {LATER}")
    done = host_layer(tmp_path)
    assert f"kernel_arguments: {LATER} is read after /etc/default/grub.d/99-gaudi3-scale.cfg" in said(done)
    assert done.stats["changed"] == {}
