# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The variables of hl_qual: from the node's flags, the vendor's files, or the documented places."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.environment import (
    DOCUMENTED,
    chosen,
    profile_values,
    read_environment,
)

# What every hl_qual task of dell/omnia and the vendor's pages export.
ORDER = """\
export HABANALABS_HLTHUNK_TESTS_BIN_PATH=/opt/habanalabs/src/hl-thunk/tests
export HABANA_LOGS=/var/log/habana_logs/
export RDMA_CORE_ROOT=/opt/habanalabs/rdma-core/src
export RDMA_CORE_LIB=/opt/habanalabs/rdma-core/src/build/lib
export HABANA_PLUGINS_LIB_PATH=/opt/habanalabs/habana_plugins
export GC_KERNEL_PATH=/usr/lib/habanalabs/libtpc_kernels.so
export HABANA_SCAL_BIN_PATH=/opt/habanalabs/engines_fw
export DATA_LOADER_AEON_LIB_PATH=/usr/lib/habanalabs/libaeon.so
export __python_cmd=python3
"""
NINE = dict(line.removeprefix("export ").split("=") for line in ORDER.splitlines())


def always(_what: str) -> bool:
    return True


def found(program: str) -> str:
    return f"/usr/bin/{program}"


def test_the_documented_places_are_the_nine_of_the_order() -> None:
    assert {**DOCUMENTED} == NINE
    assert chosen({}, {}, always, found) == NINE


def test_what_a_profile_file_exports_is_read_whatever_it_is(tmp_path: Path) -> None:
    file = tmp_path / "habanalabs.sh"
    file.write_text(ORDER.replace("python3", "python3.10") + "export SOMETHING=else\n")
    values = profile_values((f"{tmp_path}/habanalabs*.sh",))
    assert values == {**NINE, "__python_cmd": "python3.10"}
    assert chosen({}, values, always, found)["__python_cmd"] == "python3.10"


def test_a_file_that_others_may_write_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "habanalabs.sh"
    file.write_text("export __python_cmd=/tmp/evil\n")
    file.chmod(0o666)
    assert profile_values((f"{tmp_path}/habanalabs*.sh",)) == {}


def test_what_only_the_shell_knows_is_taken_from_the_documented_place(tmp_path: Path) -> None:
    (tmp_path / "habanalabs.sh").write_text("export GC_KERNEL_PATH=$X/a\nexport __python_cmd=$(which python3)\n")
    values = profile_values((f"{tmp_path}/habanalabs*.sh",))
    assert values == {}
    assert chosen({}, values, always, found)["__python_cmd"] == "python3"


@pytest.mark.parametrize(
    ("inherited", "profiles", "there", "value"),
    [
        # The operator's own flag before the vendor's file, and both before the documented place.
        ({"GC_KERNEL_PATH": "/a.so"}, {"GC_KERNEL_PATH": "/b.so"}, {"/a.so", "/b.so"}, "/a.so"),
        ({}, {"GC_KERNEL_PATH": "/b.so"}, {"/b.so", DOCUMENTED["GC_KERNEL_PATH"]}, "/b.so"),
        # What is left of another release is passed over.
        ({}, {"GC_KERNEL_PATH": "/old.so"}, {DOCUMENTED["GC_KERNEL_PATH"]}, DOCUMENTED["GC_KERNEL_PATH"]),
        # A site's own kernels beside the vendor's.
        ({"GC_KERNEL_PATH": "/own.so:/b.so"}, {}, {"/own.so"}, "/own.so:/b.so"),
        ({}, {}, set(), None),
    ],
)
def test_one_that_is_there_counts(
    inherited: dict[str, str], profiles: dict[str, str], there: set[str], value: str | None
) -> None:
    assert chosen(inherited, profiles, there.__contains__, found).get("GC_KERNEL_PATH") == value


def test_an_interpreter_that_is_not_there_is_replaced_by_one_that_is() -> None:
    def only_python3(program: str) -> str | None:
        return "/usr/bin/python3" if program == "python3" else None

    assert chosen({"__python_cmd": "python3.8"}, {}, always, only_python3)["__python_cmd"] == "python3"
    assert "__python_cmd" not in chosen({}, {}, always, lambda _program: None)
    assert chosen({"__python_cmd": "python3; reboot"}, {}, always, found)["__python_cmd"] == "python3"


def test_everything_else_of_the_unit_s_environment_stays() -> None:
    given = read_environment({"PATH": "/bin", "LD_LIBRARY_PATH": "/x"}, (), lambda _path: False, found)
    assert given == {
        "PATH": "/bin",
        "LD_LIBRARY_PATH": "/x",
        "HABANA_LOGS": "/var/log/habana_logs/",
        "__python_cmd": "python3",
    }
