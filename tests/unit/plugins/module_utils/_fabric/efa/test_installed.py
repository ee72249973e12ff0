# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The record of Amazon's installer, and the packages that it names: texts of both families."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.installed import (
    RECORD,
    Installed,
    Record,
    package_names,
    parse_record,
    read_installed,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

DEBIAN = """\
# EFA installer version: 1.21.0
# Debug packages installed: no
# Packages installed:
efa-config_1.12_all efa-profile_1.5_all libfabric1-aws_1.17.1amzn3.0_amd64 libibverbs1_43.0-1_amd64
"""
RHEL = """\
# EFA installer version: 1.34.0
# Debug packages installed: no
# Packages installed:
efa-config-1.17-1.el9.noarch libfabric-aws-1.22.0amzn1.0-1.el9.x86_64
rdma-core-50.0-1.el9.x86_64
"""


@pytest.mark.parametrize(
    ("text", "record"),
    [
        (
            DEBIAN,
            Record(
                "1.21.0",
                (
                    "efa-config_1.12_all",
                    "efa-profile_1.5_all",
                    "libfabric1-aws_1.17.1amzn3.0_amd64",
                    "libibverbs1_43.0-1_amd64",
                ),
            ),
        ),
        # Another tool that reads the file knows it without the sign of a comment.
        ("EFA installer version: 1.30.0\nefa_1_amd64\n", Record("1.30.0", ("efa_1_amd64",))),
        ("# EFA installer version: 1.21.0\n# Packages installed:\n", Record("1.21.0", ())),
        ("# Debug packages installed: no\n", None),
        ("# EFA installer version: \n", None),
        ("# EFA installer version: 1.21.0 and more\n", None),
        ("", None),
        ("\x00\udcff" * 100, None),
    ],
)
def test_the_record(text: str, record: Record | None) -> None:
    assert parse_record(text) == record


@pytest.mark.parametrize(
    ("text", "manager", "names"),
    [
        (DEBIAN, "apt", ["efa-config", "efa-profile", "libfabric1-aws", "libibverbs1"]),
        (RHEL, "dnf", ["efa-config", "libfabric-aws", "rdma-core"]),
    ],
)
def test_the_names_in_the_package_manager(text: str, manager: str, names: list[str]) -> None:
    record = parse_record(text)
    assert record is not None
    assert package_names(record.packages, manager) == names


def test_what_is_no_name_is_not_asked_for() -> None:
    assert package_names(("--root=/x_1_all", "*_1_all", "efa_1_all", "efa_2_all"), "apt") == ["efa"]


def node(root: Path, text: str | None) -> str:
    (root / "etc").mkdir()
    (root / "etc/os-release").write_text("ID=debian\n", encoding="utf-8")
    (root / "var/lib/dpkg").mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    if text is not None:
        (root / RECORD).parent.mkdir(parents=True)
        (root / RECORD).write_text(text, encoding="utf-8")
    return str(root)


class Dpkg:
    """dpkg-query over packages, name to status; ``calls`` are the names that were asked for."""

    def __init__(self, **status: str) -> None:
        self.status = {name.replace("_", "-"): word for name, word in status.items()}
        self.calls: list[Sequence[str]] = []

    def __call__(self, argv: Sequence[str], **_more: object) -> CommandResult:
        assert argv[0] == "dpkg-query"
        self.calls.append(argv[4:])
        lines = [f"{name}\t1\tinstall\t{self.status[name]}\n" for name in argv[4:] if name in self.status]
        return CommandResult(1, "".join(lines), "")


def test_a_node_without_the_record_is_not_asked(tmp_path: Path) -> None:
    run = Dpkg()
    assert read_installed(run, node(tmp_path, None)) == Installed(None)
    assert run.calls == []


def test_packages_that_were_removed_since_are_missing(tmp_path: Path) -> None:
    run = Dpkg(efa_config="installed", libfabric1_aws="half-configured", libibverbs1="installed")
    assert read_installed(run, node(tmp_path, DEBIAN)) == Installed("1.21.0", ("efa-profile", "libfabric1-aws"))
    assert run.calls == [["efa-config", "efa-profile", "libfabric1-aws", "libibverbs1"]]
