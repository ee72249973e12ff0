# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each template's playbook with exactly the answers of its survey that nobody changed, as a controller launches it.

In the order in which a site uses them: what one leaves, the next finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import read_playbooks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.survey import answers, survey
from testinfra.host import Host

from tests.long_rows import named_rows
from tests.sandbox_nodes import ROOT, run

KNOWN = {one.name: one for one in read_playbooks(ROOT)}
# What a survey cannot know and its user has to say.
SAID = {
    "gaudi_bundle_host": "node1",
    "gaudi_comparison_flags": "PT_HPU_LAZY_MODE=0",
    "gaudi_driver_upgrade_node": "node1",
    "gaudi_driver_upgrade_release": "1.24.1",
    # What the cards of these nodes have.
    "gaudi_power_watts": 850,
    "gaudi_quarantine_node": "node2",
    "gaudi_storage_directory": "/var/tmp",
    "gaudi_training_batch_size": 8,
}
LAYERS = (
    "preflight",
    "host",
    "driver",
    "container_runtime",
    "fabric",
    "storage",
    "training_stack",
    "tuning",
    "measured_fabric",
    "verify",
    "verdict",
)
LOOKS = (
    "plan_fabric",
    "plan_upgrade",
    "explain_node",
    "explain_flags",
    "upgrade_firmware",
    "audit_cluster",
    "show_fleet",
)
# A node that is in service is returned without a question.
ACTIONS = ("schedule_qualification", "cap_power", "return_node", "quarantine_node")
# Minutes each, or the same again as another scenario does in each run with answers of its own.
LONG = (
    "monitoring",
    "site",
    "launch_training",
    "show_training",
    "stop_training",
    "upgrade_driver",
    "qualify_nodes",
    "save_baseline",
    "find_bad_nodes",
    "measure_collectives",
    "measure_storage",
    "probe_batch_size",
    "compare_settings",
    "tune_training",
    "build_bundle",
    "verify_bundle",
    "serve_bundle",
)
# Seconds each; the others of the layers `site` plays with fewer answers.
QUICK_LAYERS = ("preflight", "tuning", "measured_fabric", "verdict")
# Want what these nodes have not, a Slurm and a job that was measured; the scenarios slurm_drain and training have it.
ELSEWHERE = {"configure_slurm", "report_cost"}
IN_ORDER = (*LAYERS, *LOOKS, *ACTIONS, *LONG)
PLAYED = named_rows({name: name for name in IN_ORDER}, {*QUICK_LAYERS, *LOOKS, *ACTIONS})


def test_each_template_is_tried() -> None:
    assert {*IN_ORDER} == {*KNOWN} - ELSEWHERE


# A qualification, whose figures the baseline is made of. Any other looks at pages of its own run alone.
TOGETHER = ("qualify_nodes", "save_baseline")


@pytest.fixture(scope="module")
def qualified(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where pages of a qualification go, as the variables of all templates have it."""
    return str(tmp_path_factory.mktemp("reports"))


@pytest.fixture(autouse=True)
def released(nodes: dict[str, Host]) -> Iterator[None]:
    """What a row takes out of service is there for the next one: a launch leaves such a node alone."""
    yield
    nodes[SAID["gaudi_quarantine_node"]].check_output("rm -f /etc/gaudi3_scale/quarantine.json")


@pytest.mark.parametrize("name", PLAYED)
def test_a_playbook_runs_with_the_answers_of_its_survey(tmp_path: Path, qualified: str, name: str) -> None:
    playbook = KNOWN[name]
    given = {**answers(survey(playbook, {})), **{option: SAID[option] for option in playbook.needs}}
    done = run(tmp_path, name, gaudi_report_target=qualified if name in TOGETHER else str(tmp_path), **given)
    assert done.status == "successful", done.stdout.read()[-6000:]
