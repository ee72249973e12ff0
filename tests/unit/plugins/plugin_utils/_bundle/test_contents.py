# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a bundle has to hold, by the roles' own lists."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._bundle.contents import contents

ROLES = Path(__file__).parents[5] / "roles"


def read(path: PurePosixPath):
    file = ROLES / path
    return yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else None


def test_a_system_of_its_own_goes_before_its_family():
    ubuntu, debian = contents(read, "Ubuntu", "Debian"), contents(read, "Debian", "Debian")
    only = set(ubuntu["os_packages"]) - set(debian["os_packages"])
    assert only == {"linux-modules-extra-{kernel}"}
    assert {"dkms", "python3-venv", "rdma-core", "lldpd", "prometheus-node-exporter", "python3-apt"} <= set(
        debian["os_packages"]
    )
    assert {"habanalabs-dkms", "habanalabs-container-runtime"} <= set(debian["packages"])
    assert debian["python"] == "/usr/bin/python3"
    assert debian["requirements"] == read(PurePosixPath("gaudi_venv/defaults/main.yml"))["gaudi_venv_requirements"]


def test_each_family_has_its_python():
    assert contents(read, "RedHat", "RedHat")["python"] == "/usr/bin/python3.12"


@pytest.mark.parametrize("said", ["Plan9", "../../gaudi_driver/vars/Debian.yml", ""])
def test_a_system_without_lists_is_refused_whatever_it_says_it_is(said):
    with pytest.raises(FileNotFoundError, match="gaudi_driver/vars"):
        contents(read, said, said)
