# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The module support_bundle, run as Ansible runs it: JSON in, JSON out."""

from __future__ import annotations

import base64
import io
import tarfile

import pytest
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import write_kernel
from ansible_collections.gaudi3.scale.tests.unit.module_call import call


@pytest.mark.parametrize("check_mode", [False, True])
def test_check_mode_lists_what_would_be_in_the_archive_and_makes_none(tmp_path, check_mode):
    kernel = str(write_kernel(tmp_path, driver=False))
    places = {"state_directory": str(tmp_path / "state"), "log_directory": str(tmp_path / "log"), "venv": "/none"}
    result, status = call("support_bundle", check_mode, kernel_root=kernel, **places)
    assert (status, result["changed"]) == (0, False)
    listed = [one["name"] for one in result["contents"] if not one["why"]]
    assert "versions.json" in listed
    if check_mode:
        assert result["archive"] == ""
        return
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(result["archive"]))) as archive:
        names = [name.removeprefix("support/") for name in archive.getnames()]
    assert names == ["INDEX.txt", *listed]
    assert not list(tmp_path.glob("state/*"))


def test_a_size_that_nobody_can_mean_is_refused(tmp_path):
    result, status = call("support_bundle", kernel_root=str(write_kernel(tmp_path)), max_mib=0)
    assert status == 1
    assert result["msg"] == "max_mib is 0; give 1 to 48, in MiB of text on each node."
