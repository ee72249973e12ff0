# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._node.os_release import SYSTEMS, of_system


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ID=ubuntu\nID_LIKE=debian\n", "of ubuntu"),
        ("ID=debian\n", "of apt"),
        ("ID=linuxmint\nID_LIKE='ubuntu debian'\n", "of apt"),
        ('ID="rhel"\nID_LIKE="fedora"\n', "of dnf"),
        ("ID=rocky\nID_LIKE='rhel centos fedora'\n", "of dnf"),
        ("ID=apt\n", "of apt"),
        ("", "of apt"),
    ],
)
def test_what_is_for_this_system(tmp_path, text, wanted):
    (tmp_path / "os-release").write_text(text)
    assert of_system({system: f"of {system}" for system in SYSTEMS}, str(tmp_path)) == wanted


def test_what_ubuntu_has_no_others_of_is_debian_s(tmp_path):
    (tmp_path / "os-release").write_text("ID=ubuntu\n")
    assert of_system({"ubuntu": None, "apt": ["a"], "dnf": ["b"]}, str(tmp_path)) == ["a"]
    assert of_system({}, str(tmp_path)) is None
