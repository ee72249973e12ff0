# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a bridge on the node lists, and that it is believed over the catalog."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.bridge import InstalledBridge, read_bridge
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.catalog.catalog import find_flag
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.checks import check, check_name, check_unchecked
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.harms import Target
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.judgment import judge_flags
from ansible_collections.gaudi3.scale.tests.unit.installed_bridge import make_venv


def target(bridge: InstalledBridge | None, modes: tuple[str, ...] = ("eager", "compile")) -> Target:
    return Target((1, 24), modes, "training", "gaudi_ethernet", None, bridge)


def bridge(*names: str, python: tuple[str, ...] = ()) -> InstalledBridge:
    return InstalledBridge("1.24.1.482", frozenset(names), frozenset(python), "/venv/bridge_config.py")


def test_reads_the_getters_and_the_names_in_quotes_and_nothing_else(tmp_path: Path) -> None:
    found = read_bridge(make_venv(tmp_path, ["PT_HPU_LAZY_MODE", "PT_HPU_BRAND_NEW"]))
    assert found is not None
    assert found.cpp == {"PT_HPU_LAZY_MODE", "PT_HPU_BRAND_NEW"}
    assert found.python == {"PT_HPU_COMPILE_VERBOSE", "PT_HPU_COMPILE_DECOMPOSITION_MODE"}
    assert (found.version, found.release, found.label) == ("1.24.1.482", (1, 24), "installed bridge 1.24.1.482")


@pytest.mark.parametrize("venv", ["", "/nonexistent"])
def test_no_venv_has_no_bridge(venv: str) -> None:
    assert read_bridge(venv) is None


def test_an_empty_list_is_no_list(tmp_path: Path) -> None:
    assert read_bridge(make_venv(tmp_path, [])) is None


def test_a_bridge_without_a_recorded_version_is_named_by_its_file(tmp_path: Path) -> None:
    found = read_bridge(make_venv(tmp_path, ["PT_HPU_LAZY_MODE"], version="", python=None))
    assert found is not None and found.release is None and found.python == frozenset()
    assert found.label.startswith("installed bridge (/") and found.label.endswith("bridge_config.py)")


def test_a_list_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    venv = make_venv(tmp_path, ["PT_HPU_LAZY_MODE"])
    file = next(tmp_path.rglob("bridge_config.py"))
    file.unlink()
    file.mkdir()
    with pytest.raises(GaudiError, match=r"bridge_config.py cannot be read: Is a directory"):
        read_bridge(venv)


def test_a_flag_that_only_the_bridge_knows_is_real() -> None:
    name = "PT_HPU_BRAND_NEW"
    assert check_name(name) and not check_name(name, bridge(name))
    (finding,) = check({name: "1"}, target(bridge(name)))
    assert finding.level == "warning" and finding.message.endswith("so its value was not checked")
    assert check({name: "1"}, target(bridge(name)), chosen=()) == []
    assert [one.kind for one in check_unchecked([name], bridge(name))] == ["unchecked"]


def test_a_flag_that_the_bridge_lacks_is_gone_whatever_the_catalog_says() -> None:
    flag = find_flag("PT_HPU_ENABLE_SFG")
    assert flag is not None and not flag.removed
    findings = check({"PT_HPU_ENABLE_SFG": "0"}, target(bridge("PT_HPU_LAZY_MODE"), ("lazy",)))
    assert [one.kind for one in findings] == ["removed"]
    assert "not among the flags of the installed bridge 1.24.1.482" in findings[0].message


def test_a_flag_that_the_catalog_takes_for_removed_is_real_where_the_bridge_has_it() -> None:
    name = "PT_HPU_INFERENCE_STORAGE_OVERRIDE"
    assert [one.kind for one in check({name: "1"}, target(None))] == ["removed"]
    assert check({name: "1"}, target(bridge(name))) == []


def test_the_bridge_says_nothing_of_other_components() -> None:
    flag = find_flag("HCCL_SOCKET_IFNAME")
    assert flag is not None and not bridge("PT_HPU_LAZY_MODE").answers_for(flag)
    assert not [one for one in check({"HCCL_SOCKET_IFNAME": "eth"}, target(bridge("A"))) if one.kind == "removed"]


def test_flags_of_the_compile_backend_are_judged_where_its_file_was_found() -> None:
    name = "PT_HPU_USE_EAGER_FALLBACK"
    without = bridge("PT_HPU_LAZY_MODE")
    kinds = {source: [one.kind for one in check({name: "0"}, target(source))] for source in (None, without)}
    assert "removed" not in kinds[None] + kinds[without]
    assert [one.kind for one in check({name: "0"}, target(bridge("A", python=("PT_HPU_X",))))] == ["removed"]
    assert check({name: "0"}, target(bridge("A", python=(name,)))) == []


def test_values_are_checked_by_the_bridge_own_rules_all_the_same() -> None:
    here = target(bridge("PT_HPU_INITIAL_WORKSPACE_SIZE"))
    assert [one.level for one in check({"PT_HPU_INITIAL_WORKSPACE_SIZE": "64MB"}, here)] == ["error"]
    (finding,) = check({"PT_HPU_INITIAL_WORKSPACE_SIZE": "1e6"}, here)
    assert finding.message == "PT_HPU_INITIAL_WORKSPACE_SIZE=1e6 is read as 486"


def test_a_misspelt_name_is_brought_to_one_that_only_the_bridge_has() -> None:
    (finding,) = check_name("PT_HPU_BRANDNEW_KNOB_X", bridge("PT_HPU_BRAND_NEW_KNOB_X"))
    assert "the nearest real name is PT_HPU_BRAND_NEW_KNOB_X" in finding.remedy


def test_each_verdict_names_its_judge() -> None:
    here = bridge("PT_HPU_LAZY_MODE")
    flags = {"PT_HPU_LAZY_MODE": "0", "HCCL_SOCKET_IFNAME": "e", "PT_HPU_NO_SUCH": "1", "NCCL_DEBUG": "INFO"}
    by = {one.name: one.judged_by for one in judge_flags(flags, target(here))}
    assert by["PT_HPU_LAZY_MODE"] == "installed bridge 1.24.1.482"
    assert by["HCCL_SOCKET_IFNAME"].startswith("catalog, verified through 1.")
    assert by["PT_HPU_NO_SUCH"] == "installed bridge 1.24.1.482 and catalog"
    assert by["NCCL_DEBUG"] == "catalog"
    alone = {one.name: one.judged_by for one in judge_flags(flags, target(None))}
    assert alone["PT_HPU_LAZY_MODE"] == "catalog, verified through 1.24" and alone["PT_HPU_NO_SUCH"] == "catalog"


def test_a_flag_that_only_another_python_file_reads_is_real(tmp_path: Path) -> None:
    venv = make_venv(tmp_path, ["PT_HPU_LAZY_MODE"])
    code = """import os
one = os.environ.get("PT_HPU_ONE", "0") == "1"
two = os.getenv('HABANA_TWO')  # os.getenv("HABANA_THREE")
rank = int(os.environ["RANK"])
"""
    (tmp_path / "venv/lib/python3.10/site-packages/habana_frameworks/torch/distributed.py").write_text(code)
    found = read_bridge(venv)
    assert found is not None
    assert [name for name in ("PT_HPU_ONE", "HABANA_TWO", "HABANA_THREE", "RANK") if found.has(name)] == [
        "PT_HPU_ONE",
        "HABANA_TWO",
    ]
    assert check_name("HABANA_TWO", found) == [] and check_name("HABANA_THREE", found)
