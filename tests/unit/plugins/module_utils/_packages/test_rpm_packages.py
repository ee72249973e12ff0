# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""dnf and rpm as a package system. What they say was captured from dnf 4.14 and rpm 4.18 (fixtures/dnf)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.dnf_command import explain, run_dnf
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.package_system import Package
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.rpm_database import (
    as_asked,
    parse_installed,
    plain_version,
    surplus,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.rpm_packages import Dnf
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.version_locks import parse_locks, read_locks

SAID = Path(__file__).parents[3] / "fixtures" / "dnf"
HALF_WAY = parse_installed((SAID / "killed_upgrade.txt").read_text())


def said(name: str, rc: int = 1) -> CommandResult:
    return CommandResult(rc, (SAID / f"{name}.txt").read_text(), "")


class Node:
    """Answers by the beginning of a command; ``calls`` are the commands that were run."""

    def __init__(self, root: Path, **answers: CommandResult) -> None:
        self.answers = {name.replace("_", " "): answer for name, answer in answers.items()}
        self.calls: list[str] = []
        self.dnf = Dnf(self.run, str(root))

    def run(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        command = " ".join(argv).replace("--setopt=exit_on_lock=1 ", "")
        self.calls.append(command)
        found = [answer for start, answer in self.answers.items() if command.startswith(start)]
        return found[0] if found else CommandResult(0, "", "")


def lock(root: Path) -> None:
    plugins = root / "etc/dnf/plugins"
    plugins.mkdir(parents=True)
    (plugins / "versionlock.list").write_text((SAID / "versionlock.list").read_text())


@pytest.mark.parametrize(
    ("full", "plain"),
    [("1.24.1-482.el9", "1.24.1-482"), ("5.14.0-570.12.1.el9_6", "5.14.0-570.12.1"), ("1.24.1-482", "1.24.1-482")],
)
def test_the_distributions_suffix_is_no_part_of_the_version(full: str, plain: str) -> None:
    assert plain_version(full) == plain


def test_packages_are_told_by_the_vendors_debian_names() -> None:
    found = as_asked(["habanalabs*"], HALF_WAY, [])
    assert sorted(found) == ["habanalabs-dkms", "habanalabs-graph", "habanalabs-rdma-core", "habanalabs-thunk"]
    assert as_asked(["habanalabs-d*"], HALF_WAY, []).keys() == {"habanalabs-dkms"}


def test_two_versions_are_half_installed_and_the_later_transaction_counts() -> None:
    graph = as_asked(["habanalabs-graph"], HALF_WAY, [])["habanalabs-graph"]
    assert graph == Package("habanalabs-graph", "1.24.1-482", False, "half-installed")
    assert not graph.installed
    assert {old.version for old in surplus(HALF_WAY)} == {"1.23.0-695.el9"}


def test_what_a_killed_downgrade_left_is_the_newer_version() -> None:
    text = "habanalabs\t0\t1.24.1-482.el9\tnoarch\t10\nhabanalabs\t0\t1.23.0-695.el9\tnoarch\t20\n"
    assert [old.label for old in surplus(parse_installed(text))] == ["habanalabs-1.24.1-482.el9.noarch"]


def test_a_full_label_is_its_own_key() -> None:
    text = (
        "kernel-devel\t0\t5.14.0-570.el9_6\tx86_64\t10\n"
        "kernel-devel\t0\t5.14.0-503.el9_5\tx86_64\t5\n"
    )  # fmt: skip
    wanted = "kernel-devel-5.14.0-503.el9_5.x86_64"
    found = as_asked([wanted, "kernel-devel-5.14.0-1.el9.x86_64"], parse_installed(text), [])
    assert found == {wanted: Package(wanted, "5.14.0-503", False, "installed")}


def test_a_lock_holds_exactly_its_version(tmp_path: Path) -> None:
    lock(tmp_path)
    locks = read_locks(str(tmp_path))
    assert [(one.name, one.version) for one in locks] == [
        ("habanalabs-graph", "1.24.1-482.el9"),
        ("habanalabs", "1.23.0-695.el9"),
    ]
    found = as_asked(["habanalabs*"], HALF_WAY, locks)
    assert [name for name, package in found.items() if package.held] == ["habanalabs-graph"]


def test_the_list_is_where_the_plugins_configuration_says(tmp_path: Path) -> None:
    lock(tmp_path)
    (tmp_path / "etc/dnf/plugins/versionlock.conf").write_text("[main]\nenabled = 1\nlocklist = /srv/locks\n")
    assert read_locks(str(tmp_path)) == []
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv/locks").write_text("bash-0:5.1.8-9.el9.*\n")
    assert [one.name for one in read_locks(str(tmp_path))] == ["bash"]


def test_excludes_and_globs_of_the_operator_are_no_locks_of_ours() -> None:
    assert parse_locks("!habanalabs-0:1.22.0-740.el9.*\nkernel*\nhabana*-0:1.23.0-695.el9.*\n\n# a\n") == []


def test_a_hold_replaces_the_lock_of_another_version(tmp_path: Path) -> None:
    lock(tmp_path)
    node = Node(tmp_path, rpm=CommandResult(0, "habanalabs\t0\t1.24.1-482.el9\tnoarch\t20\n", ""))
    node.dnf.hold(["habanalabs-dkms"])
    assert node.calls[1:] == [
        "dnf -q --disablerepo=* versionlock delete habanalabs-0:1.23.0-695.el9.*",
        "dnf -q --disablerepo=* versionlock add --raw habanalabs-0:1.24.1-482.el9.*",
    ]


def test_a_hold_that_is_there_is_not_set_again(tmp_path: Path) -> None:
    lock(tmp_path)
    node = Node(tmp_path, rpm=CommandResult(0, "habanalabs-graph\t0\t1.24.1-482.el9\tx86_64\t20\n", ""))
    node.dnf.hold(["habanalabs-graph"])
    assert not [call for call in node.calls if call.startswith("dnf")]
    node.dnf.unhold(["habanalabs-graph", "habanalabs-qual"])
    assert node.calls[-1].endswith("versionlock delete habanalabs-graph-0:1.24.1-482.el9.*")


def test_a_missing_plugin_is_named_with_its_package(tmp_path: Path) -> None:
    node = Node(
        tmp_path, rpm=CommandResult(0, "habanalabs\t0\t1.24.1-482.el9\tnoarch\t20\n", ""), dnf=said("no_command")
    )
    with pytest.raises(GaudiError, match="run `dnf install python3-dnf-plugin-versionlock` or set hold to false"):
        node.dnf.hold(["habanalabs-dkms"])
    with pytest.raises(GaudiError, match="run `dnf install dnf-plugins-core`"):
        node.dnf.fetch({"habanalabs-dkms": "1.24.1-482"}, str(tmp_path / "files"))


def test_broken_are_two_versions_and_unmet_needs(tmp_path: Path) -> None:
    killed = Node(tmp_path, rpm_qa=said("killed_upgrade", 0))
    killed.answers = {"rpm -qa": said("killed_upgrade", 0)}
    assert killed.dnf.broken() == ["habanalabs-dkms", "habanalabs-graph", "habanalabs-rdma-core", "habanalabs-thunk"]
    lacking = Node(tmp_path)
    one = CommandResult(0, "habanalabs-graph\t0\t1.24.1-482.el9\tx86_64\t20\n", "")
    lacking.answers = {"rpm -qa": one, "rpm -q ": one, "rpm -V": said("needs")}
    assert lacking.dnf.broken() == ["habanalabs-graph"]
    lacking.dnf.repair(["habanalabs-graph"])
    assert lacking.calls[-1].endswith("install habanalabs-thunk = 1.24.1-482.el9")


def test_repair_erases_the_old_versions_of_the_named_packages_only(tmp_path: Path) -> None:
    node = Node(tmp_path)
    rows = "habanalabs\t0\t1.23.0-695.el9\tnoarch\t10\nhabanalabs\t0\t1.24.1-482.el9\tnoarch\t20\n"
    node.answers = {"rpm -q ": CommandResult(0, rows, "")}
    node.dnf.repair(["habanalabs-dkms"])
    assert "rpm -e --nodeps habanalabs-1.23.0-695.el9.noarch" in node.calls
    assert node.calls[0].endswith(" habanalabs")
    assert not [call for call in node.calls if call.startswith("dnf")]


def test_a_node_without_vendor_packages_is_not_broken(tmp_path: Path) -> None:
    node = Node(tmp_path)
    assert node.dnf.broken() == []
    assert not [call for call in node.calls if "-V" in call]
    assert not node.dnf.interrupted()


def test_an_unsigned_or_wrongly_signed_file_never_gets_into_the_directory(tmp_path: Path) -> None:
    for verdict in ("digests SIGNATURES NOT OK", "digests OK"):
        node = Node(tmp_path)

        def run(argv: Sequence[str], *, verdict: str = verdict, **_more: Any) -> CommandResult:
            if "download" in argv:
                Path(argv[argv.index("--destdir") + 1], "habanalabs-1.24.1-482.el9.noarch.rpm").touch()
            return (
                CommandResult(0, f"/somewhere.rpm: {verdict}\n", "")
                if argv[0] == "rpmkeys"
                else CommandResult(0, "", "")
            )

        node.dnf = Dnf(run, str(tmp_path))
        with pytest.raises(GaudiError, match=r"habanalabs-1\.24\.1.* is not signed by a key that rpm knows"):
            node.dnf.fetch({"habanalabs-dkms": "1.24.1-482"}, str(tmp_path))
        assert list(tmp_path.rglob("*.rpm")) == []


def test_what_was_fetched_before_is_taken_as_it_is(tmp_path: Path) -> None:
    for name in ("habanalabs-1.24.1-482.el9.noarch.rpm", "habanalabs-1.24.1-4821.el9.noarch.rpm"):
        (tmp_path / name).touch()
    node = Node(tmp_path)
    files = node.dnf.fetch({"habanalabs-dkms": "1.24.1-482"}, str(tmp_path))
    assert files == [str(tmp_path / "habanalabs-1.24.1-482.el9.noarch.rpm")]
    assert node.calls == []


DKMS, QUAL = "habanalabs-1.24.1-482.el9.noarch.rpm", "habanalabs-qual-1.24.1-482.el9.x86_64.rpm"


class Repository:
    """Downloads ``offers`` and finds a signature only on what it downloaded; ``order`` is what was done."""

    def __init__(self, root: Path, *offers: str) -> None:
        self.offers = offers
        self.order: list[str] = []
        self.dnf = Dnf(self.run, str(root))

    def run(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        if "download" in argv:
            for name in self.offers:
                Path(argv[argv.index("--destdir") + 1], name).write_text("whole")
        if argv[0] == "rpmkeys":
            self.order.append(f"checked {Path(argv[-1]).name}")
            verdict = "digests signatures OK" if Path(argv[-1]).read_text() == "whole" else "DIGESTS SIGNATURES NOT OK"
            return CommandResult(0, f"{argv[-1]}: {verdict}\n", "")
        return CommandResult(0, "", "")


def test_half_a_download_of_another_package_is_neither_taken_nor_in_the_way(tmp_path: Path) -> None:
    partial = tmp_path / "partial"
    partial.mkdir()
    (partial / QUAL).write_text("ha")
    repository = Repository(tmp_path, DKMS)
    assert repository.dnf.fetch({"habanalabs-dkms": "1.24.1-482"}, str(tmp_path)) == [str(tmp_path / DKMS)]
    assert repository.order == [f"checked {DKMS}"]
    assert not (tmp_path / QUAL).exists()
    assert (partial / QUAL).read_text() == "ha"
    with pytest.raises(GaudiError, match=r"is not signed by a key that rpm knows"):
        repository.dnf.fetch({"habanalabs-qual": "1.24.1-482"}, str(tmp_path))
    assert not (tmp_path / QUAL).exists()


def test_a_download_that_leaves_no_file_is_told(tmp_path: Path) -> None:
    pins = dict.fromkeys(["habanalabs-dkms", "habanalabs-qual"], "1.24.1-482")
    with pytest.raises(GaudiError, match=r"dnf download succeeded but left no file of habanalabs-qual in "):
        Repository(tmp_path, DKMS).dnf.fetch(pins, str(tmp_path))


def test_a_package_is_checked_and_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: Any) -> None:
    repository = Repository(tmp_path, DKMS)
    sync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        repository.order.append(f"on disk {Path(f'/proc/self/fd/{descriptor}').readlink().name}")
        sync(descriptor)

    def replaced(path: Path, target: Path) -> Path:
        repository.order.append("renamed")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    repository.dnf.fetch({"habanalabs-dkms": "1.24.1-482"}, str(tmp_path))
    assert repository.order == [f"checked {DKMS}", f"on disk {DKMS}", "renamed"]


def test_installed_names_are_not_asked_for_and_an_other_build_is_taken_out_first(tmp_path: Path) -> None:
    lock(tmp_path)
    rows = {
        "habanalabs": "habanalabs\t0\t1.24.1-482.el9\tnoarch\t20\n",
        "make": "make\t1\t4.3-8.el9\tx86_64\t1\n",
    }
    node = Node(tmp_path)

    def run(argv: Sequence[str], **more: Any) -> CommandResult:
        answer = node.run(argv, **more)
        if argv[:2] == ["rpm", "-qp"]:
            return CommandResult(0, "habanalabs\n", "")
        return CommandResult(0, "".join(rows.get(name, "") for name in argv), "") if argv[0] == "rpm" else answer

    node.dnf = Dnf(run, str(tmp_path))
    node.dnf.install(["gcc", "make", "/p/habanalabs-1.23.0-695.el9.noarch.rpm"], 5)
    changes = [call for call in node.calls if call.startswith("dkms") or " install " in call or "versionlock" in call]
    assert changes[0] == "dkms remove -m habanalabs -v 1.24.1-482 --all"
    assert changes[1].startswith("dnf -y ")
    assert changes[1].endswith(" install gcc /p/habanalabs-1.23.0-695.el9.noarch.rpm")
    assert "--setopt=localpkg_gpgcheck=1" in changes[1]
    # The lock that was there is replaced by one of what is installed now.
    assert changes[2].endswith("versionlock delete habanalabs-0:1.23.0-695.el9.*")


def test_the_same_driver_keeps_its_build(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.answers = {"rpm -q ": CommandResult(0, "habanalabs\t0\t1.24.1-482.el9\tnoarch\t20\n", "")}
    node.dnf.install(["/p/habanalabs-1.24.1-482.el9.noarch.rpm", "/p/habanalabs-graph-1.24.1-482.el9.x86_64.rpm"], 5)
    assert not [call for call in node.calls if call.startswith("dkms")]


def test_lost_files_come_back_and_the_drivers_scripts_do_not_take_its_build_out(tmp_path: Path) -> None:
    rows = "habanalabs\t0\t1.24.1-482.el9\tnoarch\t20\nhabanalabs-graph\t0\t1.24.1-482.el9\tx86_64\t20\n"
    node = Node(tmp_path)
    node.answers = {"rpm -q ": CommandResult(0, rows, "")}
    driver, graph = "/p/habanalabs-1.24.1-482.el9.noarch.rpm", "/p/habanalabs-graph-1.24.1-482.el9.x86_64.rpm"
    node.dnf.install([driver, graph], 5)
    transactions = [call for call in node.calls if call.startswith("dnf")]
    assert [call.partition(" reinstall ")[2] for call in transactions] == [
        graph,
        f"--setopt=tsflags=noscripts {driver}",
    ]


def test_a_failing_script_of_a_package_is_a_failure_although_dnf_ends_with_0(tmp_path: Path) -> None:
    text = "warning: %post(habanalabs-1.24.1-482.el9.noarch) scriptlet failed, exit status 10\n"
    node = Node(tmp_path, dnf=CommandResult(0, "", text))
    with pytest.raises(GaudiError, match=r"%post\(habanalabs-1.24.1-482.el9.noarch\) scriptlet failed, exit status 10"):
        node.dnf.install(["/p/habanalabs-1.24.1-482.el9.noarch.rpm"], 5)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no_dkms", "no repository of this node has dkms >= 2.8; on RHEL 9 dkms is in EPEL, which wants CRB"),
        ("dkms_excluded", "no repository of this node has dkms >= 2.8; on RHEL 9 dkms is in EPEL, which wants CRB"),
        ("no_match", "no repository of this node has nothing-here."),
        ("download_none", "no repository of this node has habanalabs-9.9.9-1.*."),
        ("conflict", "habanalabs-thunk-1.23.0-695.el9.noarch and habanalabs-thunk-1.24.1-482.el9.noarch exclude each"),
        ("gpg_check", "habanalabs-graph-1.24.1-482.el9.x86_64.rpm is not signed by a key that rpm knows"),
    ],
)
def test_what_dnf_says_becomes_one_sentence(name: str, sentence: str) -> None:
    assert explain(said(name)).startswith(sentence)


def test_a_kernel_without_its_package_names_the_way_out() -> None:
    words = "Error: Unable to find a match: kernel-devel-5.14.0-427.el9_4.x86_64\n"
    assert explain(CommandResult(1, "", words)) == (
        "no repository of this node has kernel-devel-5.14.0-427.el9_4.x86_64; enable the repositories of this "
        "minor release (of RHEL those with EUS), or update the kernel first."
    )


def test_an_unknown_failure_keeps_dnfs_own_words() -> None:
    assert explain(CommandResult(1, "", "Error: Something new\n")) == "Something new."
    assert explain(CommandResult(1, "", "")) == "no reason given."


def test_another_package_manager_is_waited_for_and_then_named() -> None:
    locked = CommandResult(200, "metadata already locked by 2729\n", "")
    answers = [locked, locked, CommandResult(0, "", "")]
    slept: list[float] = []
    assert run_dnf(lambda _argv, **_more: answers.pop(0), ["makecache"], 60, slept.append).rc == 0
    assert len(slept) == 2
    assert run_dnf(lambda _argv, **_more: locked, ["makecache"], 0, slept.append) == locked
    assert explain(locked) == (
        "another package manager holds dnf's lock; wait for it, or raise lock_timeout. It is process 2729."
    )
