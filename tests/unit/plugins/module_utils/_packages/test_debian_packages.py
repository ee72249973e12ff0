# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""dpkg's answers about packages, and what apt and dpkg are told to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Sequence

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.debian_packages import (
    Apt,
    mark,
    parse_packages,
    query_packages,
)

OK = CommandResult(0, "", "")
PINS = {"habanalabs-dkms": "1.24.1-482", "habanalabs-qual": "1.24.1-482"}
DKMS, QUAL = "habanalabs-dkms_1.24.1-482_all.deb", "habanalabs-qual_1.24.1-482_amd64.deb"


class Node:
    """Records every command with its environment, and answers it with ``result`` or as the repository ``offers`` files.

    ``half`` is a package that apt meets half way.
    """

    def __init__(self, result: CommandResult = OK, offers: Sequence[str] = ()) -> None:
        self.result = result
        self.offers = offers
        self.half = ""
        self.calls: list[list[str]] = []
        self.env: dict[str, str] = {}
        self.timeouts: list[float | None] = []

    def __call__(self, argv: Sequence[str], *, timeout: float | None = None, env: Any = None) -> CommandResult:
        self.calls.append(list(argv))
        self.env = dict(env or {})
        self.timeouts.append(timeout)
        if argv[0] == "sh":
            for file in self.offers:
                Path(argv[4], file).write_text("whole")
        if argv[0] == "dpkg-query" and not self.result.stdout.count("\t"):
            return CommandResult(0, f"{self.half}\t1\tinstall\tunpacked\n" if self.half in argv else "", "")
        return self.result

    def apt_calls(self) -> list[list[str]]:
        """The commands that change something."""
        return [call for call in self.calls if call[0] != "dpkg-query"]


