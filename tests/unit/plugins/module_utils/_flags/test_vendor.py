# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The vendor's environment as a layer: what ranks get of its files, who wins over it, what is said and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.explanation import ExplainOptions, explain
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.profiles import EnvironmentOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.state import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.vendor import ORIGIN, documented_paths, read_vendor
from ansible_collections.gaudi3.scale.plugins.module_utils._node.environment_file import parse
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.flag_rows import flag_rows
from ansible_collections.gaudi3.scale.tests.unit.flag_options import options as flag_options
from ansible_collections.gaudi3.scale.tests.unit.installed_bridge import make_venv

NAMES = {
    "GC_KERNEL_PATH", "HABANA_SCAL_BIN_PATH", "HABANA_PLUGINS_LIB_PATH", "DATA_LOADER_AEON_LIB_PATH", "RDMA_CORE_ROOT",
    "RDMA_CORE_LIB",
}  # fmt: skip


@pytest.fixture
def profile(tmp_path: Path) -> Any:
    """Writes a profile file below the test's own profile.d; ``@`` in it stands for a directory that is there."""
    (tmp_path / "profile.d").mkdir()
    (tmp_path / "opt").mkdir()

    def write(text: str, name: str = "habanalabs.sh") -> str:
        path = tmp_path / "profile.d" / name
        path.write_text(text.replace("@", str(tmp_path / "opt")))
        return str(path)

    return write


def options(root: Path, **more: Any) -> EnvironmentOptions:
    return flag_options(root, **{"vendor_profiles": [str(root / "profile.d" / "habana*.sh")], **more})


def written(root: Path) -> dict[str, str]:
    return parse((root / "etc" / "environment").read_text(), "environment")


def test_ranks_get_what_login_shells_get(profile: Any, tmp_path: Path) -> None:
    path = profile("export GC_KERNEL_PATH=@\nexport RDMA_CORE_ROOT=@\nexport RDMA_CORE_LIB=$RDMA_CORE_ROOT\n")
    result: Any = converge(options(tmp_path), check_mode=False)
    opt = str(tmp_path / "opt")
    assert {name: written(tmp_path)[name] for name in ("GC_KERNEL_PATH", "RDMA_CORE_ROOT", "RDMA_CORE_LIB")} == {
        "GC_KERNEL_PATH": opt,
        "RDMA_CORE_ROOT": opt,
        "RDMA_CORE_LIB": opt,
    }
    row = next(flag for flag in result["flags"] if flag["name"] == "GC_KERNEL_PATH")
    assert (row["origin"], row["source"], row["real"], row["effective"]) == (ORIGIN, path, True, "yes")
    assert f"# vendor package: {path}\nGC_KERNEL_PATH={opt}\n" in result["diff"][0]["after"]
    assert (result["vendor_profiles"], result["warnings"]) == ([path], [])
    assert not converge(options(tmp_path), check_mode=False)["changed"]


def test_another_profile_of_an_upgrade_is_a_change(profile: Any, tmp_path: Path) -> None:
    profile("export GC_KERNEL_PATH=@/old.so\n")
    converge(options(tmp_path), check_mode=False)
    profile("export GC_KERNEL_PATH=@\n")
    result: Any = converge(options(tmp_path), check_mode=False)
    assert (result["changed"], result["hand_edit"]) == (True, [])
    assert written(tmp_path)["GC_KERNEL_PATH"] == str(tmp_path / "opt")


def test_files_are_read_in_a_login_shell_s_order_and_the_last_wins(profile: Any, tmp_path: Path) -> None:
    last = profile("export GC_KERNEL_PATH=$PLACE/x\n", "habanalabs.sh")
    profile("export PLACE=@ GC_KERNEL_PATH=/first\n", "habanalabs-rdma-core.sh")
    profile("export GC_KERNEL_PATH=/not/read\n", "other.sh")
    found = read_vendor(options(tmp_path).vendor_profiles, None)
    assert {one.name: (one.value, one.source) for one in found.settings}["GC_KERNEL_PATH"] == (
        f"{tmp_path}/opt/x",
        last,
    )


def test_every_other_layer_wins(profile: Any, tmp_path: Path) -> None:
    profile(
        "export HABANA_LOGS=/var/log/habana_logs/ PT_HPU_LAZY_MODE=1 GC_KERNEL_PATH=@ RDMA_CORE_LIB=@\n"
        "export MPI_ROOT=@ LIBFABRIC_ROOT=@ HABANALABS_HLTHUNK_TESTS_BIN_PATH=@\n"
    )
    more = {
        "overrides": {"GC_KERNEL_PATH": "/mine", "RDMA_CORE_LIB": None},
        "environment": {"MPI_ROOT": "/openmpi", "LIBFABRIC_ROOT": None},
    }
    result: Any = converge(options(tmp_path, **more), check_mode=False)
    values = written(tmp_path)
    assert values["HABANA_LOGS"] == f"{tmp_path}/logs"
    assert (values["PT_HPU_LAZY_MODE"], values["GC_KERNEL_PATH"], values["MPI_ROOT"]) == ("0", "/mine", "/openmpi")
    assert not {"RDMA_CORE_LIB", "LIBFABRIC_ROOT"} & set(values)
    row = next(flag for flag in result["flags"] if flag["name"] == "HABANALABS_HLTHUNK_TESTS_BIN_PATH")
    assert (row["origin"], row["real"], row["effective"]) == (ORIGIN, None, "unknown")


