# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""dpkg's answers about packages."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils.debian_packages import mark, parse_packages, query_packages
from ansible_collections.gaudi3.scale.plugins.module_utils.errors import GaudiError


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
