# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What surrounds a program of the user's own, the same in a launch, a probe and a comparison: directory, variables,
modules that only PYTHONPATH finds, requirements of its own, ports, its usage, and the name that it is stopped by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox_jobs import play, processes, shell, status, wait_for
from tests.sandbox_programs import PROGRAMS, bring_programs

NODES = ["node1", "node2"]
NAME, HELD, PORT = "surrounded", "held", 29870
ENVIRONMENTS = "/opt/gaudi3_scale/environments/gaudi"
HIDDEN = f"mv {PROGRAMS}/own_parts.py {PROGRAMS}/own_parts.py.away"
BACK = f"mv {PROGRAMS}/own_parts.py.away {PROGRAMS}/own_parts.py"
OF_PROBE = {
    "gaudi_batch_workload": "own_program:step",
    "gaudi_batch_maximum": 16,
    "gaudi_compare_base": {"batch_size": 2},
    "gaudi_compare_settings": [{"name": "threads", "flags": {"OMP_NUM_THREADS": "2"}}],
    "gaudi_compare_rounds": 3,
    "gaudi_compare_steps": 4,
    "gaudi_compare_hosts": ["node1"],
}
PLAYS = ("launch_training", "probe_batch_size", "compare_settings")


@pytest.fixture(scope="module", autouse=True)
def _programs() -> None:
    bring_programs(NODES)


