# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each template's playbook with nothing but plausible answers to its survey, as a controller launches it.

In the order in which a site uses them: what one leaves, the next finds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.objects import controller_objects
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import read_playbooks
from testinfra.host import Host

from tests.controller_launch import typed
from tests.controller_site import site
from tests.long_rows import named_rows
from tests.sandbox_nodes import ROOT, run
from tests.template_launches import PLAUSIBLE, answers, job_variables

KNOWN = {one.name: one for one in read_playbooks(ROOT)}
OBJECTS = controller_objects(site(), [*KNOWN.values()])
TEMPLATES = {one["name"].removeprefix("Gaudi: "): one for one in OBJECTS["controller_templates"]}
# A playbook's second template, by the name of its row.
VARIANTS = {"launch_built_in": "Train the built-in model"}
LAYERS = (
    "preflight",
    "host",
    "driver",
    "containers",
    "fabric",
    "storage",
    "venv",
    "flags",
    "benchmark_fabric",
    "verify",
)
LOOKS = (
    "plan_fabric",
    "plan_upgrade",
    "explain_node",
    "explain_flags",
    "upgrade_firmware",
    "audit_cluster",
    "show_fleet",
    "collect_support_bundle",
)
# A node that is in service is returned without a question.
ACTIONS = ("schedule_qualification", "cap_power", "return_node", "quarantine_node")
# Minutes each, or the same again as another scenario does in each run with answers of its own.
LONG = (
    "monitoring",
    "site",
    "launch_training",
    "launch_built_in",
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
    "benchmark_training",
    "tune_training",
    "build_bundle",
    "verify_bundle",
    "serve_bundle",
)
# Seconds each; the others of the layers `site` plays with fewer answers.
QUICK_LAYERS = ("preflight", "flags", "benchmark_fabric")
# Want what these nodes have not: a Slurm, a job that was measured and a model of it, a base image with a registry. The
# scenarios slurm, training, serving and build_image have it. Manifests want no node:
# tests/unit/plugins/action/test_kubernetes_manifests.py. So does what another tool has set: test_migration_plan.py.
ELSEWHERE = {
    *("build_image", "configure_slurm", "measure_serving", "publish_model", "render_kubernetes", "report_cost"),
    *("plan_migration", "profile_training"),
    *("roll_serving", "serve_model", "serving"),
}
IN_ORDER = (*LAYERS, *LOOKS, *ACTIONS, *LONG)
PLAYED = named_rows({name: name for name in IN_ORDER}, {*QUICK_LAYERS, *LOOKS, *ACTIONS})


def test_each_template_is_tried() -> None:
    assert {*IN_ORDER} == {*KNOWN, *VARIANTS} - ELSEWHERE


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
    nodes[PLAUSIBLE["gaudi_quarantine_node"]].check_output("rm -f /etc/gaudi3_scale/quarantine.json")


def launched(title: str, said: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The extra variables of a job of that template, in which a person has said this and left the rest as it stood."""
    spec = TEMPLATES[title]["survey_spec"]
    return job_variables(TEMPLATES[title], typed(spec, {**answers(spec, everything=False), **(said or {})}))


@pytest.mark.parametrize("name", PLAYED)
def test_a_playbook_runs_with_the_answers_of_its_survey(
    tmp_path: Path, qualified: str, name: str, job: dict[str, Any]
) -> None:
    assert job, "the program of the launch is on its nodes"
    title = VARIANTS.get(name) or KNOWN[name].title
    playbook = TEMPLATES[title]["playbook"].removeprefix("playbooks/").removesuffix(".yml")
    # Of a name of its own, so that it is no other description of the job before. Two hundred steps of the model that it
    # has by default take a quarter of an hour here.
    other = {"gaudi_training_name": "built-in", "gaudi_training_max_steps": 20}
    given = launched(title, other if name == "launch_built_in" else {})
    done = run(tmp_path, playbook, **{"gaudi_report_target": qualified if name in TOGETHER else str(tmp_path), **given})
    assert done.status == "successful", done.stdout.read()[-6000:]


PROGRAM = """
import json, os, sys
from pathlib import Path
where = Path(os.environ["GAUDI3_SCALE_JOB_DIR"], f"said-{os.environ['RANK']}.json")
where.write_text(json.dumps(sys.argv[1:]))
"""


@pytest.mark.in_turn
def test_a_launch_with_nothing_but_a_survey_s_answers_runs_the_program_with_its_words(
    tmp_path: Path, nodes: dict[str, Host]
) -> None:
    for host in nodes.values():
        host.check_output(f"mkdir -p /srv && cat > /srv/said.py <<'END'\n{PROGRAM}\nEND")
    said = {
        "gaudi_training_command": "/srv/said.py {max_steps} --note 'two wörds' --empty ''",
        "gaudi_training_name": "of-a-survey",
        "gaudi_training_max_steps": 7,
    }
    done = run(tmp_path, "launch_training", gaudi_report_target=str(tmp_path), **launched("Launch a training", said))
    assert done.status == "successful", done.stdout.read()[-6000:]
    found = nodes["node1"].check_output("cat $(find /var/lib/gaudi3_scale -name said-0.json)")
    assert json.loads(found) == ["7", "--note", "two wörds", "--empty", ""]
