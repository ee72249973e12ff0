# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The node's flags in the tasks of a real Slurm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import run

PROLOG = "/etc/slurm/gaudi3_scale_prolog.sh"
CONFIGURATION = "/etc/slurm/slurm.conf"
# Quotes, a blank and a dollar sign have to arrive as they are.
GREETING = 'say "hello" to $HOME'


@pytest.fixture(scope="module")
def controller(installed: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """node1, whose Slurm gives every task the flags that the role writes."""
    result = run(
        tmp_path_factory.mktemp("runner"),
        [{"hosts": "node1", "become": True, "gather_facts": False, "roles": ["gaudi3.scale.gaudi_flags"]}],
        gaudi_flags_slurm_task_prolog=PROLOG,
        gaudi_flags_environment={"GREETING": GREETING},
    )
    assert result.status == "successful", result.stdout.read()[-4000:]
    installed.check_output(f"echo TaskProlog={PROLOG} >> {CONFIGURATION} && scontrol reconfigure")
    yield installed
    installed.check_output(f"sed -i /^TaskProlog=/d {CONFIGURATION} && scontrol reconfigure && rm {PROLOG}")


def of_a_task(controller: Host, user: str, before: str = "") -> dict[str, str]:
    command = f"cd /tmp && sudo --user={user} {before} srun --nodelist=node1 --job-name=night env --null"
    pairs = controller.check_output(command).split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def test_a_task_has_the_flags_and_recipes_of_its_own(controller: Host) -> None:
    found = of_a_task(controller, "root")
    assert (found["PT_HPU_LAZY_MODE"], found["GREETING"]) == ("0", GREETING)
    directory, rest = found["PT_HPU_RECIPE_CACHE_CONFIG"].split(",", 1)
    assert directory.endswith("/night") and rest == "false,8192"
    assert controller.file(directory).is_directory


def test_a_task_can_import_the_vendor_s_bridge(controller: Host) -> None:
    """Which its stand-in refuses without the environment of the vendor's packages."""
    task = "/opt/gaudi3_scale/venv/bin/python -c 'import habana_frameworks.torch.core'"
    controller.check_output(f"cd / && env -i PATH=$PATH srun --nodelist=node1 {task}")


def test_what_the_job_set_stays(controller: Host) -> None:
    assert of_a_task(controller, "root", "PT_HPU_LAZY_MODE=1")["PT_HPU_LAZY_MODE"] == "1"


def test_who_may_not_write_to_the_cache_has_none(controller: Host) -> None:
    found = of_a_task(controller, "operator")
    assert found["PT_HPU_LAZY_MODE"] == "0"
    assert "PT_HPU_RECIPE_CACHE_CONFIG" not in found