@pytest.fixture
def run(collections: Path, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """A playbook with the program's own surroundings, as a user names them."""
    count = iter(range(100))

    def run(
        playbook: str = "launch_training", *, name: str = NAME, words: tuple[str, ...] = (), **changes: Any
    ) -> tuple[int, str]:
        return play(
            tmp_path / f"run-{next(count)}",
            playbook,
            collections=collections,
            **{
                "gaudi_training_name": name,
                "gaudi_training_hosts": NODES,
                "gaudi_training_processes_per_node": 1,
                "gaudi_training_command": ["-m", "own_program", *words],
                "gaudi_training_rendezvous_port": PORT,
                "gaudi_training_environment": {"PYTHONPATH": PROGRAMS, "OMP_NUM_THREADS": "1"},
                "gaudi_training_follow_interval": 1,
                **OF_PROBE,
                **changes,
            },
        )

    return run


@pytest.mark.in_turn
@pytest.mark.parametrize("playbook", PLAYS)
def test_a_module_that_only_pythonpath_finds(run: Callable[..., tuple[int, str]], playbook: str) -> None:
    code, said = run(playbook, gaudi_training_restart=True)
    assert code == 0, said


@pytest.mark.in_turn
@pytest.mark.parametrize("playbook", PLAYS)
def test_what_it_lacks_is_said_before_anything_starts(run: Callable[..., tuple[int, str]], playbook: str) -> None:
    for node in NODES:
        shell(node, HIDDEN)
    try:
        # In no comparison and no probe before.
        changed = {"gaudi_training_environment": {"PYTHONPATH": PROGRAMS, "NEW": playbook}}
        code, said = run(playbook, name="lacking", **changed)
    finally:
        for node in NODES:
            shell(node, BACK)
    assert code != 0
    assert "has no module own_parts; install it there, or name its folder in PYTHONPATH" in " ".join(said.split())
    assert "trial 1" not in said
    assert "run 1" not in said
    assert status("node1", "lacking") == {}


@pytest.mark.in_turn
def test_a_relative_path_is_in_the_jobs_own_directory_on_each_node(run: Callable[..., tuple[int, str]]) -> None:
    code, said = run(gaudi_training_restart=True)
    assert code == 0, said
    for rank, node in enumerate(NODES):
        assert shell(node, f"stat -c %U /var/lib/gaudi3_scale/jobs/{NAME}/out/rank{rank}.pt").strip() == "gaudi"


def test_requirements_are_installed_once_for_launch_probe_and_comparison(
    run: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    needed = tmp_path / "requirements.txt"
    needed.write_text("-r base.txt\n", encoding="utf-8")
    (tmp_path / "base.txt").write_text("accelerate>=1,<2  # of the program\ntorch>=2.0\n", encoding="utf-8")
    for node in NODES:
        shell(node, f"rm -rf {ENVIRONMENTS}")
    asked = {"gaudi_training_requirements": str(needed), "words": ("--uses", "accelerate"), "name": "needing"}
    code, said = run(**asked)
    assert code == 0, said
    (venv,) = shell("node1", f"ls -d {ENVIRONMENTS}/*/").split()
    assert shell("node1", f"ls -d {ENVIRONMENTS}/*/").split() == shell("node2", f"ls -d {ENVIRONMENTS}/*/").split()
    # The program ran with it, on the stack's PyTorch, and root owns nothing in it.
    found = shell("node1", f"{venv}bin/python -c 'import torch; print(torch.__file__)'").strip()
    assert found.startswith("/opt/gaudi3_scale/venv/")
    assert shell("node1", f"find {venv} ! -user gaudi").strip() == ""
    before = shell("node1", f"stat -c '%Y %i' {venv}")
    for playbook in PLAYS:
        code, said = run(playbook, **asked)
        assert code == 0, said
        task = said.partition("Install the program's requirements] ")[2].splitlines()
        assert [line.split(":")[0] for line in task if line.startswith(("ok", "changed"))][:1] == ["ok"], said
    assert shell("node1", f"stat -c '%Y %i' {venv}") == before


@pytest.mark.in_turn
def test_a_requirement_that_would_replace_the_vendors_is_refused_by_name(
    run: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    needed = tmp_path / "requirements.txt"
    needed.write_text("torch==2.1.0\n", encoding="utf-8")
    code, said = run(name="replacing", gaudi_training_requirements=str(needed))
    flat = " ".join(said.split())
    assert code != 0
    assert (
        "node1, node2: gaudi_training_requirements has 'torch==2.1.0', and /opt/gaudi3_scale/venv has torch"
        in flat.replace("''", "'")
    )
    assert status("node1", "replacing") == {}


@pytest.mark.in_turn
def test_a_usage_error_is_started_once_however_long_it_took(run: Callable[..., tuple[int, str]]) -> None:
    code, said = run(name="mistaken", words=("--no-such-option",), gaudi_training_min_runtime=1)
    flat = " ".join(said.split())
    assert code != 0
    assert "error: unrecognized arguments: --no-such-option" in flat
    assert "a program that refuses its arguments is not started again" in flat
    reported = status("node1", "mistaken")
    assert (reported["outcome"], reported["restarts"]) == ("failed", 0)
    code, said = run("stop_training", name="mistaken")
    assert code == 0, said


@pytest.mark.in_turn
def test_a_boolean_of_yaml_is_refused_before_anything(run: Callable[..., tuple[int, str]]) -> None:
    code, said = run(name="boolean", gaudi_training_environment={"MY_BOOL": True})
    assert code != 0
    assert "gaudi_training_environment: MY_BOOL is true without quotes" in " ".join(said.split())
    assert status("node1", "boolean") == {}


@pytest.fixture(scope="module")
def held(collections: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A job that runs for as long as it is looked at."""
    variables = {"gaudi_training_name": HELD, "gaudi_training_hosts": NODES}
    code, said = play(
        tmp_path_factory.mktemp("held"),
        collections=collections,
        **variables,
        gaudi_training_processes_per_node=1,
        gaudi_training_command=["-m", "own_program", "--seconds", "3000"],
        gaudi_training_environment={"PYTHONPATH": PROGRAMS, "OMP_NUM_THREADS": "1"},
        gaudi_training_rendezvous_port=PORT + 10,
        gaudi_training_follow=False,
    )
    assert code == 0, said
    wait_for("a rank", lambda: any("own_program" in command for command in processes("node1", HELD).values()))
    yield
    code, said = play(tmp_path_factory.mktemp("stopped"), "stop_training", collections=collections, **variables)
    assert code == 0, said


@pytest.mark.in_turn("held")
@pytest.mark.usefixtures("held")
def test_a_port_of_another_job_names_that_job_and_the_option(run: Callable[..., tuple[int, str]]) -> None:
    code, said = run(name="second", gaudi_training_rendezvous_port=PORT + 10)
    flat = " ".join(said.split())
    assert code != 0
    who = f"is in use by job {HELD} (gaudi3-scale-job-{HELD}.service); give this job another port"
    assert f"gaudi_training_rendezvous_port {PORT + 10} {who}" in flat
    assert f"gaudi_training_control_port {PORT + 11} (UDP) {who}" in flat


@pytest.mark.in_turn("held")
@pytest.mark.usefixtures("held")
def test_another_description_is_refused_once_in_the_words_of_the_role(run: Callable[..., tuple[int, str]]) -> None:
    code, said = run(name=HELD, gaudi_training_rendezvous_port=PORT + 10, words=("--seconds", "1"))
    flat = " ".join(said.split())
    assert code != 0
    assert flat.count("or set gaudi_training_replace=true") == flat.count("Job held was not started.") >= 1
    assert "node1, node2: job held is running with another description" in flat


@pytest.mark.in_turn("held")
@pytest.mark.usefixtures("held")
def test_a_mistyped_name_is_no_job_that_was_stopped(run: Callable[..., tuple[int, str]]) -> None:
    code, said = run("stop_training", name="hled")
    assert code != 0
    assert "gaudi_training_name hled: no host has such a job; did you mean held?" in " ".join(said.split())
    assert processes("node1", HELD)
