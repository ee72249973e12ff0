# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The installer on a node in a directory: when it runs, what it is given, what a failed and a cut-off run leave."""

from __future__ import annotations

import stat
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.archive import have_archive, unpack
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.installation import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.plan import EfaOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

from tests.unit.plugins.module_utils._fabric.efa.efa_node import Node, archive, member


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def files(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if path.is_file()}


def test_the_first_run_installs_and_the_second_executes_nothing(node: Node) -> None:
    before = files(node.root)
    shown = node.converge(check_mode=True)
    assert shown["changed"] and shown["coherence"] == [] and files(node.root) == before
    assert shown["diff"] == [
        {
            "before_header": "Amazon's EFA installer",
            "after_header": "Amazon's EFA installer",
            "before": "none\n",
            "after": "1.34.0\n",
        }
    ]

    result = node.converge(installer_options=("--skip-kmod",), timeout=600.0)
    assert result["changed"] and result["efa"]["version"] == "1.34.0" and result["efa"]["previous"] is None
    directory = node.place.state / "aws-efa-installer"
    assert node.calls == [f"called --yes --skip-kmod in {directory} as 0022"]
    assert node.timeouts == [600.0]
    assert node.state() == ["left_out"]
    assert stat.S_IMODE(node.place.state.stat().st_mode) == 0o700
    assert not result["reboot_required"]

    # Neither the archive nor the installer is needed any more.
    node.archive.unlink()
    again = node.converge(archive_file="", installer_options=("--skip-kmod",))
    assert not again["changed"] and again["diff"] == [] and len(node.calls) == 1
    assert [check["name"] for check in again["coherence"] if not check["ok"]] == [
        "device", "kernel module", "libfabric", "loader's path", "plug-in",
    ]  # fmt: skip
    assert all(warning.split(": ", 1)[1] for warning in again["warnings"])


def test_another_version_is_installed_over_an_older_one(node: Node) -> None:
    node.converge()
    node.make("1.35.0")
    result = node.converge()
    assert result["changed"] and (result["efa"]["previous"], result["efa"]["version"]) == ("1.34.0", "1.35.0")
    assert result["diff"][0]["before"] == "1.34.0\n"


def test_nothing_is_installed_without_a_version(node: Node) -> None:
    result = node.converge(version="", archive="", checksum="", archive_file="")
    assert not result["changed"] and node.calls == [] and result["efa"]["version"] is None
    assert len(result["warnings"]) == 6


def test_a_node_asks_its_controller_for_the_archive(node: Node) -> None:
    with pytest.raises(GaudiError) as asked:
        node.converge(archive_file="")
    assert asked.value.facts == {"missing_archive": str(node.archive)}
    assert node.calls == []


@pytest.mark.parametrize("pci_id", ["0x1020", "0x1060"])
def test_gaudi_2_and_3_are_refused_before_anything_is_there(tmp_path: Path, pci_id: str) -> None:
    node = Node(tmp_path, pci_id)
    before = files(node.root)
    with pytest.raises(GaudiError, match="no evidence that the libraries of Gaudi 2 and 3 use it"):
        node.converge()
    assert files(node.root) == before
    assert node.converge(force=True)["changed"]


def test_an_older_version_is_refused_before_anything_is_there(node: Node) -> None:
    node.converge()
    before = files(node.root)
    node.make("1.33.0")
    with pytest.raises(GaudiError, match=r"version=1\.33\.0 is older than the EFA 1\.34\.0"):
        node.converge()
    assert files(node.root) == before and len(node.calls) == 1