def test_state_and_hold_are_told_apart() -> None:
    packages = parse_packages(
        "habanalabs-dkms\t1.24.1-482\thold\tinstalled\n"
        "habanalabs-qual\t1.24.1-482\tinstall\thalf-configured\n"
        "habanalabs-thunk\t\tunknown\tnot-installed\n"
    )
    assert [(name, package.held, package.installed) for name, package in packages.items()] == [
        ("habanalabs-dkms", True, True),
        ("habanalabs-qual", False, False),
        ("habanalabs-thunk", False, False),
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_architectures_the_installed_one_counts(order: int) -> None:
    lines = ["libelf-dev\t0.190\tinstall\tinstalled\n", "libelf-dev\t0.188\tdeinstall\tconfig-files\n"]
    assert parse_packages("".join(lines[::order]))["libelf-dev"].version == "0.190"


def test_nothing_is_asked_about_nothing_and_a_node_without_dpkg_has_nothing() -> None:
    def missing(argv: Any, **_more: Any) -> CommandResult:
        return CommandResult(127, "", f"{argv[0]}: not installed")

    assert query_packages(["x"], missing) == {}
    assert query_packages([], lambda *_argv, **_more: pytest.fail("asked")) == {}


def test_a_mark_that_fails_is_told() -> None:
    with pytest.raises(GaudiError, match="apt-mark hold a b failed: E: No packages found"):
        mark("hold", ["a", "b"], lambda *_argv, **_more: CommandResult(100, "", "E: No packages found\n"))


LOCKED = "dpkg: error: dpkg frontend lock was locked by another process with pid 3561\nE: Executing dpkg failed (2)\n"


def test_a_mark_waits_while_unattended_upgrades_have_the_lock() -> None:
    answers = iter([CommandResult(100, "", LOCKED), CommandResult(100, "", LOCKED), CommandResult(0, "", "")])
    slept: list[float] = []
    mark("hold", ["a"], lambda *_argv, **_more: next(answers), slept.append)
    assert len(slept) == 2
    assert next(answers, None) is None


def test_a_lock_that_stays_is_told_in_the_end() -> None:
    slept: list[float] = []
    with pytest.raises(GaudiError, match=r"apt-mark hold a failed: .*locked by another process with pid 3561"):
        mark("hold", ["a"], lambda *_argv, **_more: CommandResult(100, "", LOCKED), slept.append)
    assert sum(slept) == 300


def test_the_database_is_asked_for_names_and_patterns_in_one_go() -> None:
    node = Node(CommandResult(1, "habanalabs-dkms\t1.24.1-482\thold\tinstalled\n", "no packages found matching x\n"))
    assert list(Apt(node).query(["habanalabs*", "x"])) == ["habanalabs-dkms"]
    assert [call[:1] + call[4:] for call in node.calls] == [["dpkg-query", "habanalabs*", "x"]]


def test_what_an_interrupted_transaction_left_is_broken_and_what_was_removed_is_not() -> None:
    states = [
        "half-installed",
        "unpacked",
        "half-configured",
        "triggers-awaited",
        "triggers-pending",
        "installed",
        "config-files",
        "not-installed",
    ]
    node = Node(CommandResult(0, "".join(f"{state}\t1\tinstall\t{state}\n" for state in states), ""))
    assert Apt(node).broken() == sorted(states[:5])
    assert len(node.calls[0]) == 4


def test_a_journal_of_dpkg_that_was_not_worked_off_is_an_interruption(tmp_path: Path) -> None:
    apt = Apt(Node(), str(tmp_path))
    assert not apt.interrupted()
    updates = tmp_path / "var/lib/dpkg/updates"
    updates.mkdir(parents=True)
    (updates / "tmp.i").touch()
    assert not apt.interrupted()
    (updates / "0012").touch()
    assert apt.interrupted()


@pytest.mark.parametrize(
    ("names", "interrupted", "reported"),
    [
        (["habanalabs-dkms", "vim"], False, ["habanalabs-dkms", "vim"]),
        (["habanalabs-dkms"], True, ["-a"]),
        ([], False, ["-a"]),
    ],
)
def test_half_packages_are_configured_and_all_of_them_where_dpkg_insists(
    tmp_path: Path, names: list[str], interrupted: bool, reported: list[str]
) -> None:
    if interrupted:
        (tmp_path / "var/lib/dpkg/updates").mkdir(parents=True)
        (tmp_path / "var/lib/dpkg/updates/0001").touch()
    # What cannot be configured now is replaced later: no error.
    node = Node(CommandResult(1, "", "dpkg: error processing package vim (--configure):\n"))
    Apt(node, str(tmp_path)).repair(names)
    assert node.calls == [["dpkg", "--force-confdef", "--force-confold", "--configure", *reported]]
    assert node.env["DEBIAN_FRONTEND"] == "noninteractive"


def test_lists_are_read_anew_and_a_repository_that_is_gone_stops_nothing() -> None:
    node = Node(CommandResult(100, "", "E: Failed to fetch https://repository/InRelease\n"))
    Apt(node).refresh(lock_timeout=12.4)
    assert node.calls == [["apt-get", "-q", "update", "-o", "DPkg::Lock::Timeout=12"]]


def test_packages_are_fetched_as_files_and_not_again(tmp_path: Path) -> None:
    node = Node(offers=[DKMS, QUAL])
    directory = tmp_path / "packages/1.24.1-482"
    files = [str(directory / DKMS), str(directory / QUAL)]
    assert Apt(node).fetch(PINS, str(directory)) == files
    assert node.calls[0][4:] == [str(directory / "partial"), *(f"{name}={PINS[name]}" for name in PINS)]
    assert Apt(node).fetch(PINS, str(directory)) == files
    assert len(node.calls) == 1
    (directory / QUAL).unlink()
    assert Apt(node).fetch(PINS, str(directory)) == files
    assert node.calls[1][5:] == ["habanalabs-qual=1.24.1-482"]


def test_apt_downloads_into_the_given_directory_whatever_its_name(tmp_path: Path, monkeypatch: Any) -> None:
    program = tmp_path / "apt-get"
    program.write_text('#!/bin/sh\necho "$*" > "habanalabs-dkms_1.24.1-482_all.deb"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (file,) = Apt(run_process).fetch({"habanalabs-dkms": "1.24.1-482"}, str(tmp_path / "a directory; $x"))
    assert Path(file).parent == tmp_path / "a directory; $x"
    assert Path(file).read_text() == "-q download habanalabs-dkms=1.24.1-482\n"


def test_the_colon_of_an_epoch_is_looked_for_as_apt_writes_it(tmp_path: Path) -> None:
    file = "dkms_2%3a3.0.10_all.deb"
    assert Apt(Node(offers=[file])).fetch({"dkms": "2:3.0.10"}, str(tmp_path)) == [str(tmp_path / file)]


def test_another_version_of_the_package_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "habanalabs-dkms_1.24.1-4820_all.deb").touch()
    (tmp_path / "habanalabs-dkms-extra_1.24.1-482_all.deb").touch()
    apt = Apt(Node(offers=[DKMS]))
    assert apt.fetch({"habanalabs-dkms": "1.24.1-482"}, str(tmp_path)) == [str(tmp_path / DKMS)]


def test_half_a_download_is_never_taken_for_a_package(tmp_path: Path) -> None:
    partial = tmp_path / "partial"
    partial.mkdir()
    (partial / DKMS).write_text("ha")
    (partial / QUAL).write_text("ha")
    # Only one of them is asked for now; the rest of the other is left to the run that asks for it.
    apt = Apt(Node(offers=[DKMS]))
    apt.fetch({"habanalabs-dkms": "1.24.1-482"}, str(tmp_path))
    assert (tmp_path / DKMS).read_text() == "whole"
    assert not (tmp_path / QUAL).exists()
    with pytest.raises(GaudiError, match=r"cannot be fetched: E: no network\."):
        Apt(Node(CommandResult(100, "", "E: no network"))).fetch(PINS, str(tmp_path))
    assert not (tmp_path / QUAL).exists()
    assert (partial / QUAL).read_text() == "ha"


def test_a_package_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: Any) -> None:
    order: list[str] = []
    sync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        order.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        sync(descriptor)

    def replaced(path: Path, target: Path) -> Path:
        order.append("renamed")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    Apt(Node(offers=[DKMS])).fetch({"habanalabs-dkms": "1.24.1-482"}, str(tmp_path))
    assert order == [DKMS, "renamed"]


