# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The file and the directories on a node: written once, left alone after, untouched by a refusal or a check."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.state import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.environment_file import parse
from ansible_collections.gaudi3.scale.tests.unit.flag_options import options
from ansible_collections.gaudi3.scale.tests.unit.installed_bridge import make_venv


def entries(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_first_run_writes_and_second_changes_nothing(tmp_path: Path) -> None:
    first = converge(options(tmp_path), check_mode=False)
    second = converge(options(tmp_path), check_mode=False)
    assert first["changed"] and not second["changed"]
    assert second["diff"] == []
    written = parse((tmp_path / "etc" / "environment").read_text(), "environment")
    assert written == {flag["name"]: flag["value"] for flag in second["flags"]}  # type: ignore[attr-defined]
    assert written["PT_HPU_LAZY_MODE"] == "0"


def test_directories_exist_and_can_be_entered_by_all(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        found = converge(options(tmp_path), check_mode=False)["directories"]
    finally:
        os.umask(old)
    assert len(found) == 2  # type: ignore[arg-type]
    for directory in found:  # type: ignore[attr-defined]
        assert stat.S_IMODE(Path(directory).stat().st_mode) == 0o755


def test_check_mode_shows_the_same_and_touches_nothing(tmp_path: Path) -> None:
    checked = converge(options(tmp_path), check_mode=True)
    assert entries(tmp_path) == []
    assert converge(options(tmp_path), check_mode=False) == checked


def test_the_diff_shows_the_file_and_each_new_directory(tmp_path: Path) -> None:
    diff: Any = converge(options(tmp_path), check_mode=True)["diff"]
    assert [entry["before_header"].split(" ")[-1] for entry in diff] == ["(absent)"] * 3
    assert "PT_HPU_LAZY_MODE=0" in diff[0]["after"]
    assert diff[1]["after"] == "directory, mode 0755\n"


def test_a_changed_override_is_a_change_of_the_file_only(tmp_path: Path) -> None:
    converge(options(tmp_path), check_mode=False)
    again = converge(options(tmp_path, overrides={"LOG_LEVEL_ALL": 3}), check_mode=False)
    assert len(again["diff"]) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "more",
    [
        {"overrides": {"PT_HPU_POOL_STRATEGY": "OPTIMIZE_UTILIZATION"}},
        {"overrides": {"PT_HPU_LAZYMODE": None}},
        {"overrides": {"HABANA_LOGS": "/logs\n"}},
        {"environment": {"A-B": "1"}},
        {"environment": {"PT_HPU_POOL_STRATEGY": "0"}},
        {"overrides": {"PT_HPU_MAX_COMPOUND_OP_SIZE": 10}, "strict": True},
        {"owner": "nobody_of_this_name"},
        {"release": "1.0.0", "overrides": {"PT_HPU_RECIPE_CACHE_CONFIG": None}},
    ],
)
def test_a_refusal_touches_nothing(more: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match=r"\.$"):
        converge(options(tmp_path, **more), check_mode=False)
    assert entries(tmp_path) == []


def test_all_errors_are_told_at_once_and_warnings_go_with_them(tmp_path: Path) -> None:
    flags = {"NCCL_DEBUG": "INFO", "PT_HPU_POOL_STRATEGY": 5, "PT_HPU_MAX_COMPOUND_OP_SIZE": 1}
    with pytest.raises(GaudiError) as caught:
        converge(options(tmp_path, overrides=flags), check_mode=False)
    assert "NCCL_DEBUG" in str(caught.value) and "PT_HPU_POOL_STRATEGY" in str(caught.value)
    assert "PT_HPU_MAX_COMPOUND_OP_SIZE" not in str(caught.value)
    findings: Any = caught.value.facts["findings"]
    assert [(finding["flag"], finding["level"]) for finding in findings] == [
        ("NCCL_DEBUG", "error"),
        ("PT_HPU_POOL_STRATEGY", "error"),
        ("PT_HPU_MAX_COMPOUND_OP_SIZE", "warning"),
    ]


def test_warnings_are_returned_and_written_anyway(tmp_path: Path) -> None:
    result: Any = converge(options(tmp_path, overrides={"PT_HPU_MAX_COMPOUND_OP_SIZE": 1}), check_mode=False)
    assert [finding["level"] for finding in result["findings"]] == ["warning"]
    assert result["warnings"][0].startswith("PT_HPU_MAX_COMPOUND_OP_SIZE has no effect here")
    assert "PT_HPU_MAX_COMPOUND_OP_SIZE=1" in (tmp_path / "etc" / "environment").read_text()


def test_efa_says_what_stands_against_it(tmp_path: Path) -> None:
    warnings: Any = converge(options(tmp_path, network="efa"), check_mode=True)["warnings"]
    assert warnings[0].startswith("network efa: open HCL sources from 1.18 on skip EFA")


def test_a_new_release_can_be_described(tmp_path: Path) -> None:
    result: Any = converge(
        options(tmp_path, release="1.25.0", release_overrides={"1.25.0": {"build": "7"}}), check_mode=True
    )
    assert "/1.25.0-7/" in result["directories"][1]


def test_a_directory_in_whose_place_a_file_lies_is_refused(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("mine")
    with pytest.raises(GaudiError, match="logs is not a directory; move it away"):
        converge(options(tmp_path), check_mode=False)
    assert entries(tmp_path) == ["logs"]


def test_in_check_mode_an_owner_may_be_one_that_the_layer_before_would_make(tmp_path: Path) -> None:
    result: Any = converge(options(tmp_path, owner="nobody_of_this_name"), check_mode=True)
    assert result["changed"] and list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_directories_belong_to_the_account_that_runs_the_jobs(tmp_path: Path) -> None:
    converge(options(tmp_path), check_mode=False)
    result: Any = converge(options(tmp_path, owner="nobody"), check_mode=False)
    assert [entry["before_header"].split(" (")[-1] for entry in result["diff"]] == ["another owner)"] * 2
    owners = {pwd.getpwuid(Path(path).stat().st_uid).pw_name for path in result["directories"]}
    assert owners == {"nobody"}
    assert not converge(options(tmp_path, owner="nobody"), check_mode=False)["changed"]


def test_effects_are_returned_for_flags_and_not_for_plain_variables(tmp_path: Path) -> None:
    result: Any = converge(options(tmp_path, environment={"OMP_NUM_THREADS": 8}), check_mode=True)
    effects = {flag["name"]: flag["effect"] for flag in result["flags"]}
    assert effects["HABANA_LOGS"] == "Directory for all Gaudi software logs."
    assert effects["OMP_NUM_THREADS"] == ""


def test_each_value_tells_where_it_comes_from_who_judged_and_whether_it_acts(tmp_path: Path) -> None:
    venv = make_venv(tmp_path / "bridge", ["PT_HPU_LAZY_MODE", "PT_HPU_RECIPE_CACHE_CONFIG", "PT_HPU_SYNC_LAUNCH"])
    more: dict[str, Any] = {"network": "infiniband", "interface": "ens", "overrides": {"PT_HPU_SYNC_LAUNCH": 1}}
    result: Any = converge(options(tmp_path, venv=venv, environment={"OMP_NUM_THREADS": 8}, **more), check_mode=True)
    reported = {
        flag["name"]: (flag["origin"], flag["judged_by"].split(" ")[0], flag["effective"]) for flag in result["flags"]
    }
    assert reported == {
        "PT_HPU_LAZY_MODE": ("profile training_compile", "installed", "yes"),
        "RDMAV_FORK_SAFE": ("network infiniband", "catalog,", "unknown"),
        "MLX5_SCATTER_TO_CQE": ("network infiniband", "catalog,", "unknown"),
        "HCCL_SOCKET_IFNAME": ("option interface", "catalog,", "unknown"),
        "HABANA_LOGS": ("option log_directory", "catalog,", "yes"),
        "PT_HPU_SYNC_LAUNCH": ("overrides", "installed", "yes"),
        "PT_HPU_RECIPE_CACHE_CONFIG": ("option recipe_cache", "installed", "yes"),
        "OMP_NUM_THREADS": ("environment", "nobody", "unknown"),
    }
    assert result["judged_by"] == "installed bridge 1.24.1.482"
    comments = [line for line in result["diff"][0]["after"].splitlines() if line.startswith("# ")]
    assert comments[1].startswith("# profile training_compile: docs.habana.ai")
    assert comments[2].startswith("# network infiniband: docs.habana.ai")
    assert "# overrides, set by the operator" in comments


def test_a_bridge_of_another_release_does_not_judge(tmp_path: Path) -> None:
    venv = make_venv(tmp_path / "bridge", ["PT_HPU_LAZY_MODE"], version="1.23.0.695")
    result: Any = converge(options(tmp_path, venv=venv), check_mode=True)
    assert result["judged_by"] == "catalog"
    assert result["warnings"] == [
        (
            "the installed bridge 1.23.0.695 is of another release than 1.24, so the catalog judged the flags; "
            "run this again when the training stack is at the release."
        )
    ]


def test_recipes_of_other_releases_go_and_those_of_a_shared_cache_stay(tmp_path: Path) -> None:
    old = tmp_path / "recipes" / "1.23.0-695" / "ab"
    old.mkdir(parents=True)
    assert not converge(options(tmp_path, clean_recipe_cache=False), check_mode=True)["removed_directories"]
    checked: Any = converge(options(tmp_path), check_mode=True)
    assert checked["removed_directories"] == [str(old.parent)] and old.is_dir()
    assert checked["diff"][-1]["before"] == f"{old.parent} (recipes of a release that is gone)\n"
    assert converge(options(tmp_path), check_mode=False)["changed"] and not old.parent.exists()
    assert not converge(options(tmp_path), check_mode=False)["changed"]


def test_the_cache_as_a_whole_is_bounded_and_the_present_flags_keep_theirs(tmp_path: Path) -> None:
    result: Any = converge(options(tmp_path), check_mode=False)
    mine = Path(result["directories"][1])
    for place in (mine, mine / "night", mine.parent / "other"):
        place.mkdir(exist_ok=True)
        (place / "recipe").write_bytes(b"x" * (1 << 20))
    os.utime(mine / "recipe", (1, 1))
    os.utime(mine / "night" / "recipe", (5, 5))
    os.utime(mine.parent / "other" / "recipe", (3, 3))
    assert not converge(options(tmp_path, recipe_cache_limit=3), check_mode=False)["changed"]
    result = converge(options(tmp_path, recipe_cache_limit=2), check_mode=False)
    assert result["removed_directories"] == [str(mine.parent / "other")]
    assert (mine / "recipe").exists() and (mine / "night" / "recipe").exists()
    assert not (mine.parent / "other" / "recipe").exists()
    assert not converge(options(tmp_path, recipe_cache_limit=2), check_mode=False)["changed"]


def test_recipes_that_a_running_job_uses_stay(tmp_path: Path) -> None:
    """A job may outlive a change of release, and another set of flags."""
    old = tmp_path / "recipes" / "1.23.0-695" / "ab" / "night"
    old.mkdir(parents=True)
    process = tmp_path / "proc" / "7"
    process.mkdir(parents=True)
    (process / "environ").write_bytes(b"PT_HPU_RECIPE_CACHE_CONFIG=%s,false,8\0" % bytes(old))
    proc = str(tmp_path / "proc")
    converge(options(tmp_path, proc=proc), check_mode=False)
    mine = next((tmp_path / "recipes").glob("1.24.1-482/*"))
    for place in (mine.parent / "running", mine.parent / "other"):
        place.mkdir()
        (place / "recipe").write_bytes(b"x" * (2 << 20))
    (process / "environ").write_bytes(b"PT_HPU_RECIPE_CACHE_CONFIG=%s,false,8\0" % bytes(mine.parent / "running"))
    kept = converge(options(tmp_path, proc=proc, recipe_cache_limit=1), check_mode=True)
    assert kept["removed_directories"] == [str(tmp_path / "recipes" / "1.23.0-695"), str(mine.parent / "other")]


def test_recipes_belong_on_a_local_disk(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\n")
    with pytest.raises(
        GaudiError, match=r"^PT_HPU_RECIPE_CACHE_CONFIG: .* lies on nfs4 \(mounted at .*local disk; choose"
    ):
        converge(options(tmp_path), False, str(mounts))
    reported_so = {"PT_HPU_RECIPE_CACHE_CONFIG": f"{tmp_path}/r,false,8,true"}
    assert converge(options(tmp_path, overrides=reported_so), True, str(mounts))["changed"]


def test_the_file_reaches_shells_slurm_and_other_services(tmp_path: Path) -> None:
    places: dict[str, Any] = {
        "login_shell_path": str(tmp_path / "profile.sh"),
        "slurm_task_prolog": str(tmp_path / "prolog.sh"),
        "unit_directory": str(tmp_path / "units"),
    }
    first = converge(options(tmp_path, systemd_units=["jupyter"], **places), check_mode=False)
    drop_in = tmp_path / "units" / "jupyter.service.d" / "50-gaudi3-scale-flags.conf"
    assert first["systemd_changed"] and drop_in.exists()
    assert stat.S_IMODE((tmp_path / "prolog.sh").stat().st_mode) == 0o755
    assert first["container_path"] == first["path"]
    again = converge(options(tmp_path, systemd_units=["jupyter"], **places), check_mode=False)
    assert not again["changed"] and not again["systemd_changed"]
    quoted = converge(options(tmp_path, environment={"GREETING": "a b"}, **places), check_mode=False)
    assert quoted["systemd_changed"] and not drop_in.exists()
    assert Path(str(quoted["container_path"])).read_text().endswith("GREETING=a b\n")


def test_a_profile_of_somebody_else_at_our_path_is_kept_aside_and_named(tmp_path: Path) -> None:
    script = tmp_path / "profile.d/zz_gaudi3_scale.sh"
    script.parent.mkdir()
    script.write_text("export PATH=$PATH:/opt/site/bin\n")
    place: dict[str, Any] = {"login_shell_path": str(script)}
    result: Any = converge(options(tmp_path, **place), check_mode=False)
    assert any(f"{script} was not written by gaudi3.scale" in warning for warning in result["warnings"])
    (copy,) = script.parent.glob("zz_gaudi3_scale.sh.*.bak")
    assert copy.read_text() == "export PATH=$PATH:/opt/site/bin\n"
    # The copy that is told is that of the environment file.
    assert result["backup"] == ""
    again: Any = converge(options(tmp_path, **place), check_mode=False)
    assert not again["changed"]
    assert not any("was not written" in warning for warning in again["warnings"])


@pytest.mark.parametrize("name", ["HF_TOKEN", "WANDB_API_KEY", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY"])
def test_a_secret_is_not_put_where_every_account_reads(tmp_path: Path, name: str) -> None:
    with pytest.raises(GaudiError) as refused:
        converge(options(tmp_path, environment={name: "Planted1"}), check_mode=False)
    assert str(refused.value) == (
        f"environment sets {name}, which sounds like a secret, and every account of the node can read "
        f"{tmp_path}/etc/environment: give it to the job itself (environment of training_job, "
        f"gaudi_training_environment)."
    )
    assert entries(tmp_path) == []
    converge(options(tmp_path, environment={name: None, "TOKENIZERS_PARALLELISM": "false"}), check_mode=False)


def test_a_secret_that_a_person_wrote_there_is_told_without_its_value(tmp_path: Path) -> None:
    converge(options(tmp_path), check_mode=False)
    file = tmp_path / "etc" / "environment"
    file.write_text(file.read_text() + "HF_TOKEN=Planted1\nMINE=7\n")
    for check_mode in (True, False):
        result: Any = converge(options(tmp_path), check_mode=check_mode)
        assert "Planted1" not in str(result)
        assert "HF_TOKEN" in str(result["hand_edit"])
        assert "MINE=7" in str(result["warnings"])
        assert "MINE=7" in result["diff"][0]["after"]
    # The copy is the file as it was, for whoever could read it before.
    assert "HF_TOKEN=Planted1" in Path(result["backup"]).read_text()
