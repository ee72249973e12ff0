# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One file, four kinds of readers: each gets the same values."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._flags import reach as flag_reach
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.profiles import (
    NETWORKS,
    PROFILES,
    EnvironmentOptions,
    plan_environment,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.reach import Reach
from ansible_collections.gaudi3.scale.plugins.module_utils._node.environment_file import Setting, render
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release

BARE = [Setting("PT_HPU_LAZY_MODE", "0", "s"), Setting("PT_HPU_RECIPE_CACHE_CONFIG", "/cache/1/ab,false,8", "s")]
QUOTED = [*BARE, Setting("GREETING", 'a "b" $HOME', "s")]


def docker_env_file(text: str) -> dict[str, str]:
    """docker and podman: comments and blank lines go, the rest of a line is the value as it is."""
    lines = [line.lstrip() for line in text.splitlines()]
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def shell(script: str, **environment: str) -> list[str]:
    done = subprocess.run(["/bin/sh", "-eu", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("profile", PROFILES)
def test_containers_read_the_node_file_of_every_profile(profile: str, network: str) -> None:
    wanted = EnvironmentOptions("1.24.1", profile, network, interface="ens")
    settings = plan_environment(wanted, find_release(wanted.release))
    assert flag_reach.container_file("/etc/e", settings) == "/etc/e"
    assert docker_env_file(render(settings, "h")) == {setting.name: setting.value for setting in settings}


def test_a_value_in_quotes_needs_a_file_of_its_own_for_containers() -> None:
    assert docker_env_file(render(QUOTED, "h"))["GREETING"] != 'a "b" $HOME'
    assert flag_reach.container_file("/etc/e", QUOTED) == "/etc/e.container"
    (file,) = flag_reach.wanted_files(Reach("/etc/e"), QUOTED, ())
    assert file.path == "/etc/e.container" and docker_env_file(file.content or "")["GREETING"] == 'a "b" $HOME'
    (file,) = flag_reach.wanted_files(Reach("/etc/e"), BARE, ())
    assert file.content is None


def test_login_shells_export_the_file_and_keep_their_own_mode(tmp_path: Path) -> None:
    path = tmp_path / "with blank"
    path.write_text(render(QUOTED, "heading"))
    script = tmp_path / "profile.sh"
    script.write_text(flag_reach.login_shell(str(path)))
    after = shell(f"set +u; . '{script}'; later=1; /usr/bin/env; echo $-")
    assert 'GREETING=a "b" $HOME' in after and "PT_HPU_LAZY_MODE=0" in after
    assert not [line for line in after if line.startswith("later=")] and "a" not in after[-1]
    assert "a" in shell(f"set -a; . '{script}'; echo $-")[-1]
    path.unlink()
    assert shell(f". '{script}'; echo fine") == ["fine"]


def prolog(tmp_path: Path, **environment: str) -> list[str]:
    path = tmp_path / "environment"
    cache = Setting("PT_HPU_RECIPE_CACHE_CONFIG", f"{tmp_path}/cache,false,8", "s")
    path.write_text(render([QUOTED[0], cache, QUOTED[2]], "heading"))
    script = tmp_path / "prolog.sh"
    script.write_text(flag_reach.task_prolog(str(path)))
    return shell(f". '{script}'", PATH="/usr/bin:/bin", **environment)


def test_slurm_tasks_get_the_flags_and_a_cache_of_the_job(tmp_path: Path) -> None:
    assert prolog(tmp_path, SLURM_JOB_NAME="night run/1") == [
        "export PT_HPU_LAZY_MODE=0",
        'export GREETING=a "b" $HOME',
        f"export PT_HPU_RECIPE_CACHE_CONFIG={tmp_path}/cache/night_run_1,false,8",
    ]
    assert (tmp_path / "cache" / "night_run_1").is_dir()


def test_what_a_slurm_job_set_itself_stays(tmp_path: Path) -> None:
    mine = {"PT_HPU_LAZY_MODE": "1", "GREETING": "", "PT_HPU_RECIPE_CACHE_CONFIG": "/mine,false,1"}
    assert prolog(tmp_path, **mine) == []


def test_a_slurm_job_from_a_login_shell_has_its_own_cache_too(tmp_path: Path) -> None:
    lines = prolog(tmp_path, PT_HPU_RECIPE_CACHE_CONFIG=f"{tmp_path}/cache,false,8", SLURM_JOB_ID="17")
    assert lines[-1] == f"export PT_HPU_RECIPE_CACHE_CONFIG={tmp_path}/cache/17,false,8"


def test_a_slurm_job_that_may_not_write_keeps_its_recipes_in_memory(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    assert prolog(tmp_path)[-1] == "unset PT_HPU_RECIPE_CACHE_CONFIG"


def test_services_of_others_get_a_drop_in_and_lose_it() -> None:
    reach = Reach("/etc/e%", units=["jupyter", "vllm@1.service"], unit_directory="/u")
    old = ["/u/old.service.d/50-gaudi3-scale-flags.conf", "/u/jupyter.service.d/50-gaudi3-scale-flags.conf"]
    files = {file.path: file.content for file in flag_reach.wanted_files(reach, BARE, old)}
    assert (files["/u/jupyter.service.d/50-gaudi3-scale-flags.conf"] or "").endswith(
        "[Service]\nEnvironmentFile=-/etc/e%%\n"
    )
    assert "/u/vllm@1.service.d/50-gaudi3-scale-flags.conf" in files
    assert files["/u/old.service.d/50-gaudi3-scale-flags.conf"] is None


@pytest.mark.parametrize("unit", ["../x", "a b", "x.timer", ""])
def test_a_wrong_unit_is_refused_in_one_sentence(unit: str) -> None:
    with pytest.raises(GaudiError, match=r"^systemd_units: .* is not a service name; give one such as"):
        flag_reach.wanted_files(Reach("/etc/e", units=[unit]), BARE, ())