def test_a_failed_run_tells_the_last_lines_and_can_be_run_again(node: Node) -> None:
    node.make(more="printf 'one\\ntwo\\n\\033[31mError: no headers\\n'; exit 3")
    with pytest.raises(GaudiError) as failed:
        node.converge()
    message = str(failed.value)
    assert "efa_installer.sh of 1.34.0 ended with 3; its last lines are: one | two |  [31mError: no headers" in message
    assert f"(all in {node.place.log})" in message and "\n" not in message
    assert failed.value.facts["last_lines"] == ["one", "two", " [31mError: no headers"]
    assert node.place.log.read_text(encoding="utf-8").startswith("one\ntwo\n")
    # The archive stays for the next run; another one with the cause removed takes its place.
    assert node.converge(check_mode=True)["changed"]
    node.make()
    assert node.converge()["changed"] and node.state() == ["left_out"]


def test_a_run_that_was_cut_off_begins_anew_though_the_version_is_there(node: Node) -> None:
    node.make(more=f"[ -e {node.root}/once ] || {{ touch {node.root}/once; kill -9 $$; }}")
    with pytest.raises(GaudiError, match="ended with -9"):
        node.converge()
    # Power lost after the record was written, and before the installer's end.
    record = node.root / "opt/amazon/efa_installed_packages"
    record.parent.mkdir(parents=True)
    record.write_text("# EFA installer version: 1.34.0\n", encoding="utf-8")
    # What was checked and kept is not brought again.
    result = node.converge(archive_file="")
    assert result["changed"] and len(node.calls) == 2
    assert not node.converge(archive_file="")["changed"]


def test_an_installer_that_does_not_do_what_it_says(node: Node) -> None:
    node.make(more="exit 0")
    with pytest.raises(GaudiError, match="exited with 0 but left none; its last lines are: it printed nothing"):
        node.converge()


def test_an_installer_that_takes_too_long(node: Node) -> None:
    def slow(argv: Sequence[str], **_more: Any) -> CommandResult:
        return CommandResult(124, "", "sh: timed out after 5 s") if argv[0] == "sh" else CommandResult(1, "", "")

    wishes = EfaOptions("1.21.3", timeout=5.0, **node.given)
    with pytest.raises(GaudiError, match=r"did not finish within 5 s \(gaudi_fabric_efa_timeout\)"):
        converge(wishes, slow, False, node.place)


def test_a_package_that_was_removed_is_installed_again_and_one_that_never_came_is_not(node: Node) -> None:
    there = {"efa-config"}

    def run(argv: Sequence[str], **more: Any) -> CommandResult:
        if argv[0] == "dpkg-query":
            return CommandResult(
                0, "".join(f"{name}\t1\tinstall\tinstalled\n" for name in argv[4:] if name in there), ""
            )
        return Node.run(node, argv, **more)

    node.run = run  # type: ignore[method-assign]
    record = f"{node.root}/opt/amazon/efa_installed_packages"
    node.make(more=f"trap 'echo efa-config_1_all efa-profile_1_all >> {record}' EXIT")
    assert node.converge()["changed"]
    # efa-profile was not there at the installer's end either: to run it each time would not bring it.
    assert not node.converge()["changed"]
    there.clear()
    shown = node.converge(check_mode=True)
    assert shown["changed"] and shown["diff"][0]["before"] == "1.34.0 without efa-config, efa-profile\n"


def test_a_restart_is_reported_until_the_node_has_booted(node: Node) -> None:
    node.make(more="echo '- Please reboot to complete the installation.'")
    result = node.converge()
    wanted = ["Amazon's installer of EFA 1.34.0 asks for a restart"]
    assert result["reboot_required"] and result["reboot_reasons"] == wanted
    assert node.converge()["reboot_reasons"] == wanted
    node.kernel("proc/sys/kernel/random/boot_id", "second")
    assert not node.converge()["reboot_required"]


def private(tmp_path: Path) -> Path:
    directory = tmp_path / "private"
    directory.mkdir(mode=0o700)
    return directory


def test_a_wrong_checksum_leaves_nothing(node: Node, tmp_path: Path) -> None:
    wrong = "sha256:" + "0" * 64
    found = node.given["checksum"].partition(":")[2]
    with pytest.raises(GaudiError, match=f"has the sha256 {found}, but checksum is {wrong[7:]}"):
        node.converge(checksum=wrong)
    assert node.calls == [] and node.state() == []