def test_packages_that_are_not_offered_are_named_with_apts_reason(tmp_path: Path) -> None:
    said = "WARNING: x\nE: Version '1.24.1-482' for 'habanalabs-qual' was not found\n"
    with pytest.raises(GaudiError) as caught:
        Apt(Node(CommandResult(100, "", said))).fetch(PINS, str(tmp_path))
    assert str(caught.value) == (
        "The packages habanalabs-dkms=1.24.1-482, habanalabs-qual=1.24.1-482 cannot be fetched: "
        "E: Version '1.24.1-482' for 'habanalabs-qual' was not found."
    )


def test_a_download_that_leaves_no_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match=r"left no file of habanalabs-qual in "):
        Apt(Node(offers=[DKMS])).fetch(PINS, str(tmp_path))


INSTALL = [
    "apt-get",
    "-y",
    "-q",
    "--no-install-recommends",
    "--no-remove",
    "--allow-downgrades",
    "--reinstall",
    "--allow-change-held-packages",
    "-o",
    "DPkg::Lock::Timeout=300",
    "-o",
    "Dpkg::Options::=--force-confdef",
    "-o",
    "Dpkg::Options::=--force-confold",
    "install",
]


def test_one_transaction_asks_nothing_keeps_files_removes_nothing_and_is_never_killed() -> None:
    node = Node()
    Apt(node).install(["/x/a.deb", "dkms"], 300.0)
    assert node.apt_calls() == [[*INSTALL, "/x/a.deb", "dkms"]]
    assert node.env == {
        "DEBIAN_FRONTEND": "noninteractive",
        "NEEDRESTART_MODE": "l",
        "APT_LISTCHANGES_FRONTEND": "none",
    }
    assert set(node.timeouts) == {None}