def test_what_no_rank_gets_is_told_with_its_line(profile: Any, tmp_path: Path) -> None:
    path = profile(
        "export __python_cmd=python3\nexport LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH\nexport GC_KERNEL_PATH=$X/a\n"
        "export BRAND_NEW=1\nexport OPAL_PREFIX=/opt/openmpi\nexport LD_PRELOAD=/x.so\nexport BASH_ENV=/x\n"
    )
    result: Any = converge(options(tmp_path), check_mode=False)
    assert [(one["file"], one["line"], one["name"], one["why"]) for one in result["vendor_left_out"]] == [
        (path, 1, "__python_cmd", "it is neither a known flag nor an absolute path"),
        (path, 2, "LD_LIBRARY_PATH", "it steers other programs than the Gaudi software"),
        (path, 3, "GC_KERNEL_PATH", "its value depends on the shell that reads the file"),
        (path, 4, "BRAND_NEW", "it is neither a known flag nor an absolute path"),
        (path, 5, "OPAL_PREFIX", "it steers other programs than the Gaudi software"),
        (path, 6, "LD_PRELOAD", "it steers other programs than the Gaudi software"),
        (path, 7, "BASH_ENV", "it steers other programs than the Gaudi software"),
    ]
    (warning,) = result["warnings"]
    assert warning == (
        f"{path}, line 3: its value depends on the shell that reads the file, so ranks do not get this GC_KERNEL_PATH; "
        "give GC_KERNEL_PATH in overrides."
    )
    given: Any = converge(options(tmp_path, overrides={"GC_KERNEL_PATH": str(tmp_path)}), check_mode=False)
    assert [one for one in given["findings"] if one["kind"] == "vendor"] == []


def test_a_line_that_only_a_shell_understands_is_named(profile: Any, tmp_path: Path) -> None:
    path = profile("export GC_KERNEL_PATH=@\nif [ -d /x ]; then\nexport RDMA_CORE_LIB=/x\nfi\n")
    result: Any = converge(options(tmp_path), check_mode=False)
    (warning,) = result["warnings"]
    assert warning == (
        f"{path}, line 2, is more than a plain assignment ('if [ -d /x ]; then'), so this line and the rest of the "
        "file were not read; put what ranks need from it into overrides."
    )
    assert "RDMA_CORE_LIB" not in written(tmp_path)
    with pytest.raises(GaudiError, match="is more than a plain assignment"):
        converge(options(tmp_path, strict=True), check_mode=False)


def test_what_a_second_file_may_change_is_left_out(profile: Any, tmp_path: Path) -> None:
    profile("export GC_KERNEL_PATH=@ RDMA_CORE_LIB=@\n", "habanalabs-a.sh")
    second = profile("# more\nif true; then GC_KERNEL_PATH=/x; fi\n", "habanalabs-b.sh")
    found = read_vendor(options(tmp_path).vendor_profiles, None, exists=lambda _path: False)
    assert [one.name for one in found.settings] == ["RDMA_CORE_LIB"]
    assert [(one.file, one.line, one.name) for one in found.left_out] == [(second, 2, "GC_KERNEL_PATH")]
    assert [one.flag for one in found.findings] == [second, "GC_KERNEL_PATH"]


def test_a_file_that_cannot_be_read_is_named_and_the_others_count(profile: Any, tmp_path: Path) -> None:
    path = profile("#" * 100_000, "habanalabs-large.sh")
    profile("export GC_KERNEL_PATH=@\n")
    result: Any = converge(options(tmp_path), check_mode=False)
    (warning,) = result["warnings"]
    assert warning == (
        f"{path} has more than 64 KiB, so no rank gets what it sets; "
        "correct that file, or give in overrides what it sets for the Gaudi software."
    )
    assert "GC_KERNEL_PATH" in written(tmp_path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("PT_HPU_INFERENCE_MODE=1", "sets PT_HPU_INFERENCE_MODE=1: it puts batch norm and weights into inference form"),
        ("PT_HPU_POOL_STRATEGY=5", "sets PT_HPU_POOL_STRATEGY=5: PT_HPU_POOL_STRATEGY: "),
        ("NCCL_DEBUG=INFO", "sets NCCL_DEBUG=INFO: NCCL_DEBUG must not be set: HCCL reads no NCCL_ variable"),
        ("RANK=3", "sets RANK=3: RANK must not be set: torchrun sets it for every process of a job"),
    ],
)
def test_a_harmful_flag_is_refused_before_anything_is_written(
    line: str, words: str, profile: Any, tmp_path: Path
) -> None:
    path = profile(f"export GC_KERNEL_PATH=@\nexport {line}\n")
    name = line.partition("=")[0]
    with pytest.raises(GaudiError) as caught:
        converge(options(tmp_path), check_mode=False)
    message = str(caught.value)
    assert message.startswith(f"{path} {words}")
    assert message.endswith(f": give {name} in overrides (null removes it), or correct that file.")
    assert not (tmp_path / "etc").exists()


