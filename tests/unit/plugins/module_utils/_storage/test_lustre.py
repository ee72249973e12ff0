# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Stripes of directories on Lustre and the client's settings, with lfs and lctl in the words of their manuals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.tests.unit.plugins.module_utils._storage.mounting_node import MountingNode


@pytest.fixture
def node(tmp_path: Path) -> MountingNode:
    made = MountingNode(tmp_path)
    (tmp_path / "lustre/llama").mkdir(parents=True)
    made.mount(str(tmp_path / "lustre"), "lustre", "10.0.0.5@o2ib:/scratch")
    return made


def stripe(node: MountingNode, **more: Any) -> dict[str, Any]:
    return {"path": str(node.root / "lustre/llama"), "count": 4, "size": "4M", **more}


def test_a_directory_is_striped_once(node: MountingNode) -> None:
    wanted = stripe(node)
    assert node.converge(check_mode=True, stripes=[wanted])["changed"] and not node.stripes
    done = node.converge(stripes=[wanted])
    assert (done["diff"][0]["before"], done["diff"][0]["after"]) == ("1 of 1048576\n", "4 of 4194304\n")
    assert node.stripes == {wanted["path"]: ["4", "4194304"]}
    assert not node.converge(stripes=[wanted])["changed"]


def test_it_is_done_as_the_directory_s_owner(node: MountingNode) -> None:
    node.converge(stripes=[stripe(node)])
    uid = (node.root / "lustre/llama").stat().st_uid
    assert any(call.startswith(f"setpriv --reuid {uid} --regid ") for call in node.calls)


def test_all_targets_for_many_small_files_are_refused(node: MountingNode) -> None:
    for number in range(3):
        (node.root / "lustre/llama" / f"part{number}").write_bytes(b"x")
    with pytest.raises(GaudiError, match="3 of 3 files that were looked at have less than 1 MiB"):
        node.converge(stripes=[stripe(node, count=-1)])
    assert not node.stripes
    with (node.root / "lustre/llama/large").open("wb") as large:
        large.truncate(1 << 30)
    for number in range(2):
        (node.root / "lustre/llama" / f"part{number}").unlink()
    assert node.converge(stripes=[stripe(node, count=-1)])["changed"]


REFUSED = [
    ({"count": 0}, "has 0 stripes; give 1 to 2000, or -1"),
    ({"size": "100K"}, "give a multiple of 64K below 4G"),
    ({"path": "llama"}, "write a plain absolute one"),
]


@pytest.mark.parametrize(("more", "sentence"), REFUSED)
def test_what_lfs_would_refuse_is_refused_before(node: MountingNode, more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(GaudiError) as refused:
        node.converge(stripes=[stripe(node, **more)])
    assert sentence in str(refused.value) and not node.calls


def test_what_is_not_on_lustre_has_no_stripes(node: MountingNode, tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match="is on ext4; only directories on Lustre have stripes"):
        node.converge(stripes=[{"path": str(tmp_path), "count": 1}])
    (tmp_path / "lustre/link").symlink_to(tmp_path)
    with pytest.raises(GaudiError, match="or a link leads to it"):
        node.converge(stripes=[{"path": str(tmp_path / "lustre/link"), "count": 1}])


def test_settings_are_set_now_and_at_every_boot(node: MountingNode) -> None:
    wanted = {"osc.*.max_dirty_mb": 256}
    done = node.converge(lustre_settings=wanted)
    unit = (node.etc / "systemd/system/gaudi3-scale-lustre-settings.service").read_text()
    assert done["changed"] and "ExecStart=lctl set_param osc.*.max_dirty_mb=256\n" in unit
    assert "systemctl restart gaudi3-scale-lustre-settings.service" in node.calls
    node.settings["osc.*.max_dirty_mb"] = "256"
    assert not node.converge(lustre_settings=wanted)["changed"]
    node.settings["osc.*.max_dirty_mb"] = "2048"
    assert node.converge(lustre_settings=wanted)["changed"]


@pytest.mark.parametrize("settings", [{"osc.*.max dirty": 1}, {"x": 1}, {"osc.*.max_dirty_mb": "1; reboot"}])
def test_settings_that_are_none_are_refused(node: MountingNode, settings: dict[str, Any]) -> None:
    with pytest.raises(GaudiError, match="write one like osc"):
        node.converge(lustre_settings=settings)