def test_a_rehearsal_is_the_same_without_the_installation() -> None:
    node = Node()
    Apt(node).prepare(["/x/a.deb"], 300.0)
    assert node.apt_calls() == [[*INSTALL, "/x/a.deb", "--download-only"]]


@pytest.mark.parametrize("act", [Apt.install, Apt.prepare])
def test_what_is_half_way_is_finished_and_not_installed_again(act: Any) -> None:
    """apt knows no file to reinstall then."""
    node = Node()
    node.half = "habanalabs-dkms"
    act(Apt(node), [f"/x/{QUAL}", f"/x/{DKMS}", "dkms"], 300.0)
    asked, reported = node.calls
    assert asked[4:] == ["habanalabs-qual", "habanalabs-dkms", "dkms"]
    assert [word for word in INSTALL if word not in reported] == ["--reinstall"]


POSTINST = """Setting up habanalabs-dkms (1.24.1-482) ...
dpkg: error processing package habanalabs-dkms (--configure):
 installed package script: 10
Errors were encountered while processing:
 habanalabs-dkms
"""


@pytest.mark.parametrize(
    ("stdout", "stderr", "reason"),
    [
        (
            POSTINST,
            "E: Sub-process /usr/bin/dpkg returned an error code (1)\n",
            "dpkg: error processing package habanalabs-dkms (--configure): installed package script: 10.",
        ),
        (
            "",
            "E: Sub-process /usr/bin/dpkg returned an error code (1)\n",
            "E: Sub-process /usr/bin/dpkg returned an error code (1).",
        ),
        (
            "Reading package lists...\n",
            "W: old\nE: Could not get lock /var/lib/dpkg/lock-frontend.\nE: Unable to acquire it\n",
            "E: Could not get lock /var/lib/dpkg/lock-frontend.",
        ),
        # trailofbits/algo#14335.
        (
            "",
            (
                "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 5043 (unattended-upgr)\n"
                "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using "
                "it?\n"
            ),
            (
                "Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 5043 (unattended-upgr); wait "
                "for it to finish, or raise lock_timeout."
            ),
        ),
        ("", "apt-get: not installed\n", "apt-get: not installed."),
        ("The following packages have problems:\n", "", "The following packages have problems:."),
        ("", "", "no reason given."),
    ],
)
def test_the_first_error_that_tells_something_is_the_reason(stdout: str, stderr: str, reason: str) -> None:
    for attempt in (Apt.install, Apt.prepare):
        with pytest.raises(GaudiError) as caught:
            attempt(Apt(Node(CommandResult(100, stdout, stderr))), ["a"], 300.0)
        assert str(caught.value) == f"The packages cannot be installed: {reason}"
        assert caught.value.facts == {"output": stdout.splitlines()}


def test_the_end_of_what_apt_said_goes_along() -> None:
    stdout = "".join(f"line {number}\n" for number in range(50))
    with pytest.raises(GaudiError) as caught:
        Apt(Node(CommandResult(100, stdout, "E: no"))).install(["a"], 300.0)
    assert caught.value.facts["output"] == [f"line {number}" for number in range(30, 50)]


def test_marks_are_set_and_taken_off() -> None:
    node = Node()
    Apt(node).hold(["a", "b"])
    Apt(node).unhold(("a",))
    assert node.calls == [["apt-mark", "hold", "a", "b"], ["apt-mark", "unhold", "a"]]
    for act in (Apt.hold, Apt.unhold):
        with pytest.raises(GaudiError, match=r"apt-mark (un)?hold a failed: E: no\."):
            act(Apt(Node(CommandResult(100, "", "E: no"))), ["a"])