def test_an_archive_of_a_url_is_fetched_and_checked(node: Node, tmp_path: Path) -> None:
    directory = private(tmp_path)
    wishes = EfaOptions("1.21.3", **{**node.given, "archive": node.archive.as_uri(), "archive_file": ""})
    kept = have_archive(wishes, directory)
    assert kept.read_bytes() == node.archive.read_bytes()
    node.archive.write_bytes(b"another")
    # What is kept has the checksum, and is not fetched again.
    assert have_archive(wishes, directory) == kept
    kept.unlink()
    with pytest.raises(GaudiError, match="has the sha256"):
        have_archive(wishes, directory)
    assert list(directory.iterdir()) == []


TOP = "aws-efa-installer"
SCRIPT_MEMBER = member(f"{TOP}/efa_installer.sh", "#!/bin/sh\n", 0o755)


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ([member(f"{TOP}/README")], f"there is no {TOP}/efa_installer.sh in it"),
        ([member("other/efa_installer.sh")], "'other/efa_installer.sh' is not below aws-efa-installer/"),
        ([SCRIPT_MEMBER, member(f"{TOP}/../../outside")], "is not below"),
        ([SCRIPT_MEMBER, member("/etc/outside")], "is not below"),
        ([SCRIPT_MEMBER, member(f"{TOP}/x", type=tarfile.SYMTYPE, linkname="/etc/passwd")], "leads out of it"),
        ([SCRIPT_MEMBER, member(f"{TOP}/x", type=tarfile.SYMTYPE, linkname="a/../../y")], "leads out of it"),
        ([SCRIPT_MEMBER, member(f"{TOP}/x", type=tarfile.CHRTYPE)], "neither file, directory nor link"),
        ([SCRIPT_MEMBER, member(f"{TOP}/x", type=tarfile.FIFOTYPE)], "neither file, directory nor link"),
    ],
)
def test_an_archive_that_is_no_installer(tmp_path: Path, members: list[Any], why: str) -> None:
    file = archive(tmp_path / "a.tar.gz", *members)
    with pytest.raises(GaudiError, match="is not Amazon's EFA installer") as refused:
        unpack(file, private(tmp_path), "1.34.0")
    assert why in str(refused.value)
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("damage", [lambda data: data[:-40], lambda data: b"no archive", lambda data: b""])
def test_a_damaged_archive(node: Node, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "damaged.tar.gz"
    file.write_bytes(damage(node.archive.read_bytes()))
    with pytest.raises(GaudiError, match="is not Amazon's EFA installer"):
        unpack(file, private(tmp_path), "1.34.0")


def test_the_installer_s_own_word_on_its_version(node: Node) -> None:
    node.make("1.34.0", named="1.30.0")
    with pytest.raises(GaudiError, match=r"installer of EFA 1\.30\.0 by its env\.sh, and version says 1\.34\.0"):
        node.converge()
    assert node.calls == []


def test_what_is_unpacked_is_root_s_alone(node: Node, tmp_path: Path) -> None:
    file = archive(
        tmp_path / "b.tar.gz",
        SCRIPT_MEMBER,
        member(f"{TOP}/DEBS/x.deb", "deb", 0o4777, uid=1000),
        member(f"{TOP}/latest", type=tarfile.SYMTYPE, linkname="DEBS/x.deb"),
    )
    directory = unpack(file, private(tmp_path), "1.34.0")
    assert (directory / "latest").read_text(encoding="utf-8") == "deb"
    assert stat.S_IMODE((directory / "DEBS/x.deb").stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "efa_installer.sh").stat().st_mode) == 0o700
    # A run before was cut off: what it left is not mixed with this one.
    (directory / "left").touch()
    assert not (unpack(file, directory.parent, "1.34.0") / "left").exists()