def test_a_harmful_flag_can_be_taken_away(profile: Any, tmp_path: Path) -> None:
    profile("export PT_HPU_INFERENCE_MODE=1\n")
    converge(options(tmp_path, overrides={"PT_HPU_INFERENCE_MODE": None}), check_mode=False)
    assert "PT_HPU_INFERENCE_MODE" not in written(tmp_path)


def test_a_flag_that_only_the_installed_bridge_knows_is_taken(profile: Any, tmp_path: Path) -> None:
    profile("export PT_HPU_BRAND_NEW=7\n")
    venv = make_venv(
        tmp_path, ["PT_HPU_LAZY_MODE", "PT_HPU_RECIPE_CACHE_CONFIG", "PT_HPU_BRAND_NEW"], version="1.24.1.7"
    )
    assert converge(options(tmp_path, venv=venv), check_mode=False)["warnings"] == []
    assert written(tmp_path)["PT_HPU_BRAND_NEW"] == "7"


def test_a_place_with_nothing_in_it_is_named(profile: Any, tmp_path: Path) -> None:
    path = profile("export GC_KERNEL_PATH=@:/no/such.so HABANA_PLUGINS_LIB_PATH=@\n")
    result: Any = converge(options(tmp_path, overrides={"RDMA_CORE_LIB": "/nowhere"}), check_mode=False)
    assert [one["message"] for one in result["findings"] if one["kind"] == "missing"] == [
        f"GC_KERNEL_PATH: there is no /no/such.so on this node (vendor package: {path})",
        "RDMA_CORE_LIB: there is no /nowhere on this node (overrides, set by the operator)",
    ]


def test_a_node_without_the_vendor_s_packages_is_told(tmp_path: Path) -> None:
    checked: Any = converge(options(tmp_path), check_mode=True)
    (warning,) = checked["warnings"]
    assert warning == (
        f"no profile of the vendor's ({tmp_path}/profile.d/habana*.sh) is on this node yet, so ranks get no paths of "
        "it; install the driver layer, then run this again."
    )
    assert checked["changed"] and not list(tmp_path.iterdir())
    # Strict or not: in check mode it is the same for every new node.
    assert converge(options(tmp_path, strict=True), check_mode=True)["warnings"] == checked["warnings"]
    assert converge(options(tmp_path, vendor_profiles=[]), check_mode=True)["warnings"] == []


def test_documented_places_count_where_they_are_there_and_no_file_sets_them() -> None:
    found = documented_paths({"GC_KERNEL_PATH"}, exists=lambda path: path != "/opt/habanalabs/rdma-core/src/build/lib")
    assert {one.name for one in found} == NAMES - {"GC_KERNEL_PATH", "RDMA_CORE_LIB"}
    assert {one.origin for one in found} == {ORIGIN}
    assert all(one.source.startswith("documented place (") for one in found)


def test_nobody_is_told_to_leave_a_place_out() -> None:
    """As of a running job, whose variables say not where they came from."""
    flags = {one.name: one.value for one in documented_paths((), exists=lambda _path: True)}
    result: Any = explain(ExplainOptions(flags=flags, release="1.22.0"), lambda *_a, **_k: None)  # type: ignore
    assert {one["name"]: one["effective"] for one in result["flags"]} == dict.fromkeys(NAMES, "yes")


@pytest.mark.parametrize("pattern", ["profile.d/habanalabs.sh", "", "/"])
def test_a_relative_pattern_is_refused(pattern: str, tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match=r"^vendor_profiles has .* give absolute paths"):
        converge(options(tmp_path, vendor_profiles=[pattern]), check_mode=False)


def test_the_origin_is_read_back_from_the_file(profile: Any, tmp_path: Path) -> None:
    path = profile("export GC_KERNEL_PATH=@\n")
    converge(options(tmp_path, overrides={"LOG_LEVEL_ALL": 3}), check_mode=False)
    result: Any = explain(ExplainOptions(file=str(tmp_path / "etc" / "environment")), lambda *_a, **_k: None)  # type: ignore
    origins = {one["name"]: one["origin"] for one in result["flags"]}
    assert origins["GC_KERNEL_PATH"] == f"vendor package: {path}"
    verdict = next(one for one in result["flags"] if one["name"] == "GC_KERNEL_PATH")
    assert (verdict["effective"], verdict["level"], verdict["use_instead"]) == ("yes", "ok", "")
    rows: Any = flag_rows({"node1": result})["rows"]
    assert {row["flag"]: row["origin"] for row in rows} == {
        "GC_KERNEL_PATH": "vendor package",
        "PT_HPU_LAZY_MODE": "profile training_compile",
        "HABANA_LOGS": "option log_directory",
        "LOG_LEVEL_ALL": "overrides, set by the operator",
        "PT_HPU_RECIPE_CACHE_CONFIG": "option recipe_cache",
    }
