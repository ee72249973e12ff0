# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._driver.module_override import module_override, run_depmod
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

K = "6.8.0-45-generic"
IN_TREE = f"/lib/modules/{K}/kernel/drivers/accel/habanalabs/habanalabs.ko.zst"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("habanalabs.ko.zst", "habanalabs_cn.ko.zst"):
        path = tmp_path / f"lib/modules/{K}/updates/dkms" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def test_an_in_tree_module_that_would_win_is_overridden_for_every_kernel(root: Path) -> None:
    own = f"/lib/modules/{K}/updates/dkms/habanalabs_cn.ko.zst"
    wanted = module_override({"habanalabs": IN_TREE, "habanalabs_cn": own}, K, str(root))
    assert wanted is not None
    assert wanted.path == f"{root}/etc/depmod.d/gaudi3_scale.conf"
    assert (wanted.content or "").splitlines()[1:] == ["override habanalabs * updates/dkms"]


def test_lines_for_others_are_kept(root: Path) -> None:
    (root / "etc/depmod.d").mkdir(parents=True)
    (root / "etc/depmod.d/gaudi3_scale.conf").write_text("# head\noverride habanalabs_cn * updates/dkms\n")
    wanted = module_override({"habanalabs": IN_TREE}, K, str(root))
    assert wanted is not None
    assert (wanted.content or "").count("override") == 2


def test_nothing_is_written_where_dkms_wins_or_has_nothing_there(root: Path, tmp_path: Path) -> None:
    assert module_override({"habanalabs": f"/lib/modules/{K}/updates/dkms/habanalabs.ko.zst"}, K, str(root)) is None
    assert module_override({"habanalabs": IN_TREE}, "another kernel", str(root)) is None


def test_a_depmod_that_fails_is_told() -> None:
    with pytest.raises(GaudiError, match=r"depmod 6.8.0-45-generic failed \(no space\)"):
        run_depmod(K, lambda *_argv, **_more: CommandResult(1, "", "depmod: x\nno space\n"))
